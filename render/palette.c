/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Colours of boxes.  "xen", the default, tells spaces apart: hues on the blue-orange axis, which
 * all kinds of colour vision keep apart, and lightness that differs, for print.  The others have
 * the names and ranges of flamegraph.pl's and inferno's palettes; shades come from a hash of the
 * name, so that a function has one colour in every picture.
 */
#include <errno.h>
#include <unistd.h>

#include "render/graph.h"

#define SHADES 16

const char *color_class_name(enum color_class c)
{
	static const char *const names[CLASS_NR] = { "hypervisor",   "kernel",     "user", "JIT",
						     "guest kernel", "guest user", "other" };

	return names[c];
}

enum color_class color_class_of(const struct frame *f)
{
	if (f->flags & FRAME_GROUP)
		return CLASS_OTHER;
	if (f->flags & FRAME_JIT)
		return CLASS_JIT;
	switch (f->space) {
	case SPACE_HV: return CLASS_HV;
	case SPACE_KERNEL: return CLASS_KERNEL;
	case SPACE_USER: return CLASS_USER;
	case SPACE_GUEST_KERNEL: return CLASS_GUEST_KERNEL;
	case SPACE_GUEST_USER: return CLASS_GUEST_USER;
	default: return CLASS_OTHER;
	}
}

static u8 clamp(double v)
{
	return v <= 0 ? 0 : v >= 255 ? 255 : (u8)(v + 0.5);
}

static struct rgb mix(struct rgb a, struct rgb b, double k)
{
	struct rgb c = { clamp(a.r + (b.r - a.r) * k), clamp(a.g + (b.g - a.g) * k),
			 clamp(a.b + (b.b - a.b) * k) };

	return c;
}

void buf_rgb(struct buf *b, struct rgb c)
{
	buf_printf(b, "#%02x%02x%02x", c.r, c.g, c.b);
}

/* The same colour on dark paper: a little darker, so that it does not glare. */
static struct rgb darker(struct rgb c)
{
	struct rgb black = { 0, 0, 0 };

	return mix(c, black, 0.14);
}

/* ---- xen ---- */

/* Lightness (CIE L*) of these: 63, 74, 90, 70, 58, 82, 85. */
static const struct rgb xen_base[CLASS_NR] = {
	[CLASS_HV] = { 0xe8, 0x78, 0x38 },           [CLASS_KERNEL] = { 0x7c, 0xb8, 0xea },
	[CLASS_USER] = { 0xf4, 0xe0, 0x8c },         [CLASS_JIT] = { 0xd2, 0x98, 0xd0 },
	[CLASS_GUEST_KERNEL] = { 0x4a, 0x98, 0x86 }, [CLASS_GUEST_USER] = { 0x9c, 0xd8, 0xc0 },
	[CLASS_OTHER] = { 0xd3, 0xd6, 0xdb },
};

static struct rgb xen_color(const struct frame *f, u64 hash)
{
	struct rgb white = { 255, 255, 255 }, black = { 0, 0, 0 }, c = xen_base[color_class_of(f)],
		   grey;
	int shade = (int)(hash % SHADES) - SHADES / 2; /* -8 … 7 */

	if (f->flags & FRAME_GROUP)
		return c;
	if (f->flags & (FRAME_UNRESOLVED | FRAME_BROKEN)) {
		grey.r = grey.g = grey.b = clamp(0.3 * c.r + 0.59 * c.g + 0.11 * c.b);
		c = mix(c, grey, 0.65);
	}
	if (f->flags & FRAME_INLINED)
		c = mix(c, white, 0.42);
	return shade < 0 ? mix(c, black, -shade * 0.008) : mix(c, white, shade * 0.02);
}

/* ---- flamegraph.pl's ---- */

/* A range of colours: base + v * span, each channel by its own of three values in [0, 1). */
struct range {
	const char *name;
	double base[3], span[3];
	int by[3]; /* which of the three values */
};

