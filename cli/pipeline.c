/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The pipeline: items of a recording -> symbolized stacks -> profile.
 *
 * The work is done per unique chain, and for those of addresses per unique edge: an edge is (node
 * of the calling-context tree, address) -> node, so that a chain that shares its outer part with
 * one seen before costs a look-up a frame and no symbolizing.  Chains of text, whose frames are
 * known without their place in the tree, wait until there are many, and then go into it in order.
 */
#include <ctype.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/chains.h"
#include "cli/cli.h"
#include "host/host.h"

#define MAX_UNWIND 1024

/* What is counted per sample, remembered per chain. */
enum {
	CHAIN_HV = 1 << 0,
	CHAIN_HV_DEPTH_1 = 1 << 1,
	CHAIN_BROKEN = 1 << 2,
	CHAIN_IP_ZERO = 1 << 3,
	CHAIN_EMPTY = 1 << 4,
	CHAIN_GUEST = 1 << 5,
	CHAIN_TRUNCATED = 1 << 6,
	CHAIN_WAITING = 1 << 7,  /* the node is the number of a waiting chain */
	CHAIN_OF_GUEST = 1 << 8, /* text: taken in a guest */
};

struct chain_entry {
	node_id node;
	u32 flags;
};

/* What a chain of addresses comes to. */
struct known_chain {
	node_id node;
	u32 event; /* of the profile */
	u32 flags;
	u32 garbage;
};

struct edge {
	u64 addr;
	u64 how; /* generation, space and kind */
	node_id parent, child;
};

#define NOT_IN_SLOT UINT32_MAX

/* The symbolizer's answer, for addresses that are asked for again below other callers. */
struct answer {
	u64 addr, how;
	u32 pid, answer;
	bool used;
};

#define STEM 16

#define PENDING 7u /* samples, a power of two less one */

#define FRAME_NEW       UINT32_MAX
#define FRAME_BY_PARENT (UINT32_MAX - 1) /* several frames, or what depends on the frame above */

struct edge_key {
	u64 addr, how;
	node_id parent;
};

struct root_entry {
	u64 key[4];
	u32 first, n; /* a run of pipeline.root_frames */
};

enum {
	TEXT_KNOWN_HV = 1 << 0,    /* one more frame of the hypervisor, not inlined */
	TEXT_KNOWN_DOM0 = 1 << 1,  /* kernel or user */
	TEXT_KNOWN_GUEST = 1 << 2, /* of a guest */
	TEXT_KNOWN_ONE = 1 << 3,   /* a single frame, and not a broken one */
};
#define TEXT_FRAME_BITS 28 /* in pipeline.text_short; above are these four */

/* What a text frame stands for: with TEXT_KNOWN_ONE a frame, else a run of pipeline.text_frames. */
struct text_known {
	u32 first, n; /* n 0: not known yet */
	u32 what;
};

/* What came of a chain that is not in the tree yet. */
struct waiting {
	u32 chain; /* of pipeline.chains, or NO_CHAIN */
	u32 event; /* of the profile */
	u64 samples, weight;
};

#define NO_CHAIN UINT32_MAX

/* Weight of a waiting chain beyond what struct waiting holds. */
struct heavy {
	u128 weight;
	u32 waiting;
};

/* A kept sample of a waiting chain. */
struct unplaced {
	size_t sample;
	u32 waiting;
};

/*
 * Codes of the batch that may wait: 32 MiB.  The tree that they become takes six times as much,
 * when stacks differ, and what does not differ waits but once.
 */
#define WAITING_MAX (16u << 20)
/* Of struct heavy: 32 MiB. They come by samples, not by stacks. */
#define HEAVY_MAX (1u << 20)

/* Each event has weights for all stacks. The kernel has some 2500 tracepoints. */
#define EVENTS_MAX 4096

/* Names told when --comm wants none that is there. */
#define OTHER_COMMS 5

struct u32_list {
	VEC(u32) v;
	bool all;
};

struct time_filter {
	bool set, percent;
	bool from_start, to_start; /* counted from the first sample */
	double from, to;           /* seconds, or percent of the whole */
	u64 from_ns, to_ns;
};

struct pipeline {
	struct run *run;
	const struct pipeline_opts *opts;
	const char *path;
	struct perf_reader *reader;
	struct symbolizer *sym;
	size_t build_ids; /* of the recording, already told to sym */
	u64 seed;         /* of the run: input cannot aim at collisions */

	struct index chain_index, edge_index, root_index;
	VEC(struct chain_entry) chains; /* by perf_sample.stack_nr where there are such */
	VEC(u64) checks;      /* where there are none, by chain: second half of the key's hash */
	u32 soon[4], soon_at; /* of the samples before */
	/* Chains of addresses, and what they are without their leaf; see keep_known().  A hot
	 * function is sampled at many of its instructions: these chains differ in the leaf alone.
	 */
	struct chain_table whole, outer;
	struct chain_table stems;      /* the outermost frames of chains, in steps of STEM */
	VEC(struct known_chain) known; /* those that do not fit into their slot */
	struct known_chain above;      /* the chain built last, without its leaf */
	u64 head_words[8], head; /* what else tells chains apart, of the sample before; its hash */
	u32 gen_pid;             /* whose generations these are */
	u64 gen_user, gen_kernel;
	bool gen_valid;
	struct pending_chain {
		bool parted, has_leaf;
		u32 event;
		struct perf_addr leaf;
		u64 gen_user, gen_kernel;
		u64 head;
		u64 key[2], outer[2]; /* outer: of the chain without its leaf, once it is parted */
		const struct perf_sample *sample;
	} pending[PENDING];
	u64 pending_first, pending_end; /* of those that are pending; modulo PENDING */
	VEC(struct edge) first_edges;   /* by parent: the first one made; child 0: none */
	VEC(struct edge) edges;         /* the others */
	VEC(struct root_entry) roots;
	VEC(frame_id) root_frames;   /* outermost first */
	struct answer answers[2048]; /* one for each hash */
	VEC(u32) frames; /* by the symbolizer's answer: the frame, FRAME_NEW, FRAME_BY_PARENT */
	VEC(struct text_known) text_known; /* by id of a text frame */
	VEC(u32) text_short;               /* the same by what samples have, where it fits: what <<
					      TEXT_FRAME_BITS | frame + 1, or 0 */
	VEC(frame_id) text_frames;         /* outermost first */
	struct profile_batch batch;
	VEC(struct waiting) waiting; /* by stack of batch */
	VEC(u64) waiting_base;       /* by waiting, of two columns; may be shorter: the rest is 0 */
	VEC(struct unplaced) unplaced;
	VEC(struct heavy) heavy;
	u128 more; /* count of the sample at hand beyond 2^64 - 1 */
	struct perf_chain chain;
	size_t groups;   /* names in opts->group */
	VEC(u32) events; /* profile's event by the recording's */
	/* For the shares of what is unresolved: samples by leaf node, and those by frame that no
	 * leaf counts. */
	VEC(u64) node_samples, frame_samples;
	u64 frame_most;     /* what none of frame_samples is above */
	u64 scale;          /* weights of the input count 1/scale */
	VEC(u64) last_time; /* by cpu, for the check of periods */
	VEC(u8) cpu_seen;
	u64 impossible_periods;
	u64 samples; /* read and not filtered out */
	u64 filtered;
	u64 without_cpu;                 /* of these */
	str_id other_comms[OTHER_COMMS]; /* names that --comm does not want, as they come; 0: no
					    more */
	u64 hv_samples;                  /* with a hypervisor frame */
	u64 hv_depth_1;                  /* with one, and a single one */
	u64 broken_unwound; /* with a run of addresses outside every mapping, though unwound by us
			     */
	u64 told[DIAG_NR];  /* by kind, for the kinds that are counted per sample */

	struct u32_list pid, tid, cpu;
	struct time_filter time;
	str_id guest, xen;
	frame_id broken;
	bool have_broken;
};

/* ---- look-ups ---- */

static bool chain_eq(const void *ctx, u32 id, const void *key)
{
	const struct pipeline *p = ctx;

	return p->checks.v[id] == *(const u64 *)key;
}

static bool edge_eq(const void *ctx, u32 id, const void *key)
{
	const struct edge *e = &((const struct pipeline *)ctx)->edges.v[id];
	const struct edge_key *k = key;

	return e->addr == k->addr && e->parent == k->parent && e->how == k->how;
}

static bool root_eq(const void *ctx, u32 id, const void *key)
{
	const u64 *a = ((const struct pipeline *)ctx)->roots.v[id].key, *b = key;

	return a[0] == b[0] && a[1] == b[1] && a[2] == b[2] && a[3] == b[3];
}

/*
 * Most nodes have one edge.  It lies in an array beside its parent, and a stack's nodes mostly
 * lie one after the other, so following a stack does not jump about in a large table.
 */
static node_id find_edge(struct pipeline *p, const struct edge_key *k, u64 *hash)
{
	const struct edge *first = p->first_edges.v + k->parent;
	u32 id;

	*hash = 0;
	if (k->parent >= p->first_edges.n || !first->child)
		return INDEX_NONE;
	if (LIKELY(first->addr == k->addr && first->how == k->how))
		return first->child;
	*hash = hash_u64(hash_u64(k->addr ^ p->seed) ^ k->how ^ (u64)k->parent << 32);
	id = index_find(&p->edge_index, *hash, edge_eq, p, k);
	return id == INDEX_NONE ? INDEX_NONE : p->edges.v[id].child;
}

static void add_edge(struct pipeline *p, const struct edge_key *k, u64 hash, node_id child)
{
	struct edge e = { .addr = k->addr, .how = k->how, .parent = k->parent, .child = child };

	while (p->first_edges.n <= k->parent)
		vec_push(&p->first_edges, ((struct edge){ .child = 0 }));
	if (!p->first_edges.v[k->parent].child) {
		p->first_edges.v[k->parent] = e;
		return;
	}
	index_add(&p->edge_index, hash, (u32)p->edges.n);
	vec_push(&p->edges, e);
}

/* ---- roots ---- */

static str_id event_name(struct pipeline *p, u32 event)
{
	const struct perf_meta *m = perf_meta(p->reader);

	return strtab_adds(&p->run->strings,
			   event < m->events.n ? m->events.v[event].name : "unknown event");
}

/*
 * What --group=domain puts on top.  perf.data tells which guest of KVM a sample was taken in, and
 * of Xen only whether it was dom0; whose time the hypervisor used for others is not known, but what
 * its idle vCPUs do is nobody's.  `named`: as console logs name the domain ("d1"), or 0.
 */
static str_id domain_name(struct pipeline *p, const struct perf_sample *s, bool dom0, bool idle,
			  str_id named)
{
	struct strtab *t = &p->run->strings;

	if (named)
		return strtab_addf(t, "dom%s", strtab_get(t, named) + 1);
	if (s->machine_pid)
		return strtab_addf(t, "guest %u", s->machine_pid);
	return strtab_adds(t, dom0 ? "dom0" : idle ? "idle" : "other domains");
}

static bool groups_by_domain(const struct pipeline *p)
{
	size_t i;

	for (i = 0; p->opts->group[i]; i++)
		if (!strcmp(p->opts->group[i], "domain"))
			return true;
	return false;
}

static void add_root(struct pipeline *p, struct root_entry *e, str_id name)
{
	struct frame f = { .function = name, .space = SPACE_NONE, .flags = FRAME_GROUP };

	vec_push(&p->root_frames, profile_frame(&p->run->profile, &f));
	e->n++;
}

