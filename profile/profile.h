/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile: frames, stacks and weights; the calling-context tree; views of it.
 *
 * The only header of profile/ that others include.  A profile is a tree of
 * calling contexts: each node is a frame below its parent, so a stack is its
 * leaf node, and adding a sample to a known stack is one addition.
 */
#ifndef XENFLAME_PROFILE_H
#define XENFLAME_PROFILE_H

#include "base/base.h"

typedef u32 frame_id;
typedef u32 node_id; /* 0 is the root */

/* What weights are above 2^64 - 1, for the few nodes of which they are. All zero: none. */
struct profile_over {
	VEC(struct profile_excess {
		u128 more;
		node_id node;
	}) v;
	struct index index;
};

struct profile_event {
	str_id name;
	u64 samples;   /* what was added, in samples */
	u64 weight;    /* and in weight */
	VEC(u64) self; /* by node id; may be shorter than the tree: the rest is 0 */
	struct profile_over over;
};

struct cct_node {
	frame_id frame; /* meaningless for the root */
	node_id parent;
	node_id child; /* the first one made; 0: none */
};

/* One sample as it came, kept when profile.keep_samples is set. */
struct profile_sample {
	u64 time; /* ns, UINT64_MAX when not known */
	u64 weight;
	node_id node;
	u32 event, cpu, pid, tid;
	u32 machine; /* process that is the guest, 0: the host or not known */
};

/* A time at which samples were lost, or sampling was throttled (count 0). */
struct profile_loss {
	u64 time, count; /* ns */
	u32 cpu;         /* UINT32_MAX when not known */
	bool throttled;
};

struct profile {
	struct strtab *strings; /* borrowed */
	bool by_line;           /* file:line belongs to the identity of a frame (--srcline) */
	bool keep_samples;
	VEC(struct frame) frames;
	VEC(struct cct_node) nodes;
	VEC(struct profile_event) events;
	VEC(struct profile_sample) samples;
	VEC(struct profile_loss) losses; /* with keep_samples, as far as the input tells */
	/* What --group puts below the comm of each stack, outermost first ("domain", "cpu" …):
	 * NULL-terminated and borrowed, or NULL. */
	const char *const *groups;
	const char *unit; /* of weights: "samples" or "cycles" …; borrowed */
	u64 weight_scale; /* a power of ten: weights count 1/weight_scale of the unit; 1 unless the
			     input has decimals */
	struct index frame_index;
	struct index node_index; /* nodes that are not the first child of their parent … */
	u32 indexed; /* … of the first so many: the others come when one is looked for */
	u32 ordered; /* the first so many nodes are in the order of views */
	struct profile_late *late; /* stacks that are not in the tree, or NULL: see
				      profile_batch_keep() */
};

void profile_init(struct profile *p, struct strtab *strings);
/* What was added so far counts in finer decimals from here on: weight_scale becomes `scale`, which
 * is no smaller. */
void profile_set_scale(struct profile *p, u64 scale);
/* A weight of the scale `from` in the scale `to`; rounded, at most 2^64 - 1. */
u64 weight_rescale(u64 weight, u64 to, u64 from);
void profile_release(struct profile *p);
/* Frees contexts and their weights; frames, sums of events and kept samples stay. */
void profile_drop_contexts(struct profile *p);

/*
 * Id of a frame. Identity: space, module, function, flags, and with by_line file and
 * line (else the first file and the smallest line seen are kept).
 */
frame_id profile_frame(struct profile *p, const struct frame *f);
/* The node of `frame` below `parent`; made when new. */
node_id profile_child(struct profile *p, node_id parent, frame_id frame);
/* Event by name; made when new. */
u32 profile_event(struct profile *p, str_id name);
/* Adds a weight (and `samples` samples) to a stack. Sums saturate at 2^64 - 1, and what own weights
 * have beyond that is in profile_event.over. */
void profile_add(struct profile *p, u32 event, node_id node, u64 samples, u64 weight);
/* The same, and keeps the sample when keep_samples is set. */
void profile_add_sample(struct profile *p, const struct profile_sample *s);
/* Adds any weight to a stack, without samples; own weights saturate at 2^128 - 1. */
void profile_add_more(struct profile *p, u32 event, node_id node, u128 weight);
/* The same by itself: *self is the weight of `node`, up to 2^64 - 1. */
void profile_over_add(struct profile_over *o, node_id node, u64 *self, u128 weight);
/* All of the weight whose `self` that is. */
u128 profile_over_whole(const struct profile_over *o, node_id node, u64 self);
/* How many weights have come to 2^128 - 1. */
u64 profile_over_full(const struct profile_over *o);
void profile_over_release(struct profile_over *o);