static const struct range ranges[] = {
	{ "hot", { 205, 0, 0 }, { 50, 230, 55 }, { 2, 0, 1 } },
	{ "mem", { 0, 190, 0 }, { 0, 50, 210 }, { 0, 1, 0 } },
	{ "io", { 80, 80, 190 }, { 60, 60, 55 }, { 0, 0, 1 } },
	{ "red", { 200, 50, 50 }, { 55, 80, 80 }, { 0, 0, 0 } },
	{ "green", { 50, 200, 50 }, { 60, 55, 60 }, { 0, 0, 0 } },
	{ "blue", { 80, 80, 205 }, { 60, 60, 50 }, { 0, 0, 0 } },
	{ "yellow", { 175, 175, 50 }, { 55, 55, 20 }, { 0, 0, 0 } },
	{ "purple", { 190, 80, 190 }, { 65, 60, 65 }, { 0, 0, 0 } },
	{ "aqua", { 50, 165, 165 }, { 60, 55, 55 }, { 0, 0, 0 } },
	{ "orange", { 190, 90, 0 }, { 65, 65, 0 }, { 0, 0, 0 } },
};

static const struct range *range_by_name(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ranges); i++)
		if (!strcmp(ranges[i].name, name))
			return &ranges[i];
	return NULL;
}

static struct rgb range_color(const struct range *r, u64 hash)
{
	double v[3];

	if (!r)
		r = &ranges[0];

	v[0] = (double)(hash % 32) / 32;
	v[1] = (double)(hash / 32 % 8) / 8;
	v[2] = (double)(hash / 256 % 8) / 8;
	return (struct rgb){ clamp(r->base[0] + r->span[0] * v[r->by[0]]),
			     clamp(r->base[1] + r->span[1] * v[r->by[1]]),
			     clamp(r->base[2] + r->span[2] * v[r->by[2]]) };
}

/* The palettes of languages: a range by what the frame is, told by name, module, space and flags.
 */
struct told {
	const struct frame *f;
	const char *name;
	bool kernel, cxx;
};

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), k = strlen(end);

	return n >= k && !strcmp(s + n - k, end);
}

static const char *java_range(const struct told *t)
{
	if (t->f->flags & FRAME_INLINED)
		return "aqua";
	if (t->f->flags & FRAME_JIT || !strncmp(t->name, "java/", 5) ||
	    !strncmp(t->name, "Ljava/", 6) || !strncmp(t->name, "org/", 4) ||
	    !strncmp(t->name, "com/", 4) || !strncmp(t->name, "io/", 3) ||
	    !strncmp(t->name, "sun/", 4))
		return "green";
	return t->kernel ? "orange" : t->cxx ? "yellow" : "red";
}

static const char *js_range(const struct told *t)
{
	if (t->kernel)
		return "orange";
	if (t->f->flags & FRAME_JIT)
		return strchr(t->name, '/') ? "green" : "aqua";
	if (t->cxx)
		return "yellow";
	if (strstr(t->name, ".js") && strchr(t->name, '/'))
		return "green";
	if (strchr(t->name, ':'))
		return "aqua";
	return strchr(t->name, ' ') ? "green" : "red";
}

static const char *perl_range(const struct told *t)
{
	if (t->kernel)
		return "orange";
	if (t->cxx)
		return "yellow";
	return strstr(t->name, "Perl") || strstr(t->name, ".pl") ? "green" : "red";
}

static const char *rust_range(const struct told *t)
{
	if (t->kernel)
		return "orange";
	if (!strncmp(t->name, "core::", 6) || !strncmp(t->name, "std::", 5) ||
	    !strncmp(t->name, "alloc::", 7) || !strncmp(t->name, "<core::", 7) ||
	    !strncmp(t->name, "<std::", 6) || !strncmp(t->name, "<alloc::", 8))
		return "yellow";
	return t->cxx ? "aqua" : "red";
}

static const char *python_range(const struct told *t)
{
	if (t->kernel)
		return "orange";
	if (strstr(t->name, "site-packages") || strstr(t->name, "dist-packages"))
		return "aqua";
	if (strstr(t->name, ".py"))
		return strstr(t->name, "lib/python") || !strncmp(t->name, "<frozen", 7) ? "yellow"
											: "green";
	return "red";
}

static const char *wakeup_range(const struct told *t)
{
	(void)t;
	return "aqua";
}

/* Chain graphs: stacks of who was woken and, with `_[w]`, of the wakers. */
static const char *chain_range(const struct told *t)
{
	return ends_with(t->name, "_[w]") ? "aqua" : "blue";
}