/* The frames that a sample's stack stands on: what --group asks for, then the comm, [guest] or
 * [xen]. Valid until the next call. `domain`: its name, where --group asks for it. */
static const frame_id *root_of(struct pipeline *p, const struct perf_sample *s, enum perf_root root,
			       str_id domain, u32 *n)
{
	struct root_entry e = { .key = { (u64)s->comm << 2 | root, 0, 0, 0 } };
	struct strtab *t = &p->run->strings;
	size_t i;
	u64 hash;
	u32 id;

	for (i = 0; p->opts->group[i]; i++) {
		const char *g = p->opts->group[i];

		if (!strcmp(g, "cpu"))
			e.key[1] |= (u64)s->cpu << 32;
		else if (!strcmp(g, "event"))
			e.key[1] |= s->event;
		else if (!strcmp(g, "pid"))
			e.key[2] |= (u64)s->pid << 32;
		else if (!strcmp(g, "tid"))
			e.key[2] |= s->tid;
		else
			e.key[3] = domain;
	}
	hash = hash_u64(e.key[0] ^
			hash_u64(e.key[1] ^ hash_u64(e.key[2] ^ hash_u64(e.key[3] ^ p->seed))));
	id = index_find(&p->root_index, hash, root_eq, p, e.key);
	if (id != INDEX_NONE) {
		*n = p->roots.v[id].n;
		return p->root_frames.v + p->roots.v[id].first;
	}

	e.first = (u32)p->root_frames.n;
	for (i = 0; p->opts->group[i]; i++) {
		const char *g = p->opts->group[i];
		str_id name;

		if (!strcmp(g, "cpu"))
			name = s->cpu == PERF_NO_CPU ? strtab_adds(t, "cpu ?")
						     : strtab_addf(t, "cpu %u", s->cpu);
		else if (!strcmp(g, "event"))
			name = event_name(p, s->event);
		else if (!strcmp(g, "pid"))
			name = s->pid == PERF_NO_PID ? strtab_adds(t, "pid ?")
						     : strtab_addf(t, "pid %d", (int)s->pid);
		else if (!strcmp(g, "tid"))
			name = s->tid == PERF_NO_PID ? strtab_adds(t, "tid ?")
						     : strtab_addf(t, "tid %d", (int)s->tid);
		else
			name = domain;
		add_root(p, &e, name);
	}
	if (root == ROOT_GUEST)
		add_root(p, &e, p->guest);
	else if (root == ROOT_XEN)
		add_root(p, &e, p->xen);
	else if (s->comm)
		add_root(p, &e, s->comm);
	index_add(&p->root_index, hash, (u32)p->roots.n);
	vec_push(&p->roots, e);
	*n = e.n;
	return p->root_frames.v + e.first;
}

/* ---- frames -> nodes ---- */

/* What stands for an address that is no frame's. */
static frame_id broken_frame(struct pipeline *p, u64 addr)
{
	struct frame f = { .space = SPACE_USER, .flags = FRAME_BROKEN };
	struct strtab *t = &p->run->strings;

	if (p->opts->addrs) {
		f.function = strtab_addf(t, "[unknown 0x%" PRIx64 "]", addr);
		return profile_frame(&p->run->profile, &f);
	}
	if (!p->have_broken) {
		f.function = strtab_adds(t, "[broken stack]");
		p->broken = profile_frame(&p->run->profile, &f);
		p->have_broken = true;
	}
	return p->broken;
}

static node_id add_broken(struct pipeline *p, node_id parent, u64 addr)
{
	struct profile *prof = &p->run->profile;
	frame_id f = broken_frame(p, addr);

	/* A run of them is one. */
	if (!p->opts->addrs && parent && prof->nodes.v[parent].frame == f)
		return parent;
	return profile_child(prof, parent, f);
}

static bool is_broken(const struct pipeline *p, node_id node)
{
	const struct profile *prof = &p->run->profile;
	frame_id f = prof->nodes.v[node].frame;

	if (p->opts->addrs)
		return prof->frames.v[f].flags & FRAME_BROKEN;
	return p->have_broken && f == p->broken;
}

/* `frames` innermost first. */
static node_id add_frames(struct pipeline *p, node_id node, const struct frame *frames, size_t n,
			  u64 addr)
{
	struct profile *prof = &p->run->profile;

	while (n-- > 0) {
		if (frames[n].flags & FRAME_BROKEN)
			node = add_broken(p, node, addr);
		else
			node = profile_child(prof, node, profile_frame(prof, &frames[n]));
	}
	return node;
}

static node_id add_answer(struct pipeline *p, node_id parent, u32 answer, u64 addr)
{
	struct profile *prof = &p->run->profile;
	const struct frame *frames;
	size_t n;
	u32 *known;

	while (p->frames.n <= answer)
		vec_push(&p->frames, FRAME_NEW);
	known = &p->frames.v[answer];
	if (LIKELY(*known < FRAME_BY_PARENT))
		return profile_child(prof, parent, *known);
	n = sym_answer_frames(p->sym, answer, &frames);
	*known = n == 1 && !(frames[0].flags & FRAME_BROKEN) ? profile_frame(prof, frames)
							     : FRAME_BY_PARENT;
	return add_frames(p, parent, frames, n, addr);
}

/* Generation, space and kind of an address. */
static u64 how(const struct perf_addr *a, u64 gen)
{
	return gen << 8 | (u64)a->space << 4 | a->kind;
}

static node_id resolve_addr(struct pipeline *p, node_id parent, u32 pid, const struct perf_addr *a,
			    u64 gen)
{
	struct answer key = { .addr = a->addr, .how = how(a, gen), .pid = pid },
		      *known = &p->answers[hash_u64(a->addr) % ARRAY_SIZE(p->answers)];
	enum addr_kind kind = a->kind;

	if (known->addr != key.addr || known->how != key.how || known->pid != key.pid ||
	    !known->used) {
		if (a->space == SPACE_HV && kind == ADDR_RETURN &&
		    !sym_hv_is_return(p->sym, a->addr))
			kind = ADDR_EXACT;
		key.answer = sym_answer(p->sym, a->space, pid, a->addr, kind);
		key.used = true;
		*known = key;
	}
	return add_answer(p, parent, known->answer, a->addr);
}

static node_id add_addr(struct pipeline *p, node_id parent, u32 pid, const struct perf_addr *a,
			u64 gen)
{
	struct edge_key k = { .addr = a->addr, .how = how(a, gen), .parent = parent };
	node_id child;
	u64 hash;

	child = find_edge(p, &k, &hash);
	if (LIKELY(child != INDEX_NONE))
		return child;
	child = resolve_addr(p, parent, pid, a, gen);
	add_edge(p, &k, hash, child);
	return child;
}

/* ---- samples from perf.data ---- */

static void append_unwound(struct pipeline *p, const struct perf_sample *s, u32 *flags)
{
	struct sym_unwound pcs[MAX_UNWIND];
	struct sym_regs regs = { .abi = s->user_abi,
				 .mask = s->user_mask,
				 .values = s->user_regs,
				 .arch = perf_meta(p->reader)->arch };
	bool truncated = false;
	size_t n, i;

	n = sym_unwind(p->sym, s->pid, s->tid, &regs, s->stack, s->stack_size, pcs, MAX_UNWIND,
		       &truncated);
	if (!n)
		return;
	/* The unwound user part takes the place of a recorded one. */
	while (p->chain.addrs.n && p->chain.addrs.v[p->chain.addrs.n - 1].space == SPACE_USER)
		p->chain.addrs.n--;
	for (i = 0; i < n; i++)
		vec_push(&p->chain.addrs,
			 ((struct perf_addr){
				 .addr = pcs[i].pc, .space = SPACE_USER, .kind = pcs[i].kind }));
	if (truncated)
		*flags |= CHAIN_TRUNCATED;
	p->chain.root = ROOT_COMM;
}

static void append_lbr(struct pipeline *p, const struct perf_sample *s)
{
	u32 i;

	while (p->chain.addrs.n && p->chain.addrs.v[p->chain.addrs.n - 1].space == SPACE_USER)
		p->chain.addrs.n--;
	vec_push(
		&p->chain.addrs,
		((struct perf_addr){ .addr = s->lbr_to, .space = SPACE_USER, .kind = ADDR_EXACT }));
	for (i = 0; i < s->lbr_nr; i++)
		vec_push(&p->chain.addrs, ((struct perf_addr){ .addr = s->lbr_from[i],
							       .space = SPACE_USER,
							       .kind = ADDR_EXACT }));
	p->chain.root = ROOT_COMM;
}

/* Whether p->chain is that of a vCPU that Xen runs when there is nothing else to do. */
static bool runs_idle(struct pipeline *p)
{
	str_id idle_loop = strtab_adds(&p->run->strings, "idle_loop");
	const struct frame *frames;
	size_t i, k, n;

	for (i = 0; i < p->chain.addrs.n; i++) {
		const struct perf_addr *a = &p->chain.addrs.v[i];

		if (a->space != SPACE_HV)
			continue;
		n = sym_resolve(p->sym, a->space, SYM_KERNEL_PID, a->addr, a->kind, &frames);
		for (k = 0; k < n; k++)
			if (frames[k].function == idle_loop)
				return true;
	}
	return false;
}

/* All but a few chains fit into what a slot has for its user: these are looked up without a
 * further access to memory. */
static void keep_known(struct pipeline *p, struct chain_slot *slot, const struct known_chain *k)
{
	if (k->event || k->garbage) {
		slot->id = (u32)p->known.n;
		slot->more = NOT_IN_SLOT;
		vec_push(&p->known, *k);
	} else {
		slot->id = k->node;
		slot->more = k->flags;
	}
}

static struct known_chain get_known(const struct pipeline *p, const struct chain_slot *slot)
{
	if (slot->more == NOT_IN_SLOT)
		return p->known.v[slot->id];
	return (struct known_chain){ .node = slot->id, .flags = slot->more };
}

/* Makes a stem's key that of the stem with the next STEM frames of the chain, which end at `end`.
 */
static void stem_extend(const struct pipeline *p, u64 key[2], size_t end)
{
	const struct perf_addr *a = p->chain.addrs.v + end - STEM;
	u64 words[STEM + 1], kinds = 0;
	u64 before = key[1];
	size_t i;

	for (i = 0; i < STEM; i++) {
		words[i] = a[i].addr;
		kinds = kinds << 4 | (u64)a[i].space << 1 | (a[i].kind == ADDR_EXACT);
	}
	words[STEM] = kinds;
	key[0] = hash_bytes_checked(words, sizeof(words), key[0], &key[1]);
	hash_extend(key, before);
	key[1] |= 1;
}

/*
 * Puts the frames of p->chain below a node, and leaves what all but the leaf came to in p->above.
 * Deep stacks mostly have their outer frames in common: STEM of them are found by one look-up.
 */
