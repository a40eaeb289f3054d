/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processed profiles of Firefox Profiler (unpacked from gzip by input.c).
 *
 * Facts: docs-developer/CHANGELOG-formats.md, the types in src/types/profile.ts and
 * src/profile-logic/processed-profile-versioning.ts of firefox-devtools/profiler.  Tables are
 * objects of columns.  A stack has a frame and a parent: `prefix`, null for a root, or since
 * version 66 `prefixOffset`, how far back the parent is, 0 for a root; parents come first.  A frame
 * has a function, a line and a category; a function a name, a resource and a file, by `fileName` or
 * since 58 by a place in `sources`; the library is that of the resource, since 70 the frame's own.
 * Tables, strings (since 56; the others since 60) and libraries (since 41) are shared; before that
 * each thread has its own.  Samples have a stack, or none, and may have weights.
 *
 * Each kind of weight is an event, or what our own writer says.  Process and thread are the
 * outermost frames.
 */
#include <stdlib.h>

#include "perf/stacks-json.h"

/* Stacks looked at, over all threads: one stack of the file may be many threads'. */
#define WALK_MAX ((u64)1 << 26)

/* The last version of the format that the facts above are of. */
#define VERSION_MAX 70

struct category {
	u8 space;
	const json_t *subcategories;
};

/* What stacks of a thread refer to. */
struct tables {
	const json_t *strings, *stack_frame, *prefix, *prefix_offset;
	size_t nr_stacks, nr_frames;
	u32 *frames, *roots; /* by place in frameTable: as a frame of a stack, as its first one */
	u32 *node, *stamp;   /* by stack: its node for the thread of that number + 1 */
};

struct firefox {
	struct perf_reader *r;
	const json_t *root, *shared;
	const json_t *tables; /* where they stand: `shared`, or the thread */
	struct category *categories;
	size_t nr_categories;
	struct tables t;
	VEC(u32) path;
	u64 walked;
};

static const json_t *table(const struct firefox *x, const char *name)
{
	return json_object_get(x->tables, name);
}

static const json_t *cell(const json_t *table, const char *column, size_t i)
{
	return json_array_get(json_object_get(table, column), i);
}

/* ---- categories ---- */

static void read_categories(struct firefox *x)
{
	const json_t *list = json_object_get(json_object_get(x->root, "meta"), "categories"), *v;
	size_t i;

	x->nr_categories = json_array_size(list);
	x->categories = xcalloc(x->nr_categories + 1, sizeof(*x->categories));
	json_array_foreach(list, i, v)
	{
		const char *name = json_string_value(json_object_get(v, "name"));
		struct category *c = &x->categories[i];

		c->subcategories = json_object_get(v, "subcategories");
		c->space = !name                         ? SPACE_NONE
			   : !strcmp(name, "User")       ? SPACE_USER
			   : !strcmp(name, "Kernel")     ? SPACE_KERNEL
			   : !strcmp(name, "Hypervisor") ? SPACE_HV
			   : !strcmp(name, "Guest")      ? SPACE_GUEST_KERNEL
							 : SPACE_NONE;
	}
}

static void use_category(const struct firefox *x, const json_t *frames, size_t i,
			 struct stacks_frame *f)
{
	const char *sub;
	size_t c, k;

	if (!stacks_json_index(cell(frames, "category", i), x->nr_categories, &c))
		return;
	f->space = x->categories[c].space;
	if (!stacks_json_index(cell(frames, "subcategory", i),
			       json_array_size(x->categories[c].subcategories), &k))
		return;
	sub = json_string_value(json_array_get(x->categories[c].subcategories, k));
	if (sub && f->space == SPACE_GUEST_KERNEL && !strcmp(sub, "User"))
		f->space = SPACE_GUEST_USER;
	if (sub && !strcmp(sub, "JIT"))
		f->flags |= TEXT_JIT;
}

/* ---- frames ---- */

static const json_t *string(const json_t *strings, const json_t *index)
{
	size_t i;

	return stacks_json_index(index, json_array_size(strings), &i) ? json_array_get(strings, i)
								      : NULL;
}

static str_id string_id(struct firefox *x, const json_t *v)
{
	return json_is_string(v)
		       ? strtab_add(x->r->strings, json_string_value(v), json_string_length(v))
		       : 0;
}

