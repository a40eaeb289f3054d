/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf.data, private to its reader.  Format facts: linux/perf_event.h,
 * tools/perf/Documentation/perf.data-file-format.txt,
 * tools/lib/perf/include/perf/event.h.
 *
 * Data flow: files (mapped or streams) -> records (compressed ones unpacked
 * into blocks) -> a queue that puts them in time order -> items.
 */
#ifndef XENFLAME_PERF_DATA_H
#define XENFLAME_PERF_DATA_H

#include "perf/reader.h"

/* ---- limits ---- */

#define PD_MAX_EVENTS 65536u
#define PD_MAX_IDS    (1u << 22) /* read in all, also when they repeat */
/* Records held back for ordering when no FINISHED_ROUND comes: 24 bytes each, mapped files. */
#define PD_MAX_QUEUE ((size_t)1 << 22)
/* Bytes of records held back that lie in memory (streams, unpacked data). */
#define PD_MAX_HELD ((size_t)256 << 20)
#define PD_BLOCK    ((size_t)1 << 20)
/* Samples that wait for their PERF_RECORD_CALLCHAIN_DEFERRED. */
#define PD_MAX_DEFERRED 4096u
/* A run of compressed records whose 16-bit size overflowed is at most this long in a stream. */
#define PD_MAX_OVERFLOW ((u64)64 << 20)
/* Compressed records may grow by this factor, after a free allowance; more is taken for an attack.
 */
#define PD_MAX_RATIO   1024u
#define PD_FREE_UNPACK ((u64)64 << 20)

/* ---- constants of the format ---- */

enum {
	PERF_SAMPLE_IP = 1 << 0,
	PERF_SAMPLE_TID = 1 << 1,
	PERF_SAMPLE_TIME = 1 << 2,
	PERF_SAMPLE_ADDR = 1 << 3,
	PERF_SAMPLE_READ = 1 << 4,
	PERF_SAMPLE_CALLCHAIN = 1 << 5,
	PERF_SAMPLE_ID = 1 << 6,
	PERF_SAMPLE_CPU = 1 << 7,
	PERF_SAMPLE_PERIOD = 1 << 8,
	PERF_SAMPLE_STREAM_ID = 1 << 9,
	PERF_SAMPLE_RAW = 1 << 10,
	PERF_SAMPLE_BRANCH_STACK = 1 << 11,
	PERF_SAMPLE_REGS_USER = 1 << 12,
	PERF_SAMPLE_STACK_USER = 1 << 13,
	PERF_SAMPLE_IDENTIFIER = 1 << 16,
};

enum {
	PERF_FORMAT_ENABLED = 1 << 0,
	PERF_FORMAT_RUNNING = 1 << 1,
	PERF_FORMAT_ID = 1 << 2,
	PERF_FORMAT_GROUP = 1 << 3,
	PERF_FORMAT_LOST = 1 << 4,
};

/* perf_event_attr's flag bits, counted from the first declared one. */
enum {
	ATTR_INHERIT = 1,
	ATTR_EXCLUDE_USER = 4,
	ATTR_EXCLUDE_KERNEL = 5,
	ATTR_EXCLUDE_HV = 6,
	ATTR_FREQ = 10,
	ATTR_PRECISE = 15 /* two bits */,
	ATTR_SAMPLE_ID_ALL = 18,
	ATTR_EXCLUDE_HOST = 19,
	ATTR_EXCLUDE_GUEST = 20,
};

enum pd_type {
	REC_MMAP = 1,
	REC_LOST = 2,
	REC_COMM = 3,
	REC_EXIT = 4,
	REC_THROTTLE = 5,
	REC_FORK = 7,
	REC_SAMPLE = 9,
	REC_MMAP2 = 10,
	REC_LOST_SAMPLES = 13,
	REC_KSYMBOL = 17,
	REC_CALLCHAIN_DEFERRED = 22,
	REC_KERNEL_LAST = 22,
	REC_USER_FIRST = 64,
	REC_HEADER_ATTR = 64,
	REC_TRACING_DATA = 66,
	REC_BUILD_ID = 67,
	REC_FINISHED_ROUND = 68,
	REC_ID_INDEX = 69,
	REC_AUXTRACE = 71,
	REC_EVENT_UPDATE = 78,
	REC_HEADER_FEATURE = 80,
	REC_COMPRESSED = 81,
	REC_COMPRESSED2 = 83,
	REC_USER_LAST = 86,
};