static struct known_chain add_chain(struct pipeline *p, const struct perf_sample *s, node_id root,
				    u64 gen_user, u64 gen_kernel)
{
	struct known_chain k = { .node = root };
	/* The lower half of the kernel's generation is 0. */
	u64 gen_guest = gen_kernel | s->machine_pid;
	u64 key[2] = { gen_user ^ p->seed, hash_u64(gen_guest) ^ root };
	size_t n = p->chain.addrs.n, i;
	bool stem = true, known = true;
	struct chain_slot *slot;

	p->above = k;
	for (i = n; i > 0; i--) {
		const struct perf_addr *a;
		bool user, guest;

		/* At the beginning of STEM frames that do not hold the leaf: are they known? */
		stem = stem && i > STEM;
		if (stem && known && !((n - i) % STEM)) {
			u64 next[2] = { key[0], key[1] };

			stem_extend(p, next, i);
			slot = chain_table_find(&p->stems, next);
			known = chain_slot_used(slot);
			if (known) {
				memcpy(key, next, sizeof(key));
				k = get_known(p, slot);
				i -= STEM - 1;
				continue;
			}
		}
		a = &p->chain.addrs.v[i - 1];
		user = a->space == SPACE_USER;
		guest = a->space == SPACE_GUEST_USER || a->space == SPACE_GUEST_KERNEL;
		if (i == 1)
			p->above = k;
		if (a->space == SPACE_HV)
			k.flags = k.flags & CHAIN_HV ? k.flags & ~(u32)CHAIN_HV_DEPTH_1
						     : k.flags | CHAIN_HV | CHAIN_HV_DEPTH_1;
		k.node = add_addr(p, k.node,
				  user                      ? s->pid
				  : guest && s->machine_pid ? s->machine_pid
							    : SYM_KERNEL_PID,
				  a,
				  user    ? gen_user
				  : guest ? gen_guest
					  : gen_kernel);
		if (user && is_broken(p, k.node))
			k.flags |= CHAIN_BROKEN;
		/* At the end of such ones. */
		if (i > 1 && !((n - i + 1) % STEM)) {
			stem_extend(p, key, i - 1 + STEM);
			slot = chain_table_find(&p->stems, key);
			if (!chain_slot_used(slot)) {
				slot = chain_table_add(&p->stems, key, false);
				keep_known(p, slot, &k);
			}
		}
	}
	return k;
}

/* How many of its entries are no addresses is in p->chain.garbage. */
static struct chain_entry build_chain(struct pipeline *p, const struct perf_sample *s, u64 gen_user,
				      u64 gen_kernel)
{
	struct chain_entry e = { 0 };
	struct known_chain k;
	const frame_id *root;
	u32 roots, i;
	str_id domain = 0;

	perf_chain_classify(&p->chain, s);
	if (s->user_abi && s->stack_size)
		append_unwound(p, s, &e.flags);
	else if (s->lbr_nr)
		append_lbr(p, s);
	if (p->opts->chain && s->user_abi) {
		struct perf_sample told = *s;

		told.cut = e.flags & CHAIN_TRUNCATED;
		p->opts->chain(p->opts->chain_ctx, &told, &p->chain);
	}
	if (p->chain.ip_zero)
		e.flags |= CHAIN_IP_ZERO;
	else if (!p->chain.addrs.n)
		e.flags |= CHAIN_EMPTY;
	if (p->chain.root == ROOT_GUEST)
		e.flags |= CHAIN_GUEST;
	if (groups_by_domain(p))
		domain = domain_name(p, s, p->chain.root == ROOT_COMM,
				     p->chain.root == ROOT_XEN && runs_idle(p), 0);
	root = root_of(p, s, p->chain.root, domain, &roots);
	for (i = 0; i < roots; i++)
		e.node = profile_child(&p->run->profile, e.node, root[i]);
	k = add_chain(p, s, e.node, gen_user, gen_kernel);
	e.node = k.node;
	e.flags |= k.flags;
	return e;
}

/* ---- samples from text ---- */

static bool is_mangled(const char *s)
{
	return s[0] == '_' && (s[1] == 'Z' || s[1] == 'R' || s[1] == 'D');
}

static bool resolve_text_address(struct pipeline *p, const struct perf_text_frame *f,
				 const struct frame **frames, size_t *n)
{
	enum addr_kind kind = f->flags & TEXT_EXACT ? ADDR_EXACT : ADDR_RETURN;
	const char *module = strtab_get(&p->run->strings, f->module);

	if (f->space == SPACE_HV && kind == ADDR_RETURN && !sym_hv_is_return(p->sym, f->addr))
		kind = ADDR_EXACT;
	if (f->space == SPACE_USER) {
		if (!f->module || !strcmp(module, "[unknown]"))
			return false;
		*n = sym_resolve_in_file(p->sym, f->space, module, f->addr, kind, frames);
	} else {
		*n = sym_resolve(p->sym, f->space, SYM_KERNEL_PID, f->addr, kind, frames);
	}
	return *n && !((*frames)[0].flags & (FRAME_BROKEN | FRAME_UNRESOLVED));
}

static void know(struct pipeline *p, const struct frame *f)
{
	vec_push(&p->text_frames, profile_frame(&p->run->profile, f));
}

/* Appends what a text frame stands for to p->text_frames. */
static void know_text_frame(struct pipeline *p, const struct perf_text_frame *f)
{
	struct strtab *t = &p->run->strings;
	struct frame out = { .space = f->space, .file = f->file, .line = f->line };
	const struct frame *frames;
	const char *module = f->module ? path_base(strtab_get(t, f->module)) : "";
	size_t n;

	if (f->flags & TEXT_ROOT) {
		out.function = f->symbol;
		out.space = SPACE_NONE;
		out.flags = FRAME_GROUP;
		know(p, &out);
		return;
	}
	if (!f->symbol || f->flags & TEXT_UNKNOWN) {
		if (f->flags & TEXT_HAS_ADDR && resolve_text_address(p, f, &frames, &n)) {
			while (n-- > 0)
				if (frames[n].flags & FRAME_BROKEN)
					vec_push(&p->text_frames, broken_frame(p, f->addr));
				else
					know(p, &frames[n]);
			return;
		}
		if (f->space == SPACE_HV && (f->flags & TEXT_HAS_ADDR || !f->symbol)) {
			out.function = strtab_addf(t, "[xen+0x%" PRIx64 "]", f->addr & 0x3fffffff);
			module = "xen-syms";
		} else if (f->flags & TEXT_HAS_ADDR && f->module && strcmp(module, "[unknown]")) {
			size_t len = strlen(module);
			bool brackets = len > 2 && module[0] == '[' && module[len - 1] == ']';

			out.function = strtab_addf(t, "[%.*s+0x%" PRIx64 "]",
						   (int)(brackets ? len - 2 : len),
						   module + brackets, f->addr);
		} else if (f->flags & TEXT_HAS_ADDR && f->space == SPACE_USER) {
			vec_push(&p->text_frames, broken_frame(p, f->addr));
			return;
		} else {
			out.function = f->symbol ? f->symbol : strtab_adds(t, "[unknown]");
		}
		out.flags = FRAME_UNRESOLVED;
	} else {
		out.function = is_mangled(strtab_get(t, f->symbol))
				       ? sym_display_name(p->sym, f->symbol)
				       : f->symbol;
	}
	if (f->space == SPACE_HV && !f->module)
		module = "xen-syms";
	out.module = strtab_adds(t, module);
	if (f->flags & TEXT_INLINED)
		out.flags |= FRAME_INLINED;
	if (f->flags & TEXT_JIT)
		out.flags |= FRAME_JIT;
	if (f->flags & TEXT_DOUBTFUL)
		out.flags |= FRAME_DOUBTFUL;
	know(p, &out);
}

/* `number`: of perf_sample.frames. */
static struct text_known text_frame(struct pipeline *p, u32 number)
{
	u32 id = perf_text_id(p->reader, number);
	struct text_known *k;

	while (p->text_known.n <= id)
		vec_push(&p->text_known, ((struct text_known){ .n = 0 }));
	k = &p->text_known.v[id];
	if (UNLIKELY(!k->n)) {
		const struct perf_text_frame *f = perf_text_frame(p->reader, id);
		frame_id frame;

		k->first = (u32)p->text_frames.n;
		know_text_frame(p, f);
		k->n = (u32)p->text_frames.n - k->first;
		if (f->space == SPACE_HV && !(f->flags & TEXT_INLINED))
			k->what |= TEXT_KNOWN_HV;
		if (f->space == SPACE_KERNEL || f->space == SPACE_USER)
			k->what |= TEXT_KNOWN_DOM0;
		if (f->space == SPACE_GUEST_KERNEL || f->space == SPACE_GUEST_USER)
			k->what |= TEXT_KNOWN_GUEST;
		frame = p->text_frames.v[k->first];
		if (k->n == 1 && !(p->have_broken && frame == p->broken)) {
			k->what |= TEXT_KNOWN_ONE;
			k->first = frame;
		}
	}
	if (k->what & TEXT_KNOWN_ONE && k->first + 1 < 1u << TEXT_FRAME_BITS) {
		while (p->text_short.n <= number)
			vec_push(&p->text_short, 0);
		p->text_short.v[number] = k->what << TEXT_FRAME_BITS | (k->first + 1);
	}
	return *k;
}

/* What the same is, when it may be known. */
static u32 text_what(struct pipeline *p, u32 number)
{
	u32 known = number < p->text_short.n ? p->text_short.v[number] : 0;

	return known ? known >> TEXT_FRAME_BITS : text_frame(p, number).what;
}

/* "d0", "d12": as Xen's console names a domain. */
static bool is_domain_name(const char *s)
{
	size_t n = strspn(s + (*s == 'd'), "0123456789");

	return *s == 'd' && n && !s[n + 1];
}

/* `codes`: of the stack, root first, 0 at their end. */
static str_id text_domain(struct pipeline *p, const struct perf_sample *s, const u16 *codes,
			  enum perf_root root)
{
	bool dom0 = root == ROOT_COMM, idle = false;
	const u16 *code = codes;
	str_id named = 0;

	while (*code) {
		bool first = code == codes;
		const struct frame *f = &p->run->profile.frames.v[profile_code_frame(&code)];
		const char *name = strtab_get(&p->run->strings, f->function);

		idle |= f->space == SPACE_HV && !strcmp(name, "idle_loop");
		if (!(f->flags & FRAME_GROUP))
			continue;
		if (first && !s->comm && is_domain_name(name))
			named = f->function;
		dom0 = dom0 && f->function != p->guest && f->function != p->xen;
	}
	return domain_name(p, s, dom0, idle, named);
}

/* The comm, or what folded stacks have in its place. */
static str_id text_root(const struct pipeline *p, const struct perf_sample *s, const u16 *codes)
{
	if (s->comm || !*codes)
		return s->comm;
	return p->run->profile.frames.v[profile_code_frame(&codes)].function;
}

/* Puts the codes of frames, from chain[i - 1] on outwards, to *code, until one is not known to be a
 * single one with a single code; returns how many are left. */
static u32 known_codes(struct pipeline *p, const u32 *chain, u32 i, u16 **code, u32 *seen)
{
	const u32 *known = p->text_short.v, *c = chain + i;
	size_t n = p->text_short.n;
	u32 all = 0, k;
	u16 *to = *code;

	for (; c > chain && c[-1] < n; c--) {
		k = known[c[-1]];
		/* Nothing is 0. */
		if ((k & ((1u << TEXT_FRAME_BITS) - 1)) - 1 >= PROFILE_NARROW - 1)
			break;
		*to++ = (u16)k;
		all |= k;
	}
	*seen |= all >> TEXT_FRAME_BITS;
	*code = to;
	return (u32)(c - chain);
}

/* The stack that begins at `start`, with room there for two codes for each of its roots: these go
 * before the frames [inner, end). */