static str_id module_of(struct firefox *x, const json_t *frames, size_t frame, const json_t *func,
			size_t fn)
{
	const json_t *libs = json_object_get(x->root, "libs"), *res = table(x, "resourceTable");
	const json_t *lib = cell(frames, "lib", frame);
	str_id path;
	size_t i;

	if (!libs)
		libs = table(x, "libs");
	if (!lib && stacks_json_index(cell(func, "resource", fn), SIZE_MAX, &i))
		lib = cell(res, "lib", i);
	if (!stacks_json_index(lib, json_array_size(libs), &i))
		return 0;
	path = stacks_json_str(x->r, json_array_get(libs, i), "path");
	return path ? path : stacks_json_str(x->r, json_array_get(libs, i), "name");
}

static str_id file_of(struct firefox *x, const json_t *func, size_t fn)
{
	const json_t *sources = json_object_get(x->shared, "sources");
	size_t i;

	if (stacks_json_index(cell(func, "source", fn), SIZE_MAX, &i))
		return string_id(x, string(x->t.strings, cell(sources, "filename", i)));
	return string_id(x, string(x->t.strings, cell(func, "fileName", fn)));
}

/* Functions without symbols have their address in the library for a name. */
static bool is_address(const char *s, size_t n, u64 *addr)
{
	const char *p, *end = s + n;

	if (n <= 2 || n > 18 || s[0] != '0' || s[1] != 'x')
		return false;
	p = s + 2;
	return !parse_hex(&p, end, addr) && p == end;
}

static void read_frame(struct firefox *x, size_t i)
{
	const json_t *frames = table(x, "frameTable"), *func = table(x, "funcTable");
	const json_t *name, *v;
	struct stacks_frame f = { .name = "", .space = SPACE_NONE };
	size_t fn = SIZE_MAX;

	if (stacks_json_index(cell(frames, "func", i), SIZE_MAX, &fn)) {
		name = string(x->t.strings, cell(func, "name", fn));
		f.name = json_is_string(name) ? json_string_value(name) : "";
		f.name_len = json_is_string(name) ? json_string_length(name) : 0;
		f.module = module_of(x, frames, i, func, fn);
		f.file = file_of(x, func, fn);
	}
	v = cell(frames, "line", i);
	if (json_is_integer(v) && json_integer_value(v) > 0 && json_integer_value(v) < UINT32_MAX)
		f.line = (u32)json_integer_value(v);
	v = cell(frames, "inlineDepth", i);
	if (json_is_integer(v) && json_integer_value(v) > 0)
		f.flags |= TEXT_INLINED;
	use_category(x, frames, i, &f);
	if (f.module && is_address(f.name, f.name_len, &f.addr)) {
		f.name_len = 0;
		f.flags |= TEXT_HAS_ADDR | TEXT_UNKNOWN;
	}
	x->t.frames[i] = x->t.roots[i] = stacks_frame(x->r, &f);
	if (!f.module && !f.file && f.space == SPACE_NONE && f.name_len) {
		f.flags = TEXT_ROOT;
		x->t.roots[i] = stacks_frame(x->r, &f);
	}
}

static int read_tables(struct firefox *x, struct error *err)
{
	const json_t *stacks = table(x, "stackTable");
	const json_t *func = json_object_get(table(x, "frameTable"), "func");
	struct tables *t = &x->t;
	size_t i;

	memset(t, 0, sizeof(*t));
	t->strings = json_object_get(x->shared, "stringArray");
	if (!t->strings)
		t->strings = table(x, "stringArray");
	if (!t->strings)
		t->strings = table(x, "stringTable");
	t->stack_frame = json_object_get(stacks, "frame");
	t->prefix = json_object_get(stacks, "prefix");
	t->prefix_offset = json_object_get(stacks, "prefixOffset");
	t->nr_stacks = json_array_size(t->stack_frame);
	t->nr_frames = json_array_size(func);
	if (!json_is_array(t->strings) || !json_is_array(t->stack_frame) || !json_is_array(func) ||
	    json_array_size(t->prefix_offset ? t->prefix_offset : t->prefix) != t->nr_stacks)
		return error_set(err,
				 "'%s': expected strings, a table of frames, and one of stacks "
				 "with columns frame and prefix or prefixOffset of one length",
				 input_name(&x->r->in));
	t->frames = xcalloc(t->nr_frames + 1, sizeof(*t->frames));
	t->roots = xcalloc(t->nr_frames + 1, sizeof(*t->roots));
	t->node = xcalloc(t->nr_stacks + 1, sizeof(*t->node));
	t->stamp = xcalloc(t->nr_stacks + 1, sizeof(*t->stamp));
	for (i = 0; i < t->nr_frames; i++)
		read_frame(x, i);
	return 0;
}

static void free_tables(struct tables *t)
{
	free(t->frames);
	free(t->roots);
	free(t->node);
	free(t->stamp);
	memset(t, 0, sizeof(*t));
}

