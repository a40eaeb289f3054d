// SPDX-License-Identifier: GPL-2.0-or-later
// Firefox Profiler's processed profiles: every column of every table as version 66 has them, every index in range, and
// each thread's stacks and weights.
'use strict';
const t = require('./lib.js');

// Columns of version 66 by table, with what an entry may be: 'text' an index of stringArray, another table's name an index of it,
// 'name?' that or null, 'name-' that or -1.
const tables = {
	stackTable: { frame: 'frameTable', prefixOffset: 'number' },
	frameTable: { address: 'number', inlineDepth: 'number', category: 'categories?', subcategory: 'number', func: 'funcTable',
		nativeSymbol: 'nativeSymbols?', innerWindowID: 'number', line: 'number?', column: 'number?',
		originalLocation: 'sourceLocationTable?' },
	funcTable: { name: 'text', isJS: 'boolean', relevantForJS: 'boolean', resource: 'resourceTable-', source: 'sources?',
		lineNumber: 'number?', columnNumber: 'number?', originalLocation: 'sourceLocationTable?' },
	resourceTable: { lib: 'libs?', name: 'text', host: 'text?', type: 'number' },
	nativeSymbols: { libIndex: 'libs', address: 'number', name: 'text', functionSize: 'number?' },
	sources: { id: 'string?', filename: 'text', startLine: 'number', startColumn: 'number', sourceMapURL: 'text?', content: 'string?' },
	sourceLocationTable: { source: 'sources', line: 'number', column: 'number' },
};

function lengths(p) {
	const n = { text: p.shared.stringArray.length, libs: p.libs.length, categories: p.meta.categories.length };
	for (const name of Object.keys(tables))
		n[name] = p.shared[name].length;
	return n;
}

function wrongCell(kind, v, n) {
	if (kind.endsWith('?')) {
		if (v === null)
			return false;
		kind = kind.slice(0, -1);
	} else if (kind.endsWith('-')) {
		if (v === -1)
			return false;
		kind = kind.slice(0, -1);
	}
	if (kind in n)
		return !(Number.isInteger(v) && v >= 0 && v < n[kind]);
	return typeof v !== kind;
}

function checkTables(p, what) {
	const n = lengths(p), wrong = [];
	for (const [name, columns] of Object.entries(tables)) {
		const table = p.shared[name];
		if (Object.keys(table).sort().join() !== [...Object.keys(columns), 'length'].sort().join())
			wrong.push(`${name} has ${Object.keys(table)}`);
		for (const [column, kind] of Object.entries(columns)) {
			if (table[column].length !== table.length)
				wrong.push(`${name}.${column}: length`);
			const at = table[column].findIndex(v => wrongCell(kind, v, n));
			if (at >= 0)
				wrong.push(`${name}.${column}[${at}] = ${table[column][at]}`);
		}
	}
	p.shared.stackTable.prefixOffset.forEach((k, i) => {
		if (k < 0 || k > i)
			wrong.push(`stackTable.prefixOffset[${i}] = ${k}`);
	});
	for (const thread of p.threads) {
		const s = thread.samples, m = thread.markers;
		if (['stack', 'time', 'weight'].some(c => s[c].length !== s.length) || s.weightType !== 'samples')
			wrong.push('samples');
		if (s.stack.some(v => wrongCell('stackTable?', v, n)) || s.time.some((v, i) => i && v < s.time[i - 1]))
			wrong.push('stacks or times');
		if (['data', 'name', 'startTime', 'endTime', 'phase', 'category'].some(c => m[c].length !== m.length) ||
			m.name.some(v => wrongCell('text', v, n)) || m.category.some(v => wrongCell('categories', v, n)))
			wrong.push('markers');
		if (typeof thread.pid !== 'string' || typeof thread.name !== 'string' || typeof thread.isMainThread !== 'boolean')
			wrong.push('thread');
	}
	t.equal(wrong.slice(0, 5).join('; '), '', `${what}: tables and indexes`);
	const subs = p.shared.frameTable.subcategory.findIndex((v, f) => !p.meta.categories[p.shared.frameTable.category[f]].subcategories[v]);
	t.equal(subs, -1, `${what}: subcategories`);
	t.ok(p.meta.preprocessedProfileVersion === 66 && p.meta.categories.some(c => c.color === 'grey') &&
		p.meta.categories.every(c => c.subcategories[0] === 'Other') && p.meta.interval > 0, `${what}: meta`);
}

