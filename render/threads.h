/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples by thread and in time, for formats that show time. */
#ifndef XENFLAME_RENDER_THREADS_H
#define XENFLAME_RENDER_THREADS_H

#include "render/export.h"

struct thread_sample {
	u64 time; /* ns since the first sample */
	u64 weight;
	u32 node; /* of the view */
};

/* One thread's samples of one event under one root frame (the comm). */
struct thread {
	u32 part;     /* of struct threads' parts: the event */
	u32 root;     /* node of the outermost frame; the part's top when there is none */
	u32 pid, tid; /* UINT32_MAX: not known */
	VEC(struct thread_sample) samples; /* in time */
};

struct threads {
	struct export_parts parts;
	VEC(struct thread) v; /* by pid, tid, part, root */
	bool timed;   /* times are real; else each stack lasts a microsecond for each unit of its
			 weight */
	u64 first;    /* of samples, ns; UINT64_MAX unless timed */
	u64 interval; /* ns: what is usual between two samples of a processor; 0: not known */
	u64 length;   /* ns */
};

void threads_init(struct threads *t, const struct view *v);
void threads_release(struct threads *t);
/* Name of the root frame of a thread, or of what is shown when there is none. */
str_id thread_comm(const struct view *v, const struct thread *t);
/* Whether the root frame is a group (a comm), so that it is no part of the stack. */
bool thread_has_comm(const struct view *v, const struct thread *t);

/* Appends the thread's name: the comm, and of several events the event. */
void thread_name(const struct threads *threads, const struct view *v, const struct thread *t,
		 struct buf *b);

/*
 * The thread's stack over time, as calls that begin and end; a comm is no call.  A sample's stack
 * is taken to last until the thread's next sample, and no longer than is usual between two samples
 * of a processor; frames that two such samples share go on.  Without times each stack lasts a
 * microsecond for each unit of its weight.  `gap` ns are left between calls of which one ends when
 * the other begins.
 */
typedef void (*thread_call_fn)(void *ctx, bool begin, frame_id frame, u64 ns);
void thread_walk(const struct threads *threads, const struct view *v, const struct thread *t,
		 u64 gap, thread_call_fn call, void *ctx);

#endif
