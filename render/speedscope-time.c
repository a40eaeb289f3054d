/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * speedscope's own file format over time: an evented profile a thread.
 *
 * Facts: file-format-schema.json of the npm package speedscope 1.25.0.  Events O open and C close a
 * frame, balanced, and their times never go back; at least one profile is wanted.
 */
#include "render/threads.h"

struct speedscope {
	struct out *o;
	struct export_frames frames;
	const char *sep;
	u64 end;
};

static void put_event(void *ctx, bool begin, frame_id frame, u64 ns)
{
	struct speedscope *s = ctx;
	struct buf *b = &s->o->buf;

	buf_puts(b, s->sep);
	buf_puts(b, begin ? "{\"type\":\"O\",\"frame\":" : "{\"type\":\"C\",\"frame\":");
	buf_u64(b, s->frames.number[frame]);
	buf_puts(b, ",\"at\":");
	buf_u64(b, ns);
	buf_putc(b, '}');
	s->sep = ",\n";
	s->end = MAX(s->end, ns);
	out_flush_if_full(s->o);
}

static void write_profile(struct speedscope *s, const struct threads *threads, const struct view *v,
			  const struct thread *t)
{
	struct buf *b = &s->o->buf, name = BUF_INIT;

	buf_puts(b, s->sep);
	thread_name(threads, v, t, &name);
	if (t->pid != UINT32_MAX)
		buf_printf(&name, " %u/%u", t->pid, t->tid);
	buf_puts(b, "{\"type\":\"evented\",\"name\":");
	buf_json(b, name.p, name.n);
	buf_release(&name);
	buf_puts(b, ",\"unit\":\"nanoseconds\",\"startValue\":0,\n\"events\":[");
	s->sep = "";
	s->end = 0;
	thread_walk(threads, v, t, 0, put_event, s);
	buf_puts(b, "],\"endValue\":");
	buf_u64(b, s->end);
	buf_putc(b, '}');
	s->sep = ",\n";
}

static int speedscope_time_write(struct out *o, const struct render_input *in,
				 const struct render_opts *opts, struct error *err)
{
	struct speedscope s = { .o = o, .sep = "" };
	struct threads threads;
	size_t i;

	(void)err;
	threads_init(&threads, in->view);
	export_frames_init(&s.frames, in->view);
	export_speedscope_head(o, in->profile, &s.frames, opts);
	for (i = 0; i < threads.v.n; i++)
		write_profile(&s, &threads, in->view, &threads.v.v[i]);
	if (!threads.v.n)
		out_puts(o, "{\"type\":\"evented\",\"name\":\"empty\",\"unit\":\"nanoseconds\","
			    "\"startValue\":0,\"endValue\":0,\"events\":[]}");
	out_puts(o, "]}\n");
	export_frames_release(&s.frames);
	threads_release(&threads);
	return 0;
}

const struct render_writer writer_speedscope_time = {
	.name = "speedscope-time",
	.suffixes = ".time.speedscope.json",
	.help = "the same over time, a profile a thread",
	.samples = true,
	.write = speedscope_time_write,
};