function check(what, event = null) {
	const p = JSON.parse(t.fixture('firefox', what, event)), { shared } = p;
	checkTables(p, what);
	const name = f => shared.stringArray[shared.funcTable.name[shared.frameTable.func[f]]];
	const stack = i => {
		const frames = [];
		for (; i !== null; i = shared.stackTable.prefixOffset[i] ? i - shared.stackTable.prefixOffset[i] : null)
			frames.unshift(name(shared.stackTable.frame[i]));
		return frames;
	};
	const got = { cycles: new t.Stacks(), faults: new t.Stacks() };
	for (const thread of p.threads) {
		const m = event === null ? / \((cycles|faults)\)$/.exec(thread.name) : [null, ['cycles', 'faults'][event]];
		thread.samples.stack.forEach((s, i) => got[m[1]].add([thread.processName, ...stack(s)], thread.samples.weight[i]));
	}
	const want = t.expected(what);
	for (const e of event === null ? ['cycles', 'faults'] : [['cycles', 'faults'][event]])
		t.equalStacks(got[e], t.stacksOf(want, e), `${what}: ${e}`);
	return p;
}

function checkDetails(p) {
	const { shared } = p, categories = p.meta.categories.map(c => c.name);
	let wrong = 0, seen = 0;
	for (let f = 0; f < shared.frameTable.length; f++) {
		const func = shared.frameTable.func[f], name = shared.stringArray[shared.funcTable.name[func]];
		const resource = shared.funcTable.resource[func], source = shared.funcTable.source[func];
		if (name.endsWith('_[h]')) {
			seen++;
			wrong += categories[shared.frameTable.category[f]] !== 'Hypervisor' ||
				shared.stringArray[shared.resourceTable.name[resource]] !== 'xen-syms' ||
				p.libs[shared.resourceTable.lib[resource]].name !== 'xen-syms' ||
				shared.stringArray[shared.sources.filename[source]] !== 'arch/x86/mm.c' || !(shared.frameTable.line[f] >= 100);
		} else if (name === 'ksys_read') {
			seen++;
			wrong += categories[shared.frameTable.category[f]] !== 'Kernel' || source !== null || shared.frameTable.line[f] !== null;
		}
	}
	t.ok(seen > 3 && wrong === 0, 'categories, modules, files and lines');
	t.ok(p.meta.extra.some(s => s.entries.some(e => e.value === '3 samples were lost')), 'what was lost is told');
	t.ok(new Set(p.threads.map(x => x.pid)).size === 5, 'processes');
	const marked = p.threads.filter(x => x.markers.length), m = marked[0].markers;
	t.ok(marked.length === 1 && marked[0].showMarkersInTimeline && marked[0].samples.length === Math.max(...p.threads.map(x => x.samples.length)),
		'losses stand in the thread with most samples');
	t.equal(m.name.map(i => shared.stringArray[i]).join(), 'samples lost,samples lost,sampling throttled', 'markers by name');
	t.equal(JSON.stringify(m.data), '[{"type":"Loss","count":1,"cpu":2},{"type":"Loss","count":2},{"type":"Loss","count":0,"cpu":3}]', 'their data');
	const last = Math.max(...p.threads.flatMap(x => x.samples.time));
	t.ok(m.startTime[0] === 0 && m.startTime[1] === last && m.startTime[2] === last && m.phase.every(x => x === 0), 'their times');
	const schema = p.meta.markerSchema.find(s => s.name === 'Loss');
	t.equal(schema.fields.map(f => `${f.key}:${f.format}`).join(), 'count:integer,cpu:integer', 'their schema');
}

for (const what of ['stacks', 'hostile', 'big'])
	check(what);
checkDetails(check('plain'));
check('plain', 1);
t.done();
