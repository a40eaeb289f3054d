/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frames of text formats, and the pipe that reads a text piece by piece. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

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
	r->meta.events.v[s->event].samples += s->count;
	if (s->time == PERF_NO_TIME)
		return;
	if (r->meta.first_time == PERF_NO_TIME || s->time < r->meta.first_time)
		r->meta.first_time = s->time;
	if (r->meta.last_time == PERF_NO_TIME || s->time > r->meta.last_time)
		r->meta.last_time = s->time;
}

void text_give_stack(struct perf_reader *r, struct perf_item *item, u64 count, u64 base, u32 event,
		     const u64 *chain, u32 n)
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
		.chain = chain,
		.chain_nr = n,
	};
	text_count_sample(r, &item->sample);
}

/* ---- workers ---- */

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
	struct name_key k = { s, n };
	u64 h = hash_bytes(s, n, 1);
	u32 id = index_find(&w->name_index, h, name_eq, w, &k);
	struct span copy;

	if (id != INDEX_NONE)
		return id;
	copy = (struct span){ arena_strndup(&w->arena, s, n), n };
	vec_push(&w->name_list, copy);
	vec_push(&piece->names, copy);
	id = w->n_names++;
	index_add(&w->name_index, h, id);
	return id;
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
/* A record longer than this is cut wherever a line ends. */
#define RECORD_MAX ((size_t)64 << 20)
/* Pieces that are read before threads are worth their start. */
#define ALONE       4
#define THREADS_MAX 16
/* Pieces a thread that are under way at once. */
#define DEPTH 3

enum { PIECE_FREE, PIECE_READY, PIECE_DONE };

/* What the reader's thread knows of a worker's ids. */
struct names {
	VEC(struct text_def) defs;
	VEC(u32) frames; /* global id by local id, INDEX_NONE: not needed yet */
	VEC(struct span) names;
	VEC(u32) comms, events;
};

struct text_pipe {
	struct perf_reader *r;
	const struct text_ops *ops;
	const void *ctx;
	const char *event;
	size_t piece;

	struct text_worker *workers;
	struct names *known;
	unsigned n_threads; /* 0: all in the reader's thread */
	unsigned n_workers; /* as many as there is room for */
	bool started;
	pthread_t threads[THREADS_MAX];
	pthread_mutex_t lock;
	pthread_cond_t work, done;
	bool quit;

	struct text_piece *ring;
	unsigned n_ring;
	u64 cut_nr, take_nr; /* pieces cut and pieces taken */
	u64 next_thread_piece[THREADS_MAX];

	u64 offset;      /* of the next piece, in a map */
	struct buf rest; /* bytes of a stream behind the last cut */
	u64 stream_offset;
	bool eof;

	struct text_piece *cur;
	size_t at; /* next sample of cur */
	unsigned cur_worker;
	VEC(u64) chain;
	u64 lines;               /* before cur */
	struct error read_error; /* told when all that was readable is out */
	bool given;              /* some sample */
	u32 no_event;
};

static void piece_clear(struct text_piece *p)
{
	p->samples.n = p->chain.n = p->defs.n = p->names.n = p->notes.n = 0;
	p->lines = p->bad = p->bad_first = p->lost = p->rounded = 0;
	p->bad_text[0] = 0;
	p->annotated = false;
}

static void worker_init(struct text_worker *w, struct text_pipe *tp)
{
	memset(w, 0, sizeof(*w));
	w->ops = tp->ops;
	w->ctx = tp->ctx;
	arena_init(&w->arena);
	index_init(&w->name_index);
	tp->ops->worker_init(w);
}

static void worker_release(struct text_worker *w)
{
	if (!w->ops)
		return;
	w->ops->worker_release(w);
	arena_release(&w->arena);
	index_release(&w->name_index);
	vec_release(&w->name_list);
}

struct text_pipe *text_pipe_new(struct perf_reader *r, const struct text_ops *ops, const void *ctx,
				const char *event)
{
	struct text_pipe *tp = xcalloc(1, sizeof(*tp));
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned n = r->opts.threads;

	if (!n)
		n = online > 1 ? (unsigned)MIN(online, 8) : 1;
	tp->r = r;
	tp->ops = ops;
	tp->ctx = ctx;
	tp->event = event;
	tp->piece = r->opts.piece ? MIN(r->opts.piece, RECORD_MAX) : PIECE;
	tp->n_threads = n > 1 ? MIN(n, THREADS_MAX) : 0;
	tp->n_ring = tp->n_threads ? tp->n_threads * DEPTH : 1;
	tp->ring = xcalloc(tp->n_ring, sizeof(*tp->ring));
	tp->n_workers = MAX(tp->n_threads, 1U);
	tp->workers = xcalloc(tp->n_workers, sizeof(*tp->workers));
	tp->known = xcalloc(tp->n_workers, sizeof(*tp->known));
	worker_init(&tp->workers[0], tp);
	pthread_mutex_init(&tp->lock, NULL);
	pthread_cond_init(&tp->work, NULL);
	pthread_cond_init(&tp->done, NULL);
	tp->no_event = UINT32_MAX;
	if (!r->text)
		r->text = text_frames_new();
	return tp;
}

