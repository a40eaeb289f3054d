// SPDX-License-Identifier: GPL-2.0-or-later
// Hostile names and options, pages with a strict policy, scripts off, and an audit by axe-core.
'use strict';
const fs = require('fs');
const t = require('./lib.js');

// Whatever is in a file, its names are text and nothing of them runs.
async function hostile(browser) {
	for (const format of ['svg', 'html']) {
		const file = t.graph(format, 'hostile');
		for (const scripts of [true, false]) {
			const page = await t.open(browser, file, { scripts });
			await page.waitForTimeout(200);
			t.equal(page.errors, [], `${format}, scripts ${scripts}: no dialog, no error`);
			if (!scripts) {
				t.equal(await page.locator('img, b, [onclick], [onload], [onerror]').count(), 0, `${format}: no element came out of a name`);
				await page.context().close();
				continue;
			}
			for (const tab of ['Table', 'Callers and callees', 'Graph']) {
				await page.locator('[role=tab]', { hasText: tab }).click();
				await page.waitForTimeout(60);
			}
			await page.locator('button', { hasText: 'Details' }).click();
			await page.locator('.xf-search').fill('<img');
			await page.waitForTimeout(150);
			const titles = await page.evaluate(() => document.documentElement.xenflame.model.title);
			for (const name of ['</script><script>window.pwned=1</script>_[h]', ']]><script>window.pwned=1</script>_[h]', '\x1b[31mred\x01\x7f_[h]',
					    '\ufffd\ufffd\ufffd\ufffd_[h]', '\ufffe_[h]', '🔥 漢字_[h]', '__proto___[h]', '\u2028\u2029_[h]'])
				t.ok(titles.includes(name), `${format}: the name ${JSON.stringify(name)} is whole`);
			await page.evaluate(() => {
				const v = document.documentElement.xenflame;
				for (let n = 1; n < v.tree.n; n++) {
					v.told(v.pane, n, true);
					v.menu(v.pane, n, 10, 10);
					v.zoomTo(n);
					v.sandwich(v.tree.frame[n]);
					v.go({ tab: 'graph' });
				}
			});
			await page.waitForTimeout(200);
			t.equal(await page.evaluate(() => window.pwned), undefined, `${format}: nothing ran`);
			const came = await page.evaluate(() => [...document.querySelectorAll('*')].flatMap(e => [...e.attributes].filter(a => /^on/i.test(a.name)).map(a => a.name)));
			t.equal(came, [], `${format}: no handler in an attribute`);
			const hash = await page.evaluate(() => location.hash);
			await page.context().close();
			const again = await t.open(browser, `file://${file}${hash}`);
			t.equal([again.errors, await again.evaluate(() => window.pwned)], [[], undefined], `${format}: its address opens`);
			await again.context().close();
		}
	}
}

function parts(text) {
	const script = /<script>(?:<!\[CDATA\[)?([^]*?)(?:\]\]>)?<\/script>/.exec(text)[1];
	const style = /<style>([^]*?)<\/style>/.exec(text)[1];
	return { script, style };
}

async function policy(browser) {
	const svg = fs.readFileSync(t.graph('svg', 'xen'), 'utf8'), html = fs.readFileSync(t.graph('html', 'xen'), 'utf8');
	/* What the file says itself. */
	const allow = text => /<!-- Content-Security-Policy: ([^-]*-src [^>]*) -->/.exec(text)[1];
	for (const text of [svg, html])
		t.equal(allow(text), `default-src 'none'; script-src ${t.sha256(parts(text).script)}; style-src ${t.sha256(parts(text).style)}`, 'a file tells its policy');
	const { server, base } = await t.serve({
		'/strict.svg': { body: svg, type: 'image/svg+xml', csp: "default-src 'none'; sandbox" },
		'/hash.svg': { body: svg, type: 'image/svg+xml', csp: allow(svg) },
		'/hash.html': { body: html, type: 'text/html; charset=utf-8', csp: allow(html) },
		'/strict.html': { body: html, type: 'text/html; charset=utf-8', csp: "default-src 'none'" },
		'/img.html': { body: '<!DOCTYPE html><title>x</title><img id="i" src="strict.svg" width="600">', type: 'text/html', csp: "default-src 'none'; img-src 'self'" },
		'/inline.html': { body: `<!DOCTYPE html><title>x</title><h1>Report</h1><div style="width:900px">${svg.replace(/<\?xml[^>]*>/, '')}</div><p>end</p>`, type: 'text/html; charset=utf-8' },
	});
	let page = await t.open(browser, `${base}/strict.svg`, { viewer: false });
	t.ok(await page.locator('.xf-static').isVisible(), 'strict policy: the picture is there');
	t.equal(await page.locator('canvas').count(), 0, 'and nothing covers it');
	t.equal(await page.locator('.xf-static rect', { has: page.locator('title', { hasText: /^copy \(300 samples, 30%\)/ }) }).getAttribute('fill') !== null, true, 'colours without styles');
	await page.context().close();

	for (const name of ['hash.svg', 'hash.html']) {
		page = await t.open(browser, `${base}/${name}`);
		await t.clickBox(page, ['dd', '_start']);
		t.equal(await page.evaluate(() => location.hash), '#z=dd;_start', `${name}: script and style allowed by their hashes`);
		t.equal(page.errors, [], 'no errors');
		await page.context().close();
	}
	page = await t.open(browser, `${base}/strict.html`, { viewer: false });
	t.equal(await page.locator('canvas').count(), 0, 'HTML under a strict policy does nothing');
	await page.context().close();

	page = await t.open(browser, `${base}/img.html`, { viewer: false });
	const box = await page.locator('#i').boundingBox();
	t.ok(box.width === 600 && box.height > 80 && box.height < 200, 'as an image, it scales');
	await page.context().close();

	page = await t.open(browser, `${base}/inline.html`, { viewer: false });
	await page.waitForFunction(() => document.querySelector('svg').xenflame && document.querySelector('svg').xenflame.pane.from);
	t.ok(await page.evaluate(() => document.querySelector('svg').getBoundingClientRect().width) <= 901, 'inside a page, it keeps its place');
	t.ok(await page.locator('p', { hasText: 'end' }).isVisible(), 'and leaves the page alone');
	t.equal(page.errors, [], 'no errors');
	await page.context().close();
	server.close();
}

