/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Chrome's trace events, for Perfetto, chrome://tracing and speedscope: each thread's stack over time, as calls that
 * begin and end.
 *
 * Facts: the "Trace Event Format" document: ph B and E are the begin and the end of a call of one pid and tid, ts is
 * in microseconds, M events name processes and threads.
 *
 * With samples kept, a sample's stack is taken to last until the thread's next sample, and no longer than is usual between two
 * samples of a processor; frames that two such samples share go on.  Without them each stack
 * lasts as many microseconds as it weighs, less a nanosecond between it and the next.
 */
#include "render/threads.h"

#define LINUX_PID_MAX	(4 * 1024 * 1024)	/* no thread has this number or a larger one */

struct chrome {
	struct out *o;
	const struct view *v;
	struct export_frames frames;
	char **names;			/* by number of export_frames: JSON string */
	bool first;
};

static void begin_event(struct chrome *c)
{
	buf_puts(&c->o->buf, c->first ? "\n" : ",\n");
	c->first = false;
}

static void put_us(struct buf *b, u64 ns)
{
	buf_u64(b, ns / 1000);
	if (ns % 1000)
		buf_printf(b, ".%03u", (unsigned int)(ns % 1000));
}

static void put_call(struct chrome *c, char ph, u32 frame, u64 ns, size_t pid, size_t tid)
{
	struct buf *b = &c->o->buf;

	begin_event(c);
	buf_printf(b, "{\"ph\":\"%c\",\"name\":%s", ph, c->names[c->frames.number[frame]]);
	if (ph == 'B')
		buf_printf(b, ",\"cat\":\"%s\"", space_name((enum space)c->v->profile->frames.v[frame].space));
	buf_puts(b, ",\"ts\":");
	put_us(b, ns);
	buf_printf(b, ",\"pid\":%zu,\"tid\":%zu}", pid, tid);
	out_flush_if_full(c->o);
}

static void put_name(struct chrome *c, const char *what, const char *name, size_t len, size_t pid, size_t tid)
{
	struct buf *b = &c->o->buf;

	begin_event(c);
	buf_printf(b, "{\"ph\":\"M\",\"name\":\"%s\",\"ts\":0,\"pid\":%zu,\"tid\":%zu,\"args\":{\"name\":", what, pid, tid);
	buf_json(b, name, len);
	buf_puts(b, "}}");
}

/* The frames of a node below a depth, outermost first. */
static void find_path(const struct view *v, u32 node, u32 depth, u32 *path, u32 *n)
{
	u32 i, k = v->nodes.v[node].depth > depth ? v->nodes.v[node].depth - depth : 0;

	*n = k;
	for (i = node; k; i = v->nodes.v[i].parent)
		path[--k] = i;
}

static void write_thread(struct chrome *c, const struct threads *threads, const struct thread *t, size_t number,
			 u32 *open, u32 *path)
{
	const struct export_part *part = &threads->parts.v.v[t->part];
	const struct strtab *strings = c->v->profile->strings;
	u32 depth = part->depth + thread_has_comm(c->v, t), nopen = 0, n, k;
	size_t pid = t->pid == UINT32_MAX ? number : t->pid, tid = t->tid == UINT32_MAX ? number : t->tid, i;
	str_id comm = thread_comm(c->v, t);
	struct buf name = BUF_INIT;
	u64 begin = 0, end = 0;

	/* Threads of several comms or events are tracks of their own. */
	if (number && t[-1].pid == t->pid && t[-1].tid == t->tid && t->pid != UINT32_MAX)
		tid = LINUX_PID_MAX + number;
	if (comm)
		buf_put(&name, strtab_get(strings, comm), strtab_len(strings, comm));
	else
		buf_puts(&name, "all");
	if (threads->parts.v.n > 1 && part->name) {
		buf_puts(&name, " (");
		buf_put(&name, strtab_get(strings, part->name), strtab_len(strings, part->name));
		buf_putc(&name, ')');
	}
	put_name(c, "thread_name", name.p, name.n, pid, tid);
	if (!number || t[-1].pid != t->pid || t->pid == UINT32_MAX)
		put_name(c, "process_name", name.p, name.n, pid, tid);
	buf_release(&name);
	for (i = 0; i < t->samples.n; i++) {
		const struct thread_sample *s = &t->samples.v[i];
		u64 length;

		find_path(c->v, s->node, depth, path, &n);
		k = 0;
		if (end == s->time)
			while (k < n && k < nopen && open[k] == path[k])
				k++;
		/* Readers take an end and a begin at one time for a call without length where both have one name. */
		while (nopen > k)
			put_call(c, 'E', c->v->nodes.v[open[--nopen]].frame, end == s->time && end > begin ? end - 1 : end, pid, tid);
		for (; k < n; k++) {
			put_call(c, 'B', c->v->nodes.v[path[k]].frame, s->time, pid, tid);
			open[nopen++] = path[k];
		}
		begin = s->time;
		if (!threads->timed) {
			if (__builtin_mul_overflow(s->weight, 1000, &length))
				length = UINT64_MAX;
		} else {
			length = threads->interval ? threads->interval : 1000;
			if (i + 1 < t->samples.n)
				length = MIN(length, t->samples.v[i + 1].time - s->time);
		}
		if (__builtin_add_overflow(s->time, length, &end))
			end = UINT64_MAX;
	}
	while (nopen)
		put_call(c, 'E', c->v->nodes.v[open[--nopen]].frame, end, pid, tid);
}

static int chrome_write(struct out *o, const struct render_input *in, const struct render_opts *opts, struct error *err)
{
	struct chrome c = { .o = o, .v = in->view, .first = true };
	struct buf name = BUF_INIT, scratch = BUF_INIT;
	struct threads threads;
	u32 *open, *path;
	size_t i;

	(void)err;
	threads_init(&threads, c.v);
	export_frames_init(&c.frames, c.v);
	c.names = xcalloc(c.frames.v.n, sizeof(*c.names));
	for (i = 0; i < c.frames.v.n; i++) {
		buf_clear(&name);
		export_json_frame(&name, &scratch, in->profile, c.frames.v.v[i], opts->annotate_all);
		c.names[i] = xstrndup(name.p, name.n);
	}
	open = xcalloc((size_t)c.v->max_depth + 1, sizeof(*open));
	path = xcalloc((size_t)c.v->max_depth + 1, sizeof(*path));
	out_puts(o, "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"generator\":");
	export_json(&o->buf, PACKAGE_STRING);
	for (i = 0; i < in->nr_facts; i++) {
		buf_putc(&o->buf, ',');
		export_json(&o->buf, in->facts[i].key);
		buf_putc(&o->buf, ':');
		export_json(&o->buf, in->facts[i].value);
	}
	out_puts(o, "},\n\"traceEvents\":[");
	for (i = 0; i < threads.v.n; i++)
		write_thread(&c, &threads, &threads.v.v[i], i, open, path);
	out_puts(o, "]}\n");
	free(open);
	free(path);
	for (i = 0; i < c.frames.v.n; i++)
		free(c.names[i]);
	free(c.names);
	buf_release(&name);
	buf_release(&scratch);
	export_frames_release(&c.frames);
	threads_release(&threads);
	return 0;
}

const struct render_writer writer_chrome = {
	.name = "chrome",
	.suffixes = ".trace.json .chrome.json",
	.help = "trace events for Perfetto: each thread's stack over time",
	.samples = true,
	.write = chrome_write,
};