static const struct {
	const char *name;
	const char *(*range)(const struct told *t);
} languages[] = {
	{ "java", java_range },   { "js", js_range },         { "perl", perl_range },
	{ "rust", rust_range },   { "python", python_range }, { "wakeup", wakeup_range },
	{ "chain", chain_range },
};

const char *const *render_palette_names(void)
{
	static const char *const names[] = { "xen",    "hot",  "mem",    "io",     "java",
					     "js",     "perl", "rust",   "python", "wakeup",
					     "chain",  "red",  "green",  "blue",   "yellow",
					     "purple", "aqua", "orange", "module", "share",
					     NULL };

	return names;
}

/* By module: hues around the circle, all of one lightness. */
static struct rgb module_color(u64 hash, u64 shade)
{
	static const struct rgb hues[] = {
		{ 0xe6, 0x9f, 0x5b }, { 0x7c, 0xb8, 0xea }, { 0x8c, 0xc9, 0x8a },
		{ 0xe5, 0xd0, 0x6a }, { 0xd2, 0x98, 0xd0 }, { 0x86, 0xcf, 0xc9 },
		{ 0xea, 0x8f, 0x84 }, { 0xa8, 0xa9, 0xe8 }, { 0xc9, 0xb2, 0x8e },
		{ 0xb9, 0xd1, 0x6a }, { 0xe8, 0xa6, 0xc4 }, { 0xb4, 0xbc, 0xc6 },
	};
	struct rgb white = { 255, 255, 255 };

	return mix(hues[hash % ARRAY_SIZE(hues)], white, (double)(shade % 8) * 0.03);
}

/* FNV-1a, mixed: the same on every machine. */
static u64 name_hash(const char *s, size_t n, u64 seed)
{
	u64 h = 0xcbf29ce484222325ULL ^ seed;
	size_t i;

	for (i = 0; i < n; i++)
		h = (h ^ (u8)s[i]) * 0x100000001b3ULL;
	h ^= h >> 32;
	h *= 0xd6e8feb86659fd93ULL;
	return h ^ h >> 32;
}

struct chosen {
	const char *name;
	bool xen, module, share;
	const struct range *range;
	const char *(*language)(const struct told *t);
};

static int choose(struct chosen *c, const char *name, struct error *err)
{
	size_t i;

	memset(c, 0, sizeof(*c));
	c->name = name;
	c->xen = !strcmp(name, "xen");
	c->module = !strcmp(name, "module");
	c->share = !strcmp(name, "share");
	c->range = range_by_name(name);
	for (i = 0; i < ARRAY_SIZE(languages); i++)
		if (!strcmp(languages[i].name, name))
			c->language = languages[i].range;
	if (c->xen || c->module || c->share || c->range || c->language)
		return 0;
	return error_set(err, "no palette '%s'", name);
}

static struct rgb color_of(const struct chosen *c, const struct profile *p, const struct frame *f)
{
	const char *name = strtab_get(p->strings, f->function),
		   *module = strtab_get(p->strings, f->module);
	u64 hash = name_hash(name, strtab_len(p->strings, f->function), 0);
	struct told t;

	if (c->xen)
		return xen_color(f, hash);
	if (c->module && f->flags & FRAME_GROUP)
		return xen_base[CLASS_OTHER];
	if (c->module)
		return module_color(name_hash(module, strtab_len(p->strings, f->module), f->space),
				    hash);
	if (c->range)
		return range_color(c->range, hash);
	t.f = f;
	t.name = name;
	t.kernel = f->space == SPACE_KERNEL || f->space == SPACE_HV ||
		   f->space == SPACE_GUEST_KERNEL;
	t.cxx = strstr(name, "::") != NULL;
	return range_color(range_by_name(c->language(&t)), hash);
}

/* ---- palette files: lines "function->rgb(r,g,b)", as flamegraph.pl --cp keeps them ---- */

struct fixed {
	const char *name; /* in the file */
	size_t len;
	struct rgb c;
};

struct fixed_colors {
	struct file_map map;
	VEC(struct fixed) v;
	struct index index;
	struct arena arena; /* names that are not in the file yet */
	bool grown;
};

