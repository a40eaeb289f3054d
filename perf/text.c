/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frames of text formats, and the pipe that reads a text piece by piece. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "perf/text.h"

/* ---- frames by content ---- */

struct text_frames *text_frames_new(void)
{
	return xcalloc(1, sizeof(struct text_frames));
}

void text_frames_free(struct text_frames *t)
{
	if (!t)
		return;
	vec_release(&t->v);
	index_release(&t->index);
	index_release(&t->events);
	free(t);
}

static bool frame_eq(const void *ctx, u32 id, const void *key)
{
	const struct perf_text_frame *a = &((const struct text_frames *)ctx)->v.v[id], *b = key;

	return a->symbol == b->symbol && a->module == b->module && a->addr == b->addr &&
	       a->line == b->line && a->file == b->file && a->flags == b->flags &&
	       a->space == b->space;
}

u32 text_frames_add(struct text_frames *t, const struct perf_text_frame *f)
{
	u64 h = hash_u64(f->addr ^ hash_u64((u64)f->symbol << 32 | f->module));
	u32 id;

	h = hash_u64(h ^ (u64)f->file << 32 ^ (u64)f->line << 16 ^ (u64)f->flags << 8 ^ f->space);
	id = index_find(&t->index, h, frame_eq, t, f);
	if (id != INDEX_NONE)
		return id;
	id = (u32)t->v.n;
	vec_push(&t->v, *f);
	index_add(&t->index, h, id);
	return id;
}

/* ---- names ---- */

struct span span_trim(struct span s)
{
	while (s.n && (is_blank(s.p[0]) || s.p[0] == '\r')) {
		s.p++;
		s.n--;
	}
	while (s.n && (is_blank(s.p[s.n - 1]) || s.p[s.n - 1] == '\r'))
		s.n--;
	return s;
}

static struct span span_base(struct span s)
{
	size_t i = s.n;

	while (i && s.p[i - 1] != '/')
		i--;
	return (struct span){ s.p + i, s.n - i };
}

enum space text_module_space(struct span module)
{
	/* Names in brackets that are user space; any other one is the kernel's: its modules are
	 * printed so. */
	static const char *const user[] = {
		"[vdso", "[vsyscall", "[heap",    "[stack",   "[anon",
		"[JIT",  "[uprobes",  "[vectors", "[sigpage",
	};
	struct span base;
	size_t i;

	if (!module.n || span_is(module, "[unknown]"))
		return SPACE_NONE;
	if (module.p[0] == '[') {
		if (span_starts(module, "[guest."))
			return SPACE_GUEST_KERNEL;
		if (span_starts(module, "[xen-syms") || span_is(module, "[xen]") ||
		    span_is(module, "[hypervisor]"))
			return SPACE_HV;
		for (i = 0; i < ARRAY_SIZE(user); i++)
			if (span_starts(module, user[i]))
				return SPACE_USER;
		return SPACE_KERNEL;
	}
	base = span_base(module);
	if (span_starts(base, "xen-syms"))
		return SPACE_HV;
	if (span_starts(base, "vmlinux") || span_ends(module, ".ko") ||
	    span_ends(module, ".ko.xz") || span_ends(module, ".ko.gz") ||
	    span_ends(module, ".ko.zst") || span_ends(module, ".ko.debug") ||
	    span_starts(module, "bpf_prog_") || span_starts(module, "bpf_trampoline_"))
		return SPACE_KERNEL;
	return SPACE_USER;
}

bool text_strip_annotation(struct span *symbol, u8 *space, u8 *flags)
{
	const char *a;

	if (symbol->n <= 4)
		return false;
	a = symbol->p + symbol->n - 4;
	if (a[0] != '_' || a[1] != '[' || a[3] != ']')
		return false;
	switch (a[2]) {
	case 'h': *space = SPACE_HV; break;
	case 'k': *space = SPACE_KERNEL; break;
	case 'g': *space = SPACE_GUEST_KERNEL; break;
	case 'i': *flags |= TEXT_INLINED; break;
	case 'j': *flags |= TEXT_JIT; break;
	default: return false;
	}
	symbol->n -= 4;
	return true;
}

static bool event_eq(const void *ctx, u32 id, const void *key)
{
	return !strcmp(((const struct perf_meta *)ctx)->events.v[id].name, key);
}