void text_pipe_free(struct text_pipe *tp)
{
	unsigned i;

	if (!tp)
		return;
	if (tp->started) {
		pthread_mutex_lock(&tp->lock);
		tp->quit = true;
		pthread_cond_broadcast(&tp->work);
		pthread_mutex_unlock(&tp->lock);
		for (i = 0; i < tp->n_threads; i++)
			pthread_join(tp->threads[i], NULL);
	}
	pthread_mutex_destroy(&tp->lock);
	pthread_cond_destroy(&tp->work);
	pthread_cond_destroy(&tp->done);
	for (i = 0; i < tp->n_workers; i++) {
		worker_release(&tp->workers[i]);
		vec_release(&tp->known[i].defs);
		vec_release(&tp->known[i].frames);
		vec_release(&tp->known[i].names);
		vec_release(&tp->known[i].comms);
		vec_release(&tp->known[i].events);
	}
	for (i = 0; i < tp->n_ring; i++) {
		struct text_piece *p = &tp->ring[i];

		buf_release(&p->own);
		vec_release(&p->samples);
		vec_release(&p->chain);
		vec_release(&p->defs);
		vec_release(&p->names);
		vec_release(&p->notes);
	}
	free(tp->ring);
	free(tp->workers);
	free(tp->known);
	buf_release(&tp->rest);
	vec_release(&tp->chain);
	free(tp);
}

/* The worker of a piece; fixed, so that a worker meets its pieces in order. */
static unsigned worker_of(const struct text_pipe *tp, u64 nr)
{
	return tp->n_threads && nr >= ALONE ? (unsigned)(nr % tp->n_threads) : 0;
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
	u64 nr = tp->next_thread_piece[me];

	free(arg);
	pthread_mutex_lock(&tp->lock);
	for (;;) {
		struct text_piece *piece = &tp->ring[nr % tp->n_ring];

		while (!tp->quit && !(nr < tp->cut_nr && piece->state == PIECE_READY))
			pthread_cond_wait(&tp->work, &tp->lock);
		if (tp->quit)
			break;
		pthread_mutex_unlock(&tp->lock);
		piece_clear(piece);
		tp->ops->parse(&tp->workers[me], piece);
		pthread_mutex_lock(&tp->lock);
		piece->state = PIECE_DONE;
		pthread_cond_signal(&tp->done);
		nr += tp->n_threads;
	}
	pthread_mutex_unlock(&tp->lock);
	return NULL;
}