static void put_roots(struct pipeline *p, const frame_id *roots, u32 nr_roots, u16 *start,
		      const u16 *inner, const u16 *end)
{
	size_t n = (size_t)(end - inner), codes = 0;
	u32 i;

	for (i = 0; i < nr_roots; i++)
		codes += roots[i] + 1 < PROFILE_NARROW ? 1 : 2;
	if (UNLIKELY(start + codes != inner))
		memmove(start + codes, inner, n * sizeof(*inner));
	for (i = 0; i < nr_roots; i++)
		start = profile_put_code(start, roots[i]);
	profile_batch_end(&p->batch, start + n);
}

/* The chain waits as `chain` of p->chains. */
static struct chain_entry build_text(struct pipeline *p, const struct perf_sample *s, u32 chain,
				     u32 event)
{
	str_id domain = 0;
	struct chain_entry e = { .node = (u32)p->waiting.n, .flags = CHAIN_WAITING };
	/* Roots, each of which mostly has one code. */
	size_t above = p->groups + (s->comm != 0), n;
	enum perf_root root;
	const frame_id *roots;
	u32 hv = 0, seen = 0, i, k, nr_roots;
	bool after_broken = false;
	u16 *start, *code;

	start = profile_batch_room(&p->batch, 2 * (above + s->chain_nr));
	code = start + above;
	for (i = s->chain_nr; i > 0;) {
		struct text_known known;

		/* Nearly all. */
		k = i;
		i = known_codes(p, s->frames, i, &code, &seen);
		after_broken = after_broken && i == k;
		if (!i)
			break;
		known = text_frame(p, s->frames[--i]);
		seen |= known.what;
		if (known.what & TEXT_KNOWN_ONE) {
			code = profile_put_code(code, known.first);
			after_broken = false;
			continue;
		}
		n = (size_t)(code - start);
		start = profile_batch_room(&p->batch, n + 2 * (above + known.n + i));
		code = start + n;
		for (k = 0; k < known.n; k++) {
			frame_id id = p->text_frames.v[known.first + k];
			bool broken = p->have_broken && id == p->broken;

			if (broken)
				e.flags |= CHAIN_BROKEN;
			/* A run of them is one. */
			if (!(broken && after_broken))
				code = profile_put_code(code, id);
			after_broken = broken;
		}
	}
	*code = 0;
	for (i = 0; seen & TEXT_KNOWN_HV && i < s->chain_nr; i++)
		hv += text_what(p, s->frames[i]) & TEXT_KNOWN_HV;
	/* Folded stacks bring their roots along. */
	root = !s->comm || seen & TEXT_KNOWN_DOM0 || !(hv || seen & TEXT_KNOWN_GUEST) ? ROOT_COMM
	       : hv                                                                   ? ROOT_XEN
										      : ROOT_GUEST;
	if (root == ROOT_GUEST)
		e.flags |= CHAIN_GUEST;
	if (root == ROOT_GUEST || text_root(p, s, start + above) == p->guest)
		e.flags |= CHAIN_OF_GUEST;
	if (!s->chain_nr)
		e.flags |= CHAIN_EMPTY;
	if (hv)
		e.flags |= CHAIN_HV | (hv == 1 ? CHAIN_HV_DEPTH_1 : 0);
	if (groups_by_domain(p))
		domain = text_domain(p, s, start + above, root);
	roots = root_of(p, s, root, domain, &nr_roots);
	put_roots(p, roots, nr_roots, start, start + above, code);
	vec_push(&p->waiting, ((struct waiting){ .chain = chain, .event = event }));
	return e;
}

/* What was added so far counts in finer decimals from here on. */
static void refine_scale(struct run *r, u64 scale)
{
	u64 from = r->profile.weight_scale;
	size_t i;

	profile_set_scale(&r->profile, scale);
	for (i = 0; i < r->base.n; i++)
		r->base.v[i] = weight_rescale(r->base.v[i], scale, from);
}

/* ---- filters ---- */

/* "1,2-4" */
static int parse_list(struct u32_list *l, const char *what, const char *s, struct error *err)
{
	const char *p = s, *end;
	u64 from, to;

	l->all = !s;
	if (!s)
		return 0;
	end = s + strlen(s);
	do {
		if (parse_dec(&p, end, &from))
			goto bad;
		to = from;
		if (*p == '-') {
			p++;
			if (parse_dec(&p, end, &to))
				goto bad;
		}
		if (to < from || to > UINT32_MAX)
			goto bad;
		vec_push(&l->v, (u32)from);
		vec_push(&l->v, (u32)to);
	} while (*p == ',' && ++p);
	if (*p)
		goto bad;
	return 0;
bad:
	return error_set(err, "--%s=%s: expected numbers and ranges like 1,4-7", what, s);
}

int pipeline_check_list(const char *what, const char *s, struct error *err)
{
	struct u32_list l = { 0 };
	int ret = parse_list(&l, what, s, err);

	vec_release(&l.v);
	return ret;
}

static bool in_list(const struct u32_list *l, u32 v)
{
	size_t i;

	for (i = 0; i < l->v.n; i += 2)
		if (v >= l->v.v[i] && v <= l->v.v[i + 1])
			return true;
	return l->all;
}

/* A time, or a percentage when all are, at *s, behind a + where `since_start` may be. */
static int parse_time_end(const char **s, bool percent, bool *since_start, double *t)
{
	const char *p = *s;
	char *end;

	*since_start = !percent && *p == '+';
	p += *since_start;
	if (!isdigit((unsigned char)*p))
		return -1;
	*t = strtod(p, &end);
	*s = end + percent;
	return percent && *end != '%' ? -1 : 0;
}

/* "START,STOP" in seconds as perf script prints them, either may be missing, and counts from the
 * first sample behind a +; "10%-20%" of the whole. */
static int parse_time(struct time_filter *t, const char *s, struct error *err)
{
	const char *p = s;

	memset(t, 0, sizeof(*t));
	if (!s)
		return 0;
	t->set = true;
	t->to = 1e300;
	t->percent = strchr(s, '%') != NULL;
	if (*p != ',' && parse_time_end(&p, t->percent, &t->from_start, &t->from))
		goto bad;
	if (*p != (t->percent ? '-' : ','))
		goto bad;
	p++;
	if (*p && parse_time_end(&p, t->percent, &t->to_start, &t->to))
		goto bad;
	if (*p || (t->to < t->from && t->from_start == t->to_start))
		goto bad;
	return 0;
bad:
	return error_set(err,
			 "--time=%s: expected START,STOP in seconds, +START,+STOP in seconds after "
			 "the first sample, or 10%%-20%%",
			 s);
}

int pipeline_check_time(const char *s, struct error *err)
{
	struct time_filter t;

	return parse_time(&t, s, err);
}

static u64 seconds_to_ns(double s)
{
	s = s * 1e9 + 0.5;
	return s >= 1.8e19 ? UINT64_MAX : s < 0 ? 0 : (u64)s;
}

/* Whether a name is the whole of a list, or one of those between its commas; of paths, the part
 * behind the last slash counts. */
static bool in_names(const char *list, bool paths, const char *name)
{
	const char *p = list, *end, *slash;
	size_t n = strlen(name);

	if (!strcmp(paths ? path_base(list) : list, name))
		return true;
	for (;; p = end + 1) {
		end = p + strcspn(p, ",");
		slash = paths ? memrchr(p, '/', (size_t)(end - p)) : NULL;
		p = slash ? slash + 1 : p;
		if ((size_t)(end - p) == n && !memcmp(p, name, n))
			return true;
		if (!*end)
			return false;
	}
}

static void note_other_comm(struct pipeline *p, str_id comm)
{
	size_t i;

	for (i = 0; i < OTHER_COMMS && p->other_comms[i] != comm; i++)
		if (!p->other_comms[i]) {
			p->other_comms[i] = comm;
			break;
		}
}

static bool guest_wanted(const struct pipeline_opts *o, bool guest)
{
	return guest ? !o->only_host : !o->only_guest;
}

static bool wanted(struct pipeline *p, const struct perf_sample *s)
{
	const struct pipeline_opts *o = p->opts;
	bool guest = s->cpumode == CPUMODE_GUEST_KERNEL || s->cpumode == CPUMODE_GUEST_USER;

	if (o->comm && !in_names(o->comm, false, strtab_get(&p->run->strings, s->comm))) {
		note_other_comm(p, s->comm);
		return false;
	}
	if (!in_list(&p->pid, s->pid) || !in_list(&p->tid, s->tid) || !in_list(&p->cpu, s->cpu))
		return false;
	if (p->time.set &&
	    (s->time == PERF_NO_TIME || s->time < p->time.from_ns || s->time > p->time.to_ns))
		return false;
	/* Text tells it by the frames. */
	return s->text || guest_wanted(o, guest);
}

static bool module_wanted(const struct pipeline *p, node_id node)
{
	const struct profile *prof = &p->run->profile;
	const struct frame *f;

	if (!p->opts->dso || !node)
		return !p->opts->dso;
	f = &prof->frames.v[prof->nodes.v[node].frame];
	return in_names(p->opts->dso, true, strtab_get(&p->run->strings, f->module));
}

/* ---- items ---- */

static void check_period(struct pipeline *p, const struct perf_sample *s)
{
	const struct perf_meta *m = perf_meta(p->reader);
	u32 cpu = s->cpu == PERF_NO_CPU ? 0 : s->cpu + 1;
	u64 last;

	if (!p->opts->weight_period || s->time == PERF_NO_TIME || cpu > 65536)
		return;
	/* Only counters of cycles have a bound that holds everywhere: 10 GHz. */
	if (s->event >= m->events.n || strncmp(m->events.v[s->event].name, "cycles", 6) ||
	    (m->events.v[s->event].name[6] && m->events.v[s->event].name[6] != ':'))
		return;
	while (p->last_time.n <= cpu)
		vec_push(&p->last_time, PERF_NO_TIME);
	last = p->last_time.v[cpu];
	p->last_time.v[cpu] = s->time;
	if (last != PERF_NO_TIME && s->time > last && s->period / 10 > s->time - last)
		p->impossible_periods++;
}

static u32 event_of(struct pipeline *p, u32 event)
{
	struct run *r = p->run;

	while (p->events.n <= event) {
		str_id name = event_name(p, (u32)p->events.n);
		size_t i = 0, n = r->profile.events.n;

		while (n >= EVENTS_MAX && i < n && r->profile.events.v[i].name != name)
			i++;
		if (n >= EVENTS_MAX && i == n) {
			name = strtab_adds(&r->strings, "other events");
			diag_addf(
				&r->diag, DIAG_NOTE, 1,
				"only the first %d events are told apart, the rest is added up as "
				"'other events'",
				EVENTS_MAX);
		}
		vec_push(&p->events, profile_event(&r->profile, name));
	}
	return p->events.v[event];
}

static void count_told(struct pipeline *p, enum diag_kind kind, u64 n)
{
	p->told[kind] = add_saturated(p->told[kind], n);
}

/* Adds to a stack what came of it; `event` of the profile, `base` as the input has it. */
static void add_weight(struct pipeline *p, node_id node, u32 event, u64 samples, u64 weight,
		       u64 base)
{
	struct run *r = p->run;

	profile_add(&r->profile, event, node, samples, weight);
	if (base) {
		while (r->base.n <= node)
			vec_push(&r->base, 0);
		r->base.v[node] = add_saturated(
			r->base.v[node], weight_rescale(base, r->profile.weight_scale, p->scale));
		r->base_samples = add_saturated(r->base_samples, base);
	}
}

