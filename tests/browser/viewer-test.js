// SPDX-License-Identifier: GPL-2.0-or-later
// The viewer in a real browser: what people do with it, in the SVG and in the HTML file.  The right
// answers come from the stacks of make_xen() in make-graph.c, added up by hand.
'use strict';
const child = require('child_process');
const fs = require('fs');
const path = require('path');
const zlib = require('zlib');
const t = require('./lib.js');

const SECOND = 1e9;

const line = page => page.locator('.xf-line').innerText();
const found = page => page.locator('.xf-found').innerText();
const hash = page => page.evaluate(() => decodeURIComponent(location.hash));
const crumbs = page => page.locator('.xf-crumbs').innerText();

async function search(page, text) {
	await page.locator('.xf-search').fill(text);
	await page.waitForTimeout(250);
}

async function zoom(browser, file) {
	const page = await t.open(browser, file);
	t.match(await page.locator('.xf-head').innerText(), /Flame graph[^]*cycles · 1,000 samples/, 'title, event, total');
	const s = await t.spot(page, ['dd', '_start', 'main']);
	await page.mouse.move(s.x, s.y);
	t.match(await line(page), /^main\s+dd · dd\.c:2100 · user\s+450 samples · 45\.00% of all · self 0 samples$/, 'hover tells function, module, line, shares');
	t.match(await page.locator('.xf-tip').innerText(), /main[^]*450 samples/, 'and in a tip');
	await t.clickBox(page, ['dd', '_start', 'main']);
	t.equal(await hash(page), '#z=dd;_start;main', 'the address holds the path');
	t.match(await crumbs(page), /all[^]*dd[^]*_start[^]*main/, 'breadcrumbs');
	const c = await t.spot(page, ['dd', '_start', 'main', 'copy']);
	await page.mouse.move(c.x, c.y);
	t.match(await line(page), /300 samples · 30\.00% of all · 66\.67% of the view · self 0/, 'shares of all and of the view');
	await t.clickBox(page, ['dd', '_start', 'main', 'copy']);
	await page.keyboard.press('Escape');
	t.equal(await hash(page), '#z=dd;_start;main', 'Escape goes back');
	await page.goBack();
	await page.waitForTimeout(80);
	t.match(await hash(page), /copy|^#z=dd;_start;main$/, 'so does the browser');
	await page.locator('.xf-crumbs button').first().click();
	t.equal(await hash(page), '', 'the first breadcrumb shows all');
	await t.clickBox(page, ['java', 'Interpreter']);
	await page.locator('button', { hasText: 'Reset' }).click();
	t.equal(await hash(page), '', 'reset');
	t.equal(page.errors, [], 'no errors');
	await page.context().close();
}

async function searching(browser, file) {
	const page = await t.open(browser, file);
	await search(page, 'copy');
	t.match(await found(page), /^matched: 30\.00% of all$/, 'a stack counts once, however often it matches');
	await search(page, 'COPY');
	t.match(await found(page), /30\.00%/, 'case is ignored');
	await page.locator('button', { hasText: 'Aa' }).click();
	t.match(await found(page), /0\.00%/, 'unless asked for');
	await page.locator('button', { hasText: 'Aa' }).click();
	await search(page, '_SPIN_lock_[');
	t.match(await found(page), /^matched: 17\.00% of all$/, 'text may hold signs');
	await search(page, '^_spin_lock_\\[h\\]$');
	t.match(await found(page), /0\.00%/, 'text is no regular expression');
	await page.locator('button', { hasText: '.*' }).click();
	t.match(await found(page), /^matched: 17\.00% of all$/, 'regular expression');
	await search(page, '(');
	t.match(await found(page), /not a regular expression/, 'a bad one is told');
	t.equal(await page.locator('.xf-search').getAttribute('aria-invalid'), 'true', 'and marked');
	await search(page, '^(copy|do_sched_op_.h.)$');
	t.match(await found(page), /^matched: 57\.00% of all$/, 'alternatives');
	await t.clickBox(page, ['dd', '_start', 'main']);
	t.match(await found(page), /^matched: 100\.00% of the view, 57\.00% of all$/, 'of the view and of all');
	await page.keyboard.press('Escape');
	await page.locator('.xf-search').press('Enter');
	const first = await line(page);
	t.match(first, /do_sched_op_\[h\]|copy/, 'Enter selects the first match');
	await page.locator('.xf-search').press('Enter');
	const second = await line(page);
	t.ok(second !== first, 'and the next');
	await page.locator('.xf-search').press('Shift+Enter');
	t.equal(await line(page), first, 'and back');
	t.match(await hash(page), /s=\^\(copy\|do_sched_op_\.h\.\)\$&re=1/, 'the address holds the search');
	await page.locator('.xf-search').press('Escape');
	t.equal([await page.locator('.xf-search').evaluate(e => e.value), await hash(page)], ['', '#re=1'], 'Escape clears it');
	t.equal(page.errors, [], 'no errors');
	await page.context().close();
}

async function keyboard(browser, file) {
	const page = await t.open(browser, file);
	await page.keyboard.press('/');
	t.equal(await page.evaluate(() => document.activeElement.className), 'xf-search', '/ goes to the search');
	await page.keyboard.press('Escape');
	t.equal(await page.evaluate(() => document.activeElement.localName), 'canvas', 'Escape leaves it');
	await page.keyboard.press('ArrowUp');
	t.match(await line(page), /^all/, 'the first arrow selects the root');
	await page.keyboard.press('ArrowUp');
	t.match(await line(page), /^dd/, 'up: the widest callee');
	await page.keyboard.press('ArrowRight');
	t.match(await line(page), /^java/, 'right: neighbour');
	await page.keyboard.press('ArrowLeft');
	await page.keyboard.press('ArrowLeft');
	t.match(await line(page), /^\[guest\]/, 'left');
	t.match(await page.locator('.xf-live').first().textContent(), /\[guest\], 150 samples/, 'told to screen readers');
	await page.keyboard.press('Enter');
	t.equal(await hash(page), '#z=[guest]', 'Enter zooms');
	await page.keyboard.press('Escape');
	t.equal(await hash(page), '', 'Escape goes back');
	await page.keyboard.press('ArrowDown');
	t.match(await line(page), /^all/, 'down: caller');
	await page.keyboard.press('f');
	t.match(await hash(page), /flip=1/, 'f flips');
	await page.keyboard.press('f');
	await page.keyboard.press('i');
	t.match(await hash(page), /inv=1/, 'i inverts');
	await page.keyboard.press('r');
	t.equal(await hash(page), '', 'r resets');
	await page.keyboard.press('?');
	t.ok(await page.locator('.xf-panel').isVisible(), '? shows the keys');
	await page.keyboard.press('Escape');
	t.ok(!await page.locator('.xf-panel').isVisible(), 'Escape closes them');
	t.equal(page.errors, [], 'no errors');
	await page.context().close();
}

async function state(browser, file) {
	let page = await t.open(browser, `${file}#s=vfs&z=dd;_start;main;copy`.replace(/^/, 'file://'));
	t.match(await crumbs(page), /copy/, 'zoom from the address');
	t.match(await found(page), /^matched: 33\.33% of the view, 18\.00% of all$/, 'search from the address');
	await page.context().close();
	page = await t.open(browser, `file://${file}#z=dd;_start;gone;copy`);
	t.match(await crumbs(page), /_start$/, 'a path that is no longer there: as deep as it goes');
	await page.context().close();
	page = await t.open(browser, `file://${file}#inv=1&z=do_sched_op_[h]&c=0&t=graph&x=%E0%A4%A&hide=nothing&of=no`);
	t.match(await crumbs(page), /do_sched_op_\[h\]$/, 'inverted and filtered');
	t.match(await page.locator('.xf-legend button[aria-pressed="true"]').innerText(), /hypervisor/, 'by hypervisor');
	t.equal(page.errors, [], 'nonsense in the address is no error');
	await page.context().close();
}

async function views(browser, file) {
	const page = await t.open(browser, file);
	await page.locator('.xf-legend button', { hasText: 'hypervisor' }).click();
	t.equal(await page.evaluate(() => document.documentElement.xenflame.tree.total[0]), 400, 'legend: stacks that end in the hypervisor');
	await page.locator('.xf-legend button', { hasText: 'guest user' }).click({ modifiers: ['Shift'] });
	t.equal(await page.evaluate(() => document.documentElement.xenflame.tree.total[0]), 450, 'with Shift: one more');
	await page.keyboard.press('r');
	t.match(await page.locator('.xf-legend').innerText(), /hypervisor\s*40\.0%[^]*kernel\s*18\.0%[^]*user\s*15\.0%[^]*JIT\s*12\.0%[^]*guest kernel\s*10\.0%[^]*guest user\s*5\.0%/, 'legend with shares');
	await page.locator('button', { hasText: 'Merge recursion' }).click();
	const s = await t.spot(page, ['java', 'Interpreter', 'Ljava/util/HashMap;::get']);
	await page.mouse.move(s.x, s.y);
	t.match(await line(page), /120 samples/, 'recursion merged');
	await page.keyboard.press('r');
	await page.keyboard.press('i');
	const inv = await page.evaluate(() => {
		const v = document.documentElement.xenflame, n = v.followTitles(v.tree, ['vfs_write', 'do_syscall_64', 'entry_SYSCALL_64_after_hwframe', 'Interpreter']);
		return [v.tree.depth[n], v.tree.total[n], v.tree.total[0]];
	});
	t.equal(inv, [4, 80, 1000], 'inverted');
	await page.keyboard.press('r');
	const tops = () => {
		const v = document.documentElement.xenflame, t = v.tree, names = [];
		for (let c = 1; c < t.n; c = t.end[c])
			names.push(v.model.title[t.frame[c]]);
		return names;
	};
	t.equal(await page.evaluate(tops), ['[guest]', 'dd', 'java'], 'order by name');
	await page.locator('button', { hasText: 'Widest first' }).click();
	t.equal(await page.evaluate(tops), ['dd', 'java', '[guest]'], 'order by width');
	t.match(await hash(page), /order=width/, 'in the address');
	await page.keyboard.press('r');

	await page.locator('[role=tab]', { hasText: 'Table' }).click();
	t.match(await page.locator('tbody tr').first().innerText(), /^150\s+15\.00%\s+270\s+27\.00%|^150\s+15\.00%/, 'table: by self');
	await page.locator('th button', { hasText: 'Total' }).click();
	t.match(await page.locator('tbody tr').first().innerText(), /^0\s+0\.00%\s+600\s+60\.00%\s+(do_syscall_64|entry)|^0\s+0\.00%\s+5/, 'by total');
	const copyRow = await page.locator('tbody tr', { has: page.locator('button', { hasText: /^copy$/ }) }).innerText();
	t.match(copyRow, /^50\s+5\.00%\s+300\s+30\.00%/, 'recursion counts once in the total');
	await search(page, 'copy');
	t.equal(await page.locator('tbody tr').count(), 1, 'the search filters the table');
	await page.locator('tbody button').first().click();
	t.match(await page.locator('.xf-sand').innerText(), /copy[^]*300 samples · 30\.00% of all/, 'callers and callees of it');
	const sand = await page.evaluate(() => {
		const v = document.documentElement.xenflame;
		return [v.callers.tree.total[0], v.callees.tree.total[0], v.callers.tree.total[1], v.model.title[v.callers.tree.frame[1]]];
	});
	t.equal(sand, [300, 300, 300, 'main'], 'weights on both sides');
	t.equal(page.errors, [], 'no errors');
	await page.context().close();
}

async function menu(browser, file) {
	const page = await t.open(browser, file);
	await t.clickBox(page, ['dd', '_start', 'main', 'copy'], { button: 'right' });
	t.ok(await page.locator('[role=menu]').isVisible(), 'the right mouse button opens the menu');
	await page.locator('[role=menuitem]', { hasText: 'Copy stack' }).click();
	t.equal(await page.evaluate(() => document.documentElement.xenflame.copied), 'copy\nmain\n_start\ndd\n', 'stack, innermost first');
	await t.clickBox(page, ['dd', '_start', 'main', 'copy'], { button: 'right' });
	await page.keyboard.press('ArrowDown');
	await page.keyboard.press('Enter');
	t.equal(await page.evaluate(() => document.documentElement.xenflame.copied), 'copy', 'name, by keyboard');
	await t.clickBox(page, ['dd', '_start', 'main', 'copy'], { button: 'right' });
	await page.locator('[role=menuitem]', { hasText: 'Hide stacks' }).click();
	t.equal(await page.evaluate(() => document.documentElement.xenflame.tree.total[0]), 700, 'stacks with it are hidden');
	await page.locator('.xf-crumbs button', { hasText: 'without copy' }).click();
	t.equal(await page.evaluate(() => document.documentElement.xenflame.tree.total[0]), 1000, 'and come back');
	await t.clickBox(page, ['dd', '_start', 'main', '__GI___libc_write'], { button: 'right' });
	await page.locator('[role=menuitem]', { hasText: 'Only stacks' }).click();
	t.equal(await page.evaluate(() => document.documentElement.xenflame.tree.total[0]), 300, 'focus merges all its occurrences');
	t.equal(page.errors, [], 'no errors');
	await page.context().close();
}

// Mean colour of a part of a screenshot, by the page's own decoder.
async function pixel(page, x, y) {
	const png = (await page.screenshot({ clip: { x, y, width: 1, height: 1 } })).toString('base64');
	return page.evaluate(async (b64) => {
		const img = new Image();
		img.src = `data:image/png;base64,${b64}`;
		await img.decode();
		const c = document.createElementNS('http://www.w3.org/1999/xhtml', 'canvas');
		c.width = c.height = 1;
		c.getContext('2d').drawImage(img, 0, 0);
		return [...c.getContext('2d').getImageData(0, 0, 1, 1).data.slice(0, 3)];
	}, png);
}

async function dark(browser, file) {
	const page = await t.open(browser, file, { scheme: 'dark' });
	t.equal(await pixel(page, 600, 200), [20, 23, 28], 'dark where the system is');
	await page.locator('button', { hasText: 'Theme' }).click();
	t.equal(await pixel(page, 600, 200), [255, 255, 255], 'the switch: light');
	// Storage reaches the next page by way of another process.
	await page.waitForTimeout(500);
	await page.reload();
	await page.waitForFunction(() => document.documentElement.xenflame);
	t.match(await page.locator('button', { hasText: 'Theme' }).innerText(), /light/, 'it stays');
	await page.locator('button', { hasText: 'Theme' }).click();
	t.equal(await pixel(page, 600, 200), [20, 23, 28], 'and dark again');
	const look = (what) => page.evaluate((event) => {
		window.dispatchEvent(new Event(event));
		return [document.documentElement.xenflame.look.dark, document.documentElement.xenflame.themeName];
	}, what);
	t.equal([await look('beforeprint'), await look('afterprint')], [[false, 'dark'], [true, 'dark']], 'paper is light');
	t.equal(page.errors, [], 'no errors');
	await page.context().close();
}

// --colors=share: a box is as dark as its share is large, in the still picture and on the canvas.
async function shares(browser) {
	const file = t.graph('svg', 'xen', 'colors=share'), still = await t.open(browser, file, { scripts: false });
	const fill = (titles) => still.locator('.xf-static rect', { has: still.locator('title', { hasText: new RegExp(`^${titles} \\(`) }) }).first().getAttribute('fill');
	const page = await t.open(browser, file);
	const seen = [];
	for (const titles of [['dd'], ['dd', '_start', 'main'], ['java']]) {
		const s = await t.spot(page, titles), color = await pixel(page, Math.round(s.x) + 20, Math.round(s.y - 6));
		seen.push([color, parseInt((await fill(titles[titles.length - 1])).slice(1), 16)]);
	}
	t.equal(seen.map(([c]) => c[0] << 16 | c[1] << 8 | c[2]), seen.map(([, c]) => c), 'by share: the canvas as the still picture');
	t.ok(seen[0][0][2] < seen[1][0][2] && seen[1][0][2] < seen[2][0][2], 'and the larger the darker');
	await still.context().close();
	await page.context().close();
}

async function sizes(browser) {
	for (const format of ['svg', 'html']) {
		const page = await t.open(browser, t.graph(format, 'big', 100000));
		t.ok(await page.evaluate(() => document.documentElement.xenflame.whole.n) >= 100000, `${format}: 100,000 boxes`);
		const sum = await page.evaluate(() => {
			const v = document.documentElement.xenflame;
			return v.whole.self.reduce((a, b) => a + b, 0) === v.whole.total[0] && v.whole.total[0] === v.total;
		});
		t.ok(sum, `${format}: nothing is lost`);
		t.ok(await page.evaluate(() => document.documentElement.xenflame.pane.boxes) < 60000, `${format}: only what can be seen is laid out`);
		t.equal(page.errors, [], 'no errors');
		await page.context().close();
	}
	const deep = await t.open(browser, t.graph('html', 'deep', 2500));
	t.equal(await deep.evaluate(() => document.documentElement.xenflame.pane.rows), 2501, '2,500 frames deep');
	t.ok(await deep.evaluate(() => document.documentElement.xenflame.pane.canvas.height) < 2000, 'on a canvas of the size of the window');
	await deep.context().close();
	const plain = t.graph('html', 'big', 20000, 'plain=1'), packed = t.graph('html', 'big', 20000);
	t.ok(fs.statSync(packed).size < fs.statSync(plain).size, 'large data are compressed');
	const a = await t.open(browser, plain), b = await t.open(browser, packed);
	const all = () => JSON.stringify(document.documentElement.xenflame.d);
	t.ok(await a.evaluate(all) === await b.evaluate(all), 'and the same after all');
	await a.context().close();
	await b.context().close();
	const huge = await t.open(browser, t.graph('svg', 'huge'));
	const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/', exact = planes =>
		planes.reduceRight((sum, digit) => sum * 64n + BigInt(digits.indexOf(digit)), 0n).toString();
	const { self_inner, self_leaf } = await huge.evaluate(() => document.documentElement.xenflame.d.nodes);
	t.equal([exact(self_inner), exact(self_leaf)], ['1152921504606846976', '1152921504606846977'], 'weights over 2^53 are exact in the file');
	await huge.context().close();
	const empty = await t.open(browser, t.graph('svg', 'empty'));
	t.equal(empty.errors, [], 'an empty graph is no error');
	await empty.context().close();
	const touch = await t.open(browser, t.graph('svg', 'xen'), { touch: true, width: 420 });
	const s = await t.spot(touch, ['dd']);
	await touch.touchscreen.tap(s.x, s.y);
	t.match(await line(touch), /^dd/, 'touch: the first tap tells');
	t.equal(await hash(touch), '', 'and does not zoom');
	await touch.touchscreen.tap(s.x, s.y);
	t.equal(await hash(touch), '#z=dd', 'the second zooms');
	t.ok(!await touch.locator('button', { hasText: 'Flip' }).isVisible(), 'narrow: the graph has the room');
	await touch.locator('button', { hasText: 'Views' }).tap();
	t.ok(await touch.locator('button', { hasText: 'Flip' }).isVisible(), 'and a button what else there is');
	await touch.context().close();
}

// Rectangles of a PDF by cairo, in px: [x, y, width, height].
function pdfBoxes(file) {
	const all = fs.readFileSync(file), found = [];
	for (let at = 0; (at = all.indexOf('stream', at)) >= 0; at += 6) {
		if (all.subarray(at - 3, at).toString() === 'end')
			continue;
		try {
			const text = zlib.inflateSync(all.subarray(all.indexOf('\n', at) + 1), { finishFlush: zlib.constants.Z_SYNC_FLUSH }).toString('latin1');
			for (const m of text.matchAll(/([-\d.]+) ([-\d.]+) ([-\d.]+) ([-\d.]+) re\b/g))
				found.push(m.slice(1, 5).map(x => Number(x) / 0.75));
		} catch (e) {
			// no text: a font
		}
	}
	return found;
}

// Those of the still picture of an SVG.
function svgBoxes(file) {
	const text = fs.readFileSync(file, 'utf8'), width = Number(/<svg [^>]*width="(\d+)"/.exec(text)[1]), height = Number(/<svg [^>]*height="([\d.]+)"/.exec(text)[1]);
	const still = text.slice(text.indexOf('class="xf-static"')), inner = still.indexOf('<svg ');
	const px = (s, whole) => s === undefined ? 0 : s.endsWith('%') ? Number(s.slice(0, -1)) / 100 * whole : Number(s);
	return [...still.matchAll(/<rect ([^>]*)>/g)].map((m) => {
		const a = Object.fromEntries([...m[1].matchAll(/([a-z-]+)="([^"]*)"/g)].map(k => [k[1], k[2]]));
		const whole = m.index > inner ? width - 20 : width, left = m.index > inner ? 10 : 0;
		return [left + px(a.x, whole), px(a.y, height), px(a.width, whole), px(a.height, height)];
	});
}

// The same boxes at the same places, however large the graph is.
function layouts() {
	for (const kind of [['xen'], ['xen', '0', 'icicle=1'], ['big', '3000'], ['big', '20000']]) {
		let pdf;
		try {
			pdf = pdfBoxes(t.graph('pdf', ...kind));
		} catch (e) {
			console.log('# built without cairo: no PDF to compare with');
			return;
		}
		const svg = svgBoxes(t.graph('svg', ...kind));
		const far = svg.filter(a => !pdf.some(b => a.every((x, i) => Math.abs(x - b[i]) < 0.06)));
		t.equal([svg.length > 20, far.length, far.slice(0, 3)], [true, 0, []], `${kind.join(' ')}: ${svg.length} rectangles of the SVG are in the PDF too`);
	}
}

// The still picture in the browser and cairo's PNG are the same to a tolerance: sampled points have the same colour.
async function pictures(browser) {
	let png;
	try {
		png = fs.readFileSync(t.graph('png', 'xen', 'title=Same'));
	} catch (e) {
		console.log('# built without cairo: no PNG to compare with');
		return;
	}
	layouts();
	const page = await t.open(browser, t.graph('svg', 'xen', 'title=Same'), { scripts: false, width: 1200, height: 400 });
	const shot = await page.screenshot();
	await page.context().close();
	const other = await t.open(browser, t.graph('html', 'empty'));
	const same = await other.evaluate(async (files) => {
		const data = [];
		for (const b64 of files) {
			const img = new Image();
			img.src = `data:image/png;base64,${b64}`;
			await img.decode();
			const c = document.createElement('canvas');
			c.width = 1200;
			c.height = 300;
			c.getContext('2d').drawImage(img, 0, 0);
			data.push(c.getContext('2d').getImageData(0, 0, 1200, 300).data);
		}
		let n = 0, equal = 0, inked = 0;
		for (let y = 60; y < 280; y += 3)
			for (let x = 12; x < 1188; x += 3) {
				const k = (y * 1200 + x) * 4;
				n++;
				inked += data[0][k] + data[0][k + 1] + data[0][k + 2] < 720 ? 1 : 0;
				equal += [0, 1, 2].every(c => Math.abs(data[0][k + c] - data[1][k + c]) < 24) ? 1 : 0;
			}
		return [equal / n, inked / n];
	}, [shot.toString('base64'), png.toString('base64')]);
	t.ok(same[0] > 0.93 && same[1] > 0.3, `SVG and PNG show the same (${(100 * same[0]).toFixed(1)} % of the points)`);
	await other.context().close();
}

async function time(browser) {
	const file = t.graph('html', 'timed');
	let page = await t.open(browser, file);
	const totals = () => {
		const v = document.documentElement.xenflame;
		// A box that is not there: its parent is found, which is not what was asked for.
		return [v.tree.total[0], ...['early', 'late'].map(f => v.frameByTitle(f)).map(f => [...v.tree.frame].indexOf(f)).map(n => n < 0 ? 0 : v.tree.total[n])];
	};
	t.equal(await page.evaluate(totals), [1001, 400, 601], 'all samples');
	await page.locator('[role=tab]', { hasText: 'Time' }).click();
	await page.locator('input[aria-label="from, seconds"]').fill('3');
	await page.locator('input[aria-label="from, seconds"]').press('Enter');
	await page.locator('input[aria-label="to, seconds"]').fill('5');
	await page.locator('input[aria-label="to, seconds"]').press('Enter');
	await page.waitForTimeout(100);
	t.equal(await page.evaluate(totals), [200, 100, 100], 'a window of two seconds');
	t.match(await hash(page), /w=3-5/, 'in the address');
	const box = await page.locator('.xf-heat canvas').boundingBox();
	await page.mouse.move(box.x + 1, box.y + 1);
	await page.mouse.down();
	await page.mouse.move(box.x + box.width / 4, box.y + 1, { steps: 3 });
	await page.mouse.up();
	await page.waitForTimeout(100);
	const dragged = await page.evaluate(totals);
	t.ok(dragged[0] > 150 && dragged[0] < 350 && dragged[0] === dragged[1], `a window by dragging (${dragged})`);
	await page.locator('.xf-crumbs button', { hasText: 'only' }).click();
	t.equal(await page.evaluate(totals), [1001, 400, 601], 'and all again');
	t.equal(page.errors, [], 'no errors');
	await page.context().close();
	page = await t.open(browser, `file://${file}#w=0-1`);
	t.equal(await page.evaluate(totals), [100, 100, 0], 'window from the address');
	await page.context().close();
	page = await t.open(browser, t.graph('svg', 'timed', 'flamechart=1'));
	const order = await page.evaluate(() => {
		const v = document.documentElement.xenflame;
		return [...v.tree.frame].slice(1).map((f, i) => [v.model.title[f], v.tree.total[i + 1]]);
	});
	t.equal(order, [['main', 1000], ['early', 400], ['late', 600]], 'flame chart: in order of time');
	await page.context().close();
}

// The recording of a Xen host: what must come out is counted from its oracle, where each sample has a line
// "S number comm pid tid cpu time cpumode" and lines of frames, the innermost first.
function oracle() {
	const top = process.env.abs_top_srcdir || '.', zlib = require('zlib');
	const text = zlib.gunzipSync(fs.readFileSync(path.join(top, 'tests/data/corpus/xen-hv/perf.oracle.txt.gz'))).toString();
	const samples = [];
	for (const row of text.split('\n').map(x => x.split('\t')))
		if (row[0] === 'S')
			samples.push({ comm: row[2], pid: row[3] | 0, tid: row[4] | 0, cpu: Number(row[5]), time: Number(row[6]), frames: [] });
		else if (row.length > 2)
			samples[samples.length - 1].frames.push({ space: row[0], name: row[2] });
	return samples;
}

function tally(samples, key) {
	const n = {};
	for (const s of samples)
		n[key(s)] = (n[key(s)] || 0) + 1;
	return n;
}

// Boxes on the root with their weights.
const tops = (page) => page.evaluate(() => {
	const v = document.documentElement.xenflame, x = v.tree, n = {};
	for (let c = 1; c < x.n; c = x.end[c])
		n[v.model.title[x.frame[c]]] = x.total[c];
	return n;
});
const sorted = n => Object.entries(n).sort((a, b) => a[0] < b[0] ? -1 : 1);
const choose = (page, what) => page.getByLabel('Group', { exact: true }).selectOption({ label: what });

async function groups(browser) {
	const top = process.env.abs_top_srcdir || '.', build = process.env.abs_top_builddir || '.';
	const file = path.join(t.dir, 'host.html'), recording = path.join(top, 'tests/data/corpus/xen-hv/perf.data.kvm');
	child.execFileSync(path.join(build, 'xenflame'), [recording, '-o', file], { stdio: 'ignore' });
	t.ok(fs.statSync(file).size < 200000, `the page of a recording is small (${fs.statSync(file).size} bytes)`);
	const samples = oracle(), id = (kind, x) => `${kind} ${x === -1 ? '?' : x}`;
	let page = await t.open(browser, file);
	// Xen's own idle loop is no command's; a sample of no process has perf's name for that.
	const onTop = s => s.pid === 0 && s.frames.every(f => f.space === 'H') ? '[xen]' : s.comm === '?' ? ':-1' : s.comm;
	const byComm = sorted(tally(samples, onTop));
	t.equal(sorted(await tops(page)), byComm, 'by command, as counted from the oracle');
	t.equal(await page.getByLabel('Group', { exact: true }).locator('option').allInnerTexts(), ['command', 'process', 'thread', 'CPU', 'domain', 'space'], 'groups to choose from');
	for (const [label, kind, key] of [['process', 'pid', s => id('pid', s.pid)], ['thread', 'tid', s => id('tid', s.tid)], ['CPU', 'cpu', s => id('cpu', s.cpu)]]) {
		await choose(page, label);
		t.equal(sorted(await tops(page)), sorted(tally(samples, key)), `by ${label}`);
		t.equal(await hash(page), `#g=${kind}`, 'in the address');
	}
	t.equal(Object.keys(await tops(page)), ['cpu 0', 'cpu 1'], 'in order');
	const onCpu = tally(samples, s => `${s.cpu} ${s.comm}`);
	t.equal(await page.evaluate(() => {
		const v = document.documentElement.xenflame;
		return v.tree.total[v.followTitles(v.tree, ['cpu 1', 'hc-mmap'])];
	}), onCpu['1 hc-mmap'], 'commands stand on their group');

	// Other tabs and filters are of the regrouped tree.
	await t.clickBox(page, ['cpu 1', 'hc-mmap']);
	t.equal(await hash(page), '#g=cpu&z=cpu+1;hc-mmap', 'zoom within a group');
	await search(page, 'cpu 0');
	t.match(await found(page), new RegExp(`${(100 * tally(samples, s => s.cpu)[0] / samples.length).toFixed(2)}% of all`), 'a search finds groups');
	await search(page, '');
	await page.locator('[role=tab]', { hasText: 'Table' }).click();
	t.match(await page.locator('caption').innerText(), /functions/, 'table');
	const first = page.locator('tbody tr').first(), leader = await first.locator('button').innerText();
	await first.locator('button').click();
	const callers = await page.evaluate(() => {
		const v = document.documentElement.xenflame, x = v.callers.tree;
		return [...x.frame].map((f, i) => [v.model.title[f], x.self[i]]).filter(([name]) => /^cpu /.test(name)).reduce((sum, [, n]) => sum + n, 0) === x.total[0];
	});
	t.ok(callers, `callers of ${leader} go out to the groups`);
	await page.goto(`file://${file}#g=cpu&w=2-4`);
	await page.reload();
	await page.waitForFunction(() => document.documentElement.xenflame);
	const zero = Math.min(...samples.map(s => s.time));
	t.equal(zero > 1e6 && sorted(await tops(page)),
		sorted(tally(samples.filter(s => (s.time - zero) / SECOND >= 2 && (s.time - zero) / SECOND < 4), s => id('cpu', s.cpu))), 'groups in a window of time');
	await page.keyboard.press('r');
	t.equal([await hash(page), sorted(await tops(page)), await page.getByLabel('Group', { exact: true }).inputValue()], ['', byComm, ''], 'reset');

	await choose(page, 'space');
	const space = { H: 'hypervisor', K: 'kernel', U: 'user' };
	t.equal(sorted(await tops(page)), sorted(tally(samples, s => space[s.frames[0].space])), 'by space of the innermost frame');
	await choose(page, 'command');
	t.equal(await hash(page), '', 'and back');

	// Idle: what the program itself leaves out by --no-idle.
	const busy = JSON.parse(child.execFileSync(path.join(build, 'xenflame'), ['--no-idle', '--format=d3', recording], { stdio: ['ignore', 'pipe', 'ignore'], maxBuffer: 1 << 28 })).value;
	await page.locator('button', { hasText: 'Hide idle' }).click();
	t.ok(busy > 0 && busy < samples.length, `there are idle stacks (${samples.length - busy})`);
	t.equal(await page.evaluate(() => document.documentElement.xenflame.tree.total[0]), busy, 'idle stacks are hidden');
	t.equal(await hash(page), '#idle=0', 'in the address');
	await choose(page, 'CPU');
	t.equal(Object.values(await tops(page)).reduce((a, b) => a + b, 0), busy, 'in groups too');
	await page.locator('[role=tab]', { hasText: 'Time' }).click();
	t.equal(await page.evaluate(() => document.documentElement.xenflame.times.heat.reduce((a, b) => a + b, 0)), busy, 'and in the map over time');
	t.equal(page.errors, [], 'no errors');
	await page.context().close();

	// By keyboard alone.
	page = await t.open(browser, file);
	await page.keyboard.press('g');
	t.equal(await page.evaluate(() => document.activeElement.localName), 'select', 'g goes to the groups');
	await page.keyboard.press('ArrowDown');
	await page.keyboard.press('ArrowDown');
	t.equal(await hash(page), '#g=tid', 'arrows choose');
	await page.context().close();
	page = await t.open(browser, `file://${file}#g=pid&idle=0&z=pid+74;hc-mmap`);
	t.match(await crumbs(page), /pid 74[^]*hc-mmap/, 'group and zoom from the address');
	await page.context().close();

	// A sample without a time is of an unknown group, not lost; no group of what the file does not tell.
	page = await t.open(browser, `file://${t.graph('html', 'timed')}#g=pid`);
	t.equal(await tops(page), { 'pid 1': 1000, 'pid ?': 1 }, 'samples without a time');
	await page.keyboard.press('ArrowUp');
	await page.keyboard.press('ArrowUp');
	await page.keyboard.press('ArrowRight');
	t.match(await line(page), /^pid \?[^]*\s1 sample · 0\.10% of all · self 0 samples$/, 'one sample, no samples');
	await page.context().close();

	// Several events: they are the groups at first. By make_events() of make-graph.c.
	page = await t.open(browser, t.graph('html', 'events'));
	const made = [...Array(100).keys()].map(i => ({ w: i < 50 ? 1 : 3, idle: i % 5 === 0, event: i % 10 === 9 ? 'faults' : 'cycles', cpu: [1, 0, 0, -1][i % 4], tid: [7, 8, 30, -1][i % 4] }));
	const weigh = (key, which = () => true) => {
		const n = {};
		for (const s of made.filter(which))
			n[key(s)] = (n[key(s)] || 0) + s.w;
		return sorted(n);
	};
	t.equal(sorted(await tops(page)), weigh(s => s.event), 'by event');
	await choose(page, 'command');
	t.equal(await tops(page), { app: 200 }, 'by command: all events');
	await choose(page, 'CPU');
	t.equal(sorted(await tops(page)), weigh(s => id('cpu', s.cpu)), 'by CPU, where one is not known');
	await page.getByLabel('Group', { exact: true }).focus();
	await page.keyboard.press('h');
	t.equal(sorted(await tops(page)), weigh(s => id('cpu', s.cpu)), 'no key while the list has the focus');
	await page.locator('button', { hasText: 'Hide idle' }).click();
	t.equal(sorted(await tops(page)), weigh(s => id('cpu', s.cpu), s => !s.idle), 'without idle');
	await choose(page, 'thread');
	t.equal(Object.keys(await tops(page)), ['tid 7', 'tid 8', 'tid 30', 'tid ?'], 'threads in order of numbers');
	t.equal(sorted(await tops(page)), weigh(s => id('tid', s.tid), s => !s.idle), 'by thread');
	const below = await page.evaluate(() => {
		const v = document.documentElement.xenflame;
		return v.tree.total[v.followTitles(v.tree, ['tid 8', 'cycles', 'app', 'work'])];
	});
	t.equal(below, made.filter(s => s.tid === 8 && s.event === 'cycles' && !s.idle).reduce((sum, s) => sum + s.w, 0), 'events stand below');
	t.equal(page.errors, [], 'no errors');
	await page.context().close();

	/* What a guest did counts for it, what idle vCPUs of Xen do for nobody. By make_domains(). */
	page = await t.open(browser, `file://${t.graph('html', 'domains')}#g=domain`);
	t.equal(await tops(page), { dom0: 1, 'guest 81': 4, 'guest 90': 2, 'other domains': 16, idle: 8 }, 'by domain and guest');
	await page.evaluate(() => document.documentElement.xenflame.filter({ window: [0.5, 3.5] }));
	t.equal(await tops(page), { 'guest 81': 4, 'guest 90': 2, idle: 8 }, 'of a window of time');
	t.equal(page.errors, [], 'no errors');
	await page.context().close();

	/* Very many samples keep their times, to a coarser tick. By make_many(). */
	page = await t.open(browser, `file://${t.graph('html', 'many')}#t=time`, { viewer: false });
	await page.waitForFunction(() => document.documentElement.xenflame);
	t.match(await page.locator('#xf-page-time').innerText(), /times are kept to 0.1 ms, there are very many/, 'the page says that times are coarse');
	t.equal(await page.evaluate(() => {
		const v = document.documentElement.xenflame;
		v.filter({ window: [2, 4] });
		return [v.times.at.length, v.times.heat.reduce((a, b) => a + b), v.tree.total[0], [...v.tree.total.slice(1)]];
	}), [420000, 2100000, 400000, [280000, 120000]], 'and still exact to it');
	t.equal(page.errors, [], 'no errors');
	await page.context().close();

	page = await t.open(browser, `file://${t.graph('html', 'xen')}#g=pid`);
	t.equal(await page.getByLabel('Group', { exact: true }).locator('option').allInnerTexts(), ['command', 'domain', 'space'], 'without samples: what stacks tell');
	t.equal(Object.keys(await tops(page)), ['[guest]', 'dd', 'java'], 'and an unknown group is none');
	await choose(page, 'domain');
	t.equal(await tops(page), { dom0: 850, 'other domains': 150 }, 'by domain');
	await choose(page, 'space');
	t.equal(await tops(page), { hypervisor: 400, kernel: 180, user: 270, 'guest kernel': 100, 'guest user': 50 }, 'by space');
	t.equal(page.errors, [], 'no errors');
	await page.context().close();
}

t.run(async (browser) => {
	for (const format of ['svg', 'html']) {
		const file = t.graph(format, 'xen');
		console.log(`# ${format}`);
		await zoom(browser, file);
		await searching(browser, file);
		await keyboard(browser, file);
		await state(browser, file);
		await views(browser, file);
		await menu(browser, file);
		await dark(browser, file);
	}
	await sizes(browser);
	await shares(browser);
	await pictures(browser);
	await time(browser);
	await groups(browser);
});