/* Falls back to the reader's own thread when the system gives none. */
static void start_threads(struct text_pipe *tp, u64 nr)
{
	sigset_t all, before;
	unsigned i;

	/* Signals are the main thread's, which blocks them where their handler would be in the
	 * way. The threads inherit the mask. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	for (i = 0; i < tp->n_threads; i++) {
		struct thread_arg *arg = xmalloc(sizeof(*arg));
		u64 first = nr;

		while (worker_of(tp, first) != i)
			first++;
		tp->next_thread_piece[i] = first;
		if (i)
			worker_init(&tp->workers[i], tp);
		*arg = (struct thread_arg){ tp, i };
		if (pthread_create(&tp->threads[i], NULL, thread_main, arg)) {
			free(arg);
			break;
		}
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (i == tp->n_threads) {
		tp->started = true;
		return;
	}
	pthread_mutex_lock(&tp->lock);
	tp->quit = true;
	pthread_cond_broadcast(&tp->work);
	pthread_mutex_unlock(&tp->lock);
	while (i)
		pthread_join(tp->threads[--i], NULL);
	tp->n_threads = 0;
}

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

static int cut_map(struct text_pipe *tp, struct text_piece *p)
{
	struct input *in = &tp->r->in;
	const char *text = (const char *)in->map + tp->offset;
	size_t left = (size_t)(in->size - tp->offset), want, n = 0;

	if (!left)
		return 0;
	for (want = tp->piece; !n; want *= 2)
		n = cut(tp, text, left, MIN(want, RECORD_MAX), true);
	p->p = text;
	p->end = text + n;
	p->start = tp->offset;
	tp->offset += n;
	return 1;
}

static int cut_stream(struct text_pipe *tp, struct text_piece *p)
{
	struct input *in = &tp->r->in;
	struct buf *b = &p->own;
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
	p->p = b->p;
	p->end = b->p + n;
	p->start = tp->stream_offset;
	tp->stream_offset += n;
	return 1;
}

/* Cuts pieces as long as there is room. */
static void fill(struct text_pipe *tp)
{
	while (tp->cut_nr - tp->take_nr < tp->n_ring) {
		u64 nr = tp->cut_nr;
		struct text_piece *p = &tp->ring[nr % tp->n_ring];
		int r = tp->r->in.map ? cut_map(tp, p) : cut_stream(tp, p);

		if (!r)
			return;
		if (tp->n_threads && nr == ALONE && !tp->started)
			start_threads(tp, nr);
		if (!tp->started) {
			piece_clear(p);
			tp->ops->parse(&tp->workers[0], p);
			p->state = PIECE_DONE;
			tp->cut_nr++;
			return; /* samples go out before the next piece is read */
		}
		pthread_mutex_lock(&tp->lock);
		p->state = PIECE_READY;
		tp->cut_nr++;
		pthread_cond_broadcast(&tp->work);
		pthread_mutex_unlock(&tp->lock);
	}
}

void text_pipe_fail_at_end(struct text_pipe *tp, const struct error *why)
{
	tp->read_error = *why;
}

static void take_names(struct text_pipe *tp, struct text_piece *p)
{
	struct names *k = &tp->known[tp->cur_worker];
	size_t i, j;

	for (i = 0; i < p->defs.n; i++) {
		vec_push(&k->defs, p->defs.v[i]);
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
			 "weights with more decimals than the first ones were rounded");
	r->meta.annotated |= p->annotated;
	for (i = 0; tp->ops->note && i < p->notes.n; i++)
		tp->ops->note(r, p->notes.v[i]);
}

static u32 global_frame(struct text_pipe *tp, struct names *k, u32 local)
{
	const struct text_def *d = &k->defs.v[local / TEXT_VARIANTS];
	struct strtab *st = tp->r->strings;
	struct perf_text_frame f = {
		.symbol = strtab_add(st, d->symbol.p, d->symbol.n),
		.module = strtab_add(st, d->module.p, d->module.n),
		.file = strtab_add(st, d->file.p, d->file.n),
		.line = d->line,
		.addr = d->addr,
		.flags = d->flags,
		.space = d->space,
	};

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

static void give_sample(struct text_pipe *tp, const struct text_sample *s, struct perf_item *item)
{
	struct names *k = &tp->known[tp->cur_worker];
	const u32 *chain = tp->cur->chain.v + s->chain;
	struct perf_sample *o = &item->sample;
	u32 i;

	tp->chain.n = 0;
	vec_reserve(&tp->chain, s->chain_nr);
	for (i = 0; i < s->chain_nr; i++) {
		u32 id = k->frames.v[chain[i]];

		if (UNLIKELY(id == INDEX_NONE))
			id = global_frame(tp, k, chain[i]);
		tp->chain.v[i] = id;
	}
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
	o->chain = tp->chain.v;
	o->chain_nr = s->chain_nr;
	text_count_sample(tp->r, o);
}

static void piece_done(struct text_pipe *tp)
{
	struct text_piece *p = tp->cur;

	tp->lines += p->lines;
	tp->r->in.consumed = tp->r->in.map ? p->start + (u64)(p->end - p->p) : tp->r->in.consumed;
	input_drop(&tp->r->in, p->start + (u64)(p->end - p->p));
	if (tp->started)
		pthread_mutex_lock(&tp->lock);
	p->state = PIECE_FREE;
	tp->take_nr++;
	if (tp->started)
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
		fill(tp);
		if (tp->take_nr == tp->cut_nr)
			return end_of_text(tp, err);
		p = &tp->ring[tp->take_nr % tp->n_ring];
		if (tp->started) {
			pthread_mutex_lock(&tp->lock);
			while (p->state != PIECE_DONE)
				pthread_cond_wait(&tp->done, &tp->lock);
			pthread_mutex_unlock(&tp->lock);
		}
		tp->cur = p;
		tp->at = 0;
		tp->cur_worker = worker_of(tp, tp->take_nr);
		take_names(tp, p);
		take_counts(tp, p);
	}
}