u32 text_event(struct perf_reader *r, const char *name, size_t n)
{
	struct perf_event e = { .type = UINT32_MAX, .name = xstrndup(name, n) };
	u64 hash = hash_bytes(e.name, strlen(e.name), 0);
	u32 id = index_find(&r->text->events, hash, event_eq, &r->meta, e.name);

	if (id != INDEX_NONE) {
		free(e.name);
		return id;
	}
	id = (u32)r->meta.events.n;
	vec_push(&r->meta.events, e);
	index_add(&r->text->events, hash, id);
	return id;
}

void text_count_sample(struct perf_reader *r, const struct perf_sample *s)
{
	u64 *n = &r->meta.events.v[s->event].samples;

	*n = add_saturated(*n, s->count_high && !r->meta.two_columns ? UINT64_MAX : s->count);
	if (s->time == PERF_NO_TIME)
		return;
	if (r->meta.first_time == PERF_NO_TIME || s->time < r->meta.first_time)
		r->meta.first_time = s->time;
	if (r->meta.last_time == PERF_NO_TIME || s->time > r->meta.last_time)
		r->meta.last_time = s->time;
}

void text_give_stack(struct perf_reader *r, struct perf_item *item, u64 count, u64 base, u32 event,
		     const u32 *frames, u32 n)
{
	memset(item, 0, sizeof(*item));
	item->type = ITEM_SAMPLE;
	item->time = PERF_NO_TIME;
	item->sample = (struct perf_sample){
		.time = PERF_NO_TIME,
		.period = 1,
		.count = count,
		.base_count = base,
		.pid = PERF_NO_PID,
		.tid = PERF_NO_PID,
		.cpu = PERF_NO_CPU,
		.vcpu = PERF_NO_CPU,
		.event = event,
		.text = true,
		.stack_nr = PERF_NO_STACK,
		.soon = PERF_NO_STACK,
		.frames = frames,
		.chain_nr = n,
	};
	text_count_sample(r, &item->sample);
}

/* ---- workers ---- */

/* Stacks that are looked up meanwhile. */
#define AHEAD 8

struct name_key {
	const char *p;
	size_t n;
};

static bool name_eq(const void *ctx, u32 id, const void *key)
{
	const struct span *s = &((const struct text_worker *)ctx)->name_list.v[id];
	const struct name_key *k = key;

	return s->n == k->n && !memcmp(s->p, k->p, k->n);
}

u32 text_worker_name(struct text_worker *w, struct text_piece *piece, const char *s, size_t n)
{
	u32 *last = &w->last_names[n % ARRAY_SIZE(w->last_names)], id = *last;
	struct name_key k = { s, n };
	struct span copy;
	u64 h;

	if (id < w->n_names && name_eq(w, id, &k))
		return id;
	h = hash_bytes(s, n, w->seed);
	id = index_find(&w->name_index, h, name_eq, w, &k);
	if (id != INDEX_NONE)
		return *last = id;
	copy = (struct span){ arena_strndup(&w->arena, s, n), n };
	vec_push(&w->name_list, copy);
	vec_push(&piece->names, copy);
	id = w->n_names++;
	index_add(&w->name_index, h, id);
	return *last = id;
}

static struct text_stack_slot *stacks_slot(const struct text_stacks *t, u32 hash, u64 check)
{
	u32 i = hash & t->mask;

	while (t->slots[i].nr != INDEX_NONE &&
	       (t->slots[i].check != check || t->slots[i].hash != hash))
		i = (i + 1) & t->mask;
	return &t->slots[i];
}

/* Makes room for more. */
static void stacks_grow(struct text_stacks *t)
{
	struct text_stacks old = *t;
	size_t n = old.slots ? 2 * ((size_t)old.mask + 1) : 64, i;

	t->slots = xreallocarray(NULL, n, sizeof(*t->slots));
	memset(t->slots, 0xff, n * sizeof(*t->slots));
	t->mask = (u32)(n - 1);
	for (i = 0; old.slots && i <= old.mask; i++)
		if (old.slots[i].nr != INDEX_NONE)
			*stacks_slot(t, old.slots[i].hash, old.slots[i].check) = old.slots[i];
	free(old.slots);
}

static inline void stacks_prefetch(const struct text_stacks *t, u64 hash)
{
	if (t->slots)
		__builtin_prefetch(&t->slots[(u32)hash & t->mask], 1);
}

