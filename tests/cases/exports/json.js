// SPDX-License-Identifier: GPL-2.0-or-later
// Our own JSON: valid by its published schema, and every stack, sample and sum in it.
'use strict';
const child = require('child_process');
const fs = require('fs');
const path = require('path');
const t = require('./lib.js');

const Ajv = t.need('ajv');
const ajv = new (Ajv.default || Ajv)({ strict: false });
const schema = JSON.parse(fs.readFileSync(path.join(process.env.abs_top_srcdir, 'docs/json-schema/profile-1.json'), 'utf8'));
const validate = ajv.compile(schema);

function check(what, event = null) {
	const j = JSON.parse(t.fixture('json', what, event));
	if (!t.ok(validate(j), `${what}: valid by the schema`))
		console.log(`# ${ajv.errorsText(validate.errors)}`);
	const n = j.nodes, events = new Map();
	const stack = i => n.parent[i] === null ? [] : [...stack(n.parent[i]), j.frames[n.frame[i]].label];
	const total = n.self.slice();
	for (let i = n.self.length - 1; i > 0; i--)
		total[n.parent[i]] += total[i];
	t.equal(total.join(), n.total.join(), `${what}: totals are sums of their parts`);
	for (let i = 0; i < n.self.length; i++) {
		if (!n.self[i])
			continue;
		const frames = stack(i), name = event === null ? frames.shift() : j.events[j.event].name;
		if (!events.has(name))
			events.set(name, new t.Stacks());
		events.get(name).add(frames, n.self[i]);
	}
	const want = t.expected(what);
	t.equal([...events.keys()].join(), event === null ? 'cycles,faults' : ['cycles', 'faults'][event], `${what}: events`);
	for (const [name, stacks] of events) {
		t.equalStacks(stacks, t.stacksOf(want, name), `${what}: ${name}`);
		const e = j.events.find(x => x.name === name);
		t.equal(BigInt(e.weight), stacks.total, `${what}: weight of ${name}`);
		t.equal(BigInt(e.samples), want.filter(x => x.event === name).reduce((a, x) => a + x.samples, 0n), `${what}: samples of ${name}`);
	}
	t.equal(Object.values(j.self_by_space).reduce((a, b) => a + b), n.total[0], `${what}: spaces add up`);
	if (what === 'stacks') {
		t.ok(!('samples' in j), `${what}: no samples`);
		return;
	}
	const s = j.samples, got = new Map([...events.keys()].map(k => [k, new t.Stacks()]));
	s.node.forEach((node, i) => {
		const frames = stack(node);
		if (event === null)
			frames.shift();
		got.get(j.events[s.event[i]].name).add(frames, s.weight[i]);
	});
	for (const [name, stacks] of got)
		t.equalStacks(stacks, t.stacksOf(want, name), `${what}: samples of ${name}, one by one`);
	t.ok(Object.values(s).every(c => c.length === s.node.length), `${what}: columns are of one length`);
	t.ok(s.time.every((x, i) => !i || x >= s.time[i - 1]), `${what}: time does not go back`);
}

for (const what of ['plain', 'hostile', 'stacks', 'big'])
	check(what);
check('plain', 1);
const recording = path.join(process.env.abs_top_srcdir, 'examples/xen-host/perf.data.kvm');
const diff = JSON.parse(child.execFileSync(process.env.XENFLAME, ['diff', '-q', '--offline', '--format=json', recording, recording],
	{ maxBuffer: 1 << 30 }));
if (!t.ok(validate(diff) && diff.diff.functions.length > 100, 'a comparison is valid by the schema'))
	console.log(`# ${ajv.errorsText(validate.errors)}`);
t.equal(diff.diff.changed_self.length, 0, 'and nothing differs from itself');
const broken = JSON.parse(t.fixture('json'));
broken.nodes.self[3] = -1;
t.ok(!validate(broken), 'the schema refuses a negative weight');
t.done();
