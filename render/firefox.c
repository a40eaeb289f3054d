/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Firefox Profiler's processed profile, version 66, which later versions of profiler.firefox.com
 * read by upgrading.
 *
 * Facts: docs-developer/CHANGELOG-formats.md and the types in src/types/profile.ts of
 * firefox-devtools/profiler.  All tables but samples and markers are in `shared` (version 60);
 * stacks name their parent by how far back it is, 0 for a root (66); sources stand in a table of
 * their own (58, 61, 64); the category of a frame is that of its stack (53), and one category is
 * grey.  Process ids are strings (47).
 *
 * A thread each pid, tid and comm, and a set for each event.  The comm is the thread's name and no
 * frame.  What the format has no place for is under "xenflame" of a thread, which other programs
 * leave alone: `event`, and with `comm` that processName stands below all stacks of the thread.
 * What was lost is markers (phase 0: an instant).
 */
#include "render/threads.h"

enum category { CAT_USER, CAT_KERNEL, CAT_HV, CAT_GUEST, CAT_OTHER, CAT_NR };

/* Name, colour and subcategories, of which the first is what is not told further. */
static const char *const categories[CAT_NR][3] = {
	{ "User", "yellow", "\"Other\",\"JIT\"" },
	{ "Kernel", "orange", "\"Other\"" },
	{ "Hypervisor", "red", "\"Other\"" },
	{ "Guest", "green", "\"Other\",\"Kernel\",\"User\"" },
	{ "Other", "grey", "\"Other\"" },
};

static enum category category_of(const struct frame *f)
{
	if (f->flags & FRAME_GROUP)
		return CAT_OTHER;
	switch (f->space) {
	case SPACE_USER: return CAT_USER;
	case SPACE_KERNEL: return CAT_KERNEL;
	case SPACE_HV: return CAT_HV;
	case SPACE_GUEST_USER:
	case SPACE_GUEST_KERNEL: return CAT_GUEST;
	default: return CAT_OTHER;
	}
}

static u32 subcategory_of(const struct frame *f)
{
	switch (category_of(f)) {
	case CAT_USER: return f->flags & FRAME_JIT ? 1 : 0;
	case CAT_GUEST: return f->space == SPACE_GUEST_KERNEL ? 1 : 2;
	default: return 0;
	}
}

struct firefox {
	struct out *o;
	const struct view *v;
	const struct profile *p;
	struct threads threads;
	struct export_frames frames;
	struct strtab strings;      /* the file's */
	VEC(str_id) modules, files; /* of the profile; tables of the file */
	u32 *module_of, *file_of;   /* by string: place + 1 */
	u32 *stack;                 /* by node: place in the stack table, UINT32_MAX: none */
	VEC(u32) stack_nodes;
	size_t loss_thread; /* SIZE_MAX: none */
};

static u32 string_n(struct firefox *x, const char *s, size_t n)
{
	return strtab_add(&x->strings, s, n);
}

static u32 string_of(struct firefox *x, str_id id)
{
	return string_n(x, strtab_get(x->p->strings, id), strtab_len(x->p->strings, id));
}

/* ---- columns ---- */

static void open_column(struct firefox *x, const char *name, bool first)
{
	out_puts(x->o, first ? "\n" : ",\n");
	export_json(&x->o->buf, name);
	out_puts(x->o, ":[");
}

static void put_cell(struct firefox *x, size_t i, u64 value)
{
	if (i)
		buf_putc(&x->o->buf, ',');
	buf_u64(&x->o->buf, value);
	out_flush_if_full(x->o);
}

static void put_text_cell(struct firefox *x, size_t i, const char *text)
{
	if (i)
		buf_putc(&x->o->buf, ',');
	buf_puts(&x->o->buf, text);
	out_flush_if_full(x->o);
}

/* A column that says the same for all. */
static void constant_column(struct firefox *x, const char *name, bool first, const char *text,
			    size_t n)
{
	size_t i;

	open_column(x, name, first);
	for (i = 0; i < n; i++)
		put_text_cell(x, i, text);
	out_puts(x->o, "]");
}

static void put_length(struct firefox *x, size_t n)
{
	out_puts(x->o, ",\n\"length\":");
	buf_u64(&x->o->buf, n);
	out_puts(x->o, "}");
}