/* Whether there was none like it. *nr: its number. */
static bool stacks_add(struct text_stacks *t, u64 hash, u64 check, u32 *nr)
{
	struct text_stack_slot *slot;

	/* At most three quarters are in use. */
	if (!t->slots || (u64)t->used * 4 >= ((u64)t->mask + 1) * 3) {
		if (t->most && t->mask >= t->most - 1) {
			memset(t->slots, 0xff, ((size_t)t->mask + 1) * sizeof(*t->slots));
			t->used = 0;
		} else {
			stacks_grow(t);
		}
	}
	slot = stacks_slot(t, (u32)hash, check);
	*nr = slot->nr;
	if (*nr != INDEX_NONE)
		return false;
	*nr = t->n++;
	t->used++;
	*slot = (struct text_stack_slot){ check, (u32)hash, *nr };
	return true;
}

static void stacks_release(struct text_stacks *t)
{
	free(t->slots);
	memset(t, 0, sizeof(*t));
}

/* Of a sample's chain, and of what else is to be the same. */
static u64 hash_stack(const struct text_sample *s, const void *chain, size_t size, u64 head,
		      bool by_task, u64 *check)
{
	if (by_task) {
		u64 task[3] = { (u64)s->pid << 32 | s->tid, (u64)s->cpu << 32 | s->vcpu,
				s->machine_pid };

		head = hash_bytes(task, sizeof(task), head);
	}
	return hash_bytes_checked(chain, size, head, check);
}

/*
 * Numbers the stacks of a piece, and takes away chains that were there before.  What is looked at
 * is rarely in the processor's cache: it is fetched while others are looked up.
 */
static void number_stacks(struct text_worker *w, struct text_piece *piece)
{
	size_t n = piece->samples.n, i;
	u32 end = 0;

	w->hashes.n = 0;
	vec_reserve(&w->hashes, 2 * n);
	for (i = 0; i < n + AHEAD; i++) {
		struct text_sample *s;
		u64 *h;
		u32 id;

		if (i < n) {
			s = &piece->samples.v[i];
			h = w->hashes.v + 2 * i;
			h[0] = hash_stack(s, piece->chain.v + s->chain,
					  s->chain_nr * sizeof(*piece->chain.v),
					  hash_u64(w->seed ^ (u64)s->comm << 32 ^ s->event),
					  w->by_task, &h[1]);
			stacks_prefetch(&w->stacks, h[0]);
		}
		if (i < AHEAD)
			continue;
		s = &piece->samples.v[i - AHEAD];
		h = w->hashes.v + 2 * (i - AHEAD);
		if (stacks_add(&w->stacks, h[0], h[1], &id)) {
			memmove(piece->chain.v + end, piece->chain.v + s->chain,
				s->chain_nr * sizeof(*piece->chain.v));
		} else {
			s->chain_nr = 0;
		}
		s->chain = end;
		end += s->chain_nr;
		s->stack = id + 1;
	}
}

void text_piece_bad(struct text_piece *piece, u64 line, const char *p, const char *end)
{
	size_t n = MIN((size_t)(end - p), sizeof(piece->bad_text) - 1);

	if (piece->bad++)
		return;
	piece->bad_first = line;
	memcpy(piece->bad_text, p, n);
	piece->bad_text[n] = 0;
}

/* ---- the pipe ---- */

#define PIECE ((size_t)1 << 20)
/* Of a map that has been read so much is given back at once: each time stops all threads. */
#define DROP ((u64)1 << 20)
/* A record longer than this is cut wherever a line ends. */
#define RECORD_MAX ((size_t)64 << 20)
/* Pieces that are read before threads are worth their start. */
#define ALONE       2
#define THREADS_MAX 16u
/* More gain little, since one thread gives the samples out, and each takes 4 MB. */
#define DEFAULT_MAX 4u
/* Pieces a thread that are under way at once. */
#define DEPTH 2

/* What the reader's thread knows of a worker's ids. */
struct names {
	VEC(struct perf_text_frame) defs; /* without what a variant adds */
	VEC(u32) frames;                  /* global id by local one, INDEX_NONE: not needed yet */
	VEC(struct span) names;
	VEC(u32) comms, events;
	VEC(u32) stacks; /* global number by local one - 1 */
};

/*
 * Pieces are fetched and cut one after the other, by whoever has nothing else to do, and are then
 * read at the same time as others: by n_threads threads, the reader's own one among them, which
 * has the samples to give out first.
 */
struct text_pipe {
	struct perf_reader *r;
	const struct text_ops *ops;
	const void *ctx;
	const char *event;
	size_t piece;

