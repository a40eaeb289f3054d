// SPDX-License-Identifier: GPL-2.0-or-later
// speedscope files: valid by the schema of the released package, and loaded and saved again by its own program in Chromium
// with every name and weight as it was.
'use strict';
const fs = require('fs');
const path = require('path');
const t = require('./lib.js');

const Ajv = t.need('ajv');

t.needSpeedscope();

function checkSchema() {
	const file = path.join(t.packageDir('speedscope'), 'dist/release/file-format-schema.json');
	const ajv = new (Ajv.default || Ajv)({ strict: false, validateFormats: false });
	const validate = ajv.compile(JSON.parse(fs.readFileSync(file, 'utf8')));
	for (const what of ['plain', 'hostile', 'big'])
		if (!t.ok(validate(JSON.parse(t.fixture('speedscope', what))), `${what}: valid by speedscope's schema`))
			console.log(`# ${ajv.errorsText(validate.errors)}`);
	for (const what of ['plain', 'hostile', 'stacks'])
		if (!t.ok(validate(JSON.parse(t.fixture('speedscope-time', what))), `${what}, over time: valid by speedscope's schema`))
			console.log(`# ${ajv.errorsText(validate.errors)}`);
	const broken = JSON.parse(t.fixture('speedscope'));
	delete broken.profiles[0].weights;
	t.ok(!validate(broken), 'the schema refuses a file without weights');
}

// Over time, without samples kept: a stack lasts a microsecond for each unit of its weight. A profile a comm and event.
function checkTime(r) {
	if (!t.ok(r.file, 'over time: speedscope loads it')) {
		console.log(`# ${r.error}`);
		return;
	}
	const got = { cycles: new t.Stacks(), faults: new t.Stacks() };
	for (const profile of r.file.profiles) {
		const [, comm, event] = /^(.*) \((cycles|faults)\)$/.exec(profile.name);
		for (const line of t.speedscopeStacks(r.file, profile, ns => Math.round(ns / 1000)).lines()) {
			const [, stack, weight] = /^(.*) (\d+)$/.exec(line);
			if (stack)
				got[event].add([comm, stack], weight);
		}
	}
	for (const event of ['cycles', 'faults'])
		t.equalStacks(got[event], t.stacksOf(t.expected('stacks'), event), `over time: ${event}`);
}

// Over time, with samples kept: no more time than was recorded, each stack that was met, and each thread.
function checkSamples() {
	const file = JSON.parse(t.fixture('speedscope-time', 'plain')), want = t.stacksOf(t.expected('plain'), null, 'weight');
	const seen = new Set();
	for (const profile of file.profiles) {
		const comm = / ?\((cycles|faults)\) \d+\/\d+$/[Symbol.replace](profile.name, '');
		for (const line of t.speedscopeStacks(file, profile).lines())
			if (!line.startsWith(' '))
				seen.add(`${comm}|${line.replace(/ \d+$/, '')}`);
	}
	t.equal([...seen].sort().join('\n'), [...want.map.keys()].sort().join('\n'), 'over time, with samples: each stack');
}

async function main() {
	checkSchema();
	const whats = ['plain', 'hostile', 'big'];
	const broken = JSON.parse(t.fixture('speedscope'));
	broken.profiles[0].weights[0] = -1;
	const files = new Map(whats.map(w => [`${w}.speedscope.json`, t.fixture('speedscope', w)]));
	files.set('broken.speedscope.json', Buffer.from(JSON.stringify(broken)));
	files.set('time.speedscope.json', t.fixture('speedscope-time', 'stacks'));
	const results = await t.throughSpeedscope(files);
	for (const what of whats) {
		const r = results.get(`${what}.speedscope.json`), want = t.expected(what);
		if (!t.ok(r.file, `${what}: speedscope loads it`)) {
			console.log(`# ${r.error}`);
			continue;
		}
		t.equal(r.file.profiles.length, 2, `${what}: a profile an event`);
		for (const profile of r.file.profiles) {
			t.equal(profile.unit, 'none', `${what}: unit of ${profile.name}`);
			t.equalStacks(t.speedscopeStacks(r.file, profile), t.stacksOf(want, profile.name), `${what}: ${profile.name}`);
		}
		t.equal(r.messages.join(), '', `${what}: nothing is complained about`);
	}
	checkTime(results.get('time.speedscope.json'));
	checkSamples();
	t.ok(/weight/.test(results.get('broken.speedscope.json').error), 'a negative weight is refused');
	t.done();
}

main();