/* ---- batches: many stacks put into the tree at once, which is faster (batch.c) ---- */

struct profile_stack {
	u32 at;       /* in codes */
	node_id node; /* its leaf, once it is placed */
};

/*
 * The frames of the stacks as codes, which sort as the frames' ids do: one for a frame, two from
 * the frame PROFILE_NARROW - 1 on, of which the first alone is PROFILE_NARROW or more.  That is
 * enough for 800 million frames, whose names no strtab would hold.
 */
#define PROFILE_NARROW 0xc000u

/* All zero: empty. */
struct profile_batch {
	VEC(struct profile_stack) stacks; /* in the order in which they came */
	VEC(u16) codes; /* of each stack: its frames root first, 0; less than 2^32 in all */
};

/* The frame at *code, which moves behind it. */
static inline frame_id profile_code_frame(const u16 **code)
{
	u32 c = *(*code)++;

	if (UNLIKELY(c >= PROFILE_NARROW))
		c = PROFILE_NARROW - 1 + (c - PROFILE_NARROW) * (PROFILE_NARROW - 1) + *(*code)++;
	return c - 1;
}

/* Puts the code of a frame, or both of them, to *code; returns what is behind it. */
static inline u16 *profile_put_code(u16 *code, frame_id f)
{
	u32 rest = f + 1 - PROFILE_NARROW;

	if (LIKELY(f + 1 < PROFILE_NARROW)) {
		*code++ = (u16)(f + 1);
		return code;
	}
	*code++ = (u16)(PROFILE_NARROW + rest / (PROFILE_NARROW - 1));
	*code++ = (u16)(1 + rest % (PROFILE_NARROW - 1));
	return code;
}

/* Where the codes of the next stack go, root first, n at most. What was put there stays when it is
 * asked for again, with more room, which may be elsewhere. */
u16 *profile_batch_room(struct profile_batch *b, size_t n);
/* They are all there, up to `end`: they are a stack. */
void profile_batch_end(struct profile_batch *b, u16 *end);
/*
 * Puts all stacks into the tree; the codes are gone then.  When the tree is empty its
 * nodes then are in the order of views.  `seed`: nobody who makes input should know it. `threads`:
 * at least 1; they sort, and change nothing but the time.
 */
void profile_batch_place(struct profile *p, struct profile_batch *b, u64 seed, unsigned threads);
/*
 * Takes all stacks of a batch that are of one event, weight[] by stack, in place of putting them
 * into the tree, which has to be empty: a walk can do without it.  Sums of the event hold them at
 * once; that of weight[], which is the profile's from here on, is below 2^64.
 */
void profile_batch_keep(struct profile *p, struct profile_batch *b, u32 event, u64 samples,
			u64 *weight, u64 seed, unsigned threads);
/* Whether that may be done: there are neither contexts nor weights. */
bool profile_is_empty(const struct profile *p);
/* Puts stacks that were kept into the tree. All that reads contexts or own weights starts with it;
 * views and walks do so by themselves. */
void profile_settle(struct profile *p);
/* Forgets the stacks. */
void profile_batch_clear(struct profile_batch *b);
void profile_batch_release(struct profile_batch *b);

/*
 * The frame's name as it is written in folded text and titles: function and annotation suffix
 * (`_[h]` always; with `all` also `_[k]`, `_[i]`, `_[j]`, `_[g]`), and with by_line
 * ":file:line". Appends to b.
 */
void profile_frame_name(const struct profile *p, frame_id f, bool all, struct buf *b);
/* The same without ":file:line", for formats that have fields for them. */
void profile_frame_label(const struct profile *p, frame_id f, bool all, struct buf *b);

/* ---- views: what is shown ---- */