/* ---- tables ---- */

static void number_names(struct firefox *x)
{
	size_t i;

	x->module_of = xcalloc(x->p->strings->str.n, sizeof(*x->module_of));
	x->file_of = xcalloc(x->p->strings->str.n, sizeof(*x->file_of));
	for (i = 0; i < x->frames.v.n; i++) {
		const struct frame *f = &x->p->frames.v[x->frames.v.v[i]];

		if (f->module && !x->module_of[f->module]) {
			vec_push(&x->modules, f->module);
			x->module_of[f->module] = (u32)x->modules.n;
		}
		if (f->file && !x->file_of[f->file]) {
			vec_push(&x->files, f->file);
			x->file_of[f->file] = (u32)x->files.n;
		}
	}
}

/* Stacks are the nodes of the view without those of events and comms. */
static void number_stacks(struct firefox *x)
{
	const struct view_node *nodes = x->v->nodes.v;
	size_t p;
	u32 i;

	x->stack = xcalloc(x->v->nodes.n, sizeof(*x->stack));
	for (i = 0; i < x->v->nodes.n; i++)
		x->stack[i] = UINT32_MAX;
	for (p = 0; p < x->threads.parts.v.n; p++) {
		const struct export_part *part = &x->threads.parts.v.v[p];

		for (i = part->top; i < nodes[part->top].end; i++) {
			if (nodes[i].depth <= part->depth)
				continue;
			if (nodes[i].depth == part->depth + 1 &&
			    x->p->frames.v[nodes[i].frame].flags & FRAME_GROUP)
				continue;
			x->stack[i] = (u32)x->stack_nodes.n;
			vec_push(&x->stack_nodes, i);
		}
	}
}

static void write_frame_table(struct firefox *x)
{
	size_t n = x->frames.v.n, i;

	out_puts(x->o, "\"frameTable\":{");
	constant_column(x, "address", true, "-1", n);
	open_column(x, "inlineDepth", false);
	for (i = 0; i < n; i++)
		put_cell(x, i, x->p->frames.v[x->frames.v.v[i]].flags & FRAME_INLINED ? 1 : 0);
	out_puts(x->o, "]");
	open_column(x, "category", false);
	for (i = 0; i < n; i++)
		put_cell(x, i, category_of(&x->p->frames.v[x->frames.v.v[i]]));
	out_puts(x->o, "]");
	open_column(x, "subcategory", false);
	for (i = 0; i < n; i++)
		put_cell(x, i, subcategory_of(&x->p->frames.v[x->frames.v.v[i]]));
	out_puts(x->o, "]");
	open_column(x, "func", false);
	for (i = 0; i < n; i++)
		put_cell(x, i, i);
	out_puts(x->o, "]");
	constant_column(x, "nativeSymbol", false, "null", n);
	constant_column(x, "innerWindowID", false, "0", n);
	open_column(x, "line", false);
	for (i = 0; i < n; i++) {
		u32 line = x->p->frames.v[x->frames.v.v[i]].line;

		if (line)
			put_cell(x, i, line);
		else
			put_text_cell(x, i, "null");
	}
	out_puts(x->o, "]");
	constant_column(x, "column", false, "null", n);
	constant_column(x, "originalLocation", false, "null", n);
	put_length(x, n);
}

static void write_func_table(struct firefox *x, bool all)
{
	size_t n = x->frames.v.n, i;
	struct buf name = BUF_INIT;

	out_puts(x->o, ",\n\"funcTable\":{");
	open_column(x, "name", true);
	for (i = 0; i < n; i++) {
		buf_clear(&name);
		profile_frame_label(x->p, x->frames.v.v[i], all, &name);
		put_cell(x, i, string_n(x, name.p, name.n));
	}
	out_puts(x->o, "]");
	constant_column(x, "isJS", false, "false", n);
	constant_column(x, "relevantForJS", false, "false", n);
	open_column(x, "resource", false);
	for (i = 0; i < n; i++) {
		u32 module = x->module_of[x->p->frames.v[x->frames.v.v[i]].module];

		if (module)
			put_cell(x, i, module - 1);
		else
			put_text_cell(x, i, "-1");
	}
	out_puts(x->o, "]");
	open_column(x, "source", false);
	for (i = 0; i < n; i++) {
		u32 file = x->file_of[x->p->frames.v[x->frames.v.v[i]].file];

		if (file)
			put_cell(x, i, file - 1);
		else
			put_text_cell(x, i, "null");
	}
	out_puts(x->o, "]");
	constant_column(x, "lineNumber", false, "null", n);
	constant_column(x, "columnNumber", false, "null", n);
	constant_column(x, "originalLocation", false, "null", n);
	put_length(x, n);
	buf_release(&name);
}