/* ---- stacks ---- */

/* The stack above which one stands: 1, 0 for a root, -1 when there is none such. */
static int parent_of(const struct tables *t, size_t stack, size_t *parent)
{
	const json_t *v = json_array_get(t->prefix_offset ? t->prefix_offset : t->prefix, stack);

	if (!t->prefix_offset) {
		if (json_is_null(v))
			return 0;
		return stacks_json_index(v, stack, parent) ? 1 : -1;
	}
	if (!stacks_json_index(v, stack + 1, parent))
		return -1;
	if (!*parent)
		return 0;
	*parent = stack - *parent;
	return 1;
}

/* The node of a stack below those of a thread's own frames: 1, 0 when the stack is damaged, -1. */
static int find_node(struct firefox *x, u32 top, u32 stamp, size_t stack, u32 *node,
		     struct error *err)
{
	struct stacks *s = x->r->priv;
	struct tables *t = &x->t;
	size_t i, frame;
	bool first;
	int rc = 1;

	x->path.n = 0;
	for (i = stack; t->stamp[i] != stamp; rc = 1) {
		if (++x->walked > WALK_MAX)
			return error_set(err,
					 "'%s': stacks of more than %" PRIu64
					 " frames in all, over all threads",
					 input_name(&x->r->in), WALK_MAX);
		vec_push(&x->path, (u32)i);
		rc = parent_of(t, i, &i);
		if (rc <= 0)
			break;
	}
	if (rc < 0)
		return 0;
	*node = rc ? t->node[i] : top;
	while (x->path.n) {
		i = x->path.v[--x->path.n];
		if (!stacks_json_index(json_array_get(t->stack_frame, i), t->nr_frames, &frame))
			return 0;
		/* Frames that are no code stand at the bottom, one on the other. */
		first = !*node || x->r->text->v.v[s->nodes.v[*node].frame].flags & TEXT_ROOT;
		*node = stacks_child(s, *node, first ? t->roots[frame] : t->frames[frame]);
		t->node[i] = *node;
		t->stamp[i] = stamp;
	}
	return 1;
}

/* ---- threads ---- */

static u32 push_root(struct firefox *x, u32 node, const json_t *name)
{
	struct stacks_frame f = { .name = json_string_value(name),
				  .name_len = json_string_length(name),
				  .flags = TEXT_ROOT,
				  .space = SPACE_NONE };

	return f.name_len ? stacks_child(x->r->priv, node, stacks_frame(x->r, &f)) : node;
}

/* Process and thread; our own writer says whether the process stands above the stacks. */
static u32 thread_root(struct firefox *x, const json_t *thread)
{
	const json_t *own = json_object_get(thread, "xenflame");
	const json_t *process = json_object_get(thread, "processName");
	const json_t *name = json_object_get(thread, "name");
	u32 node = 0;

	if (own)
		return json_is_true(json_object_get(own, "comm")) ? push_root(x, 0, process) : 0;
	node = push_root(x, 0, process);
	return process && json_equal(process, name) ? node : push_root(x, node, name);
}

static int read_samples(struct firefox *x, const json_t *thread, u32 stamp, struct error *err)
{
	const json_t *samples = json_object_get(thread, "samples"), *v;
	const json_t *weights = json_object_get(samples, "weight");
	const json_t *stacks = json_object_get(samples, "stack");
	const json_t *event = json_object_get(json_object_get(thread, "xenflame"), "event");
	struct stacks *s = x->r->priv;
	u32 top = thread_root(x, thread), node, id;
	double part = 0;
	u64 whole = 1;
	size_t i, stack;
	int rc;

	if (!event)
		event = json_object_get(samples, "weightType");
	if (json_is_null(weights))
		weights = NULL;
	if (!json_is_array(stacks) ||
	    (weights && json_array_size(weights) != json_array_size(stacks)))
		return error_set(err, "'%s': expected samples, with a weight each if with any",
				 input_name(&x->r->in));
	if (stacks_event(x->r, json_is_string(event) ? json_string_value(event) : "",
			 json_is_string(event) ? json_string_length(event) : 0, &id, err))
		return -1;
	json_array_foreach(stacks, i, v)
	{
		node = top;
		rc = json_is_null(v);
		if (!rc && stacks_json_index(v, x->t.nr_stacks, &stack))
			rc = find_node(x, top, stamp, stack, &node, err);
		if (rc < 0)
			return -1;
		if (!rc ||
		    (weights && !stacks_json_weight(json_array_get(weights, i), &whole, &part)))
			s->bad++;
		else
			stacks_add(s, node, id, whole, part);
	}
	return 0;
}

