// SPDX-License-Identifier: GPL-2.0-or-later
// What the tests of exports share: TAP, the made profile, the released speedscope in a headless Chromium.
'use strict';
const child = require('child_process');
const fs = require('fs');
const http = require('http');
const os = require('os');
const path = require('path');
const tap = require('../../tools/tap.js');
const { ok, skip, done } = tap;

function equal(got, expected, what) {
	if (!ok(got === expected, what))
		console.log(`# got ${JSON.stringify(got)}\n# expected ${JSON.stringify(expected)}`);
}

// A package of package.json beside this file; the test is skipped where it is not installed.
function need(name) {
	return tap.need(name, 'cases/exports');
}

function packageDir(name) {
	const dir = path.join(__dirname, 'node_modules', name);
	return fs.existsSync(dir) ? dir : skip(`the npm package ${name} is not installed (npm ci in tests/cases/exports)`);
}

// To be called before the first check.
function needChromium() {
	if (!process.env.CHROMIUM)
		skip('no Chromium');
}

// What throughSpeedscope() needs.
function needSpeedscope() {
	packageDir('speedscope');
	needChromium();
}

const fixtureProgram = path.join(process.env.abs_top_builddir || '.', 'tests/cases/exports/export-fixture');

// The bytes that a writer makes of the made profile.
function fixture(format, what = 'plain', event = null) {
	const args = [format, what];
	if (event !== null)
		args.push(String(event));
	return child.execFileSync(fixtureProgram, args, { maxBuffer: 1 << 30 });
}

// What was put in: [{event, weight, samples, frames}]
function expected(what = 'plain') {
	return fixture('expect', what).toString('latin1').trimEnd().split('\n').map(line => {
		const [event, weight, samples, frames] = line.split('\t');
		return { event, weight: BigInt(weight), samples: BigInt(samples),
			frames: frames.split(',').map(h => Buffer.from(h, 'hex').toString('utf8')) };
	});
}

// Sums by stack, as sorted lines "frame|frame weight"; equal lines mean equal profiles.
class Stacks {
	constructor() {
		this.map = new Map();
		this.total = 0n;
	}
	add(frames, weight) {
		weight = BigInt(weight);
		if (weight === 0n)
			return;
		const key = frames.join('|');
		this.map.set(key, (this.map.get(key) || 0n) + weight);
		this.total += weight;
	}
	lines() {
		return [...this.map].map(([k, w]) => `${k} ${w}`).sort();
	}
}

function stacksOf(list, event = null, field = 'weight', name = f => f) {
	const s = new Stacks();
	for (const e of list)
		if (event === null || e.event === event)
			s.add(e.frames.map(name), e[field]);
	return s;
}

function equalStacks(got, want, what) {
	const a = got.lines(), b = want.lines();
	if (ok(a.length === b.length && a.every((l, i) => l === b[i]), `${what}: ${b.length} stacks`))
		return;
	const inA = new Set(a), inB = new Set(b);
	for (const l of b.filter(l => !inA.has(l)).slice(0, 5))
		console.log(`# missing ${JSON.stringify(l)}`);
	for (const l of a.filter(l => !inB.has(l)).slice(0, 5))
		console.log(`# too much ${JSON.stringify(l)}`);
}

// Stacks of one profile of a speedscope file, sampled or evented; `number` turns a weight into a whole number.
function speedscopeStacks(file, profile, number = w => w) {
	const s = new Stacks(), frames = file.shared.frames;
	if (profile.type === 'sampled') {
		profile.samples.forEach((stack, i) => s.add(stack.map(f => frames[f].name), number(profile.weights[i])));
		return s;
	}
	const open = [];
	let at = profile.startValue;
	for (const e of profile.events) {
		if (e.at > at)
			s.add(open.map(f => frames[f].name), number(e.at - at));
		at = e.at;
		if (e.type === 'O')
			open.push(e.frame);
		else if (open.pop() !== e.frame)
			throw new Error('events are not balanced');
	}
	return s;
}