/* The samples of waiting chains, by frame. */
static void count_frames(struct pipeline *p)
{
	u64 samples = 0, most, *by_frame;
	const u16 *code;
	bool simple;
	frame_id f;
	size_t i;

	while (p->frame_samples.n < p->run->profile.frames.n)
		vec_push(&p->frame_samples, 0);
	by_frame = p->frame_samples.v;
	for (i = 0; i < p->waiting.n; i++)
		samples = add_saturated(samples, p->waiting.v[i].samples);
	/* As if they were all in each frame of each chain. */
	if (__builtin_mul_overflow(samples, (u64)p->batch.codes.n, &most))
		most = UINT64_MAX;
	p->frame_most = add_saturated(p->frame_most, most);
	simple = p->frame_most < UINT64_MAX && p->frame_samples.n < PROFILE_NARROW;
	for (i = 0; i < p->waiting.n; i++) {
		code = p->batch.codes.v + p->batch.stacks.v[i].at;
		samples = p->waiting.v[i].samples;
		if (simple)
			for (; *code; code++)
				by_frame[(size_t)*code - 1] += samples;
		while (*code) {
			f = profile_code_frame(&code);
			by_frame[f] = add_saturated(by_frame[f], samples);
		}
	}
}

/* The waiting chains go into the tree. */
static void place_waiting(struct pipeline *p)
{
	struct profile *prof = &p->run->profile;
	size_t i;

	count_frames(p);
	profile_batch_place(prof, &p->batch, p->seed, threads_for(p->opts->perf.threads));
	for (i = 0; i < p->waiting.n; i++) {
		const struct waiting *w = &p->waiting.v[i];
		node_id node = p->batch.stacks.v[i].node;

		add_weight(p, node, w->event, w->samples, w->weight,
			   i < p->waiting_base.n ? p->waiting_base.v[i] : 0);
		if (w->chain >= p->chains.n)
			continue;
		p->chains.v[w->chain].node = node;
		p->chains.v[w->chain].flags &= ~(u32)CHAIN_WAITING;
	}
	for (i = 0; i < p->unplaced.n; i++)
		prof->samples.v[p->unplaced.v[i].sample].node =
			p->batch.stacks.v[p->unplaced.v[i].waiting].node;
	for (i = 0; i < p->heavy.n; i++) {
		u32 k = p->heavy.v[i].waiting;

		profile_add_more(prof, p->waiting.v[k].event, p->batch.stacks.v[k].node,
				 p->heavy.v[i].weight);
	}
	profile_batch_clear(&p->batch);
	p->waiting.n = p->waiting_base.n = p->unplaced.n = p->heavy.n = 0;
}

/* Of one recording alone, nothing asks how many frames there are when all have a name. */
static bool any_unresolved(const struct profile *prof)
{
	size_t i;

	for (i = 0; i < prof->frames.n; i++)
		if (prof->frames.v[i].flags & FRAME_UNRESOLVED)
			return true;
	return false;
}

/* The same where they need not go into the tree; false: they have to. */
static bool keep_waiting(struct pipeline *p)
{
	struct profile *prof = &p->run->profile;
	u64 *weight, sum = 0, samples = 0;
	bool fit = p->waiting.n > 0;
	size_t i;

	if (!p->opts->walked || p->waiting_base.n || prof->keep_samples || p->heavy.n ||
	    !profile_is_empty(prof))
		return false;
	weight = xcalloc(p->waiting.n, sizeof(*weight));
	for (i = 0; fit && i < p->waiting.n; i++) {
		const struct waiting *w = &p->waiting.v[i];

		weight[i] = w->weight;
		samples = add_saturated(samples, w->samples);
		fit = w->event == p->waiting.v[0].event &&
		      !__builtin_add_overflow(sum, w->weight, &sum);
	}
	if (!fit) {
		free(weight);
		return false;
	}
	if (any_unresolved(prof))
		count_frames(p);
	profile_batch_keep(prof, &p->batch, p->waiting.v[0].event, samples, weight, p->seed,
			   threads_for(p->opts->perf.threads));
	return true;
}

static void count_flags(struct pipeline *p, u32 flags, u32 garbage, u64 n)
{
	if (flags & CHAIN_HV)
		p->hv_samples = add_saturated(p->hv_samples, n);
	if (flags & CHAIN_HV_DEPTH_1)
		p->hv_depth_1 = add_saturated(p->hv_depth_1, n);
	if (flags & CHAIN_IP_ZERO)
		count_told(p, flags & CHAIN_GUEST ? DIAG_IP_ZERO_GUEST : DIAG_IP_ZERO, n);
	if (flags & CHAIN_BROKEN)
		count_told(p, DIAG_BROKEN_STACK, n);
	if (flags & CHAIN_EMPTY)
		count_told(p, DIAG_NO_CHAIN, n);
	if (flags & CHAIN_GUEST && !(flags & CHAIN_IP_ZERO))
		count_told(p, DIAG_GUEST_SAMPLES, n);
	if (flags & CHAIN_TRUNCATED)
		count_told(p, DIAG_TRUNCATED_STACK, n);
	if (garbage)
		count_told(p, DIAG_GARBAGE_CONTEXT,
			   n > UINT64_MAX / garbage ? UINT64_MAX : garbage * n);
}

static void count_at_node(struct pipeline *p, node_id node, u64 n)
{
	while (p->node_samples.n <= node)
		vec_push(&p->node_samples, 0);
	p->node_samples.v[node] = add_saturated(p->node_samples.v[node], n);
}

/* What is kept of each sample, whatever its chain is. */
static void note_sample(struct pipeline *p, const struct perf_sample *s, u32 event, node_id node,
			u64 weight)
{
	if (p->run->profile.keep_samples)
		vec_push(&p->run->profile.samples,
			 ((struct profile_sample){ .time = s->time,
						   .weight = weight,
						   .node = node,
						   .event = event,
						   .cpu = s->cpu,
						   .pid = s->pid,
						   .tid = s->tid,
						   .machine = s->machine_pid }));
	if (s->cpu < 65536) {
		while (p->cpu_seen.n <= s->cpu)
			vec_push(&p->cpu_seen, 0);
		p->cpu_seen.v[s->cpu] = 1;
	}
	check_period(p, s);
	if (s->cut)
		count_told(p, DIAG_TRUNCATED_STACK, s->count);
}

static u64 weight_of(const struct pipeline *p, const struct perf_sample *s)
{
	u64 weight = p->opts->weight_period ? s->period : 1;

	return __builtin_mul_overflow(weight, s->count, &weight) ? UINT64_MAX : weight;
}

static u64 scaled(const struct pipeline *p, u64 weight)
{
	u64 to = p->run->profile.weight_scale;

	return p->scale == to ? weight : weight_rescale(weight, to, p->scale);
}

static void find_generations(struct pipeline *p, u32 pid)
{
	if (LIKELY(p->gen_valid && p->gen_pid == pid))
		return;
	p->gen_valid = true;
	p->gen_pid = pid;
	p->gen_user = sym_generation(p->sym, pid);
	p->gen_kernel = sym_generation(p->sym, SYM_KERNEL_PID);
}

static u64 head_of(struct pipeline *p, const struct perf_sample *s, u32 event)
{
	/* The pid is in the generation, and the ip counts where perf_chain_classify() looks at it.
	 */
	u64 words[8] = { p->gen_user,
			 p->gen_kernel,
			 (u64)s->comm << 8 | s->cpumode,
			 s->chain_nr && !space_is_hv_reserved(s->ip) ? 0 : s->ip,
			 0,
			 event,
			 (u64)s->machine_pid << 32,
			 0 };

	/* What no group asks for must not split chains. */
	if (p->opts->group[0]) {
		words[4] = (u64)s->pid << 32 | s->tid;
		words[5] |= (u64)s->cpu << 32;
		words[6] |= s->vcpu;
		words[7] = s->event;
	}
	if (memcmp(words, p->head_words, sizeof(words)) != 0) {
		memcpy(p->head_words, words, sizeof(words));
		p->head = hash_bytes(words, sizeof(words), p->seed);
	}
	return p->head;
}

/* Of a chain that was not seen before all but the leaf may be known. */
static void part_leaf(struct pending_chain *w)
{
	const struct perf_sample *s = w->sample;
	u32 at = 0;

	w->parted = true;
	w->has_leaf = perf_chain_leaf(s, &at, &w->leaf);
	if (!w->has_leaf)
		return;
	memcpy(w->outer, s->hash.rest, sizeof(w->outer));
	hash_extend(w->outer, at ? s->chain[0] : 0);
	hash_extend(w->outer, w->leaf.space);
	hash_extend(w->outer, w->head);
	w->outer[1] |= 1;
}

/* A pending sample's chain was not seen before. */
static struct known_chain learn_chain(struct pipeline *p, struct pending_chain *w)
{
	const struct perf_sample *s = w->sample;
	struct chain_slot *slot = NULL;
	struct known_chain k;
	struct chain_entry e;
	bool user;

	if (!w->parted)
		part_leaf(w);
	user = w->leaf.space == SPACE_USER;
	if (w->has_leaf) {
		slot = chain_table_find(&p->outer, w->outer);
		if (chain_slot_used(slot)) {
			k = get_known(p, slot);
			/* No other chain has this leaf there: an edge would not be used again. */
			k.node = resolve_addr(p, k.node, user ? s->pid : SYM_KERNEL_PID, &w->leaf,
					      user ? w->gen_user : w->gen_kernel);
			if (user && is_broken(p, k.node))
				k.flags |= CHAIN_BROKEN;
			return k;
		}
	}
	e = build_chain(p, s, w->gen_user, w->gen_kernel);
	if (w->has_leaf) {
		k = p->above;
		/* Of these the leaf, which is none of the hypervisor's, can be broken alone. */
		k.flags |= e.flags & ~(u32)CHAIN_BROKEN;
		k.garbage = p->chain.garbage;
		slot = chain_table_add(&p->outer, w->outer, false);
		keep_known(p, slot, &k);
	}
	return (struct known_chain){ .node = e.node,
				     .flags = e.flags,
				     .garbage = p->chain.garbage };
}

/* Counts the pending sample that came first. */
static void take_first_pending(struct pipeline *p)
{
	struct pending_chain *w = &p->pending[p->pending_first++ % PENDING];
	const struct perf_sample *s = w->sample;
	u64 weight = weight_of(p, s);
	struct chain_slot *slot;

	slot = chain_table_find(&p->whole, w->key);
	if (UNLIKELY(!chain_slot_used(slot))) {
		struct known_chain k = learn_chain(p, w);

		k.event = w->event;
		slot = chain_table_add(&p->whole, w->key, p->opts->weight_period);
		keep_known(p, slot, &k);
	}
	slot->samples = add_saturated(slot->samples, s->count);
	if (p->whole.weights) {
		u64 *sum = &p->whole.weights[slot - p->whole.slots];

		*sum = add_saturated(*sum, weight);
	}
	if (!p->opts->dso || module_wanted(p, get_known(p, slot).node))
		note_sample(p, s, w->event,
			    p->run->profile.keep_samples ? get_known(p, slot).node : 0,
			    scaled(p, weight));
}

