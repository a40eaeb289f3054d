// SPDX-License-Identifier: GPL-2.0-or-later
// Comparisons in a real browser: colours, widths, tips and the table of the page against what the
// stacks say and against the JSON of the same comparison.
'use strict';
const child = require('child_process');
const fs = require('fs');
const path = require('path');
const t = require('./lib.js');

const xenflame = process.env.XENFLAME || 'xenflame';
const examples = path.join(process.env.abs_top_srcdir || path.join(__dirname, '../..'), 'examples');

const BEFORE = { 'app;main;grown_[h]': 1000, 'app;main;shrunk': 2000, 'app;main;gone;deep': 500, 'app;main;same': 6500 };
const AFTER = { 'app;main;grown_[h]': 4000, 'app;main;shrunk': 2000, 'app;main;came': 1000, 'app;main;same': 13000 };

function made(name, stacks) {
	const file = path.join(t.dir, name);
	fs.writeFileSync(file, Object.entries(stacks).map(([s, n]) => `${s} ${n}\n`).join(''));
	return file;
}

function diff(name, ...args) {
	const file = path.join(t.dir, name);
	child.execFileSync(xenflame, ['diff', '-q', '--offline', '-o', file, ...args]);
	return file;
}

// Widths of the boxes of a level, in thousandths of the picture, by title.
const widths = (page, under) => page.evaluate((want) => {
	const v = document.documentElement.xenflame, p = v.pane, tree = v.tree, at = v.followTitles(tree, want), of = {};
	for (let c = at + 1; c < tree.end[at]; c = tree.end[c])
		if (p.boxOf(c) >= 0)
			of[v.model.title[tree.frame[c]]] = Math.round(1000 * p.w[p.boxOf(c)] / p.width);
	return of;
}, under);

// "orange", "blue" or "grey": what is drawn at the left edge of a box.
async function color(page, titles) {
	const s = await t.spot(page, titles);
	return page.evaluate(({ want }) => {
		const v = document.documentElement.xenflame, p = v.pane, b = p.boxOf(v.followTitles(v.tree, want));
		const dpr = window.devicePixelRatio || 1, y = p.rowY(v.tree.depth[v.followTitles(v.tree, want)]) + v.rowHeight - 3;
		const [r, , blue] = p.canvas.getContext('2d').getImageData(Math.round((p.x[b] + p.w[b] / 2) * dpr), Math.round(y * dpr), 1, 1).data;
		return Math.abs(r - blue) < 8 ? 'grey' : r > blue ? 'orange' : 'blue';
	}, { s, want: titles });
}

async function colors(page, under, titles) {
	const of = {};
	for (const title of titles)
		of[title] = await color(page, [...under, title]);
	return of;
}

// What the list of widths says; or chooses from it.  (As an element of an SVG it is none to the driver.)
const width = (page, by) => page.evaluate((want) => {
	const e = document.getElementById('xf-width');
	if (want) {
		e.value = want;
		e.dispatchEvent(new Event('change'));
	}
	return new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(e.value))));
}, by);
const line = page => page.locator('.xf-line').innerText();
const legend = page => page.locator('.xf-legend').innerText();