static void write_shared(struct firefox *x, bool all)
{
	size_t i;

	out_puts(x->o, ",\n\"shared\":{\n");
	write_frame_table(x);
	write_func_table(x, all);

	out_puts(x->o, ",\n\"stackTable\":{");
	open_column(x, "frame", true);
	for (i = 0; i < x->stack_nodes.n; i++)
		put_cell(x, i, x->frames.number[x->v->nodes.v[x->stack_nodes.v[i]].frame]);
	out_puts(x->o, "]");
	open_column(x, "prefixOffset", false);
	for (i = 0; i < x->stack_nodes.n; i++) {
		u32 parent = x->stack[x->v->nodes.v[x->stack_nodes.v[i]].parent];

		put_cell(x, i, parent == UINT32_MAX ? 0 : i - parent);
	}
	out_puts(x->o, "]");
	put_length(x, x->stack_nodes.n);

	out_puts(x->o, ",\n\"resourceTable\":{");
	open_column(x, "lib", true);
	for (i = 0; i < x->modules.n; i++)
		put_cell(x, i, i);
	out_puts(x->o, "]");
	open_column(x, "name", false);
	for (i = 0; i < x->modules.n; i++)
		put_cell(x, i, string_of(x, x->modules.v[i]));
	out_puts(x->o, "]");
	constant_column(x, "host", false, "null", x->modules.n);
	constant_column(x, "type", false, "1", x->modules.n); /* a library */
	put_length(x, x->modules.n);

	out_puts(x->o, ",\n\"nativeSymbols\":{\"libIndex\":[],\"address\":[],\"name\":[],"
		       "\"functionSize\":[],\"length\":0}");
	out_puts(x->o, ",\n\"sources\":{");
	constant_column(x, "id", true, "null", x->files.n);
	open_column(x, "filename", false);
	for (i = 0; i < x->files.n; i++)
		put_cell(x, i, string_of(x, x->files.v[i]));
	out_puts(x->o, "]");
	constant_column(x, "startLine", false, "1", x->files.n);
	constant_column(x, "startColumn", false, "1", x->files.n);
	constant_column(x, "sourceMapURL", false, "null", x->files.n);
	constant_column(x, "content", false, "null", x->files.n);
	put_length(x, x->files.n);
	out_puts(x->o, ",\n\"sourceLocationTable\":{\"source\":[],\"line\":[],\"column\":[],"
		       "\"length\":0}");

	/* Last: the tables above have added what they name. */
	out_puts(x->o, ",\n\"stringArray\":[");
	for (i = 0; i < x->strings.str.n; i++) {
		if (i)
			buf_putc(&x->o->buf, ',');
		export_json_id(&x->o->buf, &x->strings, (str_id)i);
		out_flush_if_full(x->o);
	}
	out_puts(x->o, "]}");
}

/* ---- meta, losses and threads ---- */

static void put_ms(struct buf *b, u64 ns)
{
	buf_u64(b, ns / 1000000);
	if (ns % 1000000)
		buf_printf(b, ".%06u", (unsigned int)(ns % 1000000));
}

static void put_entry(struct buf *b, bool *first, const char *label, const char *value)
{
	buf_puts(b, *first ? "{\"label\":" : ",{\"label\":");
	*first = false;
	export_json(b, label);
	buf_puts(b, ",\"format\":\"string\",\"value\":");
	export_json(b, value);
	buf_putc(b, '}');
}