/* What is not read: rows of these tables of threads, and counters of the whole. */
enum { ALLOCATIONS, MARKERS, COUNTERS, NR_LEFT_OUT };

static void count_left_out(const json_t *thread, size_t n[NR_LEFT_OUT])
{
	static const struct {
		const char *table, *column;
		int what;
	} tables[] = {
		{ "nativeAllocations", "stack", ALLOCATIONS },
		{ "jsAllocations", "stack", ALLOCATIONS },
		{ "markers", "name", MARKERS },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(tables); i++)
		n[tables[i].what] += json_array_size(json_object_get(
			json_object_get(thread, tables[i].table), tables[i].column));
}

static void tell_left_out(struct firefox *x, const size_t n[NR_LEFT_OUT])
{
	static const char *const words[NR_LEFT_OUT] = { "allocations", "markers", "counters" };
	struct buf b = BUF_INIT;
	size_t i;

	for (i = 0; i < NR_LEFT_OUT; i++)
		if (n[i])
			buf_printf(&b, "%s%zu %s", b.n ? ", " : "", n[i], words[i]);
	if (b.n)
		diag_addf(x->r->diag, DIAG_NOTE, 1,
			  "left out: %s; of Firefox Profiler's files only samples are read",
			  buf_str(&b));
	buf_release(&b);
}

static int read_threads(struct firefox *x, struct error *err)
{
	const json_t *threads = json_object_get(x->root, "threads"), *thread;
	bool own = !json_object_get(x->shared, "stackTable");
	size_t left_out[NR_LEFT_OUT] = { 0 }, i;

	if (!json_is_array(threads))
		return error_set(err, "'%s': expected threads", input_name(&x->r->in));
	x->tables = x->shared;
	if (!own && read_tables(x, err))
		return -1;
	json_array_foreach(threads, i, thread)
	{
		if (own) {
			x->tables = thread;
			if (read_tables(x, err))
				return -1;
		}
		if (read_samples(x, thread, (u32)i + 1, err))
			return -1;
		count_left_out(thread, left_out);
		if (own)
			free_tables(&x->t);
	}
	left_out[COUNTERS] = json_array_size(json_object_get(x->root, "counters"));
	tell_left_out(x, left_out);
	return 0;
}

static int firefox_open(struct perf_reader *r, struct error *err)
{
	struct firefox x = { .r = r };
	struct stacks *s = stacks_new(r);
	json_t *root = stacks_json_load(r, err);
	const json_t *meta, *version;
	int ret = -1;

	if (!root)
		return -1;
	x.root = root;
	x.shared = json_object_get(root, "shared");
	meta = json_object_get(root, "meta");
	version = json_object_get(meta, "preprocessedProfileVersion");
	if (!json_is_integer(version)) {
		if (json_is_integer(json_object_get(meta, "version")))
			error_set(err,
				  "'%s': is a profile as Firefox makes it: open it in "
				  "profiler.firefox.com and save it there",
				  input_name(&r->in));
		else
			error_set(err, "'%s': expected meta with preprocessedProfileVersion",
				  input_name(&r->in));
		goto out;
	}
	if (json_integer_value(version) > VERSION_MAX)
		diag_addf(r->diag, DIAG_NOTE, 1,
			  "the profile's version is newer than %d, the last one known: compare "
			  "its totals with profiler.firefox.com",
			  VERSION_MAX);
	read_categories(&x);
	if (read_threads(&x, err))
		goto out;
	stacks_end(r, s);
	ret = 0;
out:
	free_tables(&x.t);
	free(x.categories);
	vec_release(&x.path);
	json_decref(root);
	return ret;
}

static int firefox_probe(const u8 *head, size_t n, bool is_dir)
{
	const char *p = stacks_json_head(head, n, is_dir, &n);

	if (!p)
		return 0;
	if (stacks_head_has(p, n, "\"preprocessedProfileVersion\""))
		return 100;
	/* It may stand far behind. */
	return stacks_head_has(p, n, "\"meta\"") && (stacks_head_has(p, n, "\"categories\"") ||
						     stacks_head_has(p, n, "\"markerSchema\"") ||
						     stacks_head_has(p, n, "\"processType\""))
		       ? 70
		       : 0;
}

const struct perf_format format_firefox = {
	.name = "firefox",
	.title = "Firefox Profiler",
	.probe = firefox_probe,
	.open = firefox_open,
	.next = stacks_next,
	.close = stacks_close,
};