static bool fixed_eq(const void *ctx, u32 id, const void *key)
{
	const struct fixed_colors *fc = ctx;
	const struct fixed *k = key;

	return fc->v.v[id].len == k->len && !memcmp(fc->v.v[id].name, k->name, k->len);
}

static int parse_rgb(const char *p, const char *end, struct rgb *c)
{
	u8 *out[3] = { &c->r, &c->g, &c->b };
	u64 v;
	int i;

	if (end - p < 4 || memcmp(p, "rgb(", 4))
		return -1;
	p += 4;
	for (i = 0; i < 3; i++) {
		while (p < end && *p == ' ')
			p++;
		if (parse_dec(&p, end, &v) || v > 255)
			return -1;
		*out[i] = (u8)v;
		while (p < end && *p == ' ')
			p++;
		if (p == end || *p++ != (i < 2 ? ',' : ')'))
			return -1;
	}
	/* Anything more would be lost when the file is written anew. */
	while (p < end && (*p == ' ' || *p == '\t' || *p == '\r'))
		p++;
	return p == end ? 0 : -1;
}

static int fixed_read(struct fixed_colors *fc, const char *path, struct error *err)
{
	const char *p, *end;
	u64 line = 0;

	/* The first time there is none. */
	if (access(path, F_OK) && errno == ENOENT)
		return 0;
	if (file_map_open(&fc->map, path, 64u << 20, err))
		return -1;
	p = (const char *)fc->map.p;
	end = p + fc->map.n;
	while (p < end) {
		const char *eol = memchr(p, '\n', (size_t)(end - p)), *arrow = NULL, *s;
		struct fixed f;

		eol = eol ? eol : end;
		line++;
		/* The last "->": a C++ operator may be in the name. */
		for (s = p; s + 1 < eol; s++)
			if (s[0] == '-' && s[1] == '>')
				arrow = s;
		if (eol > p) {
			if (!arrow || parse_rgb(arrow + 2, eol, &f.c))
				return error_set(
					err, "'%s': line %" PRIu64 ": not 'function->rgb(r,g,b)'",
					path, line);
			f.name = p;
			f.len = (size_t)(arrow - p);
			if (index_find(&fc->index, hash_bytes(f.name, f.len, 0), fixed_eq, fc,
				       &f) == INDEX_NONE) {
				index_add(&fc->index, hash_bytes(f.name, f.len, 0), (u32)fc->v.n);
				vec_push(&fc->v, f);
			}
		}
		p = eol < end ? eol + 1 : end;
	}
	return 0;
}

static void fixed_release(struct fixed_colors *fc)
{
	index_release(&fc->index);
	vec_release(&fc->v);
	arena_release(&fc->arena);
	if (fc->map.p)
		file_map_close(&fc->map);
}

static int cmp_fixed(const void *pa, const void *pb)
{
	const struct fixed *a = pa, *b = pb;
	int c = memcmp(a->name, b->name, MIN(a->len, b->len));

	return c ? c : (a->len > b->len) - (a->len < b->len);
}

static void fixed_write(struct fixed_colors *fc, struct buf *b)
{
	size_t i;

	qsort(fc->v.v, fc->v.n, sizeof(*fc->v.v), cmp_fixed);
	for (i = 0; i < fc->v.n; i++) {
		const struct fixed *f = &fc->v.v[i];

		buf_put(b, f->name, f->len);
		buf_printf(b, "->rgb(%u,%u,%u)\n", f->c.r, f->c.g, f->c.b);
	}
}

/* The colour of a name; `own` becomes it when it has none yet. */
static struct rgb fixed_color(struct fixed_colors *fc, const struct buf *name, struct rgb own)
{
	struct fixed key = { name->p, name->n, own };
	u64 hash = hash_bytes(key.name, key.len, 0);
	u32 k = index_find(&fc->index, hash, fixed_eq, fc, &key);

	if (k != INDEX_NONE)
		return fc->v.v[k].c;
	/* A line of the file cannot hold it. */
	if (!name->n || memchr(name->p, '\n', name->n))
		return own;
	key.name = arena_strndup(&fc->arena, name->p, name->n);
	index_add(&fc->index, hash, (u32)fc->v.n);
	vec_push(&fc->v, key);
	fc->grown = true;
	return own;
}