enum {
	MISC_CPUMODE = 7,
	MISC_MMAP_DATA = 1 << 13,
	MISC_COMM_EXEC = 1 << 13,
	MISC_FORK_EXEC = 1 << 13,
	MISC_MMAP_BUILD_ID = 1 << 14,
	MISC_BUILD_ID_SIZE = 1 << 15,
	/* Ours, in samples, where no kernel sets this bit: perf_sample.cut. */
	MISC_CUT = 1 << 15,
	MISC_LOST_SAMPLES_BPF = 1 << 15,
};

/* ---- events and ids: data-attr.c ---- */

struct pd_attr {
	u64 sample_type, read_format, flags, branch_type, regs_user, regs_intr;
	/* Offset from the start of a SAMPLE, resp. from the end of any other record; 0: it has
	 * none, or its place differs. */
	u16 time_off, id_off, chain_off;
	u16 tail_time, tail_id, tail_cpu, tail_size;
};

struct pd_id {
	u64 id;
	u32 event;
	u32 machine_pid, vcpu;
};

/* Counter value at the last sample, to split leader samples; by id, and by thread for inherited
 * events. */
struct pd_count {
	u64 id, value;
	u32 tid;
};

/* ---- where records lie: data-source.c ---- */

#define BLOCK_NONE UINT32_MAX

/* A piece of a stream or of unpacked data. Records never span blocks. */
struct pd_block {
	u8 *p;
	size_t n, cap;
	u64 pos;  /* of p[0] in its stream */
	u32 refs; /* of the stream that fills it, queued records, and the current item */
};

/* Records one after the other in blocks. */
struct pd_stream {
	u32 block;
	size_t at; /* next record in the block */
};

/* A range of a mapped file whose memory is to be given back. */
struct pd_range {
	u64 low, high; /* low > high: empty */
	u64 touched;   /* bytes in it, those touched twice counted twice */
};

struct pd_file {
	struct input *in;
	struct input own; /* of data.N in a folder; `in` points here */
	char *path;
	u64 base;                            /* bytes of the folder's files before it */
	u64 pos, end;                        /* mapped: next record and end of the records */
	struct pd_range given;               /* of records that were given out */
	struct pd_range found, found_before; /* where records were looked for, and before that */
	u64 skip;                            /* stream: bytes to pass over */
	struct pd_stream raw;                /* stream */
	u64 last_time;                       /* of the record queued last; 0: none yet */
	u64 missing; /* bytes that the header promises beyond the end of the file */
	bool at_end; /* nothing more, or nothing that can be made sense of */

	/* compressed records */
	struct zstd_state *zstd;
	struct pd_stream unpacked;
	const u8 *zin; /* rest of the current piece */
	size_t zin_n;
	const u8 *znext, *zend; /* further records of an overflowed one */
	bool zfull;             /* the decoder may hold more output */
	u64 zin_total, zout_total;
	bool zbroken;
};

struct pd_rec {
	const u8 *p;
	u32 type;
	u16 misc;
	u32 size; /* header included */
	u32 block;
};

/* ---- order: data-order.c ---- */

struct pd_entry {
	u64 time;
	const u8 *rec;
	u32 block;
	u16 file;
	u16 event; /* of samples */
};

struct pd_queue {
	VEC(struct pd_entry) e; /* [head, ready) may be delivered, [ready, n) wait; sorted up to
				   `ready` at least */
	size_t head, ready;
	struct pd_entry *tmp;
	size_t tmp_cap;
	VEC(size_t) runs;
	u64 max_time, limit; /* newest so far; newest of the round before */
	u64 last;            /* delivered */
};

/* A record whose turn it is. */
struct pd_ready {
	struct pd_entry e;
	bool hashed; /* it is a sample, and this is of its chain, which is whole */
	struct perf_chain_hash hash;
};

struct pd_deferred {
	struct pd_entry e;
	u64 cookie;
	u32 tid;
	u32 next;  /* of the same thread, UINT32_MAX: none */
	bool gone; /* it waits no more */
};

/* A thread whose samples wait: first and last of them in pd.deferred, UINT32_MAX: none. */
struct pd_waiting {
	u32 tid;
	u32 first, last;
};

struct pd_task {
	u32 tid;
	str_id comm;
};

struct pd_process {
	u32 pid;
	s64 threads; /* alive, as far as is known */
};

/* A growing piece of memory for what cannot be handed out in place. */
struct pd_scratch {
	u64 *p;
	size_t cap;
};