static void take_pending(struct pipeline *p)
{
	while (p->pending_first < p->pending_end)
		take_first_pending(p);
}

/* Half way: a chain's slot has been fetched, and if it is a new one the next look-up begins. */
static void look_again(struct pipeline *p, struct pending_chain *w)
{
	if (w->parted || chain_slot_used(chain_table_find(&p->whole, w->key)))
		return;
	part_leaf(w);
	if (w->has_leaf)
		chain_table_prefetch(&p->outer, w->outer);
}

/*
 * A sample whose stack is its chain of addresses.  Where it is counted is rarely in the processor's
 * cache: while that is fetched the next samples are read, as far as this one's chain stays.
 */
static void take_chain(struct pipeline *p, const struct perf_sample *s, u32 event)
{
	u64 key[2] = { s->hash.whole[0], s->hash.whole[1] }, head = head_of(p, s, event);

	hash_extend(key, head);
	key[1] |= 1;
	chain_table_prefetch(&p->whole, key);
	if (p->pending_end - p->pending_first == PENDING) {
		look_again(p, &p->pending[(p->pending_first + PENDING / 2) % PENDING]);
		take_first_pending(p);
	}
	p->pending[p->pending_end++ % PENDING] =
		(struct pending_chain){ .event = event,
					.head = head,
					.gen_user = p->gen_user,
					.gen_kernel = p->gen_kernel,
					.key = { key[0], key[1] },
					.sample = s };
	if (!s->chain_stays)
		take_pending(p);
}

/* Puts what take_pending() has counted into the profile. */
static void settle_chains(struct pipeline *p)
{
	size_t i;

	for (i = 0; i < p->whole.size; i++) {
		const struct chain_slot *slot = &p->whole.slots[i];
		struct known_chain k;
		u64 weight;

		if (!chain_slot_used(slot))
			continue;
		k = get_known(p, slot);
		if (!module_wanted(p, k.node)) {
			p->filtered = add_saturated(p->filtered, slot->samples);
			continue;
		}
		weight = p->whole.weights ? p->whole.weights[i] : slot->samples;
		profile_add(&p->run->profile, k.event, k.node, slot->samples, scaled(p, weight));
		count_at_node(p, k.node, slot->samples);
		p->samples = add_saturated(p->samples, slot->samples);
		count_flags(p, k.flags, k.garbage, slot->samples);
	}
}

static u32 add_text(struct pipeline *p, const struct perf_sample *s, u32 event)
{
	u32 id = (u32)p->chains.n;
	struct chain_entry e = build_text(p, s, id, event);

	vec_push(&p->chains, e);
	/* The module of the innermost frame is looked for in the tree. */
	if (p->opts->dso)
		place_waiting(p);
	return id;
}

/* What later samples need is rarely in the processor's cache: it is fetched in two steps. */
static void look_ahead(struct pipeline *p, u32 soon)
{
	u32 *slot = &p->soon[p->soon_at++ % ARRAY_SIZE(p->soon)], near = *slot;

	if (near < p->chains.n && p->chains.v[near].flags & CHAIN_WAITING)
		__builtin_prefetch(&p->waiting.v[p->chains.v[near].node], 1);
	if (soon < p->chains.n)
		__builtin_prefetch(&p->chains.v[soon]);
	*slot = soon;
}

/* The same as scaled() of weight + *more, which is what is beyond 2^64 - 1 then. */
static u64 scaled_wide(const struct pipeline *p, u64 weight, u128 *more)
{
	u128 whole;

	/* Above 2^128 - 1 it is too much for the sum, too. */
	if (__builtin_mul_overflow(weight + *more, p->run->profile.weight_scale / p->scale,
				   &whole)) {
		*more = ~(u128)0;
		return UINT64_MAX;
	}
	weight = whole > UINT64_MAX ? UINT64_MAX : (u64)whole;
	*more = whole - weight;
	return weight;
}

static void add_more(struct pipeline *p, struct chain_entry e, u32 event, u128 weight)
{
	if (e.flags & CHAIN_WAITING)
		vec_push(&p->heavy, ((struct heavy){ weight, e.node }));
	else
		profile_add_more(&p->run->profile, event, e.node, weight);
}

/* The sample stays where it is until PENDING more are taken. */
static void take_sample(struct pipeline *p, const struct perf_sample *s)
{
	u128 more = p->more;
	u32 event, garbage = 0;
	struct chain_entry e;
	u64 weight;

	if (!wanted(p, s)) {
		take_pending(p);
		p->filtered = add_saturated(p->filtered, s->count);
		if (s->cpu == PERF_NO_CPU)
			p->without_cpu = add_saturated(p->without_cpu, s->count);
		return;
	}
	event = event_of(p, s->event);
	if (!s->text) {
		find_generations(p, s->pid);
		if (!s->user_abi && !s->lbr_nr) {
			take_chain(p, s, event);
			return;
		}
		take_pending(p);
	}
	if (p->batch.codes.n > WAITING_MAX || p->heavy.n >= HEAVY_MAX)
		place_waiting(p);
	if (!s->text) {
		e = build_chain(p, s, p->gen_user, p->gen_kernel);
		garbage = p->chain.garbage;
	} else if (s->stack_nr == PERF_NO_STACK && s->time == PERF_NO_TIME && !p->opts->dso) {
		/* Stacks with weights that are sums: none comes twice. */
		e = build_text(p, s, NO_CHAIN, event);
	} else if (s->stack_nr != PERF_NO_STACK) {
		/* Those between belong to samples that are not wanted. */
		while (p->chains.n < s->stack_nr)
			vec_push(&p->chains, ((struct chain_entry){ 0 }));
		if (p->chains.n == s->stack_nr)
			add_text(p, s, event);
		look_ahead(p, s->soon);
		e = p->chains.v[s->stack_nr];
	} else {
		u64 key[5] = { (u64)s->comm << 8 | s->cpumode, (u64)s->pid << 32 | s->tid,
			       (u64)s->cpu << 32 | s->event, (u64)s->machine_pid << 32 | s->vcpu,
			       event };
		u64 head, hash, check;
		u32 id;

		/* What no group asks for must not split chains. */
		if (!p->opts->group[0])
			key[1] = key[2] = key[3] = 0;
		head = hash_bytes(key, sizeof(key), p->seed);
		hash = hash_bytes_checked(s->frames, s->chain_nr * sizeof(*s->frames), head,
					  &check);
		id = index_find(&p->chain_index, hash, chain_eq, p, &check);
		if (id == INDEX_NONE) {
			id = add_text(p, s, event);
			while (p->checks.n < id)
				vec_push(&p->checks, 0);
			vec_push(&p->checks, check);
			index_add(&p->chain_index, hash, id);
		}
		e = p->chains.v[id];
	}
	if (!module_wanted(p, e.node) ||
	    (s->text && !guest_wanted(p->opts, e.flags & CHAIN_OF_GUEST))) {
		p->filtered = add_saturated(p->filtered, s->count);
		return;
	}

	weight = weight_of(p, s);
	if (UNLIKELY(more || p->scale != p->run->profile.weight_scale))
		weight = scaled_wide(p, weight, &more);
	if (e.flags & CHAIN_WAITING) {
		struct waiting *w = &p->waiting.v[e.node];

		w->samples = add_saturated(w->samples, s->count);
		if (UNLIKELY(__builtin_add_overflow(w->weight, weight, &w->weight)))
			vec_push(&p->heavy, ((struct heavy){ (u128)1 << 64, e.node }));
		if (s->base_count) {
			while (p->waiting_base.n <= e.node)
				vec_push(&p->waiting_base, 0);
			p->waiting_base.v[e.node] = add_saturated(p->waiting_base.v[e.node],
								  s->base_count);
		}
		if (p->run->profile.keep_samples)
			vec_push(&p->unplaced,
				 ((struct unplaced){ p->run->profile.samples.n, e.node }));
	} else {
		add_weight(p, e.node, event, s->count, weight, s->base_count);
		count_at_node(p, e.node, s->count);
	}
	if (UNLIKELY(more))
		add_more(p, e, event, more);
	p->samples = add_saturated(p->samples, s->count);
	note_sample(p, s, event, e.node, weight);
	if ((e.flags & ~(u32)CHAIN_WAITING) | garbage)
		count_flags(p, e.flags, garbage, s->count);
	if (e.flags & CHAIN_BROKEN && s->stack_size)
		p->broken_unwound = add_saturated(p->broken_unwound, s->count);
}

/* A sample that stands for more than 2^64 - 1. */
static void take_huge(struct pipeline *p, const struct perf_sample *s)
{
	struct perf_sample most = *s;

	p->more = ((u128)s->count_high << 64 | s->count) - UINT64_MAX;
	most.count = UINT64_MAX;
	most.count_high = 0;
	take_sample(p, &most);
	p->more = 0;
}

static void take_mmap(struct pipeline *p, const struct perf_mmap *m)
{
	struct sym_mapping map = { .pid = m->pid,
				   .space = SPACE_USER,
				   .addr = m->addr,
				   .len = m->len,
				   .pgoff = m->pgoff,
				   .maj = m->maj,
				   .min = m->min,
				   .ino = m->ino,
				   .filename = m->filename,
				   .build_id = m->build_id,
				   .build_id_len = m->build_id_len };

	switch (m->cpumode) {
	case CPUMODE_KERNEL:
		map.space = SPACE_KERNEL;
		map.pid = SYM_KERNEL_PID;
		break;
	case CPUMODE_HYPERVISOR:
		map.space = SPACE_HV;
		map.pid = SYM_KERNEL_PID;
		break;
	case CPUMODE_GUEST_KERNEL: map.space = SPACE_GUEST_KERNEL; break;
	case CPUMODE_GUEST_USER: map.space = SPACE_GUEST_USER; break;
	}
	sym_map(p->sym, &map);
}

static void take_item(struct pipeline *p, const struct perf_item *it)
{
	if (UNLIKELY(it->type != ITEM_SAMPLE)) {
		take_pending(p);
		p->gen_valid = false;
	}
	switch (it->type) {
	case ITEM_SAMPLE:
		if (UNLIKELY(it->sample.count_high && !perf_meta(p->reader)->two_columns))
			take_huge(p, &it->sample);
		else
			take_sample(p, &it->sample);
		break;
	case ITEM_MMAP: take_mmap(p, &it->mmap); break;
	case ITEM_FORK: sym_fork(p->sym, it->task.pid, it->task.ppid); break;
	case ITEM_EXEC: sym_exec(p->sym, it->task.pid); break;
	case ITEM_EXIT: sym_exit(p->sym, it->task.pid); break;
	case ITEM_KSYMBOL:
		sym_ksymbol(p->sym, it->ksymbol.addr, it->ksymbol.len, it->ksymbol.name,
			    it->ksymbol.unregister);
		break;
	}
}

/* ---- what is to be told when all is read ---- */

static double share(u64 part, u64 all)
{
	return all ? 100.0 * (double)part / (double)all : 0;
}

/* "busybox 8.1 %, libc.so.6 2 %, 3 more": the modules that cost most; `frames` by str_id,
 * overwritten.  Those that cost as much are in order of name: the order of the ids is that in
 * which threads met the names. */