/* ---- backgrounds ---- */

static int parse_hex_color(const char *s, struct rgb *c)
{
	size_t n = strlen(s), i;
	int d[6];

	if (*s != '#' || (n != 4 && n != 7))
		return -1;
	for (i = 1; i < n; i++) {
		d[i - 1] = hex_digit(s[i]);
		if (d[i - 1] < 0)
			return -1;
	}
	if (n == 4) {
		c->r = (u8)(d[0] * 17);
		c->g = (u8)(d[1] * 17);
		c->b = (u8)(d[2] * 17);
	} else {
		c->r = (u8)(d[0] * 16 + d[1]);
		c->g = (u8)(d[2] * 16 + d[3]);
		c->b = (u8)(d[4] * 16 + d[5]);
	}
	return 0;
}

static int choose_paper(struct palette *p, const char *background, struct error *err)
{
	static const struct {
		const char *name;
		struct rgb c[2];
	} papers[] = {
		{ "yellow", { { 0xee, 0xee, 0xee }, { 0xee, 0xee, 0xb0 } } },
		{ "blue", { { 0xee, 0xee, 0xee }, { 0xe0, 0xe0, 0xff } } },
		{ "green", { { 0xee, 0xf2, 0xee }, { 0xe0, 0xff, 0xe0 } } },
		{ "grey", { { 0xf8, 0xf8, 0xf8 }, { 0xe8, 0xe8, 0xe8 } } },
	};
	struct rgb white = { 255, 255, 255 };
	size_t i;

	p->plain = !background;
	p->paper[0] = p->paper[1] = white;
	if (!background)
		return 0;
	for (i = 0; i < ARRAY_SIZE(papers); i++) {
		if (!strcmp(papers[i].name, background)) {
			p->paper[0] = papers[i].c[0];
			p->paper[1] = papers[i].c[1];
			return 0;
		}
	}
	if (parse_hex_color(background, &p->paper[0]))
		return error_set(err,
				 "--bgcolors=%s: expected yellow, blue, green, grey or #rrggbb",
				 background);
	p->paper[1] = p->paper[0];
	return 0;
}

int render_check_background(const char *background, struct error *err)
{
	struct palette p;

	return choose_paper(&p, background, err);
}

/* ---- all of it ---- */

/* Open addressing over the colours themselves: there may be as many as functions. */
static bool pair_eq(const void *ctx, u32 id, const void *key)
{
	const struct palette *p = ctx;

	return !memcmp(&p->colors.v[id], key, sizeof(struct color_pair));
}

static u32 add_color(struct palette *p, struct index *ix, struct rgb c)
{
	struct color_pair pair = { c, darker(c) };
	u64 hash = hash_bytes(&pair, sizeof(pair), 0);
	u32 id = index_find(ix, hash, pair_eq, p, &pair);

	if (id == INDEX_NONE) {
		id = (u32)p->colors.n;
		index_add(ix, hash, id);
		vec_push(&p->colors, pair);
	}
	return id;
}

static double root_of(double x)
{
	double r = x > 1 ? x : 1;
	int i;

	for (i = 0; i < 40; i++)
		r = (r + x / r) / 2;
	return r;
}

struct color_pair palette_delta(double strength, bool negate)
{
	struct rgb grew = { 232, 110, 40 }, shrank = { 60, 140, 220 }, light = { 228, 228, 228 },
		   dark = { 190, 190, 190 };
	bool more = negate ? strength < 0 : strength > 0;
	double k = strength < 0 ? -strength : strength;
	struct color_pair c;

	c.light = mix(light, more ? grew : shrank, k);
	c.dark = mix(dark, more ? grew : shrank, k);
	return c;
}

/* Pale to strong; all of them light enough for black text. */
static void put_shares(struct palette *p)
{
	struct rgb pale = { 250, 240, 222 }, strong = { 232, 100, 40 };
	int i;

	p->by_share = true;
	for (i = 0; i <= SHARE_STEPS; i++) {
		struct rgb c = mix(pale, strong, (double)i / SHARE_STEPS);

		vec_push(&p->colors, ((struct color_pair){ c, darker(c) }));
	}
	p->root = SHARE_STEPS;
}