static void write_meta(struct firefox *x, const struct render_input *in,
		       const struct render_opts *opts)
{
	struct buf *b = &x->o->buf;
	bool first = true;
	size_t i;

	buf_puts(b, "{\"meta\":{\"preprocessedProfileVersion\":66,\"version\":24,\"processType\":0,"
		    "\"stackwalk\":1,\"debug\":0,"
		    "\"startTime\":0,\"interval\":");
	put_ms(b, x->threads.interval ? x->threads.interval : 1000000);
	buf_puts(b, ",\"product\":");
	export_json(b, export_title(opts));
	buf_puts(b, ",\"importedFrom\":");
	export_json(b, PACKAGE_STRING);
	buf_puts(b, ",\"symbolicated\":true,\"usesOnlyOneStackType\":true,"
		    "\"sourceCodeIsNotOnSearchfox\":true,"
		    "\"markerSchema\":[{\"name\":\"Loss\",\"display\":[\"marker-chart\","
		    "\"marker-table\",\"timeline-overview\"],\"tableLabel\":"
		    "\"{marker.data.count} samples, CPU {marker.data.cpu}\",\"fields\":["
		    "{\"key\":\"count\",\"label\":\"Samples\",\"format\":\"integer\"},"
		    "{\"key\":\"cpu\",\"label\":\"CPU\",\"format\":\"integer\"}]}],"
		    "\"categories\":[");
	for (i = 0; i < CAT_NR; i++)
		buf_printf(b, "%s{\"name\":\"%s\",\"color\":\"%s\",\"subcategories\":[%s]}",
			   i ? "," : "", categories[i][0], categories[i][1], categories[i][2]);
	buf_puts(b, "],\n\"extra\":[{\"label\":\"Recording\",\"entries\":[");
	for (i = 0; i < in->nr_facts; i++)
		put_entry(b, &first, in->facts[i].key, in->facts[i].value);
	buf_puts(b, "]},{\"label\":\"Quality\",\"entries\":[");
	first = true;
	for (i = 0; i < in->nr_quality; i++)
		put_entry(b, &first, in->quality[i].name, in->quality[i].text);
	buf_puts(b, "]}]}");
}

static void write_libs(struct firefox *x)
{
	struct buf *b = &x->o->buf;
	size_t i, k;

	buf_puts(b, ",\n\"libs\":[");
	for (i = 0; i < x->modules.n; i++) {
		static const char *const names[] = { "name", "path", "debugName", "debugPath" };

		buf_puts(b, i ? ",\n{\"arch\":\"\"" : "\n{\"arch\":\"\"");
		for (k = 0; k < ARRAY_SIZE(names); k++) {
			buf_printf(b, ",\"%s\":", names[k]);
			export_json_id(b, x->p->strings, x->modules.v[i]);
		}
		buf_puts(b, ",\"breakpadId\":\"\",\"codeId\":null}");
	}
	buf_puts(b, "],\n\"pages\":[],\"counters\":[]");
}

/* Losses are those of processors: they stand where they are seen, in the thread with most samples.
 */
static size_t thread_of_losses(const struct firefox *x)
{
	const struct threads *t = &x->threads;
	size_t best = 0, i;

	for (i = 1; i < t->v.n; i++)
		if (t->v.v[i].samples.n > t->v.v[best].samples.n)
			best = i;
	return t->timed ? best : SIZE_MAX;
}

static void write_markers(struct firefox *x, bool here)
{
	const struct profile_loss *v = x->p->losses.v;
	size_t n = here ? x->p->losses.n : 0, i;
	struct buf *b = &x->o->buf;

	out_puts(x->o, "\"markers\":{");
	open_column(x, "data", true);
	for (i = 0; i < n; i++) {
		buf_printf(b, "%s{\"type\":\"Loss\",\"count\":%" PRIu64, i ? "," : "", v[i].count);
		if (v[i].cpu != UINT32_MAX)
			buf_printf(b, ",\"cpu\":%" PRIu32, v[i].cpu);
		put_text_cell(x, 0, "}");
	}
	out_puts(x->o, "]");
	open_column(x, "name", false);
	for (i = 0; i < n; i++)
		put_cell(x, i,
			 v[i].throttled ? string_n(x, "sampling throttled", 18)
					: string_n(x, "samples lost", 12));
	out_puts(x->o, "]");
	open_column(x, "startTime", false);
	for (i = 0; i < n; i++) {
		if (i)
			buf_putc(b, ',');
		put_ms(b, v[i].time > x->threads.first ? v[i].time - x->threads.first : 0);
		out_flush_if_full(x->o);
	}
	out_puts(x->o, "]");
	constant_column(x, "endTime", false, "null", n);
	constant_column(x, "phase", false, "0", n); /* an instant */
	open_column(x, "category", false);
	for (i = 0; i < n; i++)
		put_cell(x, i, CAT_OTHER);
	out_puts(x->o, "]");
	put_length(x, n);
}

