// SPDX-License-Identifier: GPL-2.0-or-later
// What the browser tests share: TAP, made graphs, pages in a headless Chromium.
'use strict';
const child = require('child_process');
const crypto = require('crypto');
const fs = require('fs');
const http = require('http');
const os = require('os');
const path = require('path');
const tap = require('../tools/tap.js');
const { ok, skip } = tap;

function equal(got, expected, what) {
	if (!ok(JSON.stringify(got) === JSON.stringify(expected), what))
		console.log(`# got ${JSON.stringify(got)}\n# expected ${JSON.stringify(expected)}`);
}

function match(got, re, what) {
	if (!ok(re.test(got), what))
		console.log(`# got ${JSON.stringify(got)}\n# expected ${re}`);
}

function need(name) {
	return tap.need(name, 'browser');
}

const program = path.join(process.env.abs_top_builddir || '.', 'tests/browser/make-graph');
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'xenflame-browser-'));
process.on('exit', () => fs.rmSync(dir, { recursive: true, force: true }));

// A file made by make-graph; its path.
let made = 0;
function graph(format, kind, ...more) {
	const file = path.join(dir, `${kind}-${++made}.${format}`);
	fs.writeFileSync(file, child.execFileSync(program, [format, kind, ...more.map(String)], { maxBuffer: 1 << 28 }));
	return file;
}

// Runs `test` with a browser; prints the plan.
async function run(test) {
	if (!process.env.CHROMIUM)
		skip('no Chromium');
	const { chromium } = need('playwright-core');
	const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] });
	try {
		await test(browser);
	} catch (e) {
		ok(false, `no exception: ${e.message}`);
		console.log(String(e.stack).replace(/^/gm, '# '));
	}
	await browser.close();
	tap.done();
}

// A page of its own; errors of scripts are failures.
async function open(browser, url, o = {}) {
	const context = await browser.newContext({ viewport: { width: o.width || 1200, height: o.height || 800 },
		colorScheme: o.scheme || 'light', javaScriptEnabled: o.scripts !== false, hasTouch: !!o.touch });
	const page = await context.newPage();
	page.errors = [];
	page.on('pageerror', e => page.errors.push(e.message));
	page.on('dialog', d => { page.errors.push(`dialog: ${d.message()}`); d.dismiss(); });
	await page.goto(url.startsWith('/') ? `file://${url}` : url);
	if (o.scripts !== false && o.viewer !== false)
		await page.waitForFunction(() => document.documentElement.xenflame && document.documentElement.xenflame.pane.from);
	return page;
}

// Pixel in the middle of the box of a path of titles, in the page.
async function spot(page, titles) {
	// Once the picture is that of the present size.
	await page.evaluate(() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))));
	return page.evaluate((want) => {
		const v = document.documentElement.xenflame, p = v.pane, node = v.followTitles(v.tree, want);
		if (v.tree.depth[node] !== want.length)
			throw new Error(`no box ${want}`);
		const b = p.boxOf(node), r = p.canvas.getBoundingClientRect();
		return { x: r.left + p.x[b] + p.w[b] / 2, y: r.top + p.rowY(v.tree.depth[node]) + v.rowHeight / 2 };
	}, titles);
}

async function clickBox(page, titles, o) {
	const s = await spot(page, titles);
	await page.mouse.click(s.x, s.y, o);
	await page.waitForTimeout(60);
}

// Serves files by content of `map` (path -> {body, type, csp}); the base address.
function serve(map) {
	const server = http.createServer((req, res) => {
		const f = map[req.url.split(/[?#]/)[0]];
		if (!f) {
			res.writeHead(404);
			res.end();
			return;
		}
		const head = { 'Content-Type': f.type };
		if (f.csp)
			head['Content-Security-Policy'] = f.csp;
		res.writeHead(200, head);
		res.end(f.body);
	});
	return new Promise(done => server.listen(0, '127.0.0.1', () => done({ server, base: `http://127.0.0.1:${server.address().port}` })));
}

function sha256(text) {
	return `'sha256-${crypto.createHash('sha256').update(text).digest('base64')}'`;
}

module.exports = { ok, equal, match, skip, need, graph, run, open, spot, clickBox, serve, sha256, dir };