int palette_init(struct palette *p, const struct render_input *in, const struct render_opts *opts,
		 struct error *err)
{
	const struct profile *pr = in->profile;
	struct fixed_colors fixed;
	struct buf name = BUF_INIT;
	struct chosen c;
	struct index ix;
	size_t i;
	int ret = -1;

	memset(p, 0, sizeof(*p));
	memset(&fixed, 0, sizeof(fixed));
	index_init(&ix);
	index_init(&fixed.index);
	arena_init(&fixed.arena);
	if (choose(&c, opts->colors ? opts->colors : "xen", err) ||
	    choose_paper(p, opts->background, err))
		goto out;
	if (opts->palette_file && !c.share && fixed_read(&fixed, opts->palette_file, err))
		goto out;
	p->frame = xcalloc(pr->frames.n + 1, sizeof(*p->frame));
	if (c.share) {
		/* Nothing about functions: all of them have the palest colour. */
		put_shares(p);
		ret = 0;
		goto out;
	}
	memset(p->frame, 0xff, pr->frames.n * sizeof(*p->frame));
	for (i = 1; i < in->view->nodes.n; i++) {
		frame_id id = in->view->nodes.v[i].frame;
		struct rgb own;

		if (p->frame[id] != UINT32_MAX)
			continue;
		own = color_of(&c, pr, &pr->frames.v[id]);
		if (opts->palette_file) {
			buf_clear(&name);
			profile_frame_name(pr, id, opts->annotate_all, &name);
			own = fixed_color(&fixed, &name, own);
		}
		p->frame[id] = add_color(p, &ix, own);
	}
	/* Boxes of a comparison have the colours of what changed: the functions' are not drawn. */
	if (fixed.grown && opts->palette_text && !in->view->is_diff)
		fixed_write(&fixed, opts->palette_text);
	p->root = add_color(p, &ix, xen_base[CLASS_OTHER]);
	for (i = 0; i < CLASS_NR; i++) {
		struct frame f = { 0, 0, 0, 0, SPACE_NONE, 0 };
		static const u8 spaces[CLASS_NR] = { SPACE_HV,           SPACE_KERNEL,
						     SPACE_USER,         SPACE_USER,
						     SPACE_GUEST_KERNEL, SPACE_GUEST_USER,
						     SPACE_NONE };
		f.space = spaces[i];
		f.flags = i == CLASS_JIT ? FRAME_JIT : i == CLASS_OTHER ? FRAME_GROUP : 0;
		p->classes[i] = add_color(p, &ix, c.xen ? xen_base[i] : color_of(&c, pr, &f));
	}
	ret = 0;
out:
	index_release(&ix);
	fixed_release(&fixed);
	buf_release(&name);
	return ret;
}

bool palette_tells_classes(const struct palette *p, const struct view *v)
{
	u32 i;

	for (i = 1; i < CLASS_OTHER; i++)
		if (p->classes[i] != p->classes[0])
			return !v->is_diff;
	return false;
}

void palette_release(struct palette *p)
{
	vec_release(&p->colors);
	free(p->frame);
	p->frame = NULL;
}

struct color_pair palette_box(const struct palette *p, const struct view *v, u32 node, bool negate)
{
	u64 whole = v->nodes.v[0].total;
	double share = whole ? (double)v->nodes.v[node].total / (double)whole : 0;

	if (v->is_diff)
		return palette_diff(v, node, negate);
	if (p->by_share)
		return p->colors.v[(u32)(root_of(share) * SHARE_STEPS + 0.5)];
	return p->colors.v[node ? p->frame[v->nodes.v[node].frame] : p->root];
}

struct color_pair palette_diff(const struct view *v, u32 node, bool negate)
{
	double whole = diff_whole(v), delta, k;

	if (!diff_is_sure(v, node) || !(whole > 0))
		return palette_delta(0, negate);
	delta = ((double)v->nodes.v[node].total -
		 (double)view_base_total(v, node) * diff_scale(v)) /
		whole;
	if (!delta)
		return palette_delta(0, negate);
	/* Never so pale that it might be taken for noise. */
	k = 0.25 + 0.75 * root_of(4 * (delta < 0 ? -delta : delta));
	k = k > 1 ? 1 : k;
	return palette_delta(delta < 0 ? -k : k, negate);
}
