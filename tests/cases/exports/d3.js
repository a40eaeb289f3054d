// SPDX-License-Identifier: GPL-2.0-or-later
// The tree for d3-flame-graph, drawn by the released library in Chromium: each box's name, value and place.
'use strict';
const fs = require('fs');
const path = require('path');
const t = require('./lib.js');

// In the order in which they need each other.
const libraries = ['d3-array', 'd3-color', 'd3-format', 'd3-interpolate', 'd3-time', 'd3-time-format', 'd3-scale', 'd3-selection',
	'd3-dispatch', 'd3-timer', 'd3-ease', 'd3-transition', 'd3-hierarchy'].map(n => path.join(t.packageDir(n), `dist/${n}.js`));
libraries.push(path.join(t.packageDir('d3-flame-graph'), 'dist/d3-flamegraph.umd.js'));

t.needChromium();

// Boxes as "depth x value name" with x the sum of the values left of it.
function expectedBoxes(what) {
	const root = { value: 0n, children: new Map(), self: 0n };
	for (const e of t.expected(what)) {
		let node = root;
		node.value += e.weight;
		for (const f of [e.event, ...e.frames]) {
			if (!node.children.has(f))
				node.children.set(f, { value: 0n, children: new Map() });
			node = node.children.get(f);
			node.value += e.weight;
		}
	}
	const boxes = [];
	const walk = (node, name, depth) => {
		if (!node.value)
			return;
		boxes.push(`${depth} ${node.value} ${name}`);
		for (const [n, c] of node.children)
			walk(c, n, depth + 1);
	};
	walk(root, 'made', 0);
	return boxes.sort();
}

async function main() {
	const html = `<!DOCTYPE html><meta charset="utf-8"><body><div id="chart"></div>${
		libraries.map((_, i) => `<script src="/lib${i}.js"></script>`).join('')}</body>`;
	const files = new Map([['page.html', Buffer.from(html)]]);
	libraries.forEach((file, i) => files.set(`lib${i}.js`, fs.readFileSync(file)));
	for (const what of ['plain', 'hostile'])
		files.set(`${what}.d3.json`, t.fixture('d3', what));
	const draw = what => `(async () => {
		const data = await (await fetch('/${what}.d3.json')).json();
		document.getElementById('chart').textContent = '';
		const chart = flamegraph.default().width(20000).minFrameSize(0).transitionDuration(0);
		d3.select('#chart').datum(data).call(chart);
		await new Promise(r => setTimeout(r, 500));
		const boxes = [], wrong = [];
		d3.select('#chart').selectAll('g').each(d => {
			if (!d || d.depth === undefined)
				return;
			boxes.push(d.depth + ' ' + d.value + ' ' + d.data.name);
			const children = d.children || [];
			const width = children.reduce((a, c) => a + c.x1 - c.x0, 0);
			if (width > d.x1 - d.x0 + 1e-9 || Math.abs((d.x1 - d.x0) - d.data.value / data.value) > 1e-9)
				wrong.push(d.data.name);
		});
		return { boxes: boxes.sort(), wrong };
	})()`;
	const results = await t.inPage(files, 'page.html', ['plain', 'hostile'].map(draw));
	['plain', 'hostile'].forEach((what, i) => {
		const got = results[i].boxes, want = expectedBoxes(what);
		if (!t.ok(got.length === want.length && got.every((b, k) => b === want[k]), `${what}: ${want.length} boxes`))
			console.log(`# ${JSON.stringify(want.filter(b => !got.includes(b)).slice(0, 5))}\n# ${
				JSON.stringify(got.filter(b => !want.includes(b)).slice(0, 5))}`);
		t.equal(results[i].wrong.join(), '', `${what}: widths are shares`);
	});
	t.done();
}

main();