struct view_opts {
	int event;               /* index, or -1: all, each below a frame with its name */
	bool invert;             /* callers below callees: the tree is built from the leaves */
	bool collapse_recursion; /* direct recursion becomes one frame */
	bool no_idle;            /* stacks that idle recognisably are left out */
	/* POSIX extended regular expressions on names, or NULL */
	const char *only; /* stacks that hold a matching frame */
	const char *hide; /* stacks that hold none */
	const char
		*focus; /* start at the outermost matching frame; stacks without one are left out */
	const char *prune; /* end at the outermost matching frame: what it called is added to its
			      self */
	bool by_module;    /* runs of frames of one module become one frame */
	bool by_entry; /* the hypervisor's stacks alone, below how it was entered (struct entry) */
	bool last;     /* no use of the profile's contexts follows: see view_build() */
};

struct view_node {
	frame_id frame; /* of profile.frames; node 0 is the root without a frame */
	u32 depth;      /* root 0 */
	u32 parent;
	u32 end; /* one behind the last node of its subtree, in preorder */
	u64 self, total;
};

/* The weights of a node in the profile compared with, as recorded there. */
struct view_base {
	u64 self, total;
};

/* A tree in preorder, children sorted by name (bytes of space, name, module): the same for the same
 * stacks. */
struct view {
	const struct profile *profile; /* borrowed */
	VEC(struct view_node) nodes;   /* [0] is the root */
	VEC(struct view_base) base;    /* by node; empty unless is_diff */
	u32 max_depth;
	u64 left_out; /* weight of stacks that filters left out */
	int event; /* of view_opts; -1: each child of the root is a group frame named as its event
		    */
	bool is_diff;
	struct view_diff *diff; /* of a comparison, else NULL */
	VEC(u32) place;         /* for view_place(); empty unless profile.keep_samples */
};

/* Whether `re` is a regular expression, for the option --WHAT. */
int MUST_CHECK view_check_regex(const char *what, const char *re, struct error *err);
/*
 * Builds the view of a profile; the profile is borrowed as long as the view lives, and may get
 * frames for groups (event names, modules).  With o->last the contexts and their weights are freed
 * on the way, unless samples are kept, so that large trees do not stand in memory twice: frames and
 * the sums of events stay. Errors: a regular expression that does not compile.
 */
int view_build(struct view *v, struct profile *p, const struct view_opts *o,
	       struct error *err) MUST_CHECK;
void view_release(struct view *v);

/* A node of a view as a walk comes to it. */
struct view_step {
	frame_id frame;
	u32 depth; /* root 0 */
	u64 self;  /* 2^64 - 1 at most, see view_walk_whole() */
};

/*
 * The nodes of the view that view_build() would make, one after the other from the root on; it is
 * not made, and little or nothing is held for each node: for what is written in one go.  The
 * profile is borrowed as long as the walk lives, and changed as by view_build(); nothing else is
 * asked of it meanwhile. NULL: see there.
 */
struct view_walk *view_walk_new(struct profile *p, const struct view_opts *o,
				struct error *err) MUST_CHECK;
/* May be NULL. */
void view_walk_free(struct view_walk *w);
/* Whether it has no weight at all. */
bool view_walk_empty(const struct view_walk *w);
/* How many own weights have come to 2^128 - 1, where sums end. */
u64 view_walk_full(const struct view_walk *w);
/* The next nodes, n or fewer of them, and how many those are; 0: there are no more. */
u32 view_walk_next(struct view_walk *w, struct view_step *s, u32 n) MUST_CHECK;
/* All of the own weight of s[i], as view_walk_next() gave it last. */
u128 view_walk_whole(const struct view_walk *w, const struct view_step *s, u32 i);

/* Of the profile compared with, else 0. */
static inline u64 view_base_self(const struct view *v, size_t node)
{
	return node < v->base.n ? v->base.v[node].self : 0;
}

static inline u64 view_base_total(const struct view *v, size_t node)
{
	return node < v->base.n ? v->base.v[node].total : 0;
}

/*
 * The node of the view that a kept sample's own weight is in, UINT32_MAX when filters or the choice
 * of event left it out.  Only with profile.keep_samples.
 */
u32 view_place(const struct view *v, u32 event, node_id node);

/* ---- comparisons ---- */

enum diff_norm {
	DIFF_BY_TOTAL, /* shares of the whole are compared */
	DIFF_BY_TIME,  /* weight a second */
	DIFF_NONE,     /* weights as they are; of several recordings the mean of one */
};

/* What widths in pictures are. */
enum diff_width {
	DIFF_WIDTH_AFTER,
	DIFF_WIDTH_BEFORE, /* scaled */
	DIFF_WIDTH_UNION,  /* of each stack the larger one of both, so that nothing is without */
};