static void write_thread(struct firefox *x, const struct thread *t, size_t number)
{
	struct buf *b = &x->o->buf, name = BUF_INIT;
	const struct export_part *part = &x->threads.parts.v.v[t->part];
	str_id comm = thread_comm(x->v, t);
	bool above;
	size_t i;

	buf_puts(b, number ? ",\n{\"processName\":" : "\n{\"processName\":");
	if (comm)
		export_json_id(b, x->p->strings, comm);
	else
		export_json(b, "all");
	thread_name(&x->threads, x->v, t, &name);
	buf_puts(b, ",\"name\":");
	buf_json(b, name.p, name.n);
	buf_release(&name);
	if (t->pid == UINT32_MAX)
		buf_printf(b, ",\"isMainThread\":true,\"pid\":\"%zu\",\"tid\":%zu", number, number);
	else
		buf_printf(b, ",\"isMainThread\":%s,\"pid\":\"%u\",\"tid\":%u",
			   t->pid == t->tid ? "true" : "false", t->pid, t->tid);
	above = thread_has_comm(x->v, t) && x->v->nodes.v[t->root].depth > part->depth;
	buf_printf(b, ",\"xenflame\":{\"comm\":%s", above ? "true" : "false");
	if (part->name) {
		buf_puts(b, ",\"event\":");
		export_json_id(b, x->p->strings, part->name);
	}
	buf_puts(b,
		 "},\"processType\":\"default\",\"processStartupTime\":0,\"processShutdownTime\":"
		 "null,\"registerTime\":0,"
		 "\"unregisterTime\":null,\"pausedRanges\":[],\n");
	if (number == x->loss_thread && x->p->losses.n)
		buf_puts(b, "\"showMarkersInTimeline\":true,");
	write_markers(x, number == x->loss_thread);
	buf_puts(b, ",\n\"samples\":{\"weightType\":\"samples\"");
	open_column(x, "stack", false);
	for (i = 0; i < t->samples.n; i++) {
		u32 stack = x->stack[t->samples.v[i].node];

		if (stack == UINT32_MAX)
			put_text_cell(x, i, "null");
		else
			put_cell(x, i, stack);
	}
	out_puts(x->o, "]");
	open_column(x, "time", false);
	for (i = 0; i < t->samples.n; i++) {
		if (i)
			buf_putc(b, ',');
		put_ms(b, t->samples.v[i].time);
		out_flush_if_full(x->o);
	}
	out_puts(x->o, "]");
	open_column(x, "weight", false);
	for (i = 0; i < t->samples.n; i++)
		put_cell(x, i, t->samples.v[i].weight);
	out_puts(x->o, "]");
	put_length(x, t->samples.n);
	out_puts(x->o, "}");
}

static int firefox_write(struct out *o, const struct render_input *in,
			 const struct render_opts *opts, struct error *err)
{
	struct firefox x = { .o = o, .v = in->view, .p = in->profile };
	size_t i;

	(void)err;
	strtab_init(&x.strings);
	threads_init(&x.threads, x.v);
	export_frames_init(&x.frames, x.v);
	number_names(&x);
	number_stacks(&x);
	x.loss_thread = thread_of_losses(&x);
	write_meta(&x, in, opts);
	write_libs(&x);
	out_puts(o, ",\n\"threads\":[");
	for (i = 0; i < x.threads.v.n; i++)
		write_thread(&x, &x.threads.v.v[i], i);
	out_puts(o, "]");
	write_shared(&x, opts->annotate_all);
	out_puts(o, "}\n");
	free(x.module_of);
	free(x.file_of);
	free(x.stack);
	vec_release(&x.modules);
	vec_release(&x.files);
	vec_release(&x.stack_nodes);
	export_frames_release(&x.frames);
	threads_release(&x.threads);
	strtab_release(&x.strings);
	return 0;
}

const struct render_writer writer_firefox = {
	.name = "firefox",
	.suffixes = ".firefox.json",
	.help = "JSON for profiler.firefox.com: threads in time, colours by space",
	.samples = true,
	.write = firefox_write,
};
