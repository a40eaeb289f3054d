// SPDX-License-Identifier: GPL-2.0-or-later
// perf script text and folded stacks, loaded by the released speedscope's importers for them.
'use strict';
const t = require('./lib.js');

t.needSpeedscope();

// The importer takes the first event, makes a profile a comm, and guesses weights from the times: names and stacks
// are what can be compared.
function checkPerfScript(r) {
	if (!t.ok(r.file, 'perf-script: speedscope loads it')) {
		console.log(`# ${r.error}`);
		return;
	}
	const want = t.expected('stacks').filter(e => e.event === 'cycles');
	const seen = new Set();
	const once = want.filter(e => !seen.has(e.frames.join('|')) && seen.add(e.frames.join('|')));
	const comms = [...new Set(want.map(e => e.frames[0]))].sort();
	t.equal(r.file.profiles.map(p => p.name).sort().join(), comms.join(), 'perf-script: a profile a comm');
	for (const profile of r.file.profiles)
		t.equalStacks(t.speedscopeStacks(r.file, profile, w => w > 0 ? 1 : 0),
			t.stacksOf(once.filter(e => e.frames[0] === profile.name).map(e =>
				({ weight: 1, frames: e.frames.slice(1) }))), `perf-script: ${profile.name}`);
}

// Names with our escape are data like any other to the importer of folded stacks.
function checkFolded(r, what) {
	if (!t.ok(r.file, `folded, ${what}: speedscope loads it`)) {
		console.log(`# ${r.error}`);
		return;
	}
	const hex = byte => '%' + byte.toString(16).padStart(2, '0');
	const escape = f => f.replace(/%(?=[0-9a-f]{2})/g, '%25').replace(/[\x00-\x1f;]/g, c => hex(c.charCodeAt(0)))
		.replace(/\ufffd/g, '%ff').replace(/^#/, '%23').replace(/ (?=\d+$)/, '%20');
	t.equalStacks(t.speedscopeStacks(r.file, r.file.profiles[0]), t.stacksOf(t.expected(what), 'cycles', 'weight', escape),
		`folded, ${what}`);
}

async function main() {
	const results = await t.throughSpeedscope(new Map([
		['stacks.perf.txt', t.fixture('perf-script', 'stacks')],
		['plain.folded', t.fixture('folded', 'plain', 0)],
		['hostile.folded', t.fixture('folded', 'hostile', 0)],
	]));
	checkPerfScript(results.get('stacks.perf.txt'));
	checkFolded(results.get('plain.folded'), 'plain');
	checkFolded(results.get('hostile.folded'), 'hostile');
	t.done();
}

main();