struct diff_opts {
	enum diff_norm norm;
	enum diff_width width;
	u64 time_before, time_after; /* ns that each side lasts, for DIFF_BY_TIME; 0: from kept
					samples */
	double rate;       /* how often equal recordings may be told apart, a list; 0: 0.05 */
	double confidence; /* of the intervals; 0: 0.99 */
	u32 slices;        /* of time, to see the samples' own spread; 0: 20 */
};

/* How sure a difference is. All in weight of `after`. */
struct diff_noise {
	double half;  /* the interval is difference - half … difference + half */
	double p;     /* how often chance alone makes a difference as large */
	bool changed; /* beyond noise, also when that many frames are looked at */
	bool few;     /* too few samples in both to be called changed, whatever they are */
};

/* A function, over all its places in the tree; recursion counts once. */
struct diff_function {
	frame_id frame;
	double self, base_self, total, base_total; /* base_*: scaled */
	struct diff_noise self_noise, total_noise;
};

struct view_diff {
	enum diff_norm norm;
	enum diff_width width;
	double base_scale; /* view_base_self() and view_base_total() times this are comparable with
			      self and total */
	double confidence, rate;
	u32 recordings, base_recordings;
	bool by_name;  /* functions were matched by name alone, for want of modules in one */
	bool by_files; /* noise is from the spread between recordings */
	u32 slices;    /* of time that noise was measured over; 0 and not by_files: from the number
			  of samples alone */
	u64 samples, base_samples;
	/* Nodes that only one side has, and their own weight, scaled: of before and of after. */
	u32 gone_nodes, come_nodes;
	double gone, come;
	VEC(double) widths; /* of each node with all below it; empty with DIFF_WIDTH_AFTER */
	VEC(struct diff_noise) self, total;  /* by node of the view */
	VEC(struct diff_function) functions; /* the surest and largest changes first */
};

/* What a node's width in pictures is by: its total, unless a comparison asks for another one. */
static inline double view_width(const struct view *v, size_t node)
{
	return v->diff && node < v->diff->widths.n ? v->diff->widths.v[node]
						   : (double)v->nodes.v[node].total;
}

/* The recordings of both sides, at least one each. */
struct diff_input {
	struct profile *const *after, *const *before;
	size_t nr_after, nr_before;
};

/*
 * Compares profiles: stacks match by space, module and function (builds of a module count as one;
 * the hypervisor and the kernel are one module each; where one profile has no modules, names
 * decide).  The view shows what is in either; its nodes' self and total are of `after`,
 * view_base_self() and view_base_total() of `before`, each as recorded (several recordings of a
 * side: their sums). after[0] gets the frames of the others that it has not; all get one
 * weight_scale, and are borrowed as long as the view lives.
 *
 * Noise comes from the spread between the recordings of a side, where a side has several; else from
 * the spread over slices of time where both have kept their samples, else from the number of
 * samples; and is never taken for less than that.  The event of the others is the one of the same
 * name as that of after[0].  Kept samples find their place when `after` is one recording.
 */
int view_build_diff(struct view *v, const struct diff_input *in, const struct view_opts *o,
		    const struct diff_opts *d, struct error *err) MUST_CHECK;
/*
 * Makes a plain view of a comparison: of each stack what `after` has more than `before`, scaled and
 * rounded.  *floored: the sum of what it has less, which is taken for 0.
 */
void view_subtract(struct view *v, double *floored);
void view_diff_free(struct view_diff *d);

enum gate_what {
	GATE_SHARE,      /* "memcpy>5%": its share of AFTER */
	GATE_DIFFERENCE, /* "memcpy>+2%": percent of the whole that it has more than BEFORE */
	GATE_RATIO,      /* "memcpy>x1.5": AFTER to BEFORE */
};

/* A condition under which a comparison fails. */
struct gate {
	const char *text; /* borrowed: as given */
	const char *name; /* of the function, with or without annotation; "*": any */
	size_t name_len;
	enum gate_what what;
	bool self; /* else total */
	bool below;
	double limit;
};

/* "[self:|total:]FRAME>+N%", "FRAME>N%", "FRAME>xN", or with '<'. `text` is borrowed as long as the
 * gate is used. */
