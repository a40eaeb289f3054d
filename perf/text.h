/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the readers of text share: cutting a text into pieces at record borders,
 * reading the pieces in threads, and giving the samples out in the order of the
 * text.
 *
 * The cuts depend on the text alone, a piece is read without knowledge of the
 * others, and ids are given when samples go out: so the number of threads
 * changes nothing but the time.
 */
#ifndef XENFLAME_PERF_TEXT_H
#define XENFLAME_PERF_TEXT_H

#include "perf/reader.h"

/* ---- bytes within a piece ---- */

struct span {
	const char *p;
	size_t n;
};

static inline bool span_is(struct span s, const char *lit)
{
	return s.n == strlen(lit) && !memcmp(s.p, lit, s.n);
}
static inline bool span_starts(struct span s, const char *lit)
{
	size_t n = strlen(lit);

	return s.n >= n && !memcmp(s.p, lit, n);
}
static inline bool span_ends(struct span s, const char *lit)
{
	size_t n = strlen(lit);

	return s.n >= n && !memcmp(s.p + s.n - n, lit, n);
}
static inline bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}
static inline bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}
struct span span_trim(struct span s);

/* Behind the byte order mark that a text may begin with. */
static inline const char *skip_bom(const char *p, const char *end)
{
	return end - p >= 3 && !memcmp(p, "\xef\xbb\xbf", 3) ? p + 3 : p;
}
/* The first byte that says something: behind white space, too. */
static inline const char *skip_to_text(const char *p, const char *end)
{
	for (p = skip_bom(p, end); p < end && (is_blank(*p) || *p == '\n' || *p == '\r'); p++)
		;
	return p;
}

/* ---- frames ---- */

/* A frame as a worker sees it; the strings live as long as the worker. */
struct text_def {
	struct span symbol, module, file;
	u64 addr;
	u32 line;
	u8 flags, space;
};

/*
 * Space of a frame by the name of its module, SPACE_NONE when the name does
 * not tell ("[unknown]", none).  Names that perf gives to kernels, their
 * modules and BPF programs, guests' kernels, and the names of Xen's image.
 */
enum space text_module_space(struct span module);
/* Takes an annotation (`_[k]`, `_[i]`, `_[j]`, `_[h]`, `_[g]`) off the symbol into space and flags;
 * false: there is none. */
bool text_strip_annotation(struct span *symbol, u8 *space, u8 *flags);

/*
 * Ids of frames within a worker: entry * TEXT_VARIANTS + variant.  An entry is
 * what a line says; the variant is what its place in the stack adds.
 */
#define TEXT_VARIANTS 4
#define TEXT_V_EXACT  1 /* an interrupted instruction */
#define TEXT_V_USER   2 /* behind user frames: user whatever the address looks like */

/* ---- pieces ---- */

struct text_sample {
	u64 time, period, count;
	u64 base; /* or perf_sample.count_high */
	u32 pid, tid, cpu, machine_pid, vcpu;
	u32 comm, event;     /* names of the worker; TEXT_NO_NAME */
	u32 chain, chain_nr; /* in text_piece.chain */
	u32 stack;           /* 0, or its number from 1 upwards, of the worker */
};
#define TEXT_NO_NAME UINT32_MAX

struct text_piece {
	const char *p, *end; /* of its worker, until it has been read */
	u64 start;           /* offset of p in the text */
	u64 consumed;        /* of the input, when it had been fetched */
	unsigned worker;     /* who reads it */
	bool done;

	/* what the worker made of it */
	VEC(struct text_sample) samples;
	VEC(u32) chain;
	VEC(struct text_def) defs; /* entries that are new in this piece */
	VEC(struct span) names;    /* the same for comms and events */
	struct buf notes;          /* lines for the reader: "# hostname : x" */
	u64 lines;                 /* newlines */
	u64 bad;                   /* lines not understood */
	u64 bad_first;             /* the first of them, counted from 0, and its beginning */
	char bad_text[64];
	u64 lost, rounded;
	bool annotated;
};

/* Numbers of stacks by 96 bits of their hashes; all zero: empty. */
struct text_stacks {
	struct text_stack_slot {
		u64 check;
		u32 hash, nr; /* nr INDEX_NONE: free */
	} * slots;
	u32 mask, used;
	u32 n;    /* numbers given */
	u32 most; /* with so many slots it starts afresh: a stack then has several numbers; 0: never
		   */
};

/* A worker keeps what it has learnt from piece to piece. */
struct text_worker {
	const struct text_ops *ops;
	const void *ctx;    /* of the reader, read only */
	void *priv;         /* of the format */
	struct buf text;    /* of the piece at hand, when the input is a stream */
	struct arena arena; /* behind all defs and names */
	u32 n_defs, n_names;
	struct index name_index;
	VEC(struct span) name_list;
	u32 last_names[8]; /* those looked for last, by length */

	/* Stacks by what is in them, when each is to be given once. */
	bool once, by_task;
	bool portable; /* as perf_opts.portable */
	u64 seed;      /* of the run: input cannot aim at collisions */
	struct text_stacks stacks;
	VEC(u64) hashes; /* of the piece's stacks, both halves */
};

struct text_ops {
	/*
	 * Where text[0..n) may be cut, at most n and as late as possible; 0: nowhere. `text` starts
	 * at a record.  Depends on these bytes alone.
	 */
	size_t (*cut)(const void *ctx, const char *text, size_t n);
	void (*worker_init)(struct text_worker *w);
	void (*worker_release)(struct text_worker *w);
	void (*parse)(struct text_worker *w, struct text_piece *piece);
	/* In the reader's thread, in order: notes of a piece. May be NULL. */
	void (*note)(struct perf_reader *r, struct span note);
	bool repeats; /* the same stacks come again and again */
};

/* The same id for the same bytes. */
u32 text_worker_name(struct text_worker *w, struct text_piece *piece, const char *s, size_t n);
/* Counts a line that is not understood; `line` is its number within the piece, from 0. */
void text_piece_bad(struct text_piece *piece, u64 line, const char *p, const char *end);

struct text_pipe;
/* `ctx` is borrowed. What a missing event name is called: `event`. The private data of the reader
 * have to begin with what is returned: perf_text_id() looks there. */
struct text_pipe *text_pipe_new(struct perf_reader *r, const struct text_ops *ops, const void *ctx,
				const char *event);
/* As perf_next(). */
int text_pipe_next(struct text_pipe *tp, struct perf_item *item, struct error *err);
/* The error that text_pipe_next() gives behind the last sample. */
void text_pipe_fail_at_end(struct text_pipe *tp, const struct error *why);
void text_pipe_free(struct text_pipe *tp);

/* next and close of a reader whose private data begin with a struct text_pipe * and own nothing
 * else. */
int text_reader_next(struct perf_reader *r, struct perf_item *item, struct error *err);
void text_reader_close(struct perf_reader *r);

/* Index of an event of that name in meta.events, made when new. */
u32 text_event(struct perf_reader *r, const char *name, size_t n);
/* Takes a sample into first_time, last_time and the event's count. */
void text_count_sample(struct perf_reader *r, const struct perf_sample *s);
/* Makes *item a counted sample of a file that has stacks and no threads or times. `frames`, n ids,
 * innermost first, are borrowed for as long as the item is used. */
void text_give_stack(struct perf_reader *r, struct perf_item *item, u64 count, u64 base, u32 event,
		     const u32 *frames, u32 n);

#endif
