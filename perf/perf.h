/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf: the bytes of a recording -> items (samples, mappings, tasks, loss).
 *
 * The only header of perf/ that others include.  One reader a format, chosen
 * by content.  A reader yields items in time order; it knows tasks' names
 * (comms) but no symbols and no mappings: those are handed on as items.
 */
#ifndef XENFLAME_PERF_H
#define XENFLAME_PERF_H

#include "base/base.h"

/* Context markers in call chains (linux/perf_event.h, enum perf_callchain_context). */
#define PERF_CONTEXT_HV            ((u64)-32)
#define PERF_CONTEXT_KERNEL        ((u64)-128)
#define PERF_CONTEXT_USER          ((u64)-512)
#define PERF_CONTEXT_USER_DEFERRED ((u64)-640)
#define PERF_CONTEXT_GUEST         ((u64)-2048)
#define PERF_CONTEXT_GUEST_KERNEL  ((u64)-2176)
#define PERF_CONTEXT_GUEST_USER    ((u64)-2560)
#define PERF_CONTEXT_MAX           ((u64)-4095)

/* cpumode: the low three bits of a record's misc (linux/perf_event.h, PERF_RECORD_MISC_*). */
enum perf_cpumode {
	CPUMODE_UNKNOWN,
	CPUMODE_KERNEL,
	CPUMODE_USER,
	CPUMODE_HYPERVISOR,
	CPUMODE_GUEST_KERNEL,
	CPUMODE_GUEST_USER
};

#define PERF_NO_CPU   UINT32_MAX
#define PERF_NO_PID   UINT32_MAX
#define PERF_NO_TIME  UINT64_MAX
#define PERF_NO_STACK UINT32_MAX

enum perf_item_type {
	ITEM_SAMPLE,
	ITEM_MMAP,    /* new executable mapping of a process or of the kernel */
	ITEM_FORK,    /* pid != ppid: new process with a copy of the parent's mappings */
	ITEM_EXEC,    /* the process dropped its mappings */
	ITEM_EXIT,    /* the whole process has ended */
	ITEM_KSYMBOL, /* a kernel symbol came (BPF program, trampoline) or went */
};

/* Of a chain: of all its entries, and of all but those on its top (perf_chain_top()). */
struct perf_chain_hash {
	u64 whole[2], rest[2];
};

/*
 * A sample.  All pointers are borrowed until the next perf_next().
 *
 * Chains: from perf.data, `chain` has the entries as recorded, leaf first,
 * context markers among them, in host byte order; it is empty when none was
 * recorded (then ip and cpumode are the stack).  With `text` set, `frames` has
 * what is to be given to perf_text_id(), leaf first, inlined ones included.
 */
struct perf_sample {
	u64 ip;     /* 0 when not recorded */
	u64 time;   /* ns, or PERF_NO_TIME */
	u64 period; /* 1 when neither recorded nor known from the event */
	u64 count;  /* how many equal samples this item stands for; 1 but for aggregated text */
	union {
		u64 base_count; /* with meta.two_columns: the same before, `count` is after */
		u64 count_high; /* else: what count has above 64 bits, as some folded stacks do */
	};
	u32 pid, tid;          /* PERF_NO_PID when not known */
	u32 cpu;               /* PERF_NO_CPU when not known */
	u32 event;             /* index into perf_meta.events */
	str_id comm;           /* name of the thread; 0 when the input has none (folded stacks) */
	u32 machine_pid, vcpu; /* of a guest, from ID_INDEX; 0, PERF_NO_CPU when not known */
	u8 cpumode;            /* enum perf_cpumode */
	bool text;
	bool cut;        /* unwound from a stack dump that ended too early, and then stripped */
	bool not_x86_64; /* recorded on another architecture (or 32-bit x86): the rules of
			    DESIGN.md 3.1 do not hold */
	/*
	 * With perf_opts.stacks_once, of text whose stacks repeat: the number of the stack, from 0
	 * upwards without gaps.  Samples of one number have the same comm, event and chain, and the
	 * first of them alone brings the chain.  Else PERF_NO_STACK; not set unless `text` is.
	 */
	u32 stack_nr;
	u32 soon; /* stack_nr of a sample that comes a little later, or PERF_NO_STACK */
	union {
		const u64 *chain;
		const u32 *frames; /* with `text` */
	};
	u32 chain_nr;     /* entries of either */
	bool chain_stays; /* where it is until perf_close(); else until the next item */
	/* With perf_opts.seed only, and only of samples without registers and LBR. */
	struct perf_chain_hash hash;
	u64 offset; /* of its record in a perf.data that is read in place (of a folder: in its files
		       one behind the other, `data` first); 0: not known */

	/* PERF_SAMPLE_REGS_USER + STACK_USER, for unwinding; abi 0: none. 1: 32 bit, 2: 64 bit. */
	u64 user_abi, user_mask;
	const u64 *user_regs; /* popcount(user_mask) values */
	const u8 *stack;      /* bytes from the user stack pointer upwards */
	u64 stack_size;       /* those that are valid (dyn_size) */