struct pd {
	struct perf_reader *r;
	bool swap; /* the file is of the other byte order */
	bool big;  /* the file is big-endian (the attr's flags are a bit-field) */
	bool pipe;
	bool not_x86_64;
	VEC(struct pd_file *) files;
	u32 turn; /* file that is read now */
	u64 turn_bytes;

	VEC(struct pd_attr) attrs; /* parallel to meta.events */
	bool same_id, same_tail_time;
	/* The places where some event has its id. */
	struct pd_places {
		u16 off[16];
		u32 n;
	} id_places, tail_places;
	VEC(struct pd_id) ids;
	u32 ids_read;
	struct index id_index;
	bool has_machines;
	VEC(struct pd_count) counts;
	struct index count_index;

	VEC(struct pd_block) blocks;
	VEC(u32) free_blocks;
	size_t held; /* bytes in blocks that are in use */

	struct pd_queue q;
	struct pd_ahead *ahead; /* NULL: the caller's thread reads */
	u64 ahead_from;         /* no thread before this offset of the file */

	VEC(struct pd_deferred) deferred;
	size_t deferred_gone;
	VEC(struct pd_waiting) waiting;
	struct index waiting_index;
	VEC(struct pd_deferred) emit; /* to be delivered before anything else */
	size_t emit_at;
	struct pd_rec emit_rec; /* the record that gives their user part; .p NULL: none came */

	u32 cur_block; /* block of the item handed out */
	VEC(struct pd_task) tasks;
	struct index task_index;
	/* What pd_comm() was asked last, while nothing has changed. */
	struct {
		bool known;
		u32 pid, tid;
		str_id comm;
	} last_comm;
	VEC(struct pd_process) procs;
	struct index proc_index;

	/* A sample of a group leader, to be split. */
	struct {
		struct perf_item item;
		const u8 *values;
		u64 nr, i;
		u32 stride;
		u32 leader;
		u64 key_tid;
	} group;

	struct pd_scratch rec_copy, chain_copy, merge_copy, regs_copy, lbr_copy, name_copy;

	/* what is told once at the end */
	char *first_bad;
	u64 bad, unknown_ids, unknown_members, out_of_order, throttled, traces;
	struct {
		u64 buffers, events, hardware; /* LOST; LOST_SAMPLES of perf; of the kernel */
	} lost;
	VEC(struct {
		u32 type;
		u64 n;
	}) unknown;
	u32 taken; /* records, for progress() */
	bool told, finished;
};

/* ---- bytes ---- */

static inline u16 ld16(const u8 *p, bool swap)
{
	u16 v;

	memcpy(&v, p, 2);
	return swap ? __builtin_bswap16(v) : v;
}

static inline u32 ld32(const u8 *p, bool swap)
{
	u32 v;

	memcpy(&v, p, 4);
	return swap ? __builtin_bswap32(v) : v;
}

static inline u64 ld64(const u8 *p, bool swap)
{
	u64 v;

	memcpy(&v, p, 8);
	return swap ? __builtin_bswap64(v) : v;
}

/* Whether the user part of a chain comes later. */
static inline bool pd_chain_is_deferred(const u64 *chain, u32 nr)
{
	return nr >= 2 && chain[nr - 2] == PERF_CONTEXT_USER_DEFERRED;
}

/* Fills in type, misc, size. */
static inline void pd_rec_header(const struct pd *pd, struct pd_rec *rec)
{
	rec->type = ld32(rec->p, pd->swap);
	rec->misc = ld16(rec->p + 4, pd->swap);
	rec->size = ld16(rec->p + 6, pd->swap);
}

/* Where a record lies, for messages. */
static inline u64 pd_rec_offset(const struct pd *pd, const struct pd_file *f, const u8 *p,
				u32 block)
{
	if (block != BLOCK_NONE)
		return pd->blocks.v[block].pos + (u64)(p - pd->blocks.v[block].p);
	return (u64)(p - f->in->map);
}

/* data-header.c: the file header, attrs, feature sections. */
int pd_header_read(struct pd *pd, struct pd_file *f, struct error *err) MUST_CHECK;
void pd_feature(struct pd *pd, u64 id, const u8 *p, size_t n);
void pd_build_id_record(struct pd *pd, const u8 *rec, size_t n);

