/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Chrome's trace events, for Perfetto, chrome://tracing and speedscope: each thread's stack over
 * time, as calls that begin and end.
 *
 * Facts: the "Trace Event Format" document: ph B and E are the begin and the end of a call of one
 * pid and tid, ts is in microseconds, M events name processes and threads.
 */
#include "render/threads.h"

#define LINUX_PID_MAX (4 * 1024 * 1024) /* no thread has this number or a larger one */

struct chrome {
	struct out *o;
	const struct view *v;
	struct export_frames frames;
	char **names;    /* by number of export_frames: JSON string */
	size_t pid, tid; /* of the thread that is written */
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

static void put_call(void *ctx, bool begin, frame_id frame, u64 ns)
{
	struct chrome *c = ctx;
	struct buf *b = &c->o->buf;

	begin_event(c);
	buf_printf(b, "{\"ph\":\"%c\",\"name\":%s", begin ? 'B' : 'E',
		   c->names[c->frames.number[frame]]);
	if (begin)
		buf_printf(b, ",\"cat\":\"%s\"",
			   space_name((enum space)c->v->profile->frames.v[frame].space));
	buf_puts(b, ",\"ts\":");
	put_us(b, ns);
	buf_printf(b, ",\"pid\":%zu,\"tid\":%zu}", c->pid, c->tid);
	out_flush_if_full(c->o);
}

static void put_name(struct chrome *c, const char *what, const struct buf *name)
{
	struct buf *b = &c->o->buf;

	begin_event(c);
	buf_printf(b,
		   "{\"ph\":\"M\",\"name\":\"%s\",\"ts\":0,\"pid\":%zu,\"tid\":%zu,\"args\":{"
		   "\"name\":",
		   what, c->pid, c->tid);
	buf_json(b, name->p, name->n);
	buf_puts(b, "}}");
}

static void write_thread(struct chrome *c, const struct threads *threads, const struct thread *t,
			 size_t number)
{
	bool known = t->pid != UINT32_MAX, again = known && number && t[-1].pid == t->pid;
	struct buf name = BUF_INIT;

	c->pid = known ? t->pid : number;
	/* Of one thread's comms and events each is a track of its own. */
	c->tid = !known ? number : again && t[-1].tid == t->tid ? LINUX_PID_MAX + number : t->tid;
	thread_name(threads, c->v, t, &name);
	put_name(c, "thread_name", &name);
	if (!again)
		put_name(c, "process_name", &name);
	buf_release(&name);
	/* Readers take an end and a begin at one time for a call without length where both have one
	 * name: a ns between them. */
	thread_walk(threads, c->v, t, 1, put_call, c);
}

static int chrome_write(struct out *o, const struct render_input *in,
			const struct render_opts *opts, struct error *err)
{
	struct chrome c = { .o = o, .v = in->view, .first = true };
	struct buf name = BUF_INIT, scratch = BUF_INIT;
	struct threads threads;
	size_t i;

	(void)err;
	threads_init(&threads, c.v);
	export_frames_init(&c.frames, c.v);
	c.names = xcalloc(c.frames.v.n, sizeof(*c.names));
	for (i = 0; i < c.frames.v.n; i++) {
		buf_clear(&name);
		export_json_frame(&name, &scratch, in->profile, c.frames.v.v[i],
				  opts->annotate_all);
		c.names[i] = xstrndup(name.p, name.n);
	}
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
		write_thread(&c, &threads, &threads.v.v[i], i);
	out_puts(o, "]}\n");
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