async function shown(browser, file, live) {
	const page = await t.open(browser, file);
	t.match(await page.locator('.xf-head h1').innerText(), /^before\.folded → after\.folded$/, 'the title says what is compared');
	t.match(await legend(page), /more in AFTER[^]*less in AFTER[^]*within noise[^]*only in BEFORE: deep 5\.00%, gone 5\.00%; 2 boxes with 5\.00% of it/, 'the legend names the direction, and what has vanished');
	t.equal(await widths(page, ['app', 'main']), { came: 50, 'grown_[h]': 200, same: 650, shrunk: 100 }, 'widths by AFTER');
	t.equal(await colors(page, ['app', 'main'], ['came', 'grown_[h]', 'same', 'shrunk']), { came: 'orange', 'grown_[h]': 'orange', same: 'grey', shrunk: 'blue' }, 'colours');
	t.equal(await color(page, ['app', 'main']), 'grey', 'the sum of all has not changed');
	const s = await t.spot(page, ['app', 'main', 'shrunk']);
	await page.mouse.move(s.x, s.y);
	t.match(await line(page), /total 20\.00% → 10\.00% \(−10\.00% ± 1\.\d\d%, beyond noise\) · self 20\.00% → 10\.00%/, 'the tip tells total and self of both sides');

	await page.locator('.xf-gone').click();
	t.equal(await width(page), 'union', 'a press shows what has vanished');
	t.equal(await widths(page, ['app', 'main']), { came: 43, gone: 43, 'grown_[h]': 174, same: 565, shrunk: 174 }, 'by the larger of both');
	t.equal(await color(page, ['app', 'main', 'gone', 'deep']), 'blue', 'and what has vanished is blue');
	t.ok(!/only in/.test(await legend(page)), 'nothing is left to be named');
	if (live)
		t.equal(await page.evaluate(() => location.hash), '#by=union', 'the address holds it');
	await width(page, 'before');
	t.equal(await widths(page, ['app', 'main']), { gone: 50, 'grown_[h]': 100, same: 650, shrunk: 200 }, 'by BEFORE');
	t.match(await legend(page), /only in AFTER: came 5\.00%/, 'and what that cannot show');
	await page.locator('button', { hasText: 'Invert' }).click();
	t.equal(await widths(page, []), { deep: 50, 'grown_[h]': 100, same: 650, shrunk: 200 }, 'inverted: the same widths');
	t.equal(await colors(page, [], ['deep', 'grown_[h]', 'same', 'shrunk']), { deep: 'blue', 'grown_[h]': 'orange', same: 'grey', shrunk: 'blue' }, 'and colours');
	await page.locator('button', { hasText: 'Reset' }).click();

	await page.locator('#xf-tab-table').click();
	const rows = await page.evaluate(() => [...document.querySelectorAll('.xf-table-wrap tbody tr')].map(r => [...r.children].map(c => c.innerText)));
	t.equal(rows.slice(0, 2).map(r => r[8]).sort(), ['grown_[h]', 'shrunk'], 'the table: the largest sure changes come first');
	const row = rows.find(r => r[8] === 'gone');
	t.equal([row[0], row[4], row[5], row[6]], ['', '5.00%', '0.00%', '−5.00% *'], 'what has vanished is in the table');
	t.ok(!/\*/.test(rows.find(r => r[8] === 'same').join()), 'what stayed has no star');

	await page.evaluate(() => document.documentElement.xenflame.sandwich(document.documentElement.xenflame.frameByTitle('main')));
	const both = await page.evaluate(() => {
		const v = document.documentElement.xenflame, c = v.callees.tree;
		return [c.total[0], Math.round(c.baseTotal[0]), v.callers.tree.total[0]];
	});
	t.equal(both, [20000, 20000, 20000], 'callers and callees know both sides');
	t.equal(page.errors, [], 'no errors');
	await page.context().close();
}