// Chromium by its debugging pipe: messages end in a NUL, the browser reads descriptor 3 and writes 4.
class Browser {
	constructor() {
		this.dir = fs.mkdtempSync(path.join(os.tmpdir(), 'xenflame-chromium-'));
		this.child = child.spawn(process.env.CHROMIUM, ['--headless=new', '--no-sandbox', '--disable-gpu',
			'--no-first-run', '--disable-dev-shm-usage', '--disable-background-networking',
			`--user-data-dir=${this.dir}`, '--remote-debugging-pipe', 'about:blank'],
			{ stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
		this.id = 0;
		this.waiting = new Map();
		this.onEvent = () => {};
		this.exited = new Promise(resolve => this.child.on('exit', resolve));
		let rest = '';
		this.child.stdio[4].setEncoding('utf8');
		this.child.stdio[4].on('data', data => {
			const parts = (rest + data).split('\0');
			rest = parts.pop();
			for (const text of parts) {
				const m = JSON.parse(text);
				if (!m.id) {
					this.onEvent(m);
					continue;
				}
				const w = this.waiting.get(m.id);
				this.waiting.delete(m.id);
				if (m.error)
					w.reject(new Error(m.error.message));
				else
					w.resolve(m.result);
			}
		});
	}
	send(method, params = {}, sessionId = undefined) {
		const id = ++this.id;
		return new Promise((resolve, reject) => {
			this.waiting.set(id, { resolve, reject });
			this.child.stdio[3].write(JSON.stringify({ id, method, params, sessionId }) + '\0');
		});
	}
	async close() {
		this.send('Browser.close').catch(() => {});
		await Promise.race([this.exited, new Promise(r => setTimeout(r, 5000))]);
		this.child.kill('SIGKILL');
		fs.rmSync(this.dir, { recursive: true, force: true, maxRetries: 5 });
	}
}

// Serves what find(name) gives on the loopback.
function serve(find) {
	const types = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.wasm': 'application/wasm' };
	const server = http.createServer((req, res) => {
		const name = decodeURIComponent(new URL(req.url, 'http://localhost').pathname.slice(1)) || 'index.html';
		const body = find(name);
		if (!body) {
			res.writeHead(404).end();
			return;
		}
		res.writeHead(200, { 'Content-Type': types[path.extname(name)] || 'application/octet-stream' });
		res.end(body);
	});
	return new Promise(resolve => server.listen(0, '127.0.0.1', () => resolve(server)));
}

// A new page of the browser: { targetId, evaluate, messages }
async function openPage(browser, script = '') {
	const { targetId } = await browser.send('Target.createTarget', { url: 'about:blank' });
	const { sessionId } = await browser.send('Target.attachToTarget', { targetId, flatten: true });
	const messages = [];
	browser.onEvent = m => {
		if (m.method === 'Runtime.consoleAPICalled') {
			const text = m.params.args.map(a => a.value || a.description).join(' ');
			if (m.params.type === 'error' || /Failed|Error/.test(text))
				messages.push(text);
		}
		if (m.method === 'Runtime.exceptionThrown')
			messages.push(m.params.exceptionDetails.exception.description);
	};
	const evaluate = async expression => {
		const r = await browser.send('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true }, sessionId);
		if (r.exceptionDetails)
			throw new Error(JSON.stringify(r.exceptionDetails));
		return r.result.value;
	};
	await browser.send('Runtime.enable', {}, sessionId);
	await browser.send('Page.enable', {}, sessionId);
	if (script)
		await browser.send('Page.addScriptToEvaluateOnNewDocument', { source: script }, sessionId);
	return { targetId, evaluate, messages, go: url => browser.send('Page.navigate', { url }, sessionId) };
}

// Loads a page out of `files` (name -> bytes) and gives what each expression comes to there.
async function inPage(files, name, expressions) {
	const server = await serve(n => files.get(n));
	const browser = new Browser();
	const results = [];
	try {
		const page = await openPage(browser);
		await page.go(`http://127.0.0.1:${server.address().port}/${name}`);
		for (let i = 0; i < 300 && await page.evaluate('document.readyState') !== 'complete'; i++)
			await new Promise(r => setTimeout(r, 100));
		for (const e of expressions)
			results.push(await page.evaluate(e));
		for (const m of page.messages)
			console.log(`# ${m}`);
	} finally {
		await browser.close();
		server.close();
	}
	return results;
}

// Each file is loaded by speedscope's importer and saved again; gives the saved objects, or the importer's complaint.
async function throughSpeedscope(files) {
	const release = path.join(packageDir('speedscope'), 'dist/release');
	const server = await serve(name => {
		const file = path.join(release, path.basename(name));
		return name.startsWith('profile/') ? files.get(name.slice(8)) : fs.existsSync(file) && fs.readFileSync(file);
	});
	const browser = new Browser();
	const results = new Map();
	try {
		for (const name of files.keys())
			results.set(name, await oneThroughSpeedscope(browser, server.address().port, name));
	} finally {
		await browser.close();
		server.close();
	}
	return results;
}

async function oneThroughSpeedscope(browser, port, name, timeout = 60000) {
	// The saved file is taken where the page hands it to the browser. alert() would stop everything.
	const page = await openPage(browser, 'window.saved = []; window.alert = t => { console.error(t); };' +
		'URL.createObjectURL = blob => { window.saved.push(blob); return "data:,"; };');
	const url = `http://127.0.0.1:${port}/profile/${encodeURIComponent(name)}`;
	await page.go(`http://127.0.0.1:${port}/index.html#profileURL=${encodeURIComponent(url)}`);
	const deadline = Date.now() + timeout;
	let text = null;
	while (Date.now() < deadline && text === null && !page.messages.length) {
		await new Promise(r => setTimeout(r, 100));
		await page.evaluate('window.dispatchEvent(new KeyboardEvent("keydown",' +
			'{key: "s", code: "KeyS", keyCode: 83, ctrlKey: true, metaKey: false, bubbles: true})), 0');
		text = await page.evaluate('window.saved && window.saved.length ? window.saved[0].text() : null');
	}
	await browser.send('Target.closeTarget', { targetId: page.targetId });
	if (text === null)
		return { error: page.messages.join('; ') || 'nothing was loaded in time' };
	return { file: JSON.parse(text), messages: page.messages };
}

module.exports = { ok, equal, skip, done, need, packageDir, fixture, expected, Stacks, stacksOf, equalStacks,
	inPage, needChromium, needSpeedscope, speedscopeStacks, throughSpeedscope };