	/* LBR call stack (branch_sample_type has CALL_STACK): from addresses, innermost first, as
	 * user frames. */
	const u64 *lbr_from;
	u32 lbr_nr;
	u64 lbr_to; /* `to` of the innermost one */
};

struct perf_mmap {
	u32 pid, tid; /* PERF_NO_PID for the kernel */
	u64 addr, len, pgoff;
	u32 maj, min;
	u64 ino;
	const char *filename; /* NUL-terminated, borrowed */
	u8 cpumode;           /* KERNEL, USER, GUEST_KERNEL, GUEST_USER, HYPERVISOR */
	u8 build_id_len;      /* 0: not known */
	u8 build_id[20];
};

struct perf_item {
	enum perf_item_type type;
	u64 time; /* ns, or PERF_NO_TIME */
	union {
		struct perf_sample sample;
		struct perf_mmap mmap;
		struct {
			u32 pid, ppid;
		} task; /* FORK, EXEC, EXIT */
		struct {
			u64 addr;
			u32 len;
			u16 ksym_type;
			bool unregister;
			const char *name; /* borrowed */
		} ksymbol;
	};
};

/* A frame as text has it; strings are ids of the reader's string table (the one given to
 * perf_open()). */
struct perf_text_frame {
	str_id symbol; /* without "+0x…"; 0: the text gives only an address, or "[unknown]"
			  (TEXT_UNKNOWN) */
	str_id module; /* as printed, without parentheses ("/usr/lib/libc.so.6",
			  "[kernel.kallsyms]"); 0: none or "[unknown]" */
	str_id file;   /* from srcline, or 0 */
	u32 line;
	u64 addr;
	u8 flags; /* enum perf_text_flag */
	u8 space; /* enum space: by module name, annotation suffix, and for the hypervisor by
		     address */
};

enum perf_text_flag {
	TEXT_HAS_ADDR = 1 << 0,
	TEXT_INLINED = 1 << 1,
	TEXT_UNKNOWN = 1 << 2,  /* printed as [unknown] */
	TEXT_JIT = 1 << 3,      /* by `_[j]` */
	TEXT_DOUBTFUL = 1 << 4, /* stack-scan lines of a Xen console */
	TEXT_ROOT =
		1 << 5, /* a frame that is no code: the comm of folded stacks, a domain, a vCPU */
	TEXT_EXACT = 1 << 6, /* address of an interrupted instruction (first of its context) */
};

struct perf_event {
	char *name; /* "cycles", "cpu-clock:ppp", "sched:sched_switch"; never NULL */
	u32 type;   /* perf_event_attr.type, UINT32_MAX when not known (text) */
	u64 config;
	u64 samples; /* counted so far */
	u64 sample_type, period;
	bool freq;
	bool exclude_guest, exclude_host;
};

struct perf_build_id {
	char *filename;
	u8 cpumode;
	u32 pid; /* PERF_NO_PID: host */
	u8 len;
	u8 id[20];
};

#define PERF_MAX_LOSSES 65536

/* A time at which the kernel lost samples, or throttled. */
struct perf_loss {
	u64 time, count; /* ns; count: 0 when throttled */
	u32 cpu;         /* PERF_NO_CPU when not known */
	bool throttled;
};

/* What a recording says of itself. Strings are NULL when absent. All owned by the reader, complete
 * after the last item. */
struct perf_meta {
	const char *format; /* "perf.data", "perf script", "folded" …; static */
	char *hostname, *release, *arch, *cpudesc, *cpuid, *version, *cmdline;
	u32 nrcpus_online, nrcpus_avail; /* 0 when not known */
	VEC(struct perf_event) events;
	VEC(struct perf_build_id) build_ids;
	u64 first_time, last_time; /* of samples, ns; PERF_NO_TIME when none has one */
	u64 lost;                  /* samples reported lost */
	/* perf.data: those with a time, as they come; at most PERF_MAX_LOSSES, the last one holds
	 * the rest. */
	VEC(struct perf_loss) losses;
	/* TEXT_* inputs: weights are what the text says, a fractional input was scaled by this; 1
	 * else. */
	double weight_scale;
	/* Folded stacks with two counts a line (difffolded): perf_sample.base_count and .count.
	 * Known after perf_open(). */
	bool two_columns;
	/* The text marks spaces and kinds of frames (`_[k]`, `_[i]`, `_[j]`, `_[g]`): writers are
	 * to keep the marks. */
	bool annotated;
};

struct perf_opts {
	const char *format; /* name of a reader, or NULL: by content */
	bool no_stacks;     /* REGS/STACK are not wanted */
	bool stacks_once;   /* the chain of perf_sample.stack_nr is remembered by the caller */
	bool by_task; /* pid, tid, cpu, machine_pid and vcpu are the same, too, for a number of a
			 stack */
	u64 seed;    /* of perf_sample.hash in a perf.data, where 0 means that it is not wanted, and
			of what numbers stacks */
	u32 threads; /* 0: as many as there are processors; 1: none but the caller's */
	u32 piece;   /* text is read in pieces of this many bytes, and a perf.data is read ahead
		      * behind as many; 0: 1 MiB. Small ones are for tests */
	bool portable; /* without instructions that only some processors have, for tests */
};