int gate_parse(struct gate *g, const char *text, struct error *err) MUST_CHECK;
/*
 * The number of functions that meet the condition, a line on each appended to `text`.  Differences
 * and ratios within noise do not count.  *matched: how many functions have the name, 0 means that a
 * misspelt condition passes unseen.
 */
u32 gate_check(const struct gate *g, const struct view *v, struct buf *text, u32 *matched);
/* The same for functions whose own weight has grown beyond noise, by at least min_percent of the
 * whole. */
u32 gate_regressed(const struct view *v, double min_percent, struct buf *text);

/* Whether the stacks that end at a node wait for work (what no_idle leaves out). Not for views with
 * invert. */
bool view_is_idle(const struct view *v, u32 node);
/* The same for a stack of frames, root first. */
bool view_path_is_idle(const struct profile *p, const frame_id *path, size_t n);

/* ---- how the hypervisor was entered (entry.c) ---- */

enum entry_kind {
	ENTRY_HYPERCALL, /* of a PV or HVM guest; also what dom0's kernel is in by its stubs */
	ENTRY_EXIT,      /* VMEXIT of an HVM guest */
	ENTRY_EXCEPTION, /* of a PV guest */
	ENTRY_INTERRUPT,
	ENTRY_SYSCALL, /* of a PV guest's program, handed on to its kernel */
	ENTRY_SOFTIRQ,
	ENTRY_RETURN, /* on the way back into the guest */
	ENTRY_IDLE,   /* a processor without work, and what Xen does there */
	ENTRY_OTHER,
	ENTRY_NR
};

struct entry {
	enum entry_kind kind;
	str_id name; /* "mmu_update", "EPT violation", "page_fault" or the function; "[not told]" */
	/* Where dom0's kernel calls one by a stub (`stub`): */
	bool stub, caller_idle; /* caller_idle: it waits for work */
	str_id caller;          /* its function, stubs and wrappers left aside */
	str_id hypercall;       /* 0: not known */
};

/* Of a stack, root first: false where it ends neither in the hypervisor nor in a stub. May add
 * names to the profile's strings. */
bool entry_of_path(const struct profile *p, const frame_id *path, size_t n,
		   struct entry *e) MUST_CHECK;
const char *entry_kind_name(enum entry_kind k); /* "hypercall", "exit" … */
/* Whether a function of Linux is one of those that enter Xen. */
bool entry_is_stub(const char *name);

/* ---- summary: a view in a few lists (summary.c) ---- */

/* A function over all its places in the tree; recursion counts once in total. */
struct summary_function {
	frame_id frame;
	u64 self, total;
};

/* A name and its weight. */
struct summary_part {
	str_id name;
	u64 weight, idle; /* idle: the part of weight that waits for work */
};

/*
 * A hypercall: where the kernel calls one, and what it is.  Without hypervisor frames its weight is
 * that of the kernel's stub, so Xen's work has a name on any host; with them Xen's own function
 * tells, and the caller only where.  Interrupts that the kernel handles on top of a stub do not
 * count.
 */
struct summary_hypercall {
	str_id caller; /* the kernel's function, stubs and wrappers left aside */
	str_id name;   /* "sched_op", "mmu_update" …; 0: not known */
	u64 weight;
	bool idle; /* the caller waits for work */
};

/* Time in the hypervisor by how it was entered. */
struct summary_entry {
	enum entry_kind kind;
	str_id name;
	u64 weight, idle;
};

struct summary {
	u64 total, idle;
	u64 by_space[SPACE_NR]; /* of the innermost frame */
	u64 idle_by_space[SPACE_NR];
	VEC(struct summary_part) processes;     /* the outermost frame: comm, [guest], [xen] */
	VEC(struct summary_function) functions; /* all, the largest self first */
	VEC(struct summary_hypercall) hypercalls;
	VEC(struct summary_entry) entries; /* time in hypervisor frames by how it was entered */
	VEC(u32) stacks; /* nodes of the view, the largest self first, at most `max_stacks` */
};

/* All lists are sorted by weight, equal ones by name. The view is borrowed as long as the summary
 * lives. */
void summary_build(struct summary *s, const struct view *v, size_t max_stacks);
void summary_release(struct summary *s);
/* Orders functions by total instead of self, or back. */
void summary_sort_functions(struct summary *s, const struct view *v, bool by_total);

/* Weight by space of the innermost frame of each stack (self), indexed by enum space. */
void view_weight_by_space(const struct view *v, u64 by_space[SPACE_NR]);

#endif