	struct text_worker *workers; /* the first one is the reader's thread's */
	struct names *known;
	unsigned n_threads;
	bool started;
	pthread_t threads[THREADS_MAX];
	pthread_mutex_t lock; /* of what follows, up to `ring` */
	pthread_cond_t work, done;
	bool quit;
	bool waiting;        /* the reader's thread does, for a piece to be done */
	bool fetching;       /* somebody does, and has what is behind `ring` to himself */
	bool ended;          /* all is fetched */
	u64 cut_nr, take_nr; /* pieces cut and pieces taken */
	struct text_piece *ring;
	unsigned n_ring;

	u64 offset;      /* of the next piece in the text */
	struct buf rest; /* bytes of a stream behind the last cut */
	bool eof;
	bool in_line;            /* the piece cut last ends within a line */
	struct error read_error; /* told when all that was readable is out */

	struct text_piece *cur;
	size_t at; /* next sample of cur */
	VEC(u32) chain;
	u64 lines;  /* before cur */
	bool given; /* some sample */
	u32 no_event;
	struct text_stacks stacks; /* of all workers, where there are several */
};

static void piece_clear(struct text_piece *p)
{
	p->samples.n = p->chain.n = p->defs.n = p->names.n = p->notes.n = 0;
	p->lines = p->bad = p->bad_first = p->lost = p->rounded = 0;
	p->bad_text[0] = 0;
	p->annotated = p->done = false;
	vec_reserve(&p->chain, 1); /* samples without frames point into it, too */
}

static void worker_init(struct text_worker *w, struct text_pipe *tp)
{
	memset(w, 0, sizeof(*w));
	w->ops = tp->ops;
	w->ctx = tp->ctx;
	w->once = tp->r->opts.stacks_once && tp->ops->repeats;
	w->by_task = tp->r->opts.by_task;
	w->seed = tp->r->opts.seed;
	w->portable = tp->r->opts.portable;
	/* The reader's table is of all, and sees what comes again. */
	if (tp->n_threads > 1)
		w->stacks.most = (u32)(tp->piece / 8);
	arena_init(&w->arena);
	index_init(&w->name_index);
	tp->ops->worker_init(w);
}

static void worker_release(struct text_worker *w)
{
	if (!w->ops)
		return;
	w->ops->worker_release(w);
	buf_release(&w->text);
	arena_release(&w->arena);
	index_release(&w->name_index);
	vec_release(&w->name_list);
	stacks_release(&w->stacks);
	vec_release(&w->hashes);
}

static u32 frame_of_worker(struct perf_reader *r, u32 local);

struct text_pipe *text_pipe_new(struct perf_reader *r, const struct text_ops *ops, const void *ctx,
				const char *event)
{
	struct text_pipe *tp = xcalloc(1, sizeof(*tp));
	unsigned n = r->opts.threads;

	tp->r = r;
	tp->ops = ops;
	tp->ctx = ctx;
	tp->event = event;
	tp->piece = r->opts.piece ? MIN(r->opts.piece, RECORD_MAX) : PIECE;
	tp->n_threads = MIN(n ? n : MIN(threads_for(0), DEFAULT_MAX), THREADS_MAX);
	tp->n_ring = tp->n_threads > 1 ? tp->n_threads * DEPTH : 1;
	tp->ring = xcalloc(tp->n_ring, sizeof(*tp->ring));
	tp->workers = xcalloc(tp->n_threads, sizeof(*tp->workers));
	tp->known = xcalloc(tp->n_threads, sizeof(*tp->known));
	worker_init(&tp->workers[0], tp);
	pthread_mutex_init(&tp->lock, NULL);
	pthread_cond_init(&tp->work, NULL);
	pthread_cond_init(&tp->done, NULL);
	tp->no_event = UINT32_MAX;
	r->reads_ahead = true;
	if (!r->text)
		r->text = text_frames_new();
	/* Ids of a single worker go out as they are. */
	if (tp->n_threads == 1)
		r->text->id = frame_of_worker;
	return tp;
}

static void stop_threads(struct text_pipe *tp, unsigned n)
{
	pthread_mutex_lock(&tp->lock);
	tp->quit = true;
	pthread_cond_broadcast(&tp->work);
	pthread_mutex_unlock(&tp->lock);
	while (n > 1)
		pthread_join(tp->threads[--n], NULL);
	tp->started = false;
}