// What the page finds for itself in views that the file has no figures for, tried on the one that it has.
async function agrees(browser) {
	/* Halves of a recording; in one of them a function of the kernel has another name. */
	const text = path.join(t.dir, 'whole.perf-script.txt');
	child.execFileSync(xenflame, ['-q', '--offline', path.join(examples, 'xen-host/perf.data.kvm'), '-o', text]);
	const samples = fs.readFileSync(text, 'utf8').replace(/^(#.*\n)+/, '').split('\n\n').filter(s => s);
	const args = [0, 1].map((half) => {
		const file = path.join(t.dir, `half-${half}.perf.txt`);
		fs.writeFileSync(file, samples.filter((s, i) => (i >> 3) % 2 === half).join('\n\n').replace(/ do_syscall_64 /g, half ? ' do_syscall_new ' : '$&'));
		return file;
	});
	const page = await t.open(browser, diff('xen.html', ...args));
	const j = JSON.parse(fs.readFileSync(diff('xen.json', ...args)));
	const key = (label, module, space) => [label, module, space].join('|');
	const want = {}, got = {};
	for (const f of j.diff.functions) {
		const frame = j.frames[f.frame];
		want[key(frame.label, frame.module || '', frame.space)] = [f.self.changed, f.total.changed, f.self.half, f.total.half];
	}
	const rows = await page.evaluate(() => {
		const v = document.documentElement.xenflame, m = v.model, n = v.noise, all = byFrameOf(v);
		return all.map(({ f, self, total, base, baseTotal }) => [[m.title[f], m.module(f), m.space(f)].join('|'),
			n.sure(self, base, v.whole, f, 'own'), n.sure(total, baseTotal, v.whole, f, 'total'),
			n.half(self, base, v.whole, f, true), n.half(total, baseTotal, v.whole, f, false)]);

		function byFrameOf(viewer) {
			viewer.go({ tab: 'table' });
			const { self, total, base, baseTotal } = viewer.tableOf;
			return [...Array(viewer.model.own).keys()].map(f => ({ f, self: self[f], total: total[f], base: base[f], baseTotal: baseTotal[f] }));
		}
	});
	for (const [k, ...values] of rows)
		got[k] = values;
	const names = Object.keys(want);
	t.ok(names.length > 500 && names.every(k => got[k]), `the page knows all ${names.length} functions`);
	const other = names.filter(k => got[k][0] !== want[k][0] || got[k][1] !== want[k][1]);
	t.equal(other, [], 'what has changed beyond noise is the same in page and JSON');
	t.ok(names.some(k => want[k][1]) && names.some(k => !want[k][1]), 'and there are both kinds');
	const far = names.filter(k => [2, 3].some(i => Math.abs(got[k][i] - want[k][i]) > 0.01 * want[k][i] + 0.01));
	t.equal(far, [], 'intervals too');

	// A window of time is compared with BEFORE at its size.
	await page.evaluate(() => document.documentElement.xenflame.filter({ tab: 'graph', window: [10, 40] }));
	const sums = await page.evaluate(() => {
		const tree = document.documentElement.xenflame.tree;
		return [tree.total[0], tree.baseTotal[0]];
	});
	t.ok(sums[0] > 0 && sums[0] < j.nodes.total[0] && Math.abs(sums[0] - sums[1]) < 1e-6 * sums[0], `a window: both sides have one size, ${sums}`);
	t.equal(await page.getByLabel('Group', { exact: true }).locator('option').allInnerTexts(), ['command', 'domain', 'space'], 'no groups that one side has no names for');
	await page.selectOption('#xf-group', 'space');
	const grouped = await page.evaluate(() => {
		const tree = document.documentElement.xenflame.tree;
		return [tree.total[0], tree.baseTotal[0]];
	});
	t.ok(Math.abs(grouped[0] - sums[0]) < 1e-6 * sums[0] && Math.abs(grouped[1] - sums[1]) < 1e-6 * sums[1], 'and in groups');
	t.equal(page.errors, [], 'no errors');
	await page.context().close();
}

t.run(async (browser) => {
	const files = [made('before.folded', BEFORE), made('after.folded', AFTER)];
	for (const format of ['svg', 'html']) {
		console.log(`# ${format}`);
		await shown(browser, diff(`made.${format}`, ...files), true);
	}
	const page = await t.open(browser, diff('union.svg', ...files, '--width-by=union', '--negate'));
	t.equal(await width(page), 'union', '--width-by is what the page starts with');
	t.equal(await colors(page, ['app', 'main'], ['came', 'gone']), { came: 'blue', gone: 'orange' }, '--negate swaps colours');
	t.match(await legend(page), /less in AFTER[^]*more in AFTER/, 'and says so');
	await page.context().close();
	const still = await t.open(browser, diff('still.html', ...files), { scripts: false });
	t.match(await still.locator('noscript').innerText(), /5\.00 +0\.00 +-5\.00 +\d\.\d\d \* deep/, 'without scripts the page is the table');
	await still.context().close();
	await agrees(browser);
});