async function scriptsOff(browser) {
	const page = await t.open(browser, t.graph('svg', 'xen'), { scripts: false });
	t.ok(await page.locator('.xf-static').isVisible(), 'scripts off: the picture');
	t.equal(await page.locator('.xf-static svg rect').count(), 45, 'all boxes of it');
	t.ok(await page.locator('.xf-static text', { hasText: 'xen_hypercall_sched_op' }).first().isVisible(), 'labels');
	t.match(await page.locator('.xf-static').textContent(), /hypervisor 40%[^]*kernel 18%/, 'legend');
	t.match(await page.locator('.xf-static').textContent(), /main \(450 samples, 45%\)\ndd  dd\.c:2100/, 'tips');
	await page.context().close();
	const html = await t.open(browser, t.graph('html', 'xen'), { scripts: false });
	t.match(await html.locator('noscript').first().innerText(), /do_sched_op_\[h\]/, 'HTML: a table of functions');
	await html.context().close();
}

// The hash of the address only names; the audit is of all tabs, light and dark.
async function audit(browser) {
	const axe = fs.readFileSync(require.resolve('axe-core'), 'utf8');
	const svg = await t.open(browser, t.graph('svg', 'xen', 'title=Audit'));
	await svg.evaluate(axe);
	const all = await svg.evaluate(() => window.axe.run(document));
	t.ok(all.passes.length > 10, 'axe-core looked at the SVG');
	t.equal(all.violations.map(x => `${x.id}: ${x.nodes[0].html.slice(0, 120)}`), [], 'axe-core, SVG');
	await svg.context().close();
	for (const scheme of ['light', 'dark']) {
		const page = await t.open(browser, t.graph('html', 'xen', 'title=Audit'), { scheme });
		await page.evaluate(axe);
		for (const tab of ['Graph', 'Table', 'Callers and callees']) {
			await page.locator('[role=tab]', { hasText: tab }).click();
			if (tab === 'Graph') {
				await page.locator('button', { hasText: 'Details' }).click();
				await page.locator('.xf-search').fill('copy');
			}
			await page.waitForTimeout(150);
			const r = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations', 'passes'] }));
			t.ok(r.passes.length > 10, `axe-core looked at ${tab}`);
			t.equal(r.violations.map(x => `${x.id}: ${x.nodes[0].html.slice(0, 120)}`), [], `axe-core, ${scheme}, ${tab}`);
		}
		const timed = await t.open(browser, t.graph('html', 'timed', 'title=Audit'), { scheme });
		await timed.evaluate(axe);
		await timed.locator('[role=tab]', { hasText: 'Time' }).click();
		await timed.waitForTimeout(100);
		const heat = await timed.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
		t.equal(heat.violations.map(x => `${x.id}: ${x.nodes[0].html.slice(0, 120)}`), [], `axe-core, ${scheme}, Time`);
		await timed.locator('[role=tab]', { hasText: 'Graph' }).click();
		await timed.getByLabel('Group', { exact: true }).selectOption({ label: 'thread' });
		await timed.waitForTimeout(100);
		const grouped = await timed.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
		t.equal(grouped.violations.map(x => `${x.id}: ${x.nodes[0].html.slice(0, 120)}`), [], `axe-core, ${scheme}, by thread`);
		await timed.context().close();
		await page.evaluate(() => { document.querySelector('.xf-search').removeAttribute('aria-label'); document.querySelector('.xf-search').removeAttribute('placeholder'); });
		const bad = await page.evaluate(() => window.axe.run(document));
		t.ok(bad.violations.some(x => x.id === 'label'), 'axe-core sees a field without a name');
		await page.context().close();
	}
}

t.run(async (browser) => {
	await hostile(browser);
	await policy(browser);
	await scriptsOff(browser);
	await audit(browser);
});