/* Frees what is of no use behind the last sample. */
static void release_all(struct text_pipe *tp)
{
	unsigned i;

	if (tp->started)
		stop_threads(tp, tp->n_threads);
	for (i = 0; tp->ring && i < tp->n_threads; i++) {
		worker_release(&tp->workers[i]);
		vec_release(&tp->known[i].defs);
		vec_release(&tp->known[i].frames);
		vec_release(&tp->known[i].names);
		vec_release(&tp->known[i].comms);
		vec_release(&tp->known[i].events);
		vec_release(&tp->known[i].stacks);
	}
	for (i = 0; tp->ring && i < tp->n_ring; i++) {
		struct text_piece *p = &tp->ring[i];

		buf_release(&p->notes);
		vec_release(&p->samples);
		vec_release(&p->chain);
		vec_release(&p->defs);
		vec_release(&p->names);
	}
	free(tp->ring);
	free(tp->workers);
	free(tp->known);
	tp->ring = NULL;
	tp->workers = NULL;
	tp->known = NULL;
	buf_release(&tp->rest);
	vec_release(&tp->chain);
	stacks_release(&tp->stacks);
}

void text_pipe_free(struct text_pipe *tp)
{
	if (!tp)
		return;
	release_all(tp);
	pthread_mutex_destroy(&tp->lock);
	pthread_cond_destroy(&tp->work);
	pthread_cond_destroy(&tp->done);
	free(tp);
}

int text_reader_next(struct perf_reader *r, struct perf_item *item, struct error *err)
{
	struct text_pipe *const *pipe = r->priv;

	return text_pipe_next(*pipe, item, err);
}

void text_reader_close(struct perf_reader *r)
{
	struct text_pipe *const *pipe = r->priv;

	if (!pipe)
		return;
	text_pipe_free(*pipe);
	text_frames_free(r->text);
	free(r->priv);
}

/* ---- fetching and cutting ---- */

/* End of the piece that starts at text, of n bytes that are there; `last`: no more come. 0: more
 * are needed. */
static size_t cut(struct text_pipe *tp, const char *text, size_t n, size_t want, bool last)
{
	const char *nl;
	size_t k;

	if (n <= want && last)
		return n;
	k = tp->ops->cut(tp->ctx, text, MIN(n, want));
	if (k)
		return k;
	if (want < RECORD_MAX)
		return 0;
	nl = memrchr(text, '\n', want);
	return nl ? (size_t)(nl - text) + 1 : want;
}

static size_t cut_map(struct text_pipe *tp, const char *text, size_t left)
{
	size_t want, n = 0;

	for (want = tp->piece; !n && left; want *= 2)
		n = cut(tp, text, left, MIN(want, RECORD_MAX), true);
	return n;
}

/* The piece is in `b` then, what is fetched behind it in tp->rest. */
static size_t cut_stream(struct text_pipe *tp, struct buf *b)
{
	struct input *in = &tp->r->in;
	size_t want = tp->piece, n;
	ssize_t got;

	buf_clear(b);
	buf_put(b, tp->rest.p, tp->rest.n);
	buf_clear(&tp->rest);
	for (;;) {
		while (!tp->eof && b->n <= want) {
			buf_reserve(b, want + 1 - b->n);
			got = input_read(in, b->p + b->n, want + 1 - b->n, &tp->read_error);
			if (got <= 0)
				tp->eof = true;
			else
				b->n += (size_t)got;
		}
		if (!b->n)
			return 0;
		n = cut(tp, b->p, b->n, want, tp->eof);
		if (n)
			break;
		want = MIN(want * 2, RECORD_MAX);
	}
	buf_put(&tp->rest, b->p + n, b->n - n);
	return n;
}

/* The line that the piece before had begun was too long; it is told there. */
static void skip_rest_of_line(struct text_pipe *tp, struct text_piece *p)
{
	const char *nl = memchr(p->p, '\n', (size_t)(p->end - p->p));
	const char *next = nl ? nl + 1 : p->end;

	p->start += (u64)(next - p->p);
	p->p = next;
	tp->in_line = !nl;
}

/* False: there is none. */
static bool next_piece(struct text_pipe *tp, struct text_worker *w, struct text_piece *p)
{
	struct input *in = &tp->r->in;
	size_t n;

	if (in->map) {
		p->p = (const char *)in->map + tp->offset;
		n = cut_map(tp, p->p, (size_t)(in->size - tp->offset));
	} else {
		n = cut_stream(tp, &w->text);
		p->p = w->text.p;
	}
	piece_clear(p);
	p->end = p->p + n;
	p->start = tp->offset;
	tp->offset += n;
	if (tp->in_line)
		skip_rest_of_line(tp, p);
	else if (n && p->end[-1] != '\n')
		tp->in_line = in->map ? tp->offset < in->size : !tp->eof || tp->rest.n;
	p->consumed = in->map ? tp->offset : in->consumed;
	p->worker = (unsigned)(w - tp->workers);
	return n;
}

