// SPDX-License-Identifier: GPL-2.0-or-later
// What tests in JavaScript share: TAP, and npm packages that may be missing.
'use strict';
const path = require('path');

let count = 0, failed = 0;

function ok(cond, what) {
	console.log(`${cond ? 'ok' : 'not ok'} ${++count} - ${what.replace(/[#\n]/g, ' ')}`);
	if (!cond)
		failed++;
	return cond;
}

function skip(why) {
	console.log(`1..0 # SKIP ${why}`);
	process.exit(0);
}

function done() {
	console.log(`1..${count}`);
	process.exit(failed ? 1 : 0);
}

// A package of package.json in `dir`, a folder of tests/; the test is skipped where it is not installed.
function need(name, dir) {
	try {
		return require(require.resolve(name, { paths: [path.join(__dirname, '..', dir)] }));
	} catch (e) {
		return skip(`the npm package ${name} is not installed (npm ci in tests/${dir})`);
	}
}

module.exports = { ok, skip, done, need };