static void add_worst_modules(struct buf *b, const struct strtab *t, u64 *frames, size_t n, u64 all)
{
	size_t i, best, shown = 0, more = 0;

	for (; shown < 3; shown++) {
		for (i = best = 0; i < n; i++)
			if (frames[i] > frames[best] ||
			    (frames[i] && frames[i] == frames[best] && i != best &&
			     strcmp(strtab_get(t, (str_id)i), strtab_get(t, (str_id)best)) < 0))
				best = i;
		if (!n || !frames[best])
			return;
		buf_printf(b, "%s%s ", shown ? ", " : "",
			   best ? strtab_get(t, (str_id)best) : "no module");
		buf_f(b, share(frames[best], all), 1);
		buf_puts(b, " %");
		frames[best] = 0;
	}
	for (i = 0; i < n; i++)
		more += frames[i] != 0;
	if (more)
		buf_printf(b, ", %zu more", more);
}

/* Frames of samples that have no name, by space and module. */
static void tell_unresolved(struct pipeline *p)
{
	static const enum diag_kind kinds[SPACE_NR] = {
		[SPACE_USER] = DIAG_UNRESOLVED_USER,
		[SPACE_KERNEL] = DIAG_UNRESOLVED_KERNEL,
		[SPACE_HV] = DIAG_UNRESOLVED_HV,
		[SPACE_GUEST_USER] = DIAG_UNRESOLVED_GUEST,
		[SPACE_GUEST_KERNEL] = DIAG_UNRESOLVED_GUEST,
		[SPACE_NONE] = DIAG_NOTE,
	};
	struct run *r = p->run;
	const struct profile *prof = &r->profile;
	u64 all[SPACE_NR] = { 0 }, unresolved[SPACE_NR] = { 0 };
	VEC(u64) by_module[SPACE_NR] = { { 0 } };
	struct buf b = BUF_INIT;
	u64 *total, *by_frame;
	size_t i;
	u32 s;

	/* In place: nobody asks for the leaves alone any more. */
	total = p->node_samples.v;
	while (p->frame_samples.n < prof->frames.n)
		vec_push(&p->frame_samples, 0);
	by_frame = p->frame_samples.v;
	for (i = p->node_samples.n; i-- > 1;) {
		const struct cct_node *n = &prof->nodes.v[i];

		total[n->parent] = add_saturated(total[n->parent], total[i]);
		by_frame[n->frame] = add_saturated(by_frame[n->frame], total[i]);
	}
	for (i = 0; i < prof->frames.n; i++) {
		const struct frame *f = &prof->frames.v[i];

		all[f->space] = add_saturated(all[f->space], by_frame[i]);
		if (!(f->flags & FRAME_UNRESOLVED))
			continue;
		unresolved[f->space] = add_saturated(unresolved[f->space], by_frame[i]);
		while (by_module[f->space].n <= f->module)
			vec_push(&by_module[f->space], 0);
		by_module[f->space].v[f->module] = add_saturated(by_module[f->space].v[f->module],
								 by_frame[i]);
	}
	for (s = 0; s < SPACE_NR; s++) {
		buf_clear(&b);
		r->quality_part[kinds[s]] = add_saturated(r->quality_part[kinds[s]], unresolved[s]);
		r->quality_whole[kinds[s]] = add_saturated(r->quality_whole[kinds[s]], all[s]);
		if (unresolved[s] && s != SPACE_NONE) {
			buf_f(&b, share(unresolved[s], all[s]), 1);
			buf_printf(&b, " %% of all %s frames: ", space_name(s));
			add_worst_modules(&b, &r->strings, by_module[s].v, by_module[s].n, all[s]);
			diag_add(&r->diag, kinds[s], unresolved[s], buf_str(&b));
		}
		vec_release(&by_module[s]);
	}
	buf_release(&b);
	vec_release(&p->node_samples);
	vec_release(&p->frame_samples);
}

static bool is_software_clock(const struct perf_event *e)
{
	/* linux/perf_event.h: PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, PERF_COUNT_SW_TASK_CLOCK
	 */
	return e->type == 1 && e->config <= 1;
}

/* What --fail-if asks for, of samples and of processors. */
static void add_quality(struct pipeline *p, u64 software, u64 unseen, u64 cpus)
{
	struct run *r = p->run;
	/* Of the recordings so far, less those before this one. */
	u64 lost = diag_count(&r->diag, DIAG_LOST) - r->quality_part[DIAG_LOST],
	    taken = add_saturated(p->samples, add_saturated(p->filtered, lost));
	size_t i;

	for (i = 0; i < DIAG_NR; i++) {
		u64 part = p->told[i], whole = p->samples;

		if (i == DIAG_UNRESOLVED_HV || i == DIAG_UNRESOLVED_KERNEL ||
		    i == DIAG_UNRESOLVED_USER || i == DIAG_UNRESOLVED_GUEST)
			continue;
		if (i == DIAG_HV_DEPTH_1)
			part = p->hv_depth_1;
		if (i == DIAG_HV_SOFTWARE_EVENT)
			part = software;
		if (i == DIAG_LOST) {
			part = lost;
			whole = taken;
		}
		if (i == DIAG_CPU_UNSEEN) {
			part = unseen;
			whole = cpus;
		}
		r->quality_part[i] = add_saturated(r->quality_part[i], part);
		r->quality_whole[i] = add_saturated(r->quality_whole[i], whole);
	}
}

static void tell_rest(struct pipeline *p)
{
	const struct perf_meta *m = perf_meta(p->reader);
	u64 software = 0, unseen = 0;
	struct run *r = p->run;
	size_t i, seen = 0;

	for (i = 0; i < DIAG_NR; i++)
		if (p->told[i] && i != DIAG_BROKEN_STACK)
			diag_add(&r->diag, (enum diag_kind)i, p->told[i], NULL);
	if (p->told[DIAG_BROKEN_STACK] > p->broken_unwound)
		diag_add(&r->diag, DIAG_BROKEN_STACK,
			 p->told[DIAG_BROKEN_STACK] - p->broken_unwound,
			 "code without frame pointers: record with --call-graph=dwarf");
	if (p->broken_unwound)
		diag_add(&r->diag, DIAG_BROKEN_STACK, p->broken_unwound,
			 "code made at run time, or a saved stack that does not fit its program");
	/* One frame is what a Xen without the patches gives; a few are ordinary. */
	if (p->hv_depth_1 > p->hv_samples / 2)
		diag_add(&r->diag, DIAG_HV_DEPTH_1, p->hv_depth_1, NULL);
	if (p->impossible_periods)
		diag_add(&r->diag, DIAG_IMPOSSIBLE_PERIOD, p->impossible_periods, NULL);
	for (i = 0; i < m->events.n; i++) {
		const struct perf_event *e = &m->events.v[i];

		/* perf kvm --host --guest leaves both exclude bits clear: somebody wanted the whole
		 * machine. */
		if (e->samples && is_software_clock(e) && !e->exclude_guest && !e->exclude_host &&
		    !p->hv_samples) {
			diag_add(&r->diag, DIAG_HV_SOFTWARE_EVENT, e->samples, e->name);
			software = add_saturated(software, e->samples);
		}
	}
	for (i = 0; i < p->cpu_seen.n; i++)
		seen += p->cpu_seen.v[i];
	if (p->hv_samples && m->nrcpus_avail > seen && seen && !p->opts->cpu) {
		unseen = m->nrcpus_avail - seen;
		diag_addf(&r->diag, DIAG_CPU_UNSEEN, unseen, "%zu of %u seen", seen,
			  m->nrcpus_avail);
	}
	add_quality(p, software, unseen, m->nrcpus_avail);
	tell_unresolved(p);
}

static const char *input_title(const struct pipeline *p)
{
	return strcmp(p->path, "-") ? p->path : "standard input";
}

/* The filters left nothing: what there would be. */
static int nothing_left(const struct pipeline *p, struct error *err)
{
	const struct perf_meta *m = perf_meta(p->reader);
	struct buf b = BUF_INIT;
	size_t i;

	buf_plural(&b, "{its only sample does not pass|none of its %n samples passes} the filters",
		   p->filtered, "");
	if (p->opts->cpu && p->without_cpu == p->filtered)
		buf_puts(&b, "; no CPU number in it (perf record --sample-cpu)");
	if (p->time.set && m->first_time == PERF_NO_TIME)
		buf_puts(&b, "; no times in it");
	else if (p->time.set)
		buf_printf(&b, "; its times are %.6f to %.6f", (double)m->first_time / 1e9,
			   (double)m->last_time / 1e9);
	for (i = 0; i < OTHER_COMMS && p->other_comms[i]; i++)
		buf_printf(&b, "%s'%s'", i ? ", " : "; commands in it: ",
			   strtab_get(&p->run->strings, p->other_comms[i]));
	if (i == OTHER_COMMS)
		buf_puts(&b, " and perhaps others");
	error_set(err, "'%s': %s", input_title(p), buf_str(&b));
	buf_release(&b);
	return -1;
}

/* Whether anything is left to be drawn. */
static int check_usable(const struct pipeline *p, struct error *err)
{
	struct buf why = BUF_INIT;

	if (!p->samples && p->filtered)
		return nothing_left(p, err);
	if (!p->samples)
		return error_set(err, "'%s': no samples", input_title(p));
	if (p->told[DIAG_IP_ZERO] + p->told[DIAG_IP_ZERO_GUEST] < p->samples)
		return 0;
	buf_plural(&why, "{the only sample is|all %n samples are} unusable", p->samples, "");
	error_set(err, "'%s': %s: instruction pointer 0 and no call chain", input_title(p),
		  buf_str(&why));
	buf_release(&why);
	return -1;
}

static void add_fact(struct run *r, const char *key, const char *value)
{
	if (value && *value)
		vec_push(&r->facts,
			 ((struct render_fact){
				 .key = key,
				 .value = arena_strndup(&r->facts_arena, value, strlen(value)) }));
}

static void add_rates(struct pipeline *p)
{
	const struct perf_meta *m = perf_meta(p->reader);
	struct run *r = p->run;
	size_t i;

	for (i = 0; i < m->events.n; i++) {
		const struct perf_event *e = &m->events.v[i];
		u64 hz = e->freq ? e->period : 0;

		/* The period of a software clock is in ns. */
		if (!e->freq && e->period && is_software_clock(e))
			hz = 1000000000 / e->period;
		if (e->samples && hz && e->type != UINT32_MAX)
			vec_push(&r->rates,
				 ((struct run_rate){ strtab_adds(&r->strings, e->name), hz }));
	}
	if (m->first_time != PERF_NO_TIME && m->last_time >= m->first_time) {
		r->first_time = MIN(r->first_time, m->first_time);
		r->last_time = r->last_time == UINT64_MAX ? m->last_time
							  : MAX(r->last_time, m->last_time);
	}
}

static void add_losses(struct pipeline *p)
{
	const struct perf_meta *m = perf_meta(p->reader);
	struct profile *pr = &p->run->profile;
	size_t i;

	for (i = 0; pr->keep_samples && i < m->losses.n; i++) {
		const struct perf_loss *l = &m->losses.v[i];

		if (!p->time.set || (l->time >= p->time.from_ns && l->time <= p->time.to_ns))
			vec_push(&pr->losses, ((struct profile_loss){ l->time, l->count, l->cpu,
								      l->throttled }));
	}
}

