// SPDX-License-Identifier: GPL-2.0-or-later
// Trace events, loaded by the released speedscope's importer for them.
'use strict';
const t = require('./lib.js');

t.needSpeedscope();

// Calls of each thread begin and end in order, and each end is of the call that began last.
function checkEvents(what) {
	const { traceEvents } = JSON.parse(t.fixture('chrome', what)), open = new Map();
	let wrong = 0, last = new Map();
	for (const e of traceEvents) {
		const thread = `${e.pid} ${e.tid}`, stack = open.get(thread) || [];
		open.set(thread, stack);
		if (e.ph === 'M')
			continue;
		wrong += e.ts < (last.get(thread) || 0);
		last.set(thread, e.ts);
		if (e.ph === 'B')
			stack.push(e.name);
		else
			wrong += e.ph !== 'E' || stack.pop() !== e.name;
	}
	t.equal(wrong, 0, `${what}: calls nest, time does not go back`);
	t.ok([...open.values()].every(s => !s.length), `${what}: all calls end`);
}

async function main() {
	for (const what of ['plain', 'stacks', 'hostile'])
		checkEvents(what);
	const results = await t.throughSpeedscope(new Map(['stacks', 'hostile'].map(w => [`${w}.trace.json`, t.fixture('chrome', w)])));
	for (const what of ['stacks', 'hostile']) {
		const r = results.get(`${what}.trace.json`), got = { cycles: new t.Stacks(), faults: new t.Stacks() };
		if (!t.ok(r.file, `${what}: speedscope loads it`)) {
			console.log(`# ${r.error}`);
			continue;
		}
		// Without samples a stack lasts as many microseconds as it weighs; with them for how long it was seen: compared is where.
		const seen = { cycles: new Map(), faults: new Map() };
		for (const profile of r.file.profiles) {
			const [, comm, event] = /, (.*) \((cycles|faults)\) \(tid/.exec(profile.name);
			for (const line of t.speedscopeStacks(r.file, profile, w => what === 'stacks' ? Math.round(w) : w > 0 ? 1 : 0).lines()) {
				const [, stack, weight] = /^([^]*) (\d+)$/.exec(line);
				if (!stack)
					continue;	// time when the thread did not run
				if (what === 'stacks')
					got[event].add([comm, stack], weight);
				else
					seen[event].set(`${comm}|${stack}`, 1);
			}
		}
		for (const event of ['cycles', 'faults']) {
			for (const stack of seen[event].keys())
				got[event].add([stack], 1);
			const once = new Map(t.expected(what).filter(e => e.event === event).map(e => [e.frames.join('|'), e]));
			t.equalStacks(got[event], what === 'stacks' ? t.stacksOf(t.expected(what), event) :
				t.stacksOf([...once.values()].map(e => ({ frames: e.frames, weight: 1 }))), `${what}: ${event}`);
		}
	}
	t.done();
}

main();