/* data-attr.c */
/* Adds an event; `n` bytes of perf_event_attr. False when there are too many. */
bool pd_attr_add(struct pd *pd, const u8 *p, size_t n, const u8 *ids, u64 nids);
void pd_event_rename(struct pd *pd, u32 event, const char *name, size_t len);
/* Index into pd->ids, or INDEX_NONE. */
u32 pd_id_find(const struct pd *pd, u64 id);
/* Event of a SAMPLE resp. of another record with a trailer; counts unknown ids. */
u32 pd_event_of_sample(struct pd *pd, const struct pd_rec *rec);
const struct pd_attr *pd_attr_of_other(struct pd *pd, const struct pd_rec *rec);
void pd_id_index_record(struct pd *pd, const struct pd_rec *rec);
void pd_event_update(struct pd *pd, const struct pd_rec *rec);
/* What this counter has counted since the sample before. */
u64 pd_count_delta(struct pd *pd, u64 id, u32 tid, u64 value);

/* data-source.c */
/* The next whole record that is not a compressed one: 1, 0 at the end of the file, -1. */
int pd_file_next(struct pd *pd, struct pd_file *f, struct pd_rec *rec,
		 struct error *err) MUST_CHECK;
/* One more of pd->files. `in` NULL: it opens its own input. */
struct pd_file *pd_file_new(struct pd *pd, struct input *in);
void pd_file_free(struct pd *pd, struct pd_file *f);
void pd_block_ref(struct pd *pd, u32 block);
void pd_block_unref(struct pd *pd, u32 block);
/* Whether the next record of a mapped file is whole, in place, and of the kinds that recordings
 * consist of: then reading and queueing it tells nothing and changes no events. */
bool pd_file_ordinary(const struct pd *pd, const struct pd_file *f);
/* So many bytes of records in a range were given out: memory of a mapped file that has been passed
 * is given back. */
void pd_file_given(struct pd_file *f, u64 low, u64 high, u64 bytes);

/* data-order.c */
void pd_queue_add(struct pd *pd, const struct pd_entry *e);
/* FINISHED_ROUND: what is not newer than the round before may go. */
void pd_queue_round(struct pd *pd);
/* The older half may go. */
void pd_queue_half(struct pd *pd);
void pd_queue_all(struct pd *pd);
/* The oldest record that may go, or false. The caller gets its reference to the block. */
bool pd_queue_pop(struct pd *pd, struct pd_entry *e);
void pd_queue_release(struct pd *pd);

/* What looking for the next record comes to. */
enum pd_found {
	PD_ERROR = -1,
	PD_END,   /* all is read and given */
	PD_FOUND, /* a record, with a reference to its block */
	PD_MORE,  /* what a former record owes comes first; then ask again */
};

/* data-ahead.c: a mapped file is read and put in order by a thread of its own. */
/* The file is open: says from where on there may be one. */
void pd_ahead_allow(struct pd *pd);
/* Starts one if it is time for that. */
void pd_ahead_start(struct pd *pd);
/* The next record; false: the thread has ended, and all that it found was given. */
bool pd_ahead_next(struct pd *pd, struct pd_ready *r);
/* Ends the thread, if there is one. */
void pd_ahead_stop(struct pd *pd);

/* data-tasks.c */
void pd_comm_set(struct pd *pd, u32 tid, const char *name, size_t len);
void pd_comm_fork(struct pd *pd, u32 pid, u32 tid, u32 ppid, u32 ptid);
str_id pd_comm(struct pd *pd, u32 pid, u32 tid);
void pd_thread_started(struct pd *pd, u32 pid, bool first);
/* Whether this was the process's last thread. */
bool pd_thread_ended(struct pd *pd, u32 pid, u32 tid);

/* data-record.c */
/* Decodes a record whose turn it is: true when it gives an item. */
bool pd_decode(struct pd *pd, const struct pd_ready *r, struct perf_item *item);
/* The next item that a former record still owes (group members, deferred chains): true when there
 * is one. */
bool pd_owed(struct pd *pd, struct perf_item *item);
/* Gives up waiting for the user parts of deferred chains. */
void pd_deferred_flush(struct pd *pd);

/* perf-data.c */
/* Reads until it is a record's turn. In the thread that reads ahead: also to the first record that
 * is not ordinary, PD_END then. */
enum pd_found pd_find(struct pd *pd, struct pd_entry *e, bool ahead, struct error *err);
void pd_bad(struct pd *pd, const struct pd_file *f, const u8 *rec, u32 block, const char *what);

#endif