struct perf_reader;

/*
 * Opens a recording: a file, a directory (perf record --threads), "-" for
 * standard input; gzip, xz and zstd are unpacked on the fly.  `strings` and
 * `diag` are borrowed until perf_close().  Errors name the file, the offset
 * and what was expected.
 */
struct perf_reader *perf_open(const char *path, const struct perf_opts *opts,
			      struct strtab *strings, struct diag *diag,
			      struct error *err) MUST_CHECK;
/*
 * The next item in time order: 1, 0 at the end, -1 on error.  What is
 * damaged but can be passed over is counted in diag, not an error.
 */
int perf_next(struct perf_reader *r, struct perf_item *item, struct error *err) MUST_CHECK;
const struct perf_meta *perf_meta(const struct perf_reader *r);
/*
 * Id of the frame that one of perf_sample.frames stands for; asked before the next perf_next(), it
 * is right for the same number in later samples.  Numbers are small, and there may be several for
 * one frame; what does not need that asks once for each.
 */
u32 perf_text_id(struct perf_reader *r, u32 number);
/* The frame of an id; borrowed until perf_close(). Ids count from 0 upwards without gaps. */
const struct perf_text_frame *perf_text_frame(const struct perf_reader *r, u32 id);
u32 perf_text_frame_count(const struct perf_reader *r);
/* Bytes read so far and in all (0 when not known), for progress. */
void perf_progress(const struct perf_reader *r, u64 *done, u64 *total);
void perf_close(struct perf_reader *r);

/* Names of the readers for --help, NULL-terminated; static. */
const char *const *perf_format_names(void);

/* ---- chains: raw entries -> addresses with space and kind ---- */

struct perf_addr {
	u64 addr;
	u8 space; /* enum space */
	u8 kind;  /* enum addr_kind */
};

/* What a stack stands below, decided from its addresses (DESIGN.md section 4). */
enum perf_root {
	ROOT_COMM,  /* the task's comm */
	ROOT_GUEST, /* "[guest]": a sample of another domain */
	ROOT_XEN,   /* "[xen]": hypervisor time of an unknown domain */
};

struct perf_chain {
	VEC(struct perf_addr) addrs; /* leaf first */
	enum perf_root root;
	u32 garbage;         /* entries >= PERF_CONTEXT_MAX that are no marker; left out */
	u64 deferred_cookie; /* of a chain that ends in PERF_CONTEXT_USER_DEFERRED, else 0 */
	bool ip_zero;        /* the sample has neither chain nor ip */
	bool hv_marker;      /* PERF_CONTEXT_HV or cpumode HYPERVISOR was seen; stays set */
};

void perf_chain_init(struct perf_chain *c);
void perf_chain_release(struct perf_chain *c);
/*
 * Decides space and kind of each entry of a sample that is not text: by
 * marker, by cpumode, and on x86-64 by the hypervisor's reserved range, which
 * has the last word (DESIGN.md 3.1, 3.2; so the layouts with and without
 * PERF_CONTEXT_HV give the same).  `c` is overwritten.
 */
void perf_chain_classify(struct perf_chain *c, const struct perf_sample *s);
/*
 * Whether the leaf of a chain, the entry `*at`, is an address of the kernel or of the host's user
 * space that lies where its marker says.  Then what the other entries mean depends on the markers
 * before the leaf and on its space, not on its address.
 */
bool perf_chain_leaf(const struct perf_sample *s, u32 *at, struct perf_addr *leaf);

/* The entries of a chain that tell where the sample was taken: a marker, and the leaf. Samples of
 * one function mostly differ in them alone. */
static inline u32 perf_chain_top(const u64 *chain, u32 nr)
{
	return nr < 2 ? 0 : chain[0] >= PERF_CONTEXT_MAX ? 2 : 1;
}
struct perf_chain_hash perf_chain_hash(const u64 *chain, u32 nr, u64 seed);

/* ---- a perf.data without stack dumps: strip.c ---- */

struct perf_strip_sample {
	u64 offset; /* of its record */
	size_t at;  /* in entries */
	u32 nr;
	u8 cpumode;
	bool cut;
};

/* Starts as zeros. */
struct perf_strip {
	VEC(struct perf_strip_sample) samples;
	VEC(u64) entries;
	u64 differ; /* samples whose stack will not be the same */
	u64 done;   /* size of the files that are written */
	struct perf_chain check;
};

/* The whole chain of a sample with a dump, its unwound user part included; sample->cut is kept. */
void perf_strip_add(struct perf_strip *s, const struct perf_sample *sample,
		    const struct perf_chain *c);
/*
 * Appends a perf.data with these chains in place of user registers and stacks; what has no chain
 * here keeps the recorded one.  Other byte orders, pipes, compressed records, traces and what is
 * damaged are errors.  Of a folder `path` is its file `data`, and `part` NULL at first, then each
 * of its files data.N, by number: bare records, whose events `path` tells.
 */
int perf_strip_write(struct perf_strip *s, const char *path, const char *part, struct buf *out,
		     struct error *err) MUST_CHECK;
void perf_strip_release(struct perf_strip *s);

#endif
