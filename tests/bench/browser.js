#!/usr/bin/env node
// SPDX-License-Identifier: GPL-2.0-or-later
// Main-thread CPU of the viewer in a headless Chromium: load, zoom, search.
//
//	make-bench: CHROMIUM=… abs_top_builddir=… node tests/bench/browser.js [BOXES …]
//
// Each figure is the median of five pages.  CPU is what the renderer's main thread used (DevTools, TaskDuration in thread ticks);
// wall is from the request until the next frame after the work.
'use strict';
const fs = require('fs');
const path = require('path');
const t = require('../browser/lib.js');

const ROUNDS = 5;
const targets = { 'html 100000': [200, 30, 13, 0.26], 'svg 100000': [350, 50, 18, 0.5], 'html 1000000': [3000, null, null, null] };

const median = v => v.sort((a, b) => a - b)[v.length >> 1];

// Work on the page between two readings of the renderer's clock: {cpu, wall} in ms.
async function timed(cdp, page, work) {
	const cpu = async () => (await cdp.send('Performance.getMetrics')).metrics.find(m => m.name === 'TaskDuration').value * 1000;
	const c0 = await cpu(), w0 = process.hrtime.bigint();
	await work();
	const wall = Number(process.hrtime.bigint() - w0) / 1e6;
	await page.waitForTimeout(100);
	return { cpu: await cpu() - c0, wall };
}

async function once(browser, file) {
	const context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
	const page = await context.newPage();
	const cdp = await context.newCDPSession(page);
	const frames = () => page.evaluate(() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))));
	const result = [];

	await cdp.send('Performance.enable', { timeDomain: 'threadTicks' });
	result.push(await timed(cdp, page, async () => {
		await page.goto(`file://${file}`);
		await page.waitForFunction(() => document.documentElement.xenflame && document.documentElement.xenflame.pane.from);
		await frames();
	}));
	// The widest box that is not everything, then a search for a common word; as a user does it, by events.
	const spot = await page.evaluate(() => {
		const v = document.documentElement.xenflame, p = v.pane, t = v.tree;
		let best = -1;
		for (let c = 1; c < t.n; c = t.end[c])
			if (best < 0 || t.total[c] > t.total[best])
				best = c;
		const b = p.boxOf(best), r = p.canvas.getBoundingClientRect();
		return { x: r.left + p.x[b] + p.w[b] / 2, y: r.top + p.rowY(1) + 8 };
	});
	await page.mouse.move(spot.x, spot.y);
	await page.waitForTimeout(100);
	result.push(await timed(cdp, page, async () => {
		await page.mouse.click(spot.x, spot.y);
		await frames();
	}));
	await page.keyboard.press('Escape');
	await page.waitForTimeout(100);
	result.push(await timed(cdp, page, async () => {
		await page.evaluate(() => {
			const v = document.documentElement.xenflame;
			v.input.value = v.state.search = 'alloc';
			v.search();
		});
		await frames();
	}));
	await context.close();
	return result;
}

t.run(async (browser) => {
	const sizes = process.argv.slice(2).length ? process.argv.slice(2) : ['10000', '100000', '1000000'];
	console.log('# document           MB    load cpu/wall   zoom cpu/wall  search cpu/wall   (ms, medians)');
	for (const size of sizes) {
		for (const format of ['html', 'svg']) {
			if (format === 'svg' && Number(size) > 200000)
				continue;
			const file = t.graph(format, 'big', size), mb = fs.statSync(file).size / 1e6, all = [];
			for (let i = 0; i < ROUNDS; i++)
				all.push(await once(browser, file));
			const cell = (k, what) => median(all.map(r => r[k][what]));
			const row = [0, 1, 2].map(k => `${cell(k, 'cpu').toFixed(0)} / ${cell(k, 'wall').toFixed(0)}`.padStart(14));
			console.log(`# ${`${format} ${size}`.padEnd(14)} ${mb.toFixed(2).padStart(6)} ${row.join('  ')}`);
			const goal = targets[`${format} ${size}`];
			if (goal)
				for (let k = 0; k < 4; k++)
					if (goal[k] !== null) {
						const got = k < 3 ? cell(k, k || goal[0] < 3000 ? 'cpu' : 'wall') : mb;
						console.log(`# ${['load', 'zoom', 'search', 'size'][k]} of ${format} ${size}: ${got.toFixed(k < 3 ? 0 : 2)}, aim ${goal[k]}: ${got <= goal[k] ? 'met' : 'MISSED'}`);
					}
		}
	}
	t.ok(true, 'measured');
});