static void read_piece(struct text_pipe *tp, unsigned me, struct text_piece *p)
{
	struct text_worker *w = &tp->workers[me];

	tp->ops->parse(w, p);
	if (w->once)
		number_stacks(w, p);
}

void text_pipe_fail_at_end(struct text_pipe *tp, const struct error *why)
{
	tp->read_error = *why;
}

/* ---- threads ---- */

/*
 * Fetches a piece and reads it, with the lock at both ends; false: there is none. There is room,
 * and nobody else fetches.
 */
static bool work_on_piece(struct text_pipe *tp, unsigned me)
{
	struct text_piece *p = &tp->ring[tp->cut_nr % tp->n_ring];
	u64 unread = tp->offset, k;
	bool more;

	/* Of a piece that is read nothing is needed any more. */
	for (k = tp->cut_nr; k > tp->take_nr; k--)
		if (!tp->ring[(k - 1) % tp->n_ring].done)
			unread = tp->ring[(k - 1) % tp->n_ring].start;
	tp->fetching = true;
	pthread_mutex_unlock(&tp->lock);
	if (unread >= tp->r->in.dropped + DROP)
		input_drop(&tp->r->in, unread);
	more = next_piece(tp, &tp->workers[me], p);
	pthread_mutex_lock(&tp->lock);
	tp->fetching = false;
	tp->ended = !more;
	tp->cut_nr += more;
	pthread_cond_signal(tp->waiting ? &tp->done : &tp->work);
	if (more) {
		pthread_mutex_unlock(&tp->lock);
		read_piece(tp, me, p);
		pthread_mutex_lock(&tp->lock);
		p->done = true;
	}
	if (tp->waiting)
		pthread_cond_signal(&tp->done);
	return more;
}

static bool can_fetch(const struct text_pipe *tp)
{
	return !tp->ended && !tp->fetching && tp->cut_nr - tp->take_nr < tp->n_ring;
}

struct thread_arg {
	struct text_pipe *tp;
	unsigned nr;
};

static void *thread_main(void *p)
{
	struct thread_arg *arg = p;
	struct text_pipe *tp = arg->tp;
	unsigned me = arg->nr;

	free(arg);
	pthread_mutex_lock(&tp->lock);
	while (!tp->quit && !tp->ended)
		if (can_fetch(tp))
			work_on_piece(tp, me);
		else
			pthread_cond_wait(&tp->work, &tp->lock);
	/* The others are not to wait for room either. */
	pthread_cond_signal(&tp->work);
	pthread_mutex_unlock(&tp->lock);
	return NULL;
}

/* Goes on alone when the system gives no threads. */
static void start_threads(struct text_pipe *tp)
{
	unsigned i;

	for (i = 1; i < tp->n_threads; i++) {
		struct thread_arg *arg = xmalloc(sizeof(*arg));

		worker_init(&tp->workers[i], tp);
		*arg = (struct thread_arg){ tp, i };
		if (thread_start(&tp->threads[i], thread_main, arg)) {
			free(arg);
			break;
		}
	}
	tp->started = true;
	if (i < tp->n_threads)
		stop_threads(tp, i);
}

/* The next piece in the order of the text, read; NULL: there is none. */
static struct text_piece *take_piece(struct text_pipe *tp)
{
	struct text_piece *p = &tp->ring[tp->take_nr % tp->n_ring];

	if (!tp->started && tp->n_threads > 1 && tp->take_nr == ALONE && !tp->ended)
		start_threads(tp);
	pthread_mutex_lock(&tp->lock);
	while (!(tp->take_nr < tp->cut_nr ? p->done : tp->ended))
		if (can_fetch(tp)) {
			work_on_piece(tp, 0);
		} else {
			tp->waiting = true;
			pthread_cond_wait(&tp->done, &tp->lock);
			tp->waiting = false;
		}
	if (tp->take_nr == tp->cut_nr)
		p = NULL;
	else if (can_fetch(tp))
		pthread_cond_signal(&tp->work);
	pthread_mutex_unlock(&tp->lock);
	return p;
}

