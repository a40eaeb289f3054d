// SPDX-License-Identifier: GPL-2.0-or-later
// pprof files, decoded by the npm package pprof-format and by the released speedscope: every weight, name, label, mapping and line.
'use strict';
const zlib = require('zlib');
const t = require('./lib.js');

const { Profile } = t.need('pprof-format');

t.needSpeedscope();

function decode(what, event = null) {
	const p = Profile.decode(zlib.gunzipSync(t.fixture('pprof', what, event)));
	const str = i => p.stringTable.strings[Number(i)];
	const by = list => new Map(list.map(x => [Number(x.id), x]));
	const functions = by(p.function), locations = by(p.location), mappings = by(p.mapping);
	// Frames root first; each with the size of its location, so that inlined ones can be told.
	const frames = sample => sample.locationId.map(Number).reverse().flatMap(id => {
		const loc = locations.get(id);
		return [...loc.line].reverse().map((line, i) => ({ outermost: i === 0, ...functions.get(Number(line.functionId)), line: Number(line.line),
			lines: loc.line.length, mapping: mappings.get(Number(loc.mappingId)) }));
	});
	const labels = sample => Object.fromEntries(sample.label.map(l => [str(l.key), Number(l.str) ? str(l.str) : Number(l.num)]));
	return { p, str, frames, labels };
}

function check(what, event = null) {
	const { p, str, frames } = decode(what, event);
	const types = p.sampleType.map(v => str(v.type));
	const want = t.expected(what);
	t.equal(p.stringTable.strings[0], '', `${what}: string 0 is empty`);
	t.equal(types.join(), event === null ? 'cycles,faults' : ['cycles', 'faults'][event], `${what}: a sample type an event`);
	types.forEach((type, i) => {
		const got = new t.Stacks();
		for (const s of p.sample)
			got.add(frames(s).map(f => str(f.name)), s.value[i]);
		t.equalStacks(got, t.stacksOf(want, type), `${what}: ${type}`);
	});
	t.ok(p.sample.every(s => s.value.length === types.length), `${what}: as many values as sample types`);
	const ids = list => new Set(list.map(x => Number(x.id)));
	t.equal(ids(p.location).size, p.location.length, `${what}: location ids are unique`);
	t.equal(ids(p.function).size, p.function.length, `${what}: function ids are unique`);
	t.ok(![...ids(p.location), ...ids(p.function), ...ids(p.mapping)].includes(0), `${what}: no id is 0`);
}

function checkDetails() {
	const { p, str, frames, labels } = decode('plain');
	const spaces = new Set(), cpus = new Set();
	let inlined = 0, wrong = 0;
	for (const s of p.sample) {
		const list = frames(s), l = labels(s);
		spaces.add(l.space);
		cpus.add(l.cpu);
		wrong += l.comm !== str(list[0].name) || list[0].mapping !== undefined;
		wrong += !(l.pid >= 100 && l.pid < 105 && l.tid >= 100 && l.tid < 107);
		for (const f of list.slice(1)) {
			const name = str(f.name), file = str(f.filename);
			wrong += !f.mapping || !f.mapping.hasFunctions || !f.mapping.hasInlineFrames;
			if (name === 'do_mmu_update_[h]')
				wrong += str(f.mapping.filename) !== 'xen-syms' || file !== 'arch/x86/mm.c' || f.line !== 102 ||
					str(f.systemName) !== 'do_mmu_update';
			if (name === 'get_page_from_l1e_[h]') {
				wrong += f.lines !== 2;		/* one place with do_mmu_update, which it is inlined into */
				inlined++;
			}
			if (name === 'ksys_read')
				wrong += str(f.mapping.filename) !== '[kernel.kallsyms]' || f.line !== 0;
		}
	}
	t.equal(wrong, 0, 'labels, mappings, files and lines');
	t.ok(inlined > 0, 'inlined hypervisor functions were seen');
	t.ok(spaces.has('hypervisor') && spaces.has('kernel') && spaces.has('user'), 'labels tell the space');
	t.equal([...cpus].sort().join(), '0,1,2,3', 'labels tell the cpu');
	t.ok(p.durationNanos > 0, 'the duration is there');
	t.equal(p.comment.map(str).join('|'), 'made|host: dom0 "x"|release: 6.1.0|3 samples were lost', 'comments');
	t.equal(p.sampleType.map(v => str(v.unit)).join(), 'cycles,cycles', 'units');
	const stacks = decode('stacks');
	t.ok(stacks.p.sample.every(s => !('cpu' in stacks.labels(s))), 'no cpu without samples');
}

async function main() {
	for (const what of ['plain', 'stacks', 'hostile', 'big'])
		check(what);
	check('plain', 1);
	checkDetails();
	const results = await t.throughSpeedscope(new Map(['plain', 'hostile', 'big'].map(w => [`${w}.pb.gz`, t.fixture('pprof', w, 0)])));
	for (const what of ['plain', 'hostile', 'big']) {
		const r = results.get(`${what}.pb.gz`);
		if (!t.ok(r.file, `${what}: speedscope loads it`)) {
			console.log(`# ${r.error}`);
			continue;
		}
		// It shows one function a location, the outermost.
		const { p, str, frames } = decode(what, 0), want = new t.Stacks();
		for (const s of p.sample)
			want.add(frames(s).filter(f => f.outermost).map(f => str(f.name)), s.value[0]);
		t.equalStacks(t.speedscopeStacks(r.file, r.file.profiles[0]), want, `${what}: in speedscope`);
	}
	t.done();
}

main();
