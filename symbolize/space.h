/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Address spaces (private to symbolize/): which mapping of which process an
 * address lies in, as of now in the recording.  Knows nothing of files: a
 * mapping carries the caller's module number.
 *
 * Layout facts: perf_event.h (MMAP, MMAP2), perf-data.md A4.9.
 */
#ifndef XENFLAME_SPACE_H
#define XENFLAME_SPACE_H

#include "base/base.h"

struct mapping {
	u64 start, end; /* [start, end), end > start */
	u64 pgoff;
	u32 module; /* the caller's */
};

/* One address space. Shared by a parent and its forked children until one of them changes. */
struct mm {
	u32 refs;
	u32 gen;                  /* unique for each state that ever was */
	bool per_process;         /* answers depend on the pid too (JIT code): not shared */
	VEC(struct mapping) maps; /* sorted, disjoint */
	void *unwinder; /* the caller's, given to spaces.drop_unwinder before the mappings change */
};

/* Processes of the host, and guests' address spaces apart from them. */
enum mm_class { MM_HOST, MM_GUEST_KERNEL, MM_GUEST_USER };

struct mm_slot {
	u64 key;       /* class << 32 | pid */
	struct mm *mm; /* NULL: none (any more) */
	bool exited;
	bool execed; /* its next mapping drops the ones that it has */
};

struct spaces {
	struct index index; /* key -> number in slots */
	VEC(struct mm_slot) slots;
	VEC(u32) exited; /* slots of ended processes whose mappings are still kept, oldest first */
	size_t exited_head;
	struct mm kernel;   /* pid SYM_KERNEL_PID */
	struct mm ksymbols; /* module: the name's str_id */
	size_t held;        /* mappings of all processes; shared ones count once */
	u32 next_gen;
	u32 kernel_gen;
	/* Called when a mapping that an unwinder may know goes or changes, and at the end; NULL: no
	 * unwinders. */
	void (*drop_unwinder)(void *unwinder);
};

void spaces_init(struct spaces *sp);
void spaces_release(struct spaces *sp);

/* NULL when nothing is known of the process. Borrowed until the next change. */
struct mm *spaces_mm(struct spaces *sp, enum mm_class class, u32 pid);
/*
 * Executable mappings of one process that are kept apart; Linux allows 65,530 of all kinds
 * (vm.max_map_count). Bounds the time that a hostile recording can cost.
 */
#define MM_MAX_MAPS 32768
/* Mappings of all processes that are kept at a time, 128 MiB: a fork is a small record, but can
 * make a copy of all that its parent has. */
#define MM_MAX_HELD ((size_t)4 << 20)

/* `per_process`: see struct mm. Replaces and splits what it overlaps. False, with no mapping
 * changed: too many. */
bool spaces_map(struct spaces *sp, enum mm_class class, u32 pid, const struct mapping *m,
		bool per_process);
bool spaces_map_kernel(struct spaces *sp, const struct mapping *m);
bool spaces_ksymbol(struct spaces *sp, u64 addr, u64 len, u32 name, bool unregister);
/* The child gets a copy of the parent's mappings (none when nothing is known of the parent). False:
 * too many, the child has none. */
bool spaces_fork(struct spaces *sp, u32 pid, u32 ppid);
void spaces_exec(struct spaces *sp, u32 pid);
/*
 * The mappings of an ended process are kept for a while: its last samples may be ordered behind
 * its end, and threads may outlive the main one.
 */
void spaces_exit(struct spaces *sp, u32 pid);
u64 spaces_generation(const struct spaces *sp, u32 pid);

/* Number of the first mapping that ends behind `addr`. */
size_t mm_lower(const struct mm *mm, u64 addr);
/* The mapping that holds `addr`, or NULL. */
const struct mapping *mm_find(const struct mm *mm, u64 addr);

#endif