static void take_names(struct text_pipe *tp, struct text_piece *p)
{
	struct names *k = &tp->known[p->worker];
	struct strtab *st = tp->r->strings;
	size_t i, j;

	/* The order of strings is that of the text, whoever reads it and whatever is wanted. */
	for (i = 0; i < p->defs.n; i++) {
		const struct text_def *d = &p->defs.v[i];

		vec_push(&k->defs, ((struct perf_text_frame){
					   .symbol = strtab_add(st, d->symbol.p, d->symbol.n),
					   .module = strtab_add(st, d->module.p, d->module.n),
					   .file = strtab_add(st, d->file.p, d->file.n),
					   .line = d->line,
					   .addr = d->addr,
					   .flags = d->flags,
					   .space = d->space,
				   }));
		for (j = 0; j < TEXT_VARIANTS; j++)
			vec_push(&k->frames, INDEX_NONE);
	}
	for (i = 0; i < p->names.n; i++) {
		vec_push(&k->names, p->names.v[i]);
		vec_push(&k->comms, INDEX_NONE);
		vec_push(&k->events, INDEX_NONE);
	}
}

static void take_counts(struct text_pipe *tp, struct text_piece *p)
{
	struct perf_reader *r = tp->r;
	const char *nl;
	size_t i;

	if (p->bad) {
		/* One subject for all, so that the count is of the whole file. */
		if (!diag_count(r->diag, DIAG_BAD_LINE))
			diag_addf(r->diag, DIAG_BAD_LINE, p->bad, "'%s': line %" PRIu64 ": '%s'",
				  input_name(&r->in), tp->lines + p->bad_first + 1, p->bad_text);
		else
			diag_add(r->diag, DIAG_BAD_LINE, p->bad, NULL);
	}
	if (p->lost) {
		diag_add(r->diag, DIAG_LOST, p->lost, "");
		r->meta.lost += p->lost;
	}
	if (p->rounded)
		diag_add(r->diag, DIAG_NOTE, p->rounded,
			 "counts with more decimals than fit were rounded");
	r->meta.annotated |= p->annotated;
	for (i = 0; tp->ops->note && i < p->notes.n; i = (size_t)(nl - p->notes.p) + 1) {
		nl = memchr(p->notes.p + i, '\n', p->notes.n - i);
		tp->ops->note(r, (struct span){ p->notes.p + i, (size_t)(nl - p->notes.p) - i });
	}
}

static u32 global_frame(struct text_pipe *tp, struct names *k, u32 local)
{
	struct perf_text_frame f = k->defs.v[local / TEXT_VARIANTS];

	if (local & TEXT_V_EXACT)
		f.flags |= TEXT_EXACT;
	if (local & TEXT_V_USER)
		f.space = SPACE_USER;
	return k->frames.v[local] = text_frames_add(tp->r->text, &f);
}

static u32 global_event(struct text_pipe *tp, struct names *k, u32 local)
{
	if (local == TEXT_NO_NAME) {
		if (tp->no_event == UINT32_MAX)
			tp->no_event = text_event(tp->r, tp->event, strlen(tp->event));
		return tp->no_event;
	}
	if (k->events.v[local] == INDEX_NONE)
		k->events.v[local] = text_event(tp->r, k->names.v[local].p, k->names.v[local].n);
	return k->events.v[local];
}

static str_id global_comm(struct text_pipe *tp, struct names *k, u32 local)
{
	if (local == TEXT_NO_NAME)
		return 0;
	if (k->comms.v[local] == INDEX_NONE)
		k->comms.v[local] = strtab_add(tp->r->strings, k->names.v[local].p,
					       k->names.v[local].n);
	return k->comms.v[local];
}

/* The number of a sample's stack. A new one loses its chain if another worker has had it. */
static u32 global_stack(struct text_pipe *tp, struct names *k, const struct text_sample *s,
			struct perf_sample *o)
{
	u64 hash, check;
	u32 id;

	if (!s->stack)
		return PERF_NO_STACK;
	if (s->stack <= k->stacks.n)
		return k->stacks.v[s->stack - 1];
	if (tp->n_threads == 1) {
		vec_push(&k->stacks, s->stack - 1);
		return s->stack - 1;
	}
	hash = hash_stack(s, o->frames, o->chain_nr * sizeof(*o->frames),
			  hash_u64(tp->r->opts.seed ^ (u64)o->comm << 32 ^ o->event),
			  tp->r->opts.by_task, &check);
	if (!stacks_add(&tp->stacks, hash, check, &id))
		o->chain_nr = 0;
	vec_push(&k->stacks, id);
	return id;
}

