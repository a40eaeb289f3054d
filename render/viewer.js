/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The viewer: one script for the SVG and the HTML file.
 *
 * The file holds a data block (its format is described in render/data.c).  This script reads it, hides
 * the static picture (SVG) and draws the graph on a canvas of the size of the window, so that the cost
 * of a picture depends on what can be seen and not on the size of the graph.  Nothing is ever left out
 * of the data: shares and search results are exact.
 *
 * Names come from recordings, nobody vouches for them: they reach the page only through textContent
 * and the canvas, never as markup.
 *
 * Parts: reading the data (Model), calling-context trees in columns (Tree) and what is derived from
 * them (filtered, inverted …), one canvas with one tree (Pane), and the page around (Viewer).
 */
(function () {
"use strict";

const SVG = "http://www.w3.org/2000/svg";
const XHTML = "http://www.w3.org/1999/xhtml";
const INLINED = 1, UNRESOLVED = 2, JIT = 4, GROUP = 32;	/* enum frame_flag, base/base.h */
const MIN_BOX = 0.5;		/* px; narrower boxes are drawn merged, as "more" */
const ROWS = 200;		/* of the table, before "more" is pressed */

/* ---- data ---- */

const DIGITS85 = "!#$%()*+,-./0123456789:;=?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_`abcdefghijklmnopqrstuvwxyz{";

/* Four bytes are a number of five digits to the base of 85. */
function inflate(text)
{
	const digit = new Uint8Array(128), n = text.length, view = new DataView(new ArrayBuffer(Math.ceil(n / 5) * 4));

	for (let i = 0; i < 85; i++)
		digit[DIGITS85.charCodeAt(i)] = i;
	for (let i = 0, at = 0; i < n; at += 4) {
		let v = 0;
		/* At the end digits are left out, as if they were the highest ones. */
		for (const stop = i + 5; i < stop; i++)
			v = v * 85 + (i < n ? digit[text.charCodeAt(i)] : 84);
		view.setUint32(at, v);
	}
	const bytes = new Uint8Array(view.buffer, 0, Math.floor(n / 5) * 4 + Math.max(0, n % 5 - 1));
	const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
	return new Response(stream).json();
}

/* A promise of the data block's content. */
function readData(el)
{
	if (el.getAttribute("data-encoding") === "gzip+base85")
		return inflate(el.textContent.trim());
	return Promise.resolve(JSON.parse(el.textContent));
}

const DIGIT = new Uint8Array(128);
for (let i = 0; i < 64; i++)
	DIGIT["ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".charCodeAt(i)] = i;

/* A column of numbers: strings of their digits to the base of 64, lowest first. */
function column(planes)
{
	const n = planes[0].length, v = planes.length > 5 ? new Float64Array(n) : new Int32Array(n);

	planes.forEach((digits, k) => {
		for (let i = 0, unit = 64 ** k; i < n; i++)
			v[i] += DIGIT[digits.charCodeAt(i)] * unit;
	});
	return v;
}

/* Calls `call` with each number of a column of gaps and its index. */
function eachOfGaps(planes, call)
{
	column(planes).reduce((next, gap, k) => {
		call(next + gap, k);
		return next + gap + 1;
	}, 0);
}

/* The classes of the legend, in its order. A frame is of one of them; inlined and unresolved say more. */
const CLASSES = ["hypervisor", "kernel", "user", "JIT", "guest kernel", "guest user", "other"];

/* Frames by number, as columns; names are plain strings. */
class Model {
	constructor(d)
	{
		const f = d.frames, s = d.strings;

		/* Columns of plain arrays: frames of groups are added to them. */
		for (const name in f)
			f[name] = Array.from(column(f[name]));
		column(d.shared).forEach((n, i) => {
			if (n)
				s[i] = s[i - 1].slice(0, n) + s[i];
		});
		const n = f.name.length;
		this.d = d;
		this.n = n;
		this.title = new Array(n);
		this.cls = new Array(n);
		for (let i = 0, name = 0; i < n; i++) {
			name += f.name[i];
			this.title[i] = s[name] + s[f.suffix[i]];
			const space = d.spaces[f.space[i]];
			const c = f.flags[i] & GROUP ? -1 : f.flags[i] & JIT ? 3 : CLASSES.indexOf(space);
			this.cls[i] = c < 0 ? CLASSES.length - 1 : c;
		}
		this.flags = f.flags;
		this.color = f.color;
		this.own = n;		/* frames of the file; those of groups follow */
	}
	/* Makes a frame for a group of stacks; its number. color: index in the palette. */
	addGroup(title, color)
	{
		const f = this.d.frames;

		this.title.push(title);
		this.cls.push(CLASSES.length - 1);
		this.flags.push(GROUP);
		this.color.push(color);
		for (const column of [f.module, f.file, f.line])
			column.push(0);
		f.space.push(this.d.spaces.indexOf("none"));
		return this.n++;
	}
	module(f)
	{
		return this.d.strings[this.d.frames.module[f]];
	}
	space(f)
	{
		return this.d.spaces[this.d.frames.space[f]];
	}
	where(f)
	{
		const file = this.d.strings[this.d.frames.file[f]], line = this.d.frames.line[f];

		return file ? (line ? file + ":" + line : file) : "";
	}
}

/* ---- trees ---- */

/*
 * A calling-context tree: columns by node, in preorder, children in order of their frames' numbers (which is
 * the order of names).  Node 0 is the root; its frame is -1, or the function that the tree is about.
 * start: weight to the left of the node; end: one behind the last node of its subtree.
 * wide: what widths are by; of comparisons that may be another weight than total.
 */
class Tree {
	constructor(n)
	{
		this.n = n;
		this.frame = new Int32Array(n);
		this.depth = new Int32Array(n);
		this.parent = new Int32Array(n);
		this.end = new Int32Array(n);
		this.self = new Float64Array(n);
		this.total = new Float64Array(n);
		this.start = new Float64Array(n);
		this.wide = this.total;
		this.by = "after";		/* what wide is: see widths() */
		this.base = null;		/* self and total of the profile compared with */
		this.baseTotal = null;
		this.sure = null;		/* of the whole tree only: whether a difference is beyond noise */
		this.maxDepth = 0;
	}
	/* Fills total, start and end from self, depth and parent. */
	finish()
	{
		const { n, parent, self, total, end } = this;

		for (let i = 0; i < n; i++) {
			total[i] = self[i];
			end[i] = i + 1;
		}
		for (let i = n - 1; i > 0; i--) {
			const p = parent[i];
			total[p] += total[i];
			if (end[i] > end[p])
				end[p] = end[i];
		}
		if (this.base)
			this.baseTotal = this.sums(this.base);
		this.place();
		return this;
	}
	/* By node: what the column adds up to with all below. */
	sums(column)
	{
		const sum = Float64Array.from(column);

		for (let i = this.n - 1; i > 0; i--)
			sum[this.parent[i]] += sum[i];
		return sum;
	}
	place()
	{
		const { n, parent, wide, start } = this, at = new Float64Array(n);

		for (let i = 1; i < n; i++) {
			const p = parent[i];
			start[i] = at[i] = at[p];
			at[p] += wide[i];
		}
	}
	/* Of comparisons: widths by what is "after", "before", or "union": the larger of both in each stack. */
	widths(by)
	{
		if (!this.base || by === this.by)
			return;
		this.by = by;
		this.wide = by === "after" ? this.total : by === "before" ? this.baseTotal
			: this.sums(this.self.map((self, i) => Math.max(self, this.base[i])));
		this.place();
	}
	/* Frames from below the root to the node. */
	path(node)
	{
		const p = [];

		for (; node > 0; node = this.parent[node])
			p.push(this.frame[node]);
		return p.reverse();
	}
	/* Node of a path, as deep as it is found. */
	find(path)
	{
		let at = 0;

		for (const f of path) {
			let c = at + 1;
			while (c < this.end[at] && this.frame[c] !== f)
				c = this.end[c];
			if (c >= this.end[at])
				break;
			at = c;
		}
		return at;
	}
}

/* The tree of the data block. */
function treeOfData(d, frames)
{
	const nodes = d.nodes, run = column(nodes.run), up = column(nodes.up), leaf = column(nodes.self_leaf);
	const ranks = column(nodes.callee), more = column(nodes.more), fresh = column(nodes.fresh);
	const n = run.reduce((sum, k) => sum + k + 1, 1), t = new Tree(n), path = new Int32Array(n);
	const callees = new Array(frames + 1);		/* by caller; the last one is the root */
	let depth = 0, node = 0, taken = 0, nextMore = 0, nextFresh = 0;

	t.frame[0] = -1;
	for (let chain = 0; chain < run.length; chain++) {
		for (let k = run[chain]; k >= 0; k--) {
			const parent = path[depth], caller = parent ? t.frame[parent] : frames, known = callees[caller];
			let rank = 0;
			if (known) {
				/* Two a digit. */
				const pair = ranks[taken >> 1];
				rank = taken++ & 1 ? pair & 7 : pair >> 3;
				if (rank === 7)
					rank += more[nextMore++];
			}
			const f = t.frame[++node] = rank ? known[rank - 1] : fresh[nextFresh++];
			if (!known)
				callees[caller] = [f];
			else if (!rank)
				known.push(f);
			t.parent[node] = parent;
			t.depth[node] = ++depth;
			path[depth] = node;
		}
		if (depth > t.maxDepth)
			t.maxDepth = depth;
		t.self[node] = leaf[chain];
		depth -= up[chain] + 1;
	}
	const inner = column(nodes.self_inner);
	eachOfGaps(nodes.self_gap, (at, k) => {
		t.self[at] = inner[k];
	});
	if (nodes.base_leaf) {
		/* As much as can be compared with self. */
		const base = t.base = new Float64Array(n), baseLeaf = column(nodes.base_leaf), baseInner = column(nodes.base_inner);
		for (let chain = 0, at = 0; chain < run.length; chain++)
			base[at += run[chain] + 1] = baseLeaf[chain] * d.base_scale;
		eachOfGaps(nodes.base_gap, (at, k) => {
			base[at] = baseInner[k] * d.base_scale;
		});
		t.sure = new Uint8Array(n);
		eachOfGaps(nodes.sure, (at) => {
			t.sure[at] = 1;
		});
	}
	return t.finish();
}

/* A tree that grows: children are found by a hash of (parent, frame). */
class Trie {
	constructor(withBase)
	{
		this.n = 0;
		this.frame = [];
		this.parent = [];
		this.self = [];
		this.base = withBase ? [] : null;
		this.mask = 1023;
		this.slot = new Int32Array(1024).fill(-1);
		this.add(-1, -1);
	}
	add(parent, frame)
	{
		this.frame.push(frame);
		this.parent.push(parent);
		this.self.push(0);
		if (this.base)
			this.base.push(0);
		return this.n++;
	}
	hash(parent, frame)
	{
		let h = Math.imul(parent ^ 0x2545f491, 0x9e3779b1) ^ Math.imul(frame, 0x85ebca6b);

		h ^= h >>> 15;
		return Math.imul(h, 0x2c1b3c6d) >>> 7;
	}
	child(parent, frame)
	{
		let k = this.hash(parent, frame) & this.mask, id;

		while ((id = this.slot[k]) >= 0) {
			if (this.parent[id] === parent && this.frame[id] === frame)
				return id;
			k = (k + 1) & this.mask;
		}
		this.slot[k] = id = this.add(parent, frame);
		if (this.n * 2 > this.mask)
			this.grow();
		return id;
	}
	grow()
	{
		this.mask = this.mask * 4 + 3;
		this.slot = new Int32Array(this.mask + 1).fill(-1);
		for (let i = 1; i < this.n; i++) {
			let k = this.hash(this.parent[i], this.frame[i]) & this.mask;
			while (this.slot[k] >= 0)
				k = (k + 1) & this.mask;
			this.slot[k] = i;
		}
	}
	/*
	 * The tree in columns, without the nodes that hold nothing; children by frame or, with byWeight, the heaviest first.
	 * `frames`: number of frames of the model.
	 */
	tree(frames, byWeight)
	{
		const n = this.n, weight = Float64Array.from(this.self);
		const first = new Int32Array(n).fill(-1), next = new Int32Array(n).fill(-1);
		const count = new Int32Array(frames + 2), order = new Int32Array(n);
		let kept = 1;

		if (this.base)
			for (let i = 0; i < n; i++)
				weight[i] += this.base[i];
		for (let i = n - 1; i > 0; i--)
			weight[this.parent[i]] += weight[i];
		/* Sorted by frame, then prepended from the last one on: children end up in order. */
		for (let i = 1; i < n; i++)
			count[this.frame[i] + 1]++;
		for (let f = 0; f <= frames; f++)
			count[f + 1] += count[f];
		for (let i = 1; i < n; i++)
			order[count[this.frame[i]]++] = i;
		if (byWeight)
			order.subarray(0, n - 1).sort((a, b) => weight[b] - weight[a] || this.frame[a] - this.frame[b]);
		for (let k = n - 2; k >= 0; k--) {
			const i = order[k];
			if (weight[i] > 0) {
				next[i] = first[this.parent[i]];
				first[this.parent[i]] = i;
				kept++;
			}
		}
		const t = new Tree(kept), now = new Int32Array(n);
		if (this.base)
			t.base = new Float64Array(kept);
		for (let i = 0, k = 0, depth = 0; ;) {
			now[i] = k;
			t.frame[k] = this.frame[i];
			t.self[k] = this.self[i];
			if (this.base)
				t.base[k] = this.base[i];
			t.depth[k] = depth;
			t.parent[k] = i ? now[this.parent[i]] : 0;
			if (depth > t.maxDepth)
				t.maxDepth = depth;
			k++;
			if (first[i] >= 0) {
				i = first[i];
				depth++;
				continue;
			}
			while (i && next[i] < 0) {
				i = this.parent[i];
				depth--;
			}
			if (!i)
				break;
			i = next[i];
		}
		return t.finish();
	}
}

/* How much smaller a window is than all of the tree. */
function windowScale(t, self)
{
	return t.total[0] > 0 ? self.reduce((sum, x) => sum + x, 0) / t.total[0] : 0;
}

/*
 * What is shown of the whole tree:
 *   self		weights by node instead of the tree's own (of a window of time), or null; the profile compared with is
 *		then brought to the same size
 *   idle		by node: 1 where the weight is left out; or null
 *   classes	Set of legend classes, or null: stacks whose innermost frame is of one of them
 *   hide	frames: stacks that hold one are left out
 *   focus	frame or -1: stacks start at its outermost occurrence; those without it are left out
 *   recursion	direct recursion becomes one frame
 *   heavy	the heaviest callees first, instead of by name
 *   invert	callers above callees: built from the innermost frame outwards
 */
function derive(model, t, o)
{
	const plain = !o.self && !o.idle && !o.classes && !o.hide.length && o.focus < 0 && !o.recursion && !o.heavy, self = o.self || t.self;
	const hidden = new Uint8Array(model.n), scale = t.base && o.self ? windowScale(t, o.self) : 1;

	if (plain && !o.invert)
		return t;
	for (const f of o.hide)
		hidden[f] = 1;
	if (!plain) {
		/* Each node goes to a node of the new tree, or to none (-1: not yet in focus; -2: hidden). */
		const trie = new Trie(t.base), to = new Int32Array(t.n);

		to[0] = o.focus < 0 ? 0 : -1;
		for (let i = 0; i < t.n; i++) {
			const f = t.frame[i];
			if (i) {
				const p = to[t.parent[i]];
				if (p === -2 || hidden[f])
					to[i] = -2;
				else if (p === -1)
					to[i] = f === o.focus ? trie.child(0, f) : -1;
				else if (o.recursion && p && trie.frame[p] === f)
					to[i] = p;
				else
					to[i] = trie.child(p, f);
			}
			if (to[i] >= 0 && !(o.idle && o.idle[i]) && (!o.classes || o.classes.has(i ? model.cls[f] : CLASSES.length - 1))) {
				trie.self[to[i]] += self[i];
				if (t.base)
					trie.base[to[i]] += t.base[i] * scale;
			}
		}
		/* Stacks below a hidden frame are gone with all they hold. */
		t = trie.tree(model.n, o.heavy);
	}
	return o.invert ? invert(model, t, o.heavy) : t;
}

/*
 * The tree with a group on top of each stack, or with stacks that have lost what was on top.
 *   stacks	calls its argument with (group, node, weight, weight compared with) for each stack or sample; the group is a
 *		frame, or -1: none
 *   strip	levels that stacks lose at the top
 */
function regroup(model, t, stacks, strip)
{
	const trie = new Trie(t.base), byGroup = new Map(), path = [];

	stacks((group, node, weight, base) => {
		let to = byGroup.get(group), at, k = node;

		/* Where nodes went in this group. */
		if (!to)
			byGroup.set(group, to = new Map());
		for (; (at = to.get(k)) === undefined && t.depth[k] > strip; k = t.parent[k])
			path.push(k);
		if (at === undefined)
			at = group < 0 ? 0 : trie.child(0, group);
		while (path.length) {
			k = path.pop();
			at = trie.child(at, t.frame[k]);
			to.set(k, at);
		}
		trie.self[at] += weight;
		if (t.base)
			trie.base[at] += base;
	});
	return trie.tree(model.n);
}

function invert(model, t, heavy)
{
	const trie = new Trie(t.base);

	for (let i = 1; i < t.n; i++) {
		if (!t.self[i] && !(t.base && t.base[i]))
			continue;
		let at = 0;
		for (let k = i; k > 0; k = t.parent[k])
			at = trie.child(at, t.frame[k]);
		trie.self[at] += t.self[i];
		if (t.base)
			trie.base[at] += t.base[i];
	}
	trie.self[0] = t.self[0];
	return trie.tree(model.n, heavy);
}

/* Callees of a function, merged over all its outermost occurrences: the root is the function. */
function calleesOf(model, t, f)
{
	const trie = new Trie(t.base), to = new Int32Array(t.n).fill(-1);

	trie.frame[0] = f;
	for (let i = 1; i < t.n; i++) {
		const p = to[t.parent[i]];
		if (p >= 0)
			to[i] = trie.child(p, t.frame[i]);
		else if (t.frame[i] === f)
			to[i] = 0;
		if (to[i] >= 0) {
			trie.self[to[i]] += t.self[i];
			if (t.base)
				trie.base[to[i]] += t.base[i];
		}
	}
	return trie.tree(model.n);
}

/* Callers of a function, from the function outwards. */
function callersOf(model, t, f)
{
	const trie = new Trie(t.base);

	trie.frame[0] = f;
	for (let i = 1; i < t.n; ) {
		if (t.frame[i] !== f) {
			i++;
			continue;
		}
		let at = 0;
		for (let k = t.parent[i]; k > 0; k = t.parent[k])
			at = trie.child(at, t.frame[k]);
		trie.self[at] += t.total[i];
		if (t.base)
			trie.base[at] += t.baseTotal[i];
		i = t.end[i];		/* recursion: the outermost one counts */
	}
	return trie.tree(model.n);
}

/* Self and total by frame; a frame that is twice in a stack counts once in its total.  Of comparisons also before. */
function byFrame(model, t)
{
	const self = new Float64Array(model.n), total = new Float64Array(model.n);
	const base = t.base ? new Float64Array(model.n) : null, baseTotal = t.base ? new Float64Array(model.n) : null;
	const open = new Int32Array(model.n), path = [];

	for (let i = 1; i < t.n; i++) {
		while (path.length >= t.depth[i])
			open[t.frame[path.pop()]]--;
		path.push(i);
		const f = t.frame[i], outermost = !open[f]++;
		self[f] += t.self[i];
		if (outermost)
			total[f] += t.total[i];
		if (base) {
			base[f] += t.base[i];
			if (outermost)
				baseTotal[f] += t.baseTotal[i];
		}
	}
	return { self, total, base, baseTotal };
}

/* ---- comparisons ---- */

/*
 * Noise of differences in views that the file has no figures for: what the number of samples makes of them, times as much as the
 * function's own spread is larger than that in the file.
 */
class Noise {
	constructor(d, model, whole)
	{
		const by = byFrame(model, whole), { half_self, half_total } = d.diff;

		this.d = d.diff;
		this.all = whole.total[0];
		this.allBase = whole.baseTotal[0];
		this.self = half_self.map((half, f) => this.excess(half, by.self[f], by.base[f], whole));
		this.total = half_total.map((half, f) => this.excess(half, by.total[f], by.baseTotal[f], whole));
	}
	excess(half, is, was, whole)
	{
		const counted = this.counted(is, was, whole);

		return counted > 0 ? half / counted : 1;
	}
	/* Standard error by the number of samples alone, as render/data.c has it. */
	counted(is, was, t)
	{
		const whole = t.total[0], base = t.baseTotal[0], part = this.all > 0 ? whole / this.all : 0;
		const n = this.d.samples * part, nb = this.d.base_samples;

		if (!(n > 0 && nb > 0 && whole > 0 && base > 0))
			return 0;
		if (this.d.normalize !== "total")
			return Math.sqrt(is * whole / n + was * base / nb);
		const p = (n * is / whole + nb * was / base) / (n + nb);
		return Math.sqrt(Math.max(p * (1 - p), 0) * (1 / n + 1 / nb)) * whole;
	}
	/* The interval is difference - half … difference + half; f < 0: the whole. */
	half(is, was, t, f, own)
	{
		const excess = own ? this.self : this.total;

		return this.counted(is, was, t) * (f >= 0 && f < excess.length ? excess[f] : 1);
	}
	sure(is, was, t, f, kind)
	{
		const n = this.d.samples / (this.all || 1), nb = this.d.base_samples / (this.allBase || 1);

		/* So few samples are sure of nothing. */
		if (n * is + nb * was < 9.5)
			return false;
		const half = this.half(is, was, t, f, kind === "own");

		return half > 0 && Math.abs(is - was) >= half * this.d.factor[kind];
	}
	node(t, node)
	{
		return t.sure ? t.sure[node] === 1 : this.sure(t.total[node], t.baseTotal[node], t, t.frame[node], "node");
	}
}

/* "+1.20%" */
function change(is, was, whole)
{
	const delta = whole > 0 ? 100 * (is - was) / whole : 0;

	return (delta < 0 ? "−" : "+") + Math.abs(delta).toFixed(2) + "%";
}

/* ---- numbers ---- */

/* 1234567 -> "1,234,567" */
function count(v)
{
	return String(v).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

/* "1 function", "2 functions" */
function counted(n, one)
{
	return count(n) + " " + one + (n === 1 ? "" : "s");
}

function share(part, whole)
{
	return whole > 0 ? (100 * part / whole).toFixed(2) + "%" : "0%";
}

/* With one decimal, where room is short. */
function share1(part, whole)
{
	return whole > 0 ? (100 * part / whole).toFixed(1) + "%" : "0%";
}

/* "#rrggbb" as a pixel of ImageData, read as 32 bits (little endian). */
function pixel(hex, alpha)
{
	const v = parseInt(hex.slice(1), 16);

	return (Math.round(alpha * 255) << 24 | (v & 255) << 16 | (v & 0xff00) | v >> 16) >>> 0;
}

/* ---- elements: attributes and text only ---- */

function el(tag, attrs, ...children)
{
	const e = document.createElementNS(XHTML, tag);

	for (const k in attrs || {}) {
		const v = attrs[k];
		if (typeof v === "function")
			e.addEventListener(k, v);
		else if (v === true)
			e.setAttribute(k, k);
		else if (v !== false && v !== null && v !== undefined)
			e.setAttribute(k, v);
	}
	for (const c of children)
		e.append(c);
	return e;
}

function fill(e, ...children)
{
	e.textContent = "";
	e.append(...children);
}

/* ---- one canvas with one tree ---- */

/*
 * Boxes of the picture are kept by row: (node, x, width), sorted by x, so that drawing a window of rows and
 * finding the box under the pointer cost nothing more.  node < 0: boxes too narrow to be drawn, merged.
 */
class Pane {
	constructor(viewer, o)
	{
		this.v = viewer;
		this.label = o.label;
		this.icicle = o.icicle;
		this.onzoom = o.onzoom;
		this.canvas = el("canvas", { tabindex: 0, role: "application", "aria-roledescription": "flame graph", "aria-label": o.label });
		this.hoverBox = el("div", { class: "xf-box", hidden: true });
		this.selBox = el("div", { class: "xf-box xf-sel", hidden: true });
		this.stick = el("div", { class: "xf-stick" }, this.canvas, this.hoverBox, this.selBox);
		this.space = el("div", null, this.stick);
		this.root = el("div", { class: "xf-scroll" }, this.space);
		this.zoom = 0;
		this.hover = this.selected = -1;
		this.width = this.height = 0;
		this.stale = true;
		this.asked = false;
		this.keepEdge = true;		/* scroll to the root at the next layout */
		this.scrolled = 0;		/* root.scrollTop: reading that may cost a layout of the page */
		this.root.addEventListener("scroll", () => {
			this.scrolled = this.root.scrollTop;
			this.ask(false);
		}, { passive: true });
		const c = this.canvas;
		c.addEventListener("pointermove", (e) => this.pointed(e));
		c.addEventListener("pointerleave", () => this.setHover(-1));
		c.addEventListener("click", (e) => this.clicked(e));
		c.addEventListener("contextmenu", (e) => {
			const node = this.at(e);
			if (node >= 0) {
				e.preventDefault();
				this.v.menu(this, node, e.clientX, e.clientY);
			}
		});
		c.addEventListener("keydown", (e) => this.key(e));
		c.addEventListener("focus", () => this.showSelected());
		c.addEventListener("blur", () => this.showSelected());
		if (window.ResizeObserver)
			new ResizeObserver(() => this.resized()).observe(this.root);
		else
			window.addEventListener("resize", () => this.resized());
	}
	setTree(tree, zoom)
	{
		this.tree = tree;
		this.zoom = zoom || 0;
		this.hover = this.selected = -1;
		this.keepEdge = true;
		this.ask(true);
	}
	setZoom(node)
	{
		this.zoom = node;
		this.ask(true);
		this.reveal = node;
	}
	/* A new picture at the next frame; with a new layout when `stale`. */
	ask(stale)
	{
		this.stale = this.stale || stale;
		if (!this.asked) {
			this.asked = true;
			requestAnimationFrame(() => {
				this.asked = false;
				this.draw();
			});
		}
	}
	resized()
	{
		const w = this.root.clientWidth, h = this.root.clientHeight;

		if (w !== this.width || h !== this.height) {
			const edge = this.icicle ? this.scrolled : this.content - this.scrolled - this.height;
			this.keepEdge = this.keepEdge || edge < 2;
			this.ask(true);
		}
	}
	layout()
	{
		const t = this.tree, z = this.zoom, width = this.root.clientWidth;
		const { depth, wide, start, end } = t, zd = depth[z], span = wide[z], x0 = start[z];
		const scale = span > 0 ? width / span : 0;
		const parent = t.parent, least = Math.max(MIN_BOX, this.v.d.options.minwidth);

		/* Room for all boxes that there can be, kept from layout to layout. */
		if (!this.room || this.room.node.length < t.n + 1)
			this.room = { node: new Int32Array(t.n + 1), row: new Int32Array(t.n + 1), x: new Float64Array(t.n + 1), w: new Float64Array(t.n + 1) };
		const { node, row, x, w } = this.room, last = new Int32Array(t.maxDepth + 2).fill(-1);
		let n = 0, deepest = zd;
		for (let a = z; ; a = parent[a]) {
			node[n] = a;
			row[n] = depth[a];
			x[n] = 0;
			w[n++] = width;
			if (!a)
				break;
		}
		for (let i = z + 1, stop = end[z]; i < stop; ) {
			const bw = wide[i] * scale, bx = (start[i] - x0) * scale, d = depth[i];
			if (d > deepest)
				deepest = d;
			if (bw >= least) {
				node[n] = i;
				row[n] = d;
				x[n] = bx;
				w[n++] = bw;
				i++;
				continue;
			}
			/* Neighbours that are too narrow become one box. */
			const m = last[d];
			if (m >= 0 && Math.abs(x[m] + w[m] - bx) < 0.01) {
				w[m] = bx + bw - x[m];
			} else {
				last[d] = n;
				node[n] = -1 - i;
				row[n] = d;
				x[n] = bx;
				w[n++] = bw;
			}
			i = end[i];
		}
		/* By row. */
		const rows = deepest + 1, from = new Int32Array(rows + 1);
		for (let b = 0; b < n; b++)
			from[row[b] + 1]++;
		for (let r = 0; r < rows; r++)
			from[r + 1] += from[r];
		const at = from.slice();
		this.node = new Int32Array(n);
		this.x = new Float64Array(n);
		this.w = new Float64Array(n);
		for (let b = 0; b < n; b++) {
			const k = at[row[b]]++;
			this.node[k] = node[b];
			this.x[k] = x[b];
			this.w[k] = w[b];
		}
		this.from = from;
		this.rows = rows;
		this.boxes = n;
		this.width = width;
		this.height = this.root.clientHeight;
		this.content = Math.max(this.height, rows * this.v.rowHeight + 4);
		this.space.style.height = this.content + "px";
		this.stick.style.height = this.height + "px";
		if (this.keepEdge) {
			this.root.scrollTop = this.icicle ? 0 : this.content;
			this.keepEdge = false;
		}
		this.scrolled = this.root.scrollTop;
		if (this.reveal >= 0) {
			this.scrollTo(this.reveal);
			this.reveal = -1;
		}
		this.stale = false;
	}
	/* Upper edge of a row in the window. */
	rowY(r)
	{
		const h = this.v.rowHeight, top = this.icicle ? r * h + 1 : this.content - (r + 1) * h - 1;

		return top - this.scrolled;
	}
	scrollTo(node)
	{
		const h = this.v.rowHeight, y = this.rowY(this.tree.depth[node]);

		if (y < h)
			this.root.scrollTop += y - h * 2;
		else if (y > this.height - 2 * h)
			this.root.scrollTop += y - this.height + 3 * h;
		else
			return;
		this.scrolled = this.root.scrollTop;
	}
	draw()
	{
		const t = this.tree, v = this.v, h = v.rowHeight;

		if (!t || !this.root.clientWidth || !this.root.clientHeight)
			return;
		if (this.stale || this.height !== this.root.clientHeight)
			this.layout();
		const dpr = window.devicePixelRatio || 1, c = this.canvas;
		const pw = Math.round(this.width * dpr), ph = Math.round(this.height * dpr);
		if (c.width !== pw || c.height !== ph) {
			c.width = pw;
			c.height = ph;
			c.style.height = this.height + "px";
		}
		/*
		 * Boxes are written as pixels, a row of boxes at a time: one line of it, which is then repeated.  With tens of
		 * thousands of boxes that is several times faster than as many rectangles, and edges are sharp.
		 */
		if (!this.image || this.image.width !== pw || this.image.height !== ph) {
			this.image = new ImageData(pw, ph);
			this.pixels = new Uint32Array(this.image.data.buffer);
			this.rowPixels = new Uint32Array(pw);
		}
		const g = c.getContext("2d"), look = v.look, zd = t.depth[this.zoom], found = v.found, frame = t.frame, texts = [];
		const color = v.model.color, root = v.d.root_color, steps = v.d.share_steps, least = 3 * v.charWidth, x = this.x, width = this.w;
		const scroll = this.scrolled, pixels = this.pixels, line = this.rowPixels, plain = v.inks[0];
		pixels.fill(0);
		for (let r = 0; r < this.rows; r++) {
			const y = (this.icicle ? r * h + 1 : this.content - (r + 1) * h - 1) - scroll;
			if (y + h < 0 || y > this.height)
				continue;
			const inks = r < zd ? v.inks[2] : found ? v.inks[1] : plain;
			line.fill(0);
			for (let b = this.from[r], stop = this.from[r + 1]; b < stop; b++) {
				const n = this.node[b], x0 = Math.round(x[b] * dpr);
				let x1 = Math.round((x[b] + width[b]) * dpr), ink = look.mutedInk;
				if (n >= 0) {
					const f = frame[n], hit = found !== null && f >= 0 && found[f] === 1;
					if (width[b] > least)
						texts.push(b, y);
					ink = hit && r >= zd ? look.hitInk : t.baseTotal ? v.diffInk(t, n, inks) :
						steps ? inks[Math.round(Math.sqrt(t.total[n] / t.total[0]) * steps)] : inks[f < 0 ? root : color[f]];
					if (x1 - x0 > 2)
						x1--;
					else if (x1 <= x0)
						x1 = x0 + 1;
				}
				if (x1 - x0 < 24)
					for (let k = x0; k < x1; k++)
						line[k] = ink;
				else
					line.fill(ink, x0, x1);
			}
			const last = Math.min(ph, Math.round((y + h - 1) * dpr));
			for (let k = Math.max(0, Math.round(y * dpr)); k < last; k++)
				pixels.set(line, k * pw);
		}
		g.setTransform(dpr, 0, 0, dpr, 0, 0);
		g.putImageData(this.image, 0, 0);
		g.font = v.font;
		g.textBaseline = "middle";
		/* Labels, cut to the box; those of inlined functions slanted. */
		let slanted = false, ink = look.label;
		g.fillStyle = ink;
		for (let k = 0; k < texts.length; k += 2) {
			const b = texts[k], n = this.node[b], f = frame[n];
			const s = v.cut(f >= 0 ? v.model.title[f] : "all", width[b] - 7, g);
			if (!s)
				continue;
			const italic = f >= 0 && (v.model.flags[f] & INLINED) !== 0;
			if (italic !== slanted) {
				slanted = italic;
				g.font = (slanted ? "italic " : "") + v.font;
			}
			const want = look.dark && found !== null && !(f >= 0 && found[f]) ? look.ink : look.label;
			if (want !== ink)
				g.fillStyle = ink = want;
			g.fillText(s, x[b] + 3, texts[k + 1] + (h - 1) / 2 + 0.5);
		}
		this.showSelected();
		this.place(this.hoverBox, this.hover);
		v.drawn(this);
	}
	/* Index of a node's box, or -1. */
	boxOf(node)
	{
		const r = this.tree.depth[node];

		if (!this.from || r >= this.rows)
			return -1;
		for (let b = this.from[r]; b < this.from[r + 1]; b++)
			if (this.node[b] === node)
				return b;
		return -1;
	}
	place(div, node)
	{
		const b = node >= 0 ? this.boxOf(node) : -1;

		div.hidden = b < 0;
		if (b >= 0) {
			div.style.left = this.x[b] - 1 + "px";
			div.style.top = this.rowY(this.tree.depth[node]) - 1 + "px";
			div.style.width = Math.max(this.w[b], 3) + 1 + "px";
			div.style.height = this.v.rowHeight + 1 + "px";
		}
	}
	showSelected()
	{
		this.place(this.selBox, this.selected);
	}
	/* Node under the pointer, or -1. */
	at(e)
	{
		const rect = this.canvas.getBoundingClientRect(), h = this.v.rowHeight;
		const px = e.clientX - rect.left, py = e.clientY - rect.top + this.scrolled;
		const r = Math.floor(this.icicle ? (py - 1) / h : (this.content - 1 - py) / h);

		if (!this.from || r < 0 || r >= this.rows)
			return -1;
		let lo = this.from[r], hi = this.from[r + 1];
		while (lo < hi) {
			const mid = (lo + hi) >> 1;
			if (this.x[mid] <= px)
				lo = mid + 1;
			else
				hi = mid;
		}
		/* Half a pixel more on both sides makes thin boxes easier to hit. */
		for (const b of [lo - 1, lo])
			if (b >= this.from[r] && b < this.from[r + 1] && this.node[b] >= 0 && px >= this.x[b] - 0.5 && px < this.x[b] + Math.max(this.w[b], 1))
				return this.node[b];
		return -1;
	}
	pointed(e)
	{
		this.setHover(this.at(e), e);
	}
	setHover(node, e)
	{
		if (node !== this.hover) {
			this.hover = node;
			this.place(this.hoverBox, node);
			this.canvas.style.cursor = node >= 0 ? "pointer" : "";
		}
		this.v.hovered(this, node, e);
	}
	clicked(e)
	{
		const node = this.at(e);

		if (node < 0)
			return;
		/* By touch, the first tap tells and the second one zooms. */
		const tells = e.pointerType === "touch" && this.selected !== node;
		this.select(node, false);
		if (!tells)
			this.onzoom(this, node);
	}
	select(node, aloud)
	{
		this.selected = node;
		this.showSelected();
		this.v.told(this, node, aloud);
	}
	key(e)
	{
		const t = this.tree, icicle = this.icicle;
		let node = this.selected < 0 ? this.zoom : this.selected, to = -1;

		if (e.ctrlKey || e.altKey || e.metaKey)
			return;
		if (e.key === "ContextMenu" || (e.key === "F10" && e.shiftKey)) {
			const r = this.canvas.getBoundingClientRect(), b = this.boxOf(node);
			this.v.menu(this, node, r.left + (b < 0 ? 20 : this.x[b] + Math.min(this.w[b] / 2, 60)),
				    r.top + this.rowY(t.depth[node]) + this.v.rowHeight);
			e.preventDefault();
			return;
		}
		if (e.key === "Enter" || e.key === " ") {
			this.onzoom(this, node);
			e.preventDefault();
			return;
		}
		if (e.key === (icicle ? "ArrowDown" : "ArrowUp")) {
			/* The widest callee. */
			let best = -1;
			if (this.selected < 0) {
				best = node;
			} else {
				for (let c = node + 1; c < t.end[node]; c = t.end[c])
					if (best < 0 || t.wide[c] > t.wide[best])
						best = c;
				/* Above the zoomed box there is one way only: back to it. */
				if (t.depth[node] < t.depth[this.zoom])
					best = t.find(t.path(this.zoom).slice(0, t.depth[node] + 1));
			}
			to = best;
		} else if (e.key === (icicle ? "ArrowUp" : "ArrowDown")) {
			to = this.selected < 0 ? node : node ? t.parent[node] : -1;
		} else if (e.key === "ArrowRight") {
			if (node && t.depth[node] > t.depth[this.zoom] && t.end[node] < t.end[t.parent[node]])
				to = t.end[node];
		} else if (e.key === "ArrowLeft") {
			if (node && t.depth[node] > t.depth[this.zoom])
				for (let c = t.parent[node] + 1; c < node; c = t.end[c])
					to = c;
		} else if (e.key === "Home") {
			to = this.zoom;
		} else {
			return;
		}
		e.preventDefault();
		if (to >= 0) {
			if (this.boxOf(to) >= 0)
				this.scrollTo(to);
			this.select(to, true);
		}
	}
}

/* ---- time ---- */

/*
 * A heat map of the samples: time goes down in a column and then on to the next one, each cell is as dark as it holds
 * weight.  A window is chosen by dragging from its first cell to its last one.
 */
const CELLS = 25;		/* of a column */
const COLUMN_SECONDS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600];

class Times {
	constructor(d)
	{
		const { unit, pids } = d.times, optional = (name) => d.times[name] ? column(d.times[name]) : null;
		const step = column(d.times.step), thread = optional("thread"), cpu = optional("cpu"), n = step.length;

		this.at = new Float64Array(n);		/* seconds since the first one */
		this.node = column(d.times.node);
		this.weight = optional("weight");
		for (let i = 0, tick = 0; i < n; i++)
			this.at[i] = (tick += step[i]) * unit / 1e9;
		this.span = this.at[n - 1];
		/* No cell is shorter than what the file tells apart. */
		this.column = COLUMN_SECONDS.find((c) => this.span / c <= 150 && c * 1e9 >= unit * CELLS) || Math.max(this.span / 150, unit * CELLS / 1e9);
		this.merged = d.times.merged ? unit / 1e6 : 0;
		this.cell = this.column / CELLS;
		this.columns = Math.floor(this.span / this.column) + 1;
		this.cpus = d.times.cpus;
		this.cpu = cpu;			/* by sample, index in cpus; cpus and pids are left out when nobody knows */
		this.machine = optional("machine");	/* the same of guests */
		this.machines = d.times.machines;
		this.pids = pids;
		this.tids = d.times.tids;
		if (pids) {
			const last = [];

			this.thread = new Uint32Array(n);
			for (let i = 0; i < n; i++) {
				const c = cpu ? cpu[i] : 0;
				this.thread[i] = last[c] = thread[i] ? thread[i] - 1 : last[c];
			}
		}
		this.count(null);
	}
	/* Fills the map; idle: by node, what is left out, or null. */
	count(idle)
	{
		this.heat = new Float64Array(this.columns * CELLS);
		for (let i = 0; i < this.at.length; i++)
			if (!idle || !idle[this.node[i]])
				this.heat[Math.min(this.heat.length - 1, Math.floor(this.at[i] / this.cell))] += this.weight ? this.weight[i] : 1;
		this.max = this.heat.reduce((a, b) => Math.max(a, b), 1);
	}
	/* Weights by node of the samples of a window [from, to) in seconds. */
	selves(n, window)
	{
		const self = new Float64Array(n);

		this.each(window, (sample, node, weight) => {
			self[node] += weight;
		});
		return self;
	}
	/* Calls `call` with (sample, node, weight) for each sample of a window, null: of all. */
	each(window, call)
	{
		for (let i = 0; i < this.at.length; i++)
			if (!window || (this.at[i] >= window[0] && this.at[i] < window[1]))
				call(i, this.node[i], this.weight ? this.weight[i] : 1);
	}
}

/* ---- groups ---- */

const OTHER_DOMAINS = "other domains", IDLE = "idle";

/*
 * What can stand on top of stacks besides what the file has there; which kinds there are depends on what the file tells.
 * Titles are those that --group gives, so that paths of either are the same.
 */
class Groups {
	constructor(viewer)
	{
		const { d, whole, times } = viewer;
		let nested = false, domains = false;

		this.v = viewer;
		this.strip = d.by_event ? 1 : 0;	/* levels above the command */
		/* Of nodes that high only. */
		for (let i = 1; i < whole.n; i = whole.depth[i] < this.strip + 2 ? i + 1 : whole.end[i]) {
			nested = nested || (whole.depth[i] === this.strip + 2 && this.isGroup(i));
			domains = domains || (whole.depth[i] === this.strip + 1 && this.domain(i) !== "dom0");
		}
		/* Names in the address and in the list. */
		this.kinds = [["", d.by_event ? "event" : nested ? "as drawn" : "command"]];
		if (d.by_event && !nested)
			this.kinds.push(["command", "command"]);
		/* Of the recording compared with, nobody knows these here; and numbers of processes do not match. */
		if (times && times.pids && !whole.base)
			this.kinds.push(["pid", "process"], ["tid", "thread"]);
		if (times && times.cpus && !whole.base)
			this.kinds.push(["cpu", "CPU"]);
		if (domains || (times && times.machines))
			this.kinds.push(["domain", "domain"]);
		this.kinds.push(["space", "space"]);
		this.made = {};
	}
	isGroup(node)
	{
		return this.v.model.flags[this.v.whole.frame[node]] & GROUP;
	}
	/* What the group that a stack stands on says: a command is of dom0, "d1" comes from console logs. */
	domain(node)
	{
		const title = this.isGroup(node) ? this.v.model.title[this.v.whole.frame[node]] : "";

		if (["[guest]", "[xen]"].includes(title))
			return OTHER_DOMAINS;
		return /^d\d+$/.test(title) ? "dom" + title.slice(1) : "dom0";
	}
	/* By node; what Xen's idle vCPUs do is nobody's. */
	domains()
	{
		const { whole, model } = this.v, name = new Array(whole.n).fill("dom0");

		for (let i = 1; i < whole.n; i++) {
			if (whole.depth[i] > this.strip + 1)
				name[i] = name[whole.parent[i]];
			else if (whole.depth[i] === this.strip + 1)
				name[i] = this.domain(i);
			if (name[i] === OTHER_DOMAINS && model.title[whole.frame[i]] === "idle_loop_[h]")
				name[i] = IDLE;
		}
		return name;
	}
	/* By node: space of the innermost frame. */
	spaces()
	{
		const { whole, model } = this.v;

		return Array.from(whole.frame, (f) => f < 0 || model.flags[f] & GROUP || model.space(f) === "none" ? "other" : model.space(f));
	}
	/*
	 * The frames of a kind of groups: frame(sample, node), where sample may be -1: not known.  They are made once, in
	 * the order in which they shall stand.
	 */
	make(kind)
	{
		const { d, model, times } = this.v, colors = d.class_color, other = colors[CLASSES.length - 1], frames = new Map();

		if (this.made[kind])
			return this.made[kind];
		if (kind === "command") {
			this.made[kind] = () => -1;
		} else if (kind === "space" || kind === "domain") {
			const name = kind === "space" ? this.spaces() : this.domains();
			const machines = kind === "domain" && times && times.machines || [];
			const number = (x) => Number(x.slice(3));
			const titles = kind === "space" ? CLASSES :
				[...[...new Set(name)].filter((x) => x.startsWith("dom")).sort((a, b) => number(a) - number(b)),
				 ...machines.slice(1).sort((a, b) => a - b).map((m) => "guest " + m), OTHER_DOMAINS, IDLE];
			for (const title of titles)
				frames.set(title, model.addGroup(title, kind === "space" ? colors[CLASSES.indexOf(title)] : other));
			this.made[kind] = (sample, node) => frames.get(sample >= 0 && machines.length && times.machine[sample] ?
				"guest " + machines[times.machine[sample]] : name[node]);
		} else {
			const ids = kind === "pid" ? times.pids : kind === "tid" ? times.tids : times.cpus;
			const column = kind === "cpu" ? times.cpu : times.thread;
			/* As signed numbers, as --group has them; those that nobody knows come last. */
			for (const id of [...new Set(ids)].filter((x) => x !== null).sort((a, b) => a - b))
				frames.set(id, model.addGroup(kind + " " + (id | 0), other));
			frames.set(null, model.addGroup(kind + " ?", other));
			const of = ids.map((id) => frames.get(id));
			this.made[kind] = (sample) => sample < 0 ? frames.get(null) : of[column[sample]];
		}
		return this.made[kind];
	}
	/* The whole tree, regrouped.  window: of time, or null; idle: by node, what is left out, or null. */
	tree(kind, window, idle)
	{
		const { whole, model, times } = this.v, frame = this.make(kind), bySample = window || ["pid", "tid", "cpu"].includes(kind) ||
			(kind === "domain" && times && times.machines);

		return regroup(model, whole, (each) => {
			const rest = Float64Array.from(window ? [] : whole.self);

			if (bySample)
				times.each(window, (sample, node, weight) => {
					rest[node] -= weight;
					if (!idle || !idle[node])
						each(frame(sample, node), node, weight, 0);
				});
			/* Samples without a time are counted, but not among those of `times`. */
			for (let i = 0; i < rest.length; i++)
				if (rest[i] > whole.self[i] * 1e-9 && !(idle && idle[i]))
					each(frame(-1, i), i, rest[i], 0);
			if (whole.base) {
				const scale = window ? windowScale(whole, times.selves(whole.n, window)) : 1;
				for (let i = 0; i < whole.n; i++)
					if (whole.base[i] && !(idle && idle[i]))
						each(frame(-1, i), i, 0, whole.base[i] * scale);
			}
		}, kind === "command" ? this.strip : 0);
	}
	known(name)
	{
		return this.kinds.some(([kind]) => kind === name);
	}
}

class HeatPane {
	constructor(viewer)
	{
		this.v = viewer;
		this.t = viewer.times;
		this.canvas = el("canvas", { role: "img", "aria-label": "samples over time; the fields above choose a window too" });
		this.note = el("span", { class: "xf-sub" });
		const field = (label, k) => el("input", { type: "number", step: "any", min: 0, "aria-label": label, class: "xf-second",
			change: () => this.typed() });
		this.from = field("from, seconds", 0);
		this.to = field("to, seconds", 1);
		this.root = el("div", { class: "xf-page" },
			el("div", { class: "xf-sand" }, el("b", null, "Samples over time"), el("label", null, "from ", this.from), el("label", null, "to ", this.to),
				"s", el("button", { type: "button", click: () => this.v.filter({ window: null }) }, "All"), this.note),
			el("div", { class: "xf-heat" }, this.canvas));
		this.canvas.addEventListener("pointerdown", (e) => {
			this.start = this.at(e);
			this.end = this.start;
			this.canvas.setPointerCapture(e.pointerId);
			this.draw();
		});
		this.canvas.addEventListener("pointermove", (e) => {
			const k = this.at(e), t = this.t;
			this.v.line.textContent = (k * t.cell).toFixed(3) + " s: " + this.v.weight(t.heat[k]);
			if (this.start !== undefined) {
				this.end = k;
				this.draw();
			}
		});
		this.canvas.addEventListener("pointerup", () => {
			const a = Math.min(this.start, this.end), b = Math.max(this.start, this.end);
			this.start = undefined;
			this.v.filter({ window: [a * this.t.cell, (b + 1) * this.t.cell] });
		});
		if (window.ResizeObserver)
			new ResizeObserver(() => this.draw()).observe(this.canvas.parentNode);
	}
	typed()
	{
		const from = Number(this.from.value) || 0, to = Number(this.to.value) || this.t.span + this.t.cell;

		if (to > from)
			this.v.filter({ window: [from, to] });
	}
	at(e)
	{
		const r = this.canvas.getBoundingClientRect(), t = this.t;
		const c = Math.floor((e.clientX - r.left) / (r.width / t.columns)), k = Math.floor((e.clientY - r.top) / (r.height / CELLS));

		return Math.max(0, Math.min(t.heat.length - 1, Math.min(t.columns - 1, Math.max(0, c)) * CELLS + Math.min(CELLS - 1, Math.max(0, k))));
	}
	draw()
	{
		const box = this.canvas.parentNode, t = this.t, dpr = window.devicePixelRatio || 1, dark = this.v.look.dark;
		const w = box.clientWidth - 24, h = Math.min(box.clientHeight - 24, CELLS * 16);

		if (w < 10 || h < 10)
			return;
		const cw = Math.max(2, Math.min(24, w / t.columns)), width = cw * t.columns, g = this.canvas.getContext("2d");
		this.canvas.width = Math.round(width * dpr);
		this.canvas.height = Math.round(h * dpr);
		this.canvas.style.width = width + "px";
		this.canvas.style.height = h + "px";
		g.setTransform(dpr, 0, 0, dpr, 0, 0);
		const win = this.v.state.window, ch = h / CELLS, drag = this.start !== undefined;
		const a = drag ? Math.min(this.start, this.end) : win ? Math.round(win[0] / t.cell) : 0;
		const b = drag ? Math.max(this.start, this.end) + 1 : win ? Math.round(win[1] / t.cell) : t.heat.length;
		for (let k = 0; k < t.heat.length; k++) {
			const share = Math.sqrt(t.heat[k] / t.max), inside = k >= a && k < b;
			const [r0, g0, b0] = dark ? [34, 39, 46] : [240, 242, 245], [r1, g1, b1] = dark ? [255, 150, 70] : [170, 60, 0];
			g.globalAlpha = inside ? 1 : 0.25;
			g.fillStyle = "rgb(" + [r0 + (r1 - r0) * share, g0 + (g1 - g0) * share, b0 + (b1 - b0) * share].map(Math.round).join(",") + ")";
			g.fillRect(Math.floor(k / CELLS) * cw, (k % CELLS) * ch, cw - (cw > 4 ? 1 : 0), ch - 1);
		}
		this.from.value = String(Math.round(a * t.cell * 1000) / 1000);
		this.to.value = String(Math.round(Math.min(b * t.cell, t.span + t.cell) * 1000) / 1000);
		this.note.textContent = "a column is " + t.column + " s, a cell " + t.cell * 1000 + " ms; " + (t.merged ? "times are kept to " + t.merged + " ms, there are very many; " : "") +
			"drag to choose a window for all views";
	}
}

/* ---- the page ---- */

class Viewer {
	constructor(data, mount, inline)
	{
		const d = data;

		this.d = d;
		this.inline = inline;
		this.touch = window.matchMedia ? matchMedia("(pointer: coarse)").matches : false;
		this.printing = false;
		this.model = new Model(d);
		this.whole = treeOfData(d, this.model.n);
		this.noise = this.whole.base ? new Noise(d, this.model, this.whole) : null;
		this.rowHeight = d.options.height;
		this.font = d.options.fontsize + "px " + d.options.font;
		this.unit = d.countname;
		this.factor = d.options.factor;
		this.total = Number(d.total);
		this.times = d.times ? new Times(d) : null;
		this.groups = new Groups(this);
		this.idle = null;
		if (d.nodes.idle) {
			this.idle = new Uint8Array(this.whole.n);
			eachOfGaps(d.nodes.idle, (at) => {
				this.idle[at] = 1;
			});
		}
		this.found = null;
		this.cutCache = new Map();
		this.back = [];			/* zooms that Escape goes back to */
		this.state = { tab: "graph", search: "", regex: false, case: false, invert: false,
			       icicle: d.options.icicle, recursion: false, heavy: false, group: "", noidle: false, classes: null, hide: [],
			       focus: -1, sand: -1, window: null, width: this.noise ? d.diff.width : "after" };
		this.build(mount);
		this.measure();
		this.theme(this.stored("theme") || "auto");
		this.fromHash();
		window.addEventListener("hashchange", () => this.fromHash());
		window.addEventListener("popstate", () => this.fromHash());
		document.addEventListener("keydown", (e) => this.key(e));
		if (window.matchMedia) {
			const m = matchMedia("(prefers-color-scheme: dark)");
			if (m.addEventListener)
				m.addEventListener("change", () => this.theme(this.themeName));
		}
		/* On paper, dark on light whatever the screen is. */
		window.addEventListener("beforeprint", () => this.printed(true));
		window.addEventListener("afterprint", () => this.printed(false));
	}

	/* -- the parts of the page -- */

	build(mount)
	{
		const d = this.d, o = d.options;
		const button = (label, title, press, attrs) =>
			el("button", Object.assign({ type: "button", title, click: press }, attrs), label);
		const toggle = (label, title, name) => {
			const b = button(label, title, () => {
				this.state[name] = !this.state[name];
				this.changed(name);
			}, { "aria-pressed": "false" });
			this.toggles[name] = b;
			return b;
		};

		this.toggles = {};
		this.tabs = {};
		for (const [name, label, title] of [["graph", "Graph", "the flame graph"], ["table", "Table", "functions by self and total"],
						    ["sand", "Callers and callees", "of one function"],
						    ...(this.times ? [["time", "Time", "when the samples were taken; a window of it"]] : [])])
			this.tabs[name] = button(label, title, () => this.go({ tab: name }), { role: "tab", id: "xf-tab-" + name, "aria-controls": "xf-page-" + name });
		this.input = el("input", { class: "xf-search", type: "search", placeholder: "Search ( / )", "aria-label": "Search functions",
			autocomplete: "off", spellcheck: "false",
			input: () => this.typed(), keydown: (e) => this.searchKey(e) });
		this.foundText = el("span", { class: "xf-found", role: "status" });
		this.prev = button("‹", "previous match (N)", () => this.step(-1), { "aria-label": "Previous match" });
		this.next = button("›", "next match (n)", () => this.step(1), { "aria-label": "Next match" });
		this.themeButton = button("Theme", "light, dark, or as the system", () => {
			const order = ["auto", "light", "dark"];
			this.theme(order[(order.indexOf(this.themeName) + 1) % 3]);
		});
		this.qualityButton = null;
		if (d.quality.length) {
			this.qualityButton = button("⚠ " + d.quality.length, "what this recording cannot tell", () => this.panel("about"),
				{ class: "xf-warn", "aria-expanded": "false" });
			this.qualityButton.append(el("span", { class: "xf-long" }, d.quality.length > 1 ? " remarks on quality" : " remark on quality"));
		}
		this.aboutButton = button("Details", "host, command, events, quality", () => this.panel("about"), { "aria-expanded": "false" });
		this.helpButton = button("Help", "keys and mouse (?)", () => this.panel("help"), { "aria-expanded": "false" });
		/* Where room is short, the views are behind a button. */
		this.viewsButton = button("Views", "groups, order and direction of the graph", () => {
			const open = this.viewsBox.classList.toggle("xf-open");
			this.viewsButton.setAttribute("aria-expanded", open ? "true" : "false");
		}, { class: "xf-views-button", "aria-expanded": "false", "aria-controls": "xf-views" });
		this.legend = el("div", { class: "xf-legend", role: "group", "aria-label": "Share by space; press to filter" });
		this.crumbs = el("nav", { class: "xf-crumbs", "aria-label": "Zoom path" });
		this.panelBox = el("section", { class: "xf-panel", hidden: true, tabindex: 0, "aria-label": "Details" });
		this.tip = el("div", { class: "xf-tip", hidden: true, "aria-hidden": "true" });
		this.menuBox = el("div", { class: "xf-menu", role: "menu", hidden: true, keydown: (e) => this.menuKey(e) });
		this.live = el("div", { class: "xf-live", "aria-live": "polite" });
		this.line = el("div", { class: "xf-line" });
		this.stateText = el("div", { class: "xf-state" });
		this.resetButton = button("Reset", "show all again (r)", () => this.reset(), null);

		this.pane = new Pane(this, { label: (d.title || "Flame graph") + ": arrow keys walk, Enter zooms, Escape goes back, slash searches",
					     icicle: o.icicle, onzoom: (p, n) => this.zoomTo(n) });
		this.callers = new Pane(this, { label: "Callers", icicle: false, onzoom: (p, n) => this.sandTo(p, n) });
		this.callees = new Pane(this, { label: "Callees", icicle: true, onzoom: (p, n) => this.sandTo(p, n) });
		this.sandHead = el("div", { class: "xf-sand" });
		this.tableWrap = el("div", { class: "xf-table-wrap", tabindex: 0, role: "region", "aria-label": "Functions" });
		this.pages = {
			graph: el("div", { class: "xf-page", role: "tabpanel", id: "xf-page-graph", "aria-labelledby": "xf-tab-graph" }, this.pane.root),
			table: el("div", { class: "xf-page", role: "tabpanel", id: "xf-page-table", "aria-labelledby": "xf-tab-table", hidden: true }, this.tableWrap),
			sand: el("div", { class: "xf-page", role: "tabpanel", id: "xf-page-sand", "aria-labelledby": "xf-tab-sand", hidden: true }, this.sandHead,
				el("div", { class: "xf-half" }, el("div", { class: "xf-cap" }, "Callers"), this.callers.root),
				el("div", { class: "xf-half" }, el("div", { class: "xf-cap" }, "Callees"), this.callees.root)),
		};
		if (this.times) {
			this.heat = new HeatPane(this);
			this.pages.time = el("div", { class: "xf-page", role: "tabpanel", id: "xf-page-time", "aria-labelledby": "xf-tab-time", hidden: true }, this.heat.root);
		}
		this.sort = { by: this.noise ? "sure" : "self", down: true };
		this.groupBox = el("select", { id: "xf-group", title: "what stands on top of the stacks (g)", change: () => this.regroup(this.groupBox.value) },
			...this.groups.kinds.map(([kind, label]) => el("option", { value: kind }, label)));

		this.widthBox = !this.noise ? null : el("select", { id: "xf-width", title: "what widths are by; what AFTER has not is shown by the others only",
			change: () => this.filter({ width: this.widthBox.value }) },
			...[["after", "AFTER"], ["before", "BEFORE"], ["union", "larger of both"]].map(([by, label]) => el("option", { value: by }, label)));

		this.root = el("div", { class: "xf", lang: "en" },
			el("header", null,
				el("div", { class: "xf-head" }, el("h1", null, d.title || "Flame graph"),
					el("span", { class: "xf-sub" }, [d.subtitle, d.event, this.weight(this.total)].filter(Boolean).join(" · ")),
					el("span", { class: "xf-grow" }),
					el("span", { class: "xf-group" }, ...[this.qualityButton, this.viewsButton, this.aboutButton, this.helpButton, this.themeButton].filter(Boolean))),
				el("div", { class: "xf-bar" },
					el("div", { class: "xf-group", role: "tablist", "aria-label": "Views", keydown: (e) => this.tabKey(e) }, ...Object.values(this.tabs)),
					el("div", { class: "xf-group", role: "search" }, this.input,
						toggle(".*", "regular expression", "regex"), toggle("Aa", "match the case", "case"), this.prev, this.next, this.foundText),
					el("span", { class: "xf-grow" }),
					this.viewsBox = el("div", { class: "xf-group xf-views", id: "xf-views" },
						el("label", { for: "xf-group" }, "Group"), this.groupBox,
						...(this.widthBox ? [el("label", { for: "xf-width" }, "Widths"), this.widthBox] : []),
						...(this.idle ? [toggle("Hide idle", "leave out stacks that wait for work (h)", "noidle")] : []),
						toggle("Flip", "root at the top or at the bottom (f)", "icicle"),
						toggle("Invert", "start at the innermost functions and go outwards (i)", "invert"),
						toggle("Merge recursion", "direct recursion becomes one box", "recursion"),
						toggle("Widest first", "order callees by width instead of by name", "heavy"), this.resetButton)),
				this.legend),
			this.panelBox,
			el("main", { class: "xf-main" }, this.crumbs, ...Object.values(this.pages)),
			el("footer", { class: "xf-foot" }, this.line, this.stateText),
			this.tip, this.menuBox, this.live);
		this.root.addEventListener("pointerdown", (e) => {
			if (!this.menuBox.hidden && !this.menuBox.contains(e.target))
				this.closeMenu();
		});
		mount.append(this.root);
	}
	scaled(v)
	{
		return this.factor === 1 ? v : Math.round(v * this.factor * 100) / 100;
	}
	weight(v)
	{
		const n = this.scaled(v);

		return this.unit === "samples" ? counted(n, "sample") : count(n) + " " + this.unit;
	}
	/* Width of a character, once: labels are cut by it. */
	measure()
	{
		const g = el("canvas").getContext("2d");

		g.font = this.font;
		this.charWidth = g.measureText("0").width;
		this.even = Math.abs(g.measureText("iiiiiiiiii").width - g.measureText("MMMMMMMMMM").width) < 0.5;
	}
	/* As much of the text as fits into `room` px, with … where it is cut; "" for less than two characters. */
	cut(s, room, g)
	{
		const plain = this.even && /^[\x20-\x7e]*$/.test(s);

		if (plain) {
			const n = Math.floor(room / this.charWidth);
			return s.length <= n ? s : n < 3 ? "" : s.slice(0, n - 1) + "…";
		}
		const width = (text) => {
			let w = this.cutCache.get(text);
			if (w === undefined) {
				if (this.cutCache.size > 20000)
					this.cutCache.clear();
				this.cutCache.set(text, w = g.measureText(text).width);
			}
			return w;
		};
		if (width(s) <= room)
			return s;
		const chars = Array.from(s);
		let lo = 0, hi = Math.min(chars.length, Math.ceil(room / 2));
		while (lo < hi) {
			const mid = (lo + hi + 1) >> 1;
			if (width(chars.slice(0, mid).join("") + "…") <= room)
				lo = mid;
			else
				hi = mid - 1;
		}
		return lo < 2 ? "" : chars.slice(0, lo).join("") + "…";
	}

	/* -- light and dark -- */

	stored(key, value)
	{
		try {
			if (value === undefined)
				return localStorage.getItem("xenflame." + key);
			localStorage.setItem("xenflame." + key, value);
		} catch (e) {
			/* no storage here: the choice lasts as long as the page */
		}
		return null;
	}
	theme(name)
	{
		const cl = this.root.classList;

		this.themeName = ["light", "dark"].includes(name) ? name : "auto";
		cl.toggle("xf-theme-light", this.themeName === "light" || this.printing);
		cl.toggle("xf-theme-dark", this.themeName === "dark" && !this.printing);
		this.themeButton.textContent = "Theme: " + this.themeName;
		this.stored("theme", this.themeName);
		const s = getComputedStyle(this.root), v = (n) => s.getPropertyValue("--" + n).trim();
		this.look = { muted: v("muted"), hit: v("hit"), label: v("label"), ink: v("ink"), dark: s.colorScheme === "dark" };
		const which = this.look.dark ? 1 : 0;
		this.palette = this.d.palette.map((p) => p[which]);
		/* As pixels: plain, not matching the search, below the zoom. */
		this.inks = [1, 0.4, 0.55].map((alpha) => Uint32Array.from(this.palette, (s) => pixel(s, alpha)));
		this.look.mutedInk = pixel(this.look.muted, 1);
		this.look.hitInk = pixel(this.look.hit, 1);
		if (this.d.options.background && !this.look.dark)
			this.root.style.background = this.d.options.background;
		else
			this.root.style.background = "";
		this.showLegend();
		for (const p of [this.pane, this.callers, this.callees])
			p.ask(false);
		if (this.heat)
			this.heat.draw();
	}
	printed(on)
	{
		this.printing = on;
		this.theme(this.themeName);
		for (const p of [this.pane, this.callers, this.callees])
			p.draw();
	}
	/* Orange grew, blue shrank, by share of the whole; the stronger the more, grey within noise.  `inks` tells how much it shines through. */
	diffInk(t, node, inks)
	{
		let delta = (t.total[node] - t.baseTotal[node]) / Math.max(1, t.total[0] || t.baseTotal[0]);

		if (this.d.options.negate)
			delta = -delta;
		const grey = this.look.dark ? 190 : 228, to = delta > 0 ? [232, 110, 40] : [60, 140, 220];
		const k = delta && this.noise.node(t, node) ? Math.min(1, 0.25 + 0.75 * Math.sqrt(Math.abs(delta) * 4)) : 0;
		const [red, green, blue] = to.map((c) => Math.round(grey + (c - grey) * k));
		return ((inks[0] & 0xff000000) | blue << 16 | green << 8 | red) >>> 0;
	}

	/* -- state: what is shown, in the address bar too -- */

	/* Frames of a path of titles, by the tree that it is a path of; as far as they are found. */
	followTitles(t, titles)
	{
		let at = 0;

		for (const want of titles) {
			let c = at + 1;
			while (c < t.end[at] && this.model.title[t.frame[c]] !== want)
				c = t.end[c];
			if (c >= t.end[at])
				break;
			at = c;
		}
		return at;
	}
	frameByTitle(title)
	{
		return title ? this.model.title.indexOf(title) : -1;
	}
	toHash(push)
	{
		const s = this.state, p = [], enc = (x) => encodeURIComponent(x).replace(/%20/g, "+"), title = (f) => enc(this.model.title[f]);

		if (s.tab !== "graph")
			p.push("t=" + s.tab);
		if (s.search)
			p.push("s=" + enc(s.search));
		if (s.regex)
			p.push("re=1");
		if (s.case)
			p.push("case=1");
		if (s.invert)
			p.push("inv=1");
		if (s.icicle !== this.d.options.icicle)
			p.push("flip=1");
		if (s.recursion)
			p.push("rec=1");
		if (s.heavy)
			p.push("order=width");
		if (s.group)
			p.push("g=" + s.group);
		if (s.noidle)
			p.push("idle=0");
		if (s.classes)
			p.push("c=" + [...s.classes].sort().join("."));
		if (s.focus >= 0)
			p.push("f=" + title(s.focus));
		if (s.sand >= 0)
			p.push("of=" + title(s.sand));
		for (const f of s.hide)
			p.push("hide=" + title(f));
		if (s.width !== (this.noise ? this.d.diff.width : "after"))
			p.push("by=" + s.width);
		if (s.window)
			p.push("w=" + s.window.map((x) => Math.round(x * 1e6) / 1e6).join("-"));
		if (this.pane.zoom)
			p.push("z=" + this.tree.path(this.pane.zoom).map(title).join(";"));
		const hash = p.join("&");
		if (hash === this.hash)
			return;
		this.hash = hash;
		if (this.inline)
			return;
		try {
			const url = hash ? "#" + hash : location.pathname + location.search;
			if (push)
				history.pushState(null, "", url);
			else
				history.replaceState(null, "", url);
		} catch (e) {
			/* a sandboxed frame: the address stays as it is */
		}
	}
	fromHash()
	{
		const raw = this.inline ? "" : location.hash.replace(/^#/, ""), s = this.state, o = this.d.options;
		const dec = (x) => {
			try {
				return decodeURIComponent(x.replace(/\+/g, " "));
			} catch (e) {
				return x;
			}
		};
		let zoom = "";

		if (raw === this.hash && this.tree)
			return;
		Object.assign(s, { tab: "graph", search: "", regex: false, case: false, invert: false, icicle: o.icicle,
				   recursion: false, heavy: false, group: "", noidle: false, classes: null, hide: [], focus: -1, sand: -1,
				   window: null, width: this.noise ? this.d.diff.width : "after" });
		/* Groups first: others may name their frames. */
		const group = (/(?:^|&)g=([a-z]+)/.exec(raw) || [])[1];
		if (group && this.groups.known(group)) {
			s.group = group;
			this.groups.make(group);
		}
		for (const part of raw.split("&")) {
			const k = part.indexOf("="), name = part.slice(0, k), v = part.slice(k + 1);
			if (name === "t" && this.pages[v])
				s.tab = v;
			else if (name === "s")
				s.search = dec(v);
			else if (name === "re")
				s.regex = true;
			else if (name === "case")
				s.case = true;
			else if (name === "inv")
				s.invert = true;
			else if (name === "flip")
				s.icicle = !o.icicle;
			else if (name === "rec")
				s.recursion = true;
			else if (name === "order")
				s.heavy = v === "width";
			else if (name === "idle")
				s.noidle = v === "0" && this.idle !== null;
			else if (name === "c")
				s.classes = new Set(v.split(".").map(Number).filter((c) => c >= 0 && c < CLASSES.length));
			else if (name === "f")
				s.focus = this.frameByTitle(dec(v));
			else if (name === "of")
				s.sand = this.frameByTitle(dec(v));
			else if (name === "hide" && this.frameByTitle(dec(v)) >= 0)
				s.hide.push(this.frameByTitle(dec(v)));
			else if (name === "by" && this.noise && ["after", "before", "union"].includes(v))
				s.width = v;
			else if (name === "w" && this.times && /^[\d.]+-[\d.]+$/.test(v))
				s.window = v.split("-").map(Number);
			else if (name === "z")
				zoom = v;
		}
		if (s.classes && !s.classes.size)
			s.classes = null;
		this.hash = raw;
		this.input.value = s.search;
		this.rebuild(zoom ? zoom.split(";").map(dec) : null);
	}
	/* Sets some of the state and shows it. */
	go(change)
	{
		Object.assign(this.state, change);
		this.show();
		this.toHash(true);
	}
	changed(name)
	{
		if (name === "regex" || name === "case") {
			this.search();
			this.toHash(false);
		} else if (name === "icicle") {
			this.pane.keepEdge = true;
			this.show();
			this.toHash(false);
		} else {
			this.rebuild(name === "invert" ? null : this.titles());
			this.toHash(true);
		}
	}
	titles()
	{
		return this.tree.path(this.pane.zoom).map((f) => this.model.title[f]);
	}
	/* Derives the tree anew; the zoom stays where its path is still found. */
	rebuild(titles)
	{
		const s = this.state, idle = s.noidle ? this.idle : null;
		let t = this.whole, of = { self: null, idle: null };

		if (s.group)
			t = this.groups.tree(s.group, s.window, idle);
		else
			of = { self: s.window && this.times ? this.times.selves(t.n, s.window) : null, idle };
		this.upright = derive(this.model, t, Object.assign({}, s, { invert: false }, of));
		if (this.times)
			this.times.count(idle);
		this.tree = s.invert ? invert(this.model, this.upright, s.heavy) : this.upright;
		this.tree.widths(s.width);
		this.back = [];
		this.tableOf = null;
		this.sandOf = null;
		const zoom = titles ? this.followTitles(this.tree, titles) : 0;
		this.pane.setTree(this.tree, this.tree.wide[zoom] > 0 ? zoom : 0);
		this.search();
		this.show();
	}
	show()
	{
		const s = this.state;

		for (const name in this.pages) {
			this.pages[name].hidden = s.tab !== name;
			this.tabs[name].setAttribute("aria-selected", s.tab === name ? "true" : "false");
			this.tabs[name].tabIndex = s.tab === name ? 0 : -1;
		}
		for (const name in this.toggles)
			this.toggles[name].setAttribute("aria-pressed", s[name] ? "true" : "false");
		this.groupBox.value = s.group;
		if (this.widthBox)
			this.widthBox.value = s.width;
		this.pane.icicle = s.icicle;
		this.showLegend();
		this.showCrumbs();
		if (s.tab === "table")
			this.showTable();
		else if (s.tab === "sand")
			this.showSand();
		else if (s.tab === "time")
			this.heat.draw();
		else
			this.pane.ask(true);
		if (s.tab !== "graph")
			this.stateText.textContent = "";
		this.told(this.pane, -1, false);
	}
	reset()
	{
		Object.assign(this.state, { search: "", regex: false, case: false, invert: false, icicle: this.d.options.icicle,
					    recursion: false, heavy: false, group: "", noidle: false, classes: null, hide: [], focus: -1, window: null, width: this.noise ? this.d.diff.width : "after" });
		this.input.value = "";
		this.rebuild(null);
		this.toHash(true);
	}

	/* -- zoom -- */

	zoomTo(node, isBack)
	{
		if (node === this.pane.zoom)
			return;
		if (!isBack)
			this.back.push(this.pane.zoom);
		this.pane.setZoom(node);
		this.showCrumbs();
		this.showFound();
		this.told(this.pane, node, true);
		this.toHash(true);
	}
	escape()
	{
		const s = this.state;

		if (!this.menuBox.hidden)
			this.closeMenu();
		else if (!this.panelBox.hidden)
			this.panel(null);
		else if (s.tab !== "graph")
			this.go({ tab: "graph" });
		else if (this.pane.zoom)
			this.zoomTo(this.back.length ? this.back.pop() : 0, true);
		else if (s.search)
			this.clearSearch();
		else if (s.classes || s.hide.length || s.focus >= 0 || s.window || s.noidle)
			this.reset();
	}
	showCrumbs()
	{
		const t = this.tree, z = this.pane.zoom, path = [], items = [];

		for (let n = z; n > 0; n = t.parent[n])
			path.unshift(n);
		path.unshift(0);
		/* The middle of a long path is left out. */
		const shown = path.length > 8 ? [path[0], path[1], -1, ...path.slice(-5)] : path;
		for (const n of shown) {
			if (items.length)
				items.push(el("span", { "aria-hidden": "true" }, "›"));
			if (n < 0)
				items.push(el("span", null, "… " + (path.length - 7) + " more …"));
			else
				items.push(el("button", { type: "button", disabled: n === z, title: n ? this.model.title[t.frame[n]] : "show all",
					"aria-current": n === z ? "location" : null, click: () => this.zoomTo(n) }, n ? this.model.title[t.frame[n]] : "all"));
		}
		const s = this.state, notes = [];
		if (s.window)
			notes.push(["only " + s.window.map((x) => x.toFixed(2)).join(" to ") + " s", () => this.filter({ window: null })]);
		if (s.focus >= 0)
			notes.push(["only stacks with " + this.model.title[s.focus], () => this.filter({ focus: -1 })]);
		for (const f of s.hide)
			notes.push(["without " + this.model.title[f], () => this.filter({ hide: s.hide.filter((x) => x !== f) })]);
		for (const [text, undo] of notes)
			items.push(el("button", { type: "button", class: "xf-warn", title: "press to undo", click: undo }, text + " ×"));
		fill(this.crumbs, ...items);
		/* In the graph always: it shall not jump when one zooms. */
		this.crumbs.hidden = !notes.length && s.tab !== "graph";
	}
	regroup(kind)
	{
		this.state.group = kind;
		this.rebuild(null);
		this.toHash(true);
	}
	filter(change)
	{
		const titles = this.titles();

		Object.assign(this.state, change);
		this.rebuild(titles);
		this.toHash(true);
	}

	/* -- legend -- */

	showLegend()
	{
		const t = this.whole, m = this.model, sums = new Float64Array(CLASSES.length);
		let inlined = 0, unresolved = 0;

		if (!this.shares) {
			for (let i = 0; i < t.n; i++) {
				const f = t.frame[i];
				sums[f < 0 ? CLASSES.length - 1 : m.cls[f]] += t.self[i];
				if (f >= 0 && m.flags[f] & INLINED)
					inlined += t.self[i];
				if (f >= 0 && m.flags[f] & UNRESOLVED)
					unresolved += t.self[i];
			}
			this.shares = { sums, inlined, unresolved };
		}
		/* Swatches and hints only where colours say it: not with palettes that do not know spaces, nor in comparisons. */
		const tells = !t.base && this.d.class_color.slice(0, -1).some((c) => c !== this.d.class_color[0]);
		const xen = this.d.options.palette === "xen" && !t.base;
		const all = t.total[0], chosen = this.state.classes, items = [];
		CLASSES.forEach((name, c) => {
			if (!this.shares.sums[c])
				return;
			const sw = el("span", { class: "xf-swatch" });
			sw.style.background = this.palette[this.d.class_color[c]];
			items.push(el("button", { type: "button", "aria-pressed": chosen && chosen.has(c) ? "true" : "false",
				title: "stacks that end in " + name + " code; press to see only these, with Shift to add them",
				click: (e) => this.chooseClass(c, e.shiftKey || e.ctrlKey) }, ...(tells ? [sw] : []), name + " ",
				el("span", { class: "xf-num" }, share1(this.shares.sums[c], all))));
		});
		if (this.shares.inlined)
			items.push(el("span", { class: "xf-key xf-hide-narrow", title: "innermost function was inlined into its caller" },
				(xen ? "paler: inlined " : "slanted: inlined ") + share1(this.shares.inlined, all)));
		if (this.shares.unresolved)
			items.push(el("span", { class: "xf-key xf-hide-narrow", title: "no symbol for the innermost address" },
				(xen ? "greyish: no symbol " : "no symbol ") + share1(this.shares.unresolved, all)));
		if (this.d.share_steps)
			items.push(el("span", { class: "xf-key" }, "the darker, the larger the share"));
		if (this.noise) {
			const less = this.d.options.negate, grey = this.look.dark ? "#bebebe" : "#e4e4e4";
			for (const [rgb, text] of [["#e86e28", less ? "less in AFTER" : "more in AFTER"], ["#3c8cdc", less ? "more in AFTER" : "less in AFTER"],
						   [grey, "within noise"]]) {
				const sw = el("span", { class: "xf-swatch" });
				sw.style.background = rgb;
				items.push(el("span", { class: "xf-key", title: "compared: " + this.d.diff.terms }, sw, text));
			}
			const note = chosen ? "" : this.state.width === "after" ? this.d.diff.only_before : this.state.width === "before" ? this.d.diff.only_after : "";
			if (note)
				items.push(el("button", { type: "button", class: "xf-gone", title: note + ". Press to see these too: widths by the larger of both.",
					click: () => this.filter({ width: "union" }) }, note));
		}
		fill(this.legend, ...items);
	}
	chooseClass(c, add)
	{
		const old = this.state.classes;
		let set = new Set(add && old ? old : []);

		if (old && old.has(c)) {
			set = new Set(add ? old : []);
			set.delete(c);
		} else {
			set.add(c);
		}
		this.filter({ classes: set.size ? set : null });
	}

	/* -- search -- */

	typed()
	{
		this.state.search = this.input.value;
		clearTimeout(this.typing);
		this.typing = setTimeout(() => {
			this.search();
			this.toHash(false);
		}, this.tree.n > 200000 ? 150 : 30);
	}
	searchKey(e)
	{
		if (e.key === "Enter") {
			clearTimeout(this.typing);
			this.search();
			this.toHash(false);
			this.step(e.shiftKey ? -1 : 1);
			e.preventDefault();
		} else if (e.key === "Escape") {
			if (this.input.value)
				this.clearSearch();
			else
				this.focusGraph();
			e.stopPropagation();
		} else if (e.key === "ArrowDown" && this.state.tab === "graph") {
			this.focusGraph();
		}
	}
	clearSearch()
	{
		this.input.value = this.state.search = "";
		this.search();
		this.toHash(false);
	}
	focusGraph()
	{
		(this.state.tab === "table" ? this.tableWrap : this.state.tab === "sand" ? this.callers.canvas : this.pane.canvas).focus();
	}
	/* Marks the frames whose title (or, with module:, module) matches. */
	search()
	{
		const s = this.state, m = this.model;
		let test = null, bad = "";

		if (s.search) {
			if (s.regex) {
				try {
					const re = new RegExp(s.search, s.case ? "u" : "iu");
					test = (x) => re.test(x);
				} catch (e) {
					bad = "not a regular expression";
				}
			} else if (s.case) {
				test = (x) => x.includes(s.search);
			} else {
				/* Several times as fast as making lower-case copies of all names. */
				const re = new RegExp(s.search.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"), "iu");
				test = (x) => re.test(x);
			}
		}
		this.input.setAttribute("aria-invalid", bad ? "true" : "false");
		this.bad = bad;
		this.found = null;
		this.foundFrames = 0;
		if (test) {
			this.found = new Uint8Array(m.n);
			for (let f = 0; f < m.n; f++)
				if (test(m.title[f])) {
					this.found[f] = 1;
					this.foundFrames++;
				}
		}
		this.showFound();
		for (const p of [this.pane, this.callers, this.callees])
			p.ask(false);
		if (s.tab === "table")
			this.showTable();
		for (const name of ["regex", "case"])
			this.toggles[name].setAttribute("aria-pressed", s[name] ? "true" : "false");
	}
	/* Weight of the stacks below `from` that hold a match at or below it: each stack once. */
	matched(t, from)
	{
		let sum = 0;

		for (let i = from; i < t.end[from]; ) {
			const f = t.frame[i];
			if (f >= 0 && this.found[f]) {
				sum += t.total[i];
				i = t.end[i];
			} else {
				i++;
			}
		}
		return sum;
	}
	showFound()
	{
		const on = this.found !== null, t = this.tree, z = this.pane.zoom;

		this.prev.disabled = this.next.disabled = !on || !this.foundFrames;
		if (!on) {
			this.foundText.textContent = this.bad;
			return;
		}
		const all = this.matched(t, 0), text = [share(all, this.total) + " of all"];
		if (z || this.tree.total[0] !== this.total)
			text.unshift(share(z ? this.matched(t, z) : all, t.total[z]) + " of the view");
		this.foundText.textContent = "matched: " + text.join(", ");
		this.foundText.title = this.weight(all) + ", " + counted(this.foundFrames, "function");
	}
	/* Selects the next (1) or previous (-1) match of the view, outermost boxes only. */
	step(way)
	{
		const t = this.tree, z = this.pane.zoom;

		if (!this.found)
			return;
		if (this.state.tab !== "graph")
			return;
		const list = [];
		for (let i = z; i < t.end[z]; ) {
			if (t.frame[i] >= 0 && this.found[t.frame[i]]) {
				list.push(i);
				i = t.end[i];
			} else {
				i++;
			}
		}
		if (!list.length)
			return;
		const cur = list.indexOf(this.pane.selected);
		const k = cur < 0 ? (way > 0 ? 0 : list.length - 1) : (cur + way + list.length) % list.length;
		this.pane.scrollTo(list[k]);
		this.pane.select(list[k], true);
		this.stateText.textContent = "match " + count(k + 1) + " of " + count(list.length);
	}

	/* -- telling about a box -- */

	facts(pane, node)
	{
		const t = pane.tree, m = this.model, f = t.frame[node], whole = this.total, view = t.total[pane.zoom];
		const shares = [this.weight(t.total[node]), share(t.total[node], whole) + " of all"];

		if (view !== whole)
			shares.push(share(t.total[node], view) + " of the view");
		shares.push("self " + this.weight(t.self[node]) + (t.self[node] ? " (" + share(t.self[node], whole) + ")" : ""));
		if (t.baseTotal)
			shares.push(this.difference(t, node));
		const about = [];
		if (f >= 0) {
			if (m.module(f))
				about.push(m.module(f));
			if (m.where(f))
				about.push(m.where(f));
			if (!(m.flags[f] & GROUP))
				about.push(m.cls[f] === 3 ? "JIT" : m.space(f));
			if (m.flags[f] & INLINED)
				about.push("inlined");
			if (m.flags[f] & UNRESOLVED)
				about.push("no symbol");
		}
		const type = this.d.nametype === "Function:" ? "" : this.d.nametype + " ";
		return { name: type + (f >= 0 ? m.title[f] : "all"), about: about.join(" · "), shares: shares.join(" · ") };
	}
	/* "total 3.40% → 4.60% of all (+1.20% ± 0.30%, beyond noise)", and the same of self */
	difference(t, node)
	{
		const whole = t.total[0] || t.baseTotal[0], f = t.frame[node], noise = this.noise;
		const text = (what, was, is, half, sure) => what + " " + share(was, whole) + " → " + share(is, whole) + " (" + change(is, was, whole) +
			" ± " + share(half, whole) + ", " + (sure ? "beyond" : "within") + " noise)";
		const { base, baseTotal, self, total } = t;
		const all = text("total", baseTotal[node], total[node], noise.half(total[node], baseTotal[node], t, f, false), noise.node(t, node));

		if (!self[node] && !base[node])
			return all;
		return all + " · " + text("self", base[node], self[node], noise.half(self[node], base[node], t, f, true),
			noise.sure(self[node], base[node], t, f, "own"));
	}
	told(pane, node, aloud)
	{
		if (node < 0) {
			if (this.state.tab === "time")
				fill(this.line, el("span", { class: "xf-sub" }, "Each cell is a slice of time; the darker, the more samples."));
			else if (this.state.tab === "table")
				fill(this.line, el("span", { class: "xf-sub" }, "Press a function to see its callers and callees."));
			else if (pane.hover < 0)
				fill(this.line, el("span", { class: "xf-sub" }, this.touch ? "Tap a box to read about it, tap it again to zoom, hold it for its menu; the path above goes back." :
					"Point at a box to read about it, press to zoom, Escape to go back."));
			return;
		}
		const x = this.facts(pane, node);
		fill(this.line, el("b", null, x.name), x.about ? "  " + x.about : "", el("br"), x.shares);
		if (aloud)
			this.live.textContent = x.name + ", " + x.shares + (x.about ? ", " + x.about : "");
	}
	hovered(pane, node, e)
	{
		if (node < 0) {
			this.tip.hidden = true;
			this.told(pane, pane.selected, false);
			return;
		}
		this.told(pane, node, false);
		if (!e || e.pointerType === "touch")
			return;
		const x = this.facts(pane, node), tip = this.tip;
		if (tip.at !== node || tip.of !== pane.tree || tip.hidden) {
			fill(tip, el("b", null, x.name.length > 400 ? x.name.slice(0, 400) + "…" : x.name));
			if (x.about)
				tip.append(el("div", null, x.about));
			tip.append(el("div", null, x.shares));
			tip.at = node;
			tip.of = pane.tree;
			tip.hidden = false;
		}
		const r = this.root.getBoundingClientRect(), w = tip.offsetWidth, h = tip.offsetHeight;
		let left = e.clientX - r.left + 14, top = e.clientY - r.top + 18;
		if (left + w > r.width - 6)
			left = Math.max(6, e.clientX - r.left - w - 12);
		if (top + h > r.height - 6)
			top = Math.max(6, e.clientY - r.top - h - 12);
		tip.style.left = left + "px";
		tip.style.top = top + "px";
	}
	drawn(pane)
	{
		if (pane !== this.pane || this.state.tab !== "graph")
			return;
		const t = this.tree, z = this.pane.zoom, boxes = t.end[z] - z - (z ? 0 : 1);
		let thin = 0;
		for (let b = 0; b < pane.boxes; b++)
			thin += pane.node[b] < 0 ? 1 : 0;
		this.stateText.textContent = count(boxes) + (boxes === 1 ? " box" : " boxes") + (thin ? "; the narrowest appear when you zoom in" : "");
	}

	/* -- menu of a box -- */

	menu(pane, node, x, y)
	{
		const f = pane.tree.frame[node], m = this.model, title = f >= 0 ? m.title[f] : "all";
		const items = [["Zoom to it", () => pane.onzoom(pane, node)]];

		if (f >= 0) {
			items.push(["Copy name", () => this.copy(title)],
				["Copy stack", () => this.copy(this.stackText(pane, node))],
				["Search for this name", () => this.searchFor(title)],
				["Only stacks with this function", () => this.filter({ focus: f })],
				["Hide stacks with this function", () => this.filter({ hide: [...this.state.hide, f] })],
				["Callers and callees", () => this.sandwich(f)]);
		}
		if (this.state.focus >= 0 || this.state.hide.length)
			items.push(["Show all stacks again", () => this.filter({ focus: -1, hide: [] })]);
		this.tip.hidden = true;
		fill(this.menuBox, el("div", { class: "xf-menu-head" }, title), ...items.map(([label, act]) =>
			el("button", { type: "button", role: "menuitem", tabindex: -1, click: () => {
				this.closeMenu();
				act();
			} }, label)));
		this.menuFrom = pane.canvas;
		this.menuBox.hidden = false;
		const r = this.root.getBoundingClientRect();
		this.menuBox.style.left = Math.max(4, Math.min(x - r.left, r.width - this.menuBox.offsetWidth - 4)) + "px";
		this.menuBox.style.top = Math.max(4, Math.min(y - r.top, r.height - this.menuBox.offsetHeight - 4)) + "px";
		this.menuBox.querySelector("button").focus();
	}
	menuKey(e)
	{
		const all = [...this.menuBox.querySelectorAll("button")], k = all.indexOf(document.activeElement);

		if (e.key === "ArrowDown" || e.key === "ArrowUp") {
			all[(k + (e.key === "ArrowDown" ? 1 : all.length - 1)) % all.length].focus();
			e.preventDefault();
		} else if (e.key === "Escape" || e.key === "Tab") {
			this.closeMenu();
			e.preventDefault();
		}
		e.stopPropagation();
	}
	closeMenu()
	{
		this.menuBox.hidden = true;
		if (this.menuFrom)
			this.menuFrom.focus();
	}
	stackText(pane, node)
	{
		const names = pane.tree.path(node).map((f) => this.model.title[f]);

		if (pane.tree.frame[0] >= 0)
			names.unshift(this.model.title[pane.tree.frame[0]]);
		return names.reverse().join("\n") + "\n";
	}
	copy(text)
	{
		const old = () => {
			const area = el("textarea", { class: "xf-live", "aria-label": "text to copy" });
			area.value = text;
			this.root.append(area);
			area.select();
			try {
				document.execCommand("copy");
			} catch (e) {
				/* not allowed here */
			}
			area.remove();
		};
		this.copied = text;
		if (navigator.clipboard && window.isSecureContext)
			navigator.clipboard.writeText(text).catch(old);
		else
			old();
		this.live.textContent = this.stateText.textContent = "copied";
	}
	searchFor(title)
	{
		this.state.regex = false;
		this.state.case = true;
		this.state.search = this.input.value = title;
		this.search();
		this.toHash(false);
	}

	/* -- panels -- */

	panel(name)
	{
		const p = this.panelBox, was = p.hidden ? null : this.panelName;
		const open = name && was !== name;

		for (const [b, n] of [[this.qualityButton, "about"], [this.aboutButton, "about"], [this.helpButton, "help"]])
			if (b)
				b.setAttribute("aria-expanded", open && n === name ? "true" : "false");
		p.hidden = !open;
		this.panelName = name;
		if (!open)
			return;
		const close = el("button", { type: "button", class: "xf-close", click: () => this.panel(null) }, "Close");
		const list = (pairs) => el("dl", null, ...pairs.flatMap(([k, v]) => [el("dt", null, k), el("dd", null, v)]));
		p.setAttribute("aria-label", name === "help" ? "Help" : "Details");
		if (name === "help") {
			const keys = [["/", "search"], ["n  N", "next, previous match"], ["← →", "neighbours"], ["↑ ↓", "caller, widest callee"],
				["Enter", "zoom to the selected box"], ["Esc", "go back"], ["r", "reset"], ["f", "flip"], ["i", "invert"], ["g", "group"], ["h", "hide idle"], ["c", "copy the name"],
				["s", "copy the stack"], ["d", "light, dark"], ["Shift+F10", "menu of the box (or the right mouse button)"], ["?", "this help"]];
			const dl = el("dl", { class: "xf-keys" });
			for (const [k, v] of keys)
				dl.append(el("div", null, el("dt", null, el("kbd", null, k)), el("dd", null, v)));
			fill(p, close, el("h2", null, "Keys"), dl, el("h2", null, "What the picture says"), el("p", null,
				"Each box is a function, as wide as its share of " + this.unit + "; what it called lies on it. The order from left to right is " +
				"by name, not by time. Boxes narrower than half a pixel are drawn together and appear when you zoom in; shares always count everything."));
			return;
		}
		const d = this.d, facts = d.facts.slice();
		facts.unshift(["total", this.weight(this.total)], ["boxes", count(this.whole.n - 1)], ["functions", count(this.model.own)]);
		if (d.event)
			facts.unshift(["event", d.event]);
		if (d.notes)
			facts.push(["notes", d.notes]);
		fill(p, close);
		if (d.quality.length)
			p.append(el("h2", null, "Quality"), el("ul", null, ...d.quality.map((q) => el("li", null, q.text))));
		p.append(el("h2", null, "Recording"), list(facts));
	}

	/* -- table -- */

	showTable()
	{
		const m = this.model, whole = this.total, sort = this.sort;

		if (!this.tableOf) {
			this.tableOf = byFrame(m, this.upright);
			this.tableMore = ROWS;
		}
		const { self, total, base, baseTotal } = this.tableOf, rows = [];
		for (let f = 0; f < m.n; f++)
			if ((total[f] > 0 || (base && baseTotal[f] > 0)) && !(m.flags[f] & GROUP && !self[f]) && (!this.found || this.found[f]))
				rows.push(f);
		const text = (a, b) => a < b ? -1 : a > b ? 1 : 0;
		const cmp = { self: (a, b) => self[a] - self[b], total: (a, b) => total[a] - total[b],
			      name: (a, b) => text(m.title[a], m.title[b]), module: (a, b) => text(m.module(a), m.module(b)),
			      space: (a, b) => m.cls[a] - m.cls[b] };
		if (base)
			this.compared(cmp);
		rows.sort((a, b) => (sort.down ? cmp[sort.by](b, a) : cmp[sort.by](a, b)) || self[b] - self[a] || total[b] - total[a] || a - b);
		const sorted = (by) => ({ scope: "col", "aria-sort": sort.by === by ? (sort.down ? "descending" : "ascending") : "none" });
		const head = (by, label, right) => el("th", Object.assign(sorted(by), { class: right ? "xf-r" : null }),
			el("button", { type: "button", click: () => {
				this.sort = { by, down: sort.by === by ? !sort.down : right };
				this.showTable();
				this.tableWrap.querySelector("[aria-sort=\"ascending\"] button, [aria-sort=\"descending\"] button").focus();
			} }, label + (sort.by === by ? (sort.down ? " ▾" : " ▴") : "")));
		const right = (...content) => el("td", { class: "xf-r" }, ...content), unsorted = (label) => el("th", { scope: "col", class: "xf-r" }, label);
		const heads = base
			? [unsorted("Self before"), head("self", "after", true), head("dself", "change", true), unsorted("±"),
			   unsorted("Total before"), head("total", "after", true), head("dtotal", "change", true), unsorted("±")]
			: [head("self", "Self", true), unsorted("%"), head("total", "Total", true), unsorted("%")];
		const cells = (f) => base
			? [...this.changeCells(right, base[f], self[f], f, "own"), ...this.changeCells(right, baseTotal[f], total[f], f, "total")]
			: [right(count(this.scaled(self[f]))), right(share(self[f], whole)), right(count(this.scaled(total[f]))), right(share(total[f], whole))];
		const body = el("tbody");
		for (const f of rows.slice(0, this.tableMore))
			body.append(el("tr", null, ...cells(f),
				el("td", null, el("button", { type: "button", title: "callers and callees", click: () => this.sandwich(f) }, m.title[f])),
				el("td", null, m.module(f)), el("td", { class: "xf-hide-narrow" }, m.flags[f] & GROUP ? "" : m.cls[f] === 3 ? "JIT" : m.space(f))));
		const more = rows.length - this.tableMore;
		fill(this.tableWrap, el("table", null,
			el("caption", null, counted(rows.length, "function") + "; self: the function itself, total: with all that it called" +
				(base ? "; in percent of the whole, * is beyond noise, and what is surest comes first" : "") +
				(this.found ? "; those that match the search" : "")),
			el("thead", null, el("tr", null, ...heads, head("name", "Function"), head("module", "Module"),
				el("th", Object.assign(sorted("space"), { class: "xf-hide-narrow" }), ...head("space", "Space").childNodes))),
			body));
		if (more > 0)
			this.tableWrap.append(el("button", { type: "button", click: () => {
				this.tableMore += 1000;
				this.showTable();
			} }, count(more) + " more"));
	}

	/* Orders of the table of a comparison: those of changes, where the sure ones come first. */
	compared(cmp)
	{
		const { self, total, base, baseTotal } = this.tableOf, t = this.upright, noise = this.noise;
		const change = (is, was, kind) => {
			/* Once a function: sorting asks often. */
			const key = is.map((x, f) => Math.abs(x - was[f]) + (noise.sure(x, was[f], t, f, kind) ? 2 * t.total[0] + 2 * t.baseTotal[0] : 0));
			return (a, b) => key[a] - key[b];
		};
		const own = change(self, base, "own"), all = change(total, baseTotal, "total");
		const sure = self.map((x, f) => noise.sure(x, base[f], t, f, "own") ? 1 : 0);

		cmp.dself = (a, b) => own(a, b) || all(a, b);
		cmp.dtotal = all;
		/* As the table of text has it: what has changed itself, then what calls it, then what may be noise. */
		if (this.sort.by === "sure")
			cmp.sure = (a, b) => sure[a] - sure[b] || (sure[a] ? own(a, b) : all(a, b));
	}
	changeCells(cell, was, is, f, kind)
	{
		const t = this.upright, whole = t.total[0] || t.baseTotal[0], sure = this.noise.sure(is, was, t, f, kind);
		const delta = cell(change(is, was, whole) + (sure ? " *" : ""));

		if (!is && !was)
			return [cell(), cell(), cell(), cell()];
		if (sure)
			delta.classList.add((is > was) === !this.d.options.negate ? "xf-grew" : "xf-shrank");
		return [cell(share(was, whole)), cell(share(is, whole)), delta, cell(share(this.noise.half(is, was, t, f, kind === "own"), whole))];
	}

	/* -- callers and callees -- */

	sandwich(f)
	{
		this.go({ tab: "sand", sand: f });
	}
	sandTo(pane, node)
	{
		const f = pane.tree.frame[node];

		if (node && f >= 0)
			this.sandwich(f);
	}
	showSand()
	{
		const s = this.state, m = this.model;

		if (s.sand < 0) {
			/* The function with the largest self is a good start. */
			const { self } = this.tableOf = this.tableOf || byFrame(m, this.upright);
			let best = 0;
			for (let f = 1; f < m.n; f++)
				if (self[f] > self[best])
					best = f;
			s.sand = best;
		}
		if (this.sandOf === s.sand)
			return;
		this.sandOf = s.sand;
		this.tableMore = this.tableMore || ROWS;
		const callees = calleesOf(m, this.upright, s.sand), callers = callersOf(m, this.upright, s.sand);
		this.callers.setTree(callers, 0);
		this.callees.setTree(callees, 0);
		fill(this.sandHead, el("b", null, m.title[s.sand]), el("span", { class: "xf-sub" }, [m.module(s.sand), m.where(s.sand),
			this.weight(callees.total[0]), share(callees.total[0], this.total) + " of all",
			"self " + share(callees.self[0], this.total)].filter(Boolean).join(" · ")),
			el("button", { type: "button", click: () => {
				this.searchFor(m.title[s.sand]);
				this.go({ tab: "graph" });
			} }, "Find in the graph"));
	}

	/* -- keys that work anywhere -- */

	tabKey(e)
	{
		const names = Object.keys(this.tabs), k = names.indexOf(this.state.tab);

		if (e.key === "ArrowRight" || e.key === "ArrowLeft") {
			const to = names[(k + (e.key === "ArrowRight" ? 1 : names.length - 1)) % names.length];
			this.go({ tab: to });
			this.tabs[to].focus();
			e.preventDefault();
		}
	}
	key(e)
	{
		const tag = e.target && e.target.localName;

		if (e.defaultPrevented || e.ctrlKey || e.altKey || e.metaKey)
			return;
		if (e.key === "Escape") {
			this.escape();
			return;
		}
		if (this.inline || tag === "input" || tag === "textarea" || tag === "select")
			return;
		const pane = this.pane, node = pane.selected >= 0 ? pane.selected : pane.zoom;
		const name = () => this.tree.frame[node] >= 0 ? this.model.title[this.tree.frame[node]] : "all";
		const acts = {
			"/": () => { this.input.focus(); this.input.select(); },
			n: () => this.step(1), N: () => this.step(-1), r: () => this.reset(), "?": () => this.panel("help"),
			f: () => this.toggles.icicle.click(), i: () => this.toggles.invert.click(), d: () => this.themeButton.click(),
			g: () => this.groupBox.focus(), h: () => this.toggles.noidle && this.toggles.noidle.click(),
			c: () => this.copy(name()), s: () => this.copy(this.stackText(pane, node)),
		};
		if (acts[e.key]) {
			acts[e.key]();
			e.preventDefault();
		} else if (/^Arrow/.test(e.key) && (e.target === document.body || e.target === document.documentElement) && this.state.tab === "graph") {
			pane.canvas.focus();
			pane.key(e);
		}
	}
}

/* ---- start ---- */

/*
 * The script stands behind the data and before the static picture, which is hidden at once so that no time is
 * spent on drawing it; it comes back when the viewer cannot start.
 */
function start()
{
	const script = document.currentScript, root = script.ownerSVGElement || null;
	const scope = root || document;
	const data = scope.querySelector("[id=\"xenflame-data\"]");
	const alone = !root || root === document.documentElement;
	const size = root ? [root.getAttribute("width"), root.getAttribute("height")] : null;
	let mount;

	if (root) {
		mount = document.createElementNS(SVG, "foreignObject");
		for (const [k, v] of [["x", "0"], ["y", "0"], ["width", "100%"], ["height", "100%"]])
			mount.setAttribute(k, v);
		root.classList.add("xf-live-svg");
		root.setAttribute("width", "100%");
		if (alone)
			root.setAttribute("height", "100%");
		root.append(mount);
	} else {
		mount = document.getElementById("xenflame");
	}
	readData(data).then((d) => {
		const v = new Viewer(d, mount, !alone);
		(root || document.documentElement).xenflame = v;	/* for tests and for the curious */
	}).catch((e) => {
		/* Without the viewer, the static picture is what there is. */
		if (root) {
			mount.remove();
			root.classList.remove("xf-live-svg");
			root.setAttribute("width", size[0]);
			root.setAttribute("height", size[1]);
		} else {
			mount.textContent = "The graph cannot be shown by this browser: " + (e && e.message);
		}
		if (window.console)
			console.error("xenflame:", e);
	});
}

start();
})();