static void add_facts(struct pipeline *p)
{
	const struct perf_meta *m = perf_meta(p->reader);
	struct run *r = p->run;
	struct buf b = BUF_INIT;
	size_t i;

	add_fact(r, "recording", path_base(strcmp(p->path, "-") ? p->path : "standard input"));
	add_fact(r, "format", m->format);
	add_fact(r, "host", m->hostname);
	add_fact(r, "kernel", m->release);
	add_fact(r, "architecture", m->arch);
	add_fact(r, "processor", m->cpudesc);
	if (m->nrcpus_avail) {
		buf_u64(&b, m->nrcpus_avail);
		add_fact(r, "processors", buf_str(&b));
	}
	add_fact(r, "perf", m->version);
	add_fact(r, "command", m->cmdline);
	buf_clear(&b);
	for (i = 0; i < m->events.n; i++)
		if (m->events.v[i].samples) {
			buf_puts(&b, b.n ? ", " : "");
			buf_plural(&b, "%s (%n sample{|s})", m->events.v[i].samples,
				   m->events.v[i].name);
		}
	add_fact(r, "events", buf_str(&b));
	if (m->first_time != PERF_NO_TIME && m->last_time >= m->first_time) {
		buf_clear(&b);
		buf_f(&b, (double)(m->last_time - m->first_time) / 1e9, 3);
		buf_puts(&b, " s");
		add_fact(r, "time", buf_str(&b));
	}
	if (m->lost) {
		buf_clear(&b);
		buf_u64(&b, m->lost);
		add_fact(r, "lost samples", buf_str(&b));
	}
	buf_release(&b);
}

/* ---- one recording ---- */

/* --time=10%-20% and +1,+2 need the first and the last time before the first sample is taken. */
static int resolve_times(struct pipeline *p, struct error *err)
{
	struct perf_reader *r;
	struct perf_item it;
	struct diag scrap;
	u64 first, span;
	int rc;

	if (!strcmp(p->path, "-"))
		return error_set(err,
				 "--time in percent or after the first sample needs a file, not "
				 "standard input");
	diag_init(&scrap);
	r = perf_open(p->path, &p->opts->perf, &p->run->strings, &scrap, err);
	if (!r) {
		diag_release(&scrap);
		return -1;
	}
	while ((rc = perf_next(r, &it, err)) > 0)
		;
	first = perf_meta(r)->first_time;
	span = perf_meta(r)->last_time - first;
	perf_close(r);
	diag_release(&scrap);
	if (rc < 0)
		return -1;
	if (first == PERF_NO_TIME)
		return error_set(err, "'%s': --time: the samples have no time", p->path);
	if (p->time.from_start)
		p->time.from_ns = add_saturated(first, p->time.from_ns);
	if (p->time.to_start)
		p->time.to_ns = add_saturated(first, p->time.to_ns);
	if (!p->time.percent)
		return 0;
	p->time.from_ns = first + (u64)(p->time.from / 100 * (double)span);
	p->time.to_ns = p->time.to >= 100 ? UINT64_MAX
					  : first + (u64)(p->time.to / 100 * (double)span);
	return 0;
}

static char *dir_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return xstrdup(".");
	return slash == path ? xstrdup("/") : xstrndup(path, (size_t)(slash - path));
}

static void start_symbols(struct pipeline *p)
{
	const struct perf_meta *m = perf_meta(p->reader);
	struct sym_opts sym = p->opts->sym;
	const char *dirs[MAX_LIST + 2];
	char *dir = NULL;
	struct stat st;
	size_t i, n = 0;

	/* Symbol files beside the recording come first. */
	if (strcmp(p->path, "-"))
		dirs[n++] = dir = dir_of(p->path);
	/* When it was made decides whether what this machine holds for its present boot fits (of a
	 * pipe it is now). */
	if (!(dir ? stat(p->path, &st) : fstat(STDIN_FILENO, &st)))
		sym.mtime = st.st_mtime;
	for (i = 0; p->opts->sym.dirs && p->opts->sym.dirs[i] && n <= MAX_LIST; i++)
		dirs[n++] = p->opts->sym.dirs[i];
	dirs[n] = NULL;
	sym.dirs = dirs;
	sym.hostname = m->hostname;
	sym.release = m->release;
	p->sym = sym_new(&sym, &p->run->strings, &p->run->diag);
	free(dir);
}

static int read_recording(struct run *r, const char *path, const struct pipeline_opts *opts,
			  struct error *err)
{
	struct pipeline p = { .run = r, .opts = opts, .path = path };
	const struct perf_meta *m;
	struct perf_opts perf;
	struct perf_item items[PENDING + 1]; /* those before may still be pending */
	u64 done, total, n = 0;
	int rc = -1;

	perf_chain_init(&p.chain);
	if (getrandom(&p.seed, sizeof(p.seed), GRND_NONBLOCK) != sizeof(p.seed))
		p.seed = (uintptr_t)&p;
	p.seed |= 1;
	p.guest = strtab_adds(&r->strings, "[guest]");
	p.xen = strtab_adds(&r->strings, "[xen]");
	r->profile.by_line = opts->by_line;
	r->profile.keep_samples = opts->keep_samples;
	r->profile.groups = opts->group;
	while (opts->group[p.groups])
		p.groups++;

	if (parse_list(&p.pid, "pid", opts->pid, err) ||
	    parse_list(&p.tid, "tid", opts->tid, err) ||
	    parse_list(&p.cpu, "cpu", opts->cpu, err) || parse_time(&p.time, opts->time, err))
		goto out;
	if (p.time.set) {
		p.time.from_ns = seconds_to_ns(p.time.from);
		p.time.to_ns = seconds_to_ns(p.time.to);
		if ((p.time.percent || p.time.from_start || p.time.to_start) &&
		    resolve_times(&p, err))
			goto out;
	}

	perf = opts->perf;
	perf.seed = p.seed;
	/* A filter could leave out the sample that brings a stack. */
	perf.stacks_once = p.pid.all && p.tid.all && p.cpu.all && !p.time.set;
	perf.by_task = opts->group[0] != NULL;
	p.reader = perf_open(path, &perf, &r->strings, &r->diag, err);
	if (!p.reader)
		goto out;
	m = perf_meta(p.reader);
	/* Samples take about half a KiB, and a quarter of them are new. */
	perf_progress(p.reader, &done, &total);
	p.whole.expected = total / 2048;
	p.outer.expected = total / 4096;
	p.scale = (u64)m->weight_scale;
	if (p.scale > r->profile.weight_scale)
		refine_scale(r, p.scale);
	r->two_columns |= m->two_columns;

	progress_start(path_base(path));
	while ((rc = perf_next(p.reader, &items[n % ARRAY_SIZE(items)], err)) > 0) {
		/* A pipe tells the host and the kernel on the way to its first item. */
		if (!p.sym)
			start_symbols(&p);
		for (; p.build_ids < m->build_ids.n; p.build_ids++)
			sym_build_id(p.sym, m->build_ids.v[p.build_ids].filename,
				     m->build_ids.v[p.build_ids].id,
				     m->build_ids.v[p.build_ids].len);
		take_item(&p, &items[n % ARRAY_SIZE(items)]);
		if (!(++n & 0x3ff)) {
			perf_progress(p.reader, &done, &total);
			progress_update(done, total);
		}
	}
	progress_end();
	if (rc < 0)
		goto out;
	take_pending(&p);
	settle_chains(&p);
	/* Where they are nobody asks any more, and the tree needs the room. */
	vec_release(&p.chains);
	if (!keep_waiting(&p))
		place_waiting(&p);
	/* In a pipe they come behind the samples: what was found without them is checked at least.
	 */
	for (; p.sym && p.build_ids < m->build_ids.n; p.build_ids++)
		sym_build_id(p.sym, m->build_ids.v[p.build_ids].filename,
			     m->build_ids.v[p.build_ids].id, m->build_ids.v[p.build_ids].len);
	tell_rest(&p);
	r->annotated |= m->annotated;
	add_facts(&p);
	add_rates(&p);
	add_losses(&p);
	if (opts->inspect && p.sym)
		opts->inspect(opts->inspect_ctx, p.sym, m);
	rc = check_usable(&p, err);
out:
	perf_chain_release(&p.chain);
	index_release(&p.chain_index);
	index_release(&p.edge_index);
	index_release(&p.root_index);
	vec_release(&p.chains);
	vec_release(&p.checks);
	chain_table_release(&p.whole);
	chain_table_release(&p.outer);
	chain_table_release(&p.stems);
	vec_release(&p.known);
	vec_release(&p.frames);
	vec_release(&p.text_known);
	vec_release(&p.text_short);
	vec_release(&p.text_frames);
	profile_batch_release(&p.batch);
	vec_release(&p.waiting);
	vec_release(&p.waiting_base);
	vec_release(&p.unplaced);
	vec_release(&p.heavy);
	vec_release(&p.first_edges);
	vec_release(&p.edges);
	vec_release(&p.roots);
	vec_release(&p.root_frames);
	vec_release(&p.events);
	vec_release(&p.node_samples);
	vec_release(&p.frame_samples);
	vec_release(&p.last_time);
	vec_release(&p.cpu_seen);
	vec_release(&p.pid.v);
	vec_release(&p.tid.v);
	vec_release(&p.cpu.v);
	if (p.sym)
		sym_free(p.sym);
	if (p.reader)
		perf_close(p.reader);
	return rc;
}

int run_read(struct run *r, const char *path, const struct pipeline_opts *opts, struct error *err)
{
	struct pipeline_opts inside = *opts;
	char *dir, *recording;
	int ret;

	if (!strcmp(path, "-") || !bundle_is(path))
		return read_recording(r, path, opts, err);
	if (bundle_unpack(path, &dir, &recording, err))
		return -1;
	/* All that was there is in it; what this machine has is of another one. */
	inside.sym.offline_only = true;
	ret = read_recording(r, recording, &inside, err);
	/* That of `inside` ends here. */
	r->profile.groups = opts->group;
	temp_remove(dir);
	free(recording);
	free(dir);
	return ret;
}

void run_init(struct run *r)
{
	memset(r, 0, sizeof(*r));
	strtab_init(&r->strings);
	diag_init(&r->diag);
	profile_init(&r->profile, &r->strings);
	arena_init(&r->facts_arena);
	r->first_time = r->last_time = UINT64_MAX;
}

void run_release(struct run *r)
{
	profile_release(&r->profile);
	diag_release(&r->diag);
	strtab_release(&r->strings);
	arena_release(&r->facts_arena);
	vec_release(&r->facts);
	vec_release(&r->rates);
	vec_release(&r->base);
}

void run_base(struct run *r, struct profile *base)
{
	struct profile *p = &r->profile;
	VEC(node_id) nodes = { NULL, 0, 0 };
	size_t i;
	u32 event;

	profile_settle(p);
	profile_init(base, p->strings);
	base->by_line = p->by_line;
	base->unit = p->unit;
	base->weight_scale = p->weight_scale;
	vec_push(&nodes, 0);
	for (i = 1; i < p->nodes.n; i++) {
		const struct cct_node *n = &p->nodes.v[i];
		frame_id f = profile_frame(base, &p->frames.v[n->frame]);

		vec_push(&nodes, profile_child(base, nodes.v[n->parent], f));
	}
	for (i = 0; i < p->events.n; i++) {
		event = profile_event(base, p->events.v[i].name);
		/* Folded stacks have one event. */
		if (i)
			continue;
		profile_add(base, event, 0, r->base_samples, 0);
		for (size_t k = 0; k < r->base.n; k++)
			if (r->base.v[k])
				profile_add(base, event, nodes.v[k], 0, r->base.v[k]);
	}
	vec_release(&nodes);
}