/* A number that is known, of the sample AHEAD ones behind s. */
static u32 soon(const struct text_pipe *tp, const struct names *k, const struct text_sample *s)
{
	const struct text_sample *end = tp->cur->samples.v + tp->cur->samples.n;

	if (end - s > 2 * AHEAD)
		__builtin_prefetch(k->stacks.v + s[2 * AHEAD].stack - 1);
	if (end - s <= AHEAD || s[AHEAD].stack - 1 >= k->stacks.n)
		return PERF_NO_STACK;
	return k->stacks.v[s[AHEAD].stack - 1];
}

static u32 frame_of_worker(struct perf_reader *r, u32 local)
{
	struct text_pipe *const *pipe = r->priv;
	struct names *k = &(*pipe)->known[0];

	return k->frames.v[local] == INDEX_NONE ? global_frame(*pipe, k, local)
						: k->frames.v[local];
}

/* The n frames of a chain by global ids, into tp->chain. */
static void global_chain(struct text_pipe *tp, struct names *k, const u32 *chain, u32 n)
{
	const u32 *known = k->frames.v;
	u32 any = 0, i, *to;

	tp->chain.n = 0;
	vec_reserve(&tp->chain, n);
	to = tp->chain.v;
	for (i = 0; i < n; i++) {
		to[i] = known[chain[i]];
		any |= to[i];
	}
	/* Ids have not all bits, not even together. */
	for (i = 0; any == INDEX_NONE && i < n; i++)
		if (to[i] == INDEX_NONE)
			to[i] = global_frame(tp, k, chain[i]);
	tp->chain.n = n;
}

static void give_sample(struct text_pipe *tp, const struct text_sample *s, struct perf_item *item)
{
	struct names *k = &tp->known[tp->cur->worker];
	struct perf_sample *o = &item->sample;

	memset(item, 0, sizeof(*item));
	item->type = ITEM_SAMPLE;
	item->time = o->time = s->time;
	o->period = s->period;
	o->count = s->count;
	o->base_count = s->base;
	o->pid = s->pid;
	o->tid = s->tid;
	o->cpu = s->cpu;
	o->machine_pid = s->machine_pid;
	o->vcpu = s->vcpu;
	o->event = global_event(tp, k, s->event);
	o->comm = global_comm(tp, k, s->comm);
	o->text = true;
	o->frames = tp->cur->chain.v + s->chain;
	o->chain_nr = s->chain_nr;
	if (tp->n_threads > 1) {
		global_chain(tp, k, o->frames, o->chain_nr);
		o->frames = tp->chain.v;
	}
	o->stack_nr = global_stack(tp, k, s, o);
	o->soon = s->stack ? soon(tp, k, s) : PERF_NO_STACK;
	text_count_sample(tp->r, o);
}

static void piece_done(struct text_pipe *tp)
{
	struct text_piece *p = tp->cur;

	tp->lines += p->lines;
	tp->r->taken = p->consumed;
	pthread_mutex_lock(&tp->lock);
	tp->take_nr++;
	if (can_fetch(tp))
		pthread_cond_signal(&tp->work);
	pthread_mutex_unlock(&tp->lock);
	tp->cur = NULL;
}

/* What could be read before the damage is used, if there was anything. */
static int end_of_text(struct text_pipe *tp, struct error *err)
{
	if (!tp->read_error.msg[0])
		return 0;
	if (!tp->given)
		return error_set(err, "%s", tp->read_error.msg);
	diag_add(tp->r->diag, DIAG_DAMAGED, 1, tp->read_error.msg);
	tp->read_error.msg[0] = '\0';
	return 0;
}

int text_pipe_next(struct text_pipe *tp, struct perf_item *item, struct error *err)
{
	for (;;) {
		struct text_piece *p;

		if (tp->cur) {
			if (tp->at < tp->cur->samples.n) {
				give_sample(tp, &tp->cur->samples.v[tp->at++], item);
				tp->given = true;
				return 1;
			}
			piece_done(tp);
		}
		p = tp->ring ? take_piece(tp) : NULL;
		if (!p) {
			release_all(tp);
			input_drop(&tp->r->in, tp->offset);
			return end_of_text(tp, err);
		}
		tp->cur = p;
		tp->at = 0;
		take_names(tp, p);
		take_counts(tp, p);
	}
}
