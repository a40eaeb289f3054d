/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Views: stacks are filtered and rewritten, then laid out as one sorted tree in preorder. */
#include <regex.h>

#include "profile/layout.h"

/* ---- the order of frames: by name bytes, then space, module, flags, line ---- */

/* Arguments of the comparison; qsort() has no place for them. */
static _Thread_local const struct profile *sort_profile;

static int cmp_str(const struct strtab *t, str_id a, str_id b)
{
	size_t na = strtab_len(t, a), nb = strtab_len(t, b);
	int c;

	if (a == b)
		return 0;
	c = memcmp(strtab_get(t, a), strtab_get(t, b), MIN(na, nb));
	return c ? c : (na > nb) - (na < nb);
}

int view_cmp_frames(const struct profile *p, frame_id ia, frame_id ib)
{
	const struct frame *a = &p->frames.v[ia], *b = &p->frames.v[ib];
	int c = cmp_str(p->strings, a->function, b->function);

	if (!c)
		c = (a->space > b->space) - (a->space < b->space);
	if (!c)
		c = cmp_str(p->strings, a->module, b->module);
	if (!c)
		c = (a->flags > b->flags) - (a->flags < b->flags);
	if (!c)
		c = cmp_str(p->strings, a->file, b->file);
	if (!c)
		c = (a->line > b->line) - (a->line < b->line);
	return c;
}

static int cmp_frame(const void *pa, const void *pb)
{
	return view_cmp_frames(sort_profile, *(const frame_id *)pa, *(const frame_id *)pb);
}

u32 *view_frame_ranks(const struct profile *p, u32 **frames)
{
	u32 *order = xcalloc(p->frames.n, sizeof(*order));
	u32 *rank = xcalloc(p->frames.n, sizeof(*rank));
	u32 i;

	for (i = 0; i < p->frames.n; i++)
		order[i] = i;
	sort_profile = p;
	if (p->frames.n)
		qsort(order, p->frames.n, sizeof(*order), cmp_frame);
	for (i = 0; i < p->frames.n; i++)
		rank[order[i]] = i;
	*frames = order;
	return rank;
}

/* ---- tree of calling contexts -> preorder ---- */

static bool bit(const u64 *bits, u32 i)
{
	return bits[i / 64] >> i % 64 & 1;
}

static void set_bit(u64 *bits, u32 i)
{
	bits[i / 64] |= 1ULL << i % 64;
}

/* The children of nodes with others than the first one, in order. Most nodes have one child and
 * need none of this. */
struct siblings {
	u64 *several; /* bits by node: its children are here */
	u32 *before;  /* by word of `several`: bits set in all before */
	u32 *start; /* by bit set: where in `child` its children start; one more than there are bits
		     */
	u32 *child;
};

static u32 family(const struct siblings *s, u32 node)
{
	u64 below = s->several[node / 64] & ((1ULL << node % 64) - 1);

	return s->before[node / 64] + (u32)__builtin_popcountll(below);
}

/* Two stable counting sorts: by the rank of the frame, then by parent. */
static void siblings_init(struct siblings *s, const struct profile *p, const struct contexts *t,
			  const u64 *kept, const u32 *rank)
{
	const struct cct_node *nodes = t->nodes;
	u32 *count, *by_rank, i, words = t->n / 64 + 1, families = 0, members = 0;

	s->several = xcalloc(words, sizeof(*s->several));
	s->before = xcalloc(words, sizeof(*s->before));
	for (i = 1; i < t->n; i++)
		if (nodes[nodes[i].parent].child != i && bit(kept, i))
			set_bit(s->several, nodes[i].parent);
	for (i = 0; i < words; i++) {
		s->before[i] = families;
		families += (u32)__builtin_popcountll(s->several[i]);
	}
	count = xcalloc(p->frames.n + 1, sizeof(*count));
	s->start = xcalloc((size_t)families + 2, sizeof(*s->start));
	for (i = 1; i < t->n; i++)
		if (bit(s->several, nodes[i].parent) && bit(kept, i)) {
			count[rank[nodes[i].frame] + 1]++;
			s->start[family(s, nodes[i].parent) + 2]++;
			members++;
		}
	for (i = 0; i < p->frames.n; i++)
		count[i + 1] += count[i];
	by_rank = xcalloc(members, sizeof(*by_rank));
	for (i = 1; i < t->n; i++)
		if (bit(s->several, nodes[i].parent) && bit(kept, i))
			by_rank[count[rank[nodes[i].frame]]++] = i;
	free(count);
	for (i = 0; i < families; i++)
		s->start[i + 2] += s->start[i + 1];
	s->child = xcalloc(members, sizeof(*s->child));
	for (i = 0; i < members; i++)
		s->child[s->start[family(s, nodes[by_rank[i]].parent) + 1]++] = by_rank[i];
	free(by_rank);
}

static void siblings_release(struct siblings *s)
{
	free(s->several);
	free(s->before);
	free(s->start);
	free(s->child);
}

static bool has_weight(const struct contexts *t, u32 i)
{
	return (i < t->self_n && t->self[i]) || (t->base && t->base[i]);
}

/* Bits of the contexts that have weight at or below them: parents have smaller ids than their
 * children. */
static u64 *kept_of(const struct contexts *t, u32 *n)
{
	u64 *kept = xcalloc(t->n / 64 + 1, sizeof(*kept));
	u32 i;

	*n = 1;
	for (i = t->n - 1; i > 0; i--)
		if (bit(kept, i) || has_weight(t, i)) {
			set_bit(kept, i);
			set_bit(kept, t->nodes[i].parent);
			++*n;
		}
	return kept;
}

/* Siblings that are still to come. */
struct pending {
	u32 next, end; /* in siblings.child */
	u32 depth;
};

/* The one after it is fetched meanwhile: siblings lie far apart, and all below the first comes
 * between. */
static u32 next_sibling(struct pending *f, const struct siblings *s, const struct contexts *t)
{
	u32 cur = s->child[f->next++];

	if (f->next < f->end) {
		u32 ahead = s->child[f->next];

		__builtin_prefetch(&t->nodes[ahead]);
		if (ahead < t->self_n)
			__builtin_prefetch(&t->self[ahead]);
	}
	return cur;
}

/* Whether contexts are in the order of views already and all have weight at or below them, as those
 * of a batch do. `rank`: NULL where the first is known. */
static bool in_order(const struct contexts *t, const u32 *rank)
{
	const struct cct_node *nodes = t->nodes;
	u32 i, before;

	for (i = 1; i < t->n; i++) {
		if (LIKELY(nodes[i].parent == i - 1))
			continue;
		if (!has_weight(t, i - 1))
			return false; /* a leaf without any */
		/* What ends here, up to the sibling before. */
		for (before = i - 1; rank && nodes[before].parent != nodes[i].parent;) {
			before = nodes[before].parent;
			if (!before)
				return false;
		}
		if (rank && rank[nodes[before].frame] >= rank[nodes[i].frame])
			return false;
	}
	return i == 1 || has_weight(t, i - 1);
}

/* A walk over contexts in the order of views. */
struct walk {
	struct contexts t;
	u32 n;          /* nodes of the view */
	u32 left;       /* of these, to be walked yet */
	u32 cur, depth; /* the last context, once it has started */
	bool straight;  /* contexts are in order */
	/* else: */
	u64 *kept;
	struct siblings siblings;
	VEC(struct pending) open;
};

static void walk_init(struct walk *w, const struct profile *p, const struct contexts *t)
{
	u32 *order = NULL, *rank = t->ordered ? NULL : view_frame_ranks(p, &order);

	memset(w, 0, sizeof(*w));
	w->t = *t;
	if (in_order(t, rank)) {
		w->straight = true;
		w->depth = UINT32_MAX; /* that of the root less 1 */
		w->n = t->n;
	} else {
		if (!rank)
			rank = view_frame_ranks(p, &order);
		w->kept = kept_of(t, &w->n);
		siblings_init(&w->siblings, p, t, w->kept, rank);
	}
	w->left = w->n;
	free(order);
	free(rank);
}

static void walk_release(struct walk *w)
{
	siblings_release(&w->siblings);
	vec_release(&w->open);
	free(w->kept);
}

static void next_straight(struct walk *w, struct view_step *s, u32 *at, u32 n)
{
	u32 first = w->n - w->left, last = w->cur, depth = w->depth, i;
	const struct cct_node *nodes = w->t.nodes, *node = nodes + first;
	const u64 *self = w->t.self;
	size_t self_n = w->t.self_n;

	for (i = first; i < first + n; i++, node++, s++) {
		for (; UNLIKELY(last != node->parent); last = nodes[last].parent)
			depth--;
		s->frame = node->frame;
		s->depth = ++depth;
		s->self = i < self_n ? self[i] : 0;
		last = i;
	}
	w->cur = last;
	w->depth = depth;
	for (i = 0; at && i < n; i++)
		at[i] = first + i;
}

static void step_sorted(struct walk *w)
{
	const struct siblings *s = &w->siblings;

	w->depth++;
	if (bit(s->several, w->cur)) {
		u32 k = family(s, w->cur);

		vec_push(&w->open, ((struct pending){ s->start[k], s->start[k + 1], w->depth }));
	} else {
		w->cur = w->t.nodes[w->cur].child;
		if (w->cur && bit(w->kept, w->cur))
			return;
		while (w->open.v[w->open.n - 1].next == w->open.v[w->open.n - 1].end)
			w->open.n--;
		w->depth = w->open.v[w->open.n - 1].depth;
	}
	w->cur = next_sibling(&w->open.v[w->open.n - 1], s, &w->t);
}

static void next_sorted(struct walk *w, struct view_step *s, u32 *at, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++) {
		if (i || w->left < w->n)
			step_sorted(w);
		s[i].frame = w->t.nodes[w->cur].frame;
		s[i].depth = w->depth;
		s[i].self = w->cur < w->t.self_n ? w->t.self[w->cur] : 0;
		if (at)
			at[i] = w->cur;
	}
}

/* The next nodes, at most n of them; at[]: gets their contexts, or NULL. 0: there are no more. */
static u32 walk_next(struct walk *w, struct view_step *s, u32 *at, u32 n)
{
	n = MIN(n, w->left);
	if (w->straight)
		next_straight(w, s, at, n);
	else
		next_sorted(w, s, at, n);
	w->left -= n;
	return n;
}

/* Room for n nodes.  Nodes twice as large are made out of the walked ones from the first one on: at
 * the end of the room none is overtaken. */
static struct view_step *walked_room(struct view *v, u32 n)
{
	v->nodes.v = xreallocarray(v->nodes.v, n, sizeof(*v->nodes.v));
	v->nodes.n = v->nodes.cap = n;
	return (struct view_step *)v->nodes.v + n;
}

static void store(struct view *v, struct walk *w, u32 *place)
{
	struct view_step *to = walked_room(v, w->n);
	u32 at[256], done, n, i;

	if (w->t.base) {
		vec_reserve(&v->base, w->n);
		v->base.n = w->n;
	}
	if (place)
		memset(place, 0xff, w->t.n * sizeof(*place));
	for (done = 0; (n = walk_next(w, to + done, at, ARRAY_SIZE(at))); done += n) {
		for (i = 0; i < n; i++)
			v->max_depth = MAX(v->max_depth, to[done + i].depth);
		for (i = 0; w->t.base && i < n; i++)
			v->base.v[done + i].self = w->t.base[at[i]];
		for (i = 0; place && i < n; i++)
			place[at[i]] = done + i;
	}
}

void view_store(struct view *v, const struct profile *p, const struct contexts *t, u32 *place)
{
	struct walk w;

	walk_init(&w, p, t);
	store(v, &w, place);
	walk_release(&w);
}

void view_finish(struct view *v)
{
	u32 n = (u32)v->nodes.n, *path = xcalloc((size_t)v->max_depth + 1, sizeof(*path)), i,
	    depth = 0;
	const struct view_step *w = (const struct view_step *)v->nodes.v + n;
	struct view_node *nodes = v->nodes.v;

	for (i = 0; i <= n; i++) {
		struct view_step x = { 0, 0, 0 };

		/* The bytes: they become those of other types. */
		if (i < n)
			memcpy(&x, w + i, sizeof(x));
		/* What is no deeper ends all that is open down to its depth. */
		for (; i && depth + 1 > x.depth; depth--) {
			struct view_node *done = &nodes[path[depth]];

			done->end = i;
			if (!depth)
				break;
			nodes[done->parent].total = add_saturated(nodes[done->parent].total,
								  done->total);
		}
		if (i == n)
			break;
		nodes[i] = (struct view_node){
			.frame = x.frame,
			.depth = x.depth,
			.parent = x.depth ? path[x.depth - 1] : 0,
			.self = x.self,
			.total = x.self,
		};
		path[depth = x.depth] = i;
	}
	free(path);
	for (i = 0; i < v->base.n; i++)
		v->base.v[i].total = v->base.v[i].self;
	for (i = (u32)v->base.n; i-- > 1;)
		v->base.v[nodes[i].parent].total = add_saturated(v->base.v[nodes[i].parent].total,
								 v->base.v[i].total);
}

/* ---- filters ---- */

struct name_filter {
	regex_t re;
	bool set;
	u8 *match; /* by frame: 0 not known, 1 no, 2 yes */
	size_t n;
};

static int compile(regex_t *to, const char *what, const char *re, struct error *err)
{
	char why[200];
	int rc = regcomp(to, re, REG_EXTENDED | REG_NOSUB);

	if (!rc)
		return 0;
	regerror(rc, to, why, sizeof(why));
	return error_set(err, "--%s: '%s' is no regular expression: %s", what, re, why);
}

int view_check_regex(const char *what, const char *re, struct error *err)
{
	regex_t compiled;

	if (compile(&compiled, what, re, err))
		return -1;
	regfree(&compiled);
	return 0;
}

static int filter_init(struct name_filter *f, const char *what, const char *re, size_t nframes,
		       struct error *err)
{
	memset(f, 0, sizeof(*f));
	if (!re)
		return 0;
	if (compile(&f->re, what, re, err))
		return -1;
	f->set = true;
	f->n = nframes;
	f->match = xcalloc(nframes, 1);
	return 0;
}

static void filter_release(struct name_filter *f)
{
	if (f->set)
		regfree(&f->re);
	free(f->match);
}

static bool filter_match(struct name_filter *f, const struct profile *p, frame_id id,
			 struct buf *tmp)
{
	if (id >= f->n)
		return false;
	if (!f->match[id]) {
		buf_clear(tmp);
		profile_frame_name(p, id, false, tmp);
		f->match[id] = regexec(&f->re, buf_str(tmp), 0, NULL, 0) ? 1 : 2;
	}
	return f->match[id] == 2;
}

/*
 * Where a processor waits for work, as Linux, Xen and dom0's hypercall stubs name it.  A stack is
 * idle when its innermost function, hypercall stubs left aside, is one of these.
 */
static bool is_idle_name(const char *name)
{
	static const char *const names[] = {
		/* Xen */
		"default_idle",
		"acpi_idle_do_entry",
		"mwait_idle",
		"mwait_idle_with_hints",
		"acpi_processor_idle",
		"spec_ctrl_enter_idle",
		"spec_ctrl_exit_idle",
		"idle_loop",
		"pv_shim_idle",
		/* Linux */
		"native_safe_halt",
		"pv_native_safe_halt",
		"xen_safe_halt",
		"arch_cpu_idle",
		"intel_idle",
		"intel_idle_irq",
		"intel_idle_ibrs",
		"acpi_idle_enter",
		"acpi_safe_halt",
		"mwait_idle_with_hints_irqoff",
		"acpi_processor_ffh_cstate_enter",
		"cpuidle_enter_state",
		"poll_idle",
		"default_idle_call",
		"do_idle",
		"cpu_idle_poll",
		"cpu_startup_entry",
		/* guests: FreeBSD, NetBSD, OpenBSD, illumos */
		"acpi_cpu_c1",
		"acpi_cpu_idle",
		"cpu_idle_acpi",
		"cpu_idle_mwait",
		"sched_idletd",
		"x86_cpu_idle_halt",
		"x86_stihlt",
		"cpu_idle_cycle",
		"cpu_idle",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/* 1: waits for work, 0: works, -1: the next outer frame tells. */
static int idle_frame(const struct profile *p, frame_id id)
{
	const struct frame *f = &p->frames.v[id];
	const char *name = strtab_get(p->strings, f->function);

	if (f->space != SPACE_HV && f->space != SPACE_KERNEL && f->space != SPACE_GUEST_KERNEL)
		return 0;
	if (is_idle_name(name))
		return 1;
	return f->flags & FRAME_INLINED || entry_is_stub(name) ? -1 : 0;
}

bool view_path_is_idle(const struct profile *p, const frame_id *path, size_t n)
{
	int idle = -1;

	while (n && idle < 0)
		idle = idle_frame(p, path[--n]);
	return idle == 1;
}

bool view_is_idle(const struct view *v, u32 node)
{
	int idle = -1;

	for (; node && idle < 0; node = v->nodes.v[node].parent)
		idle = idle_frame(v->profile, v->nodes.v[node].frame);
	return idle == 1;
}

static bool needs_rewrite(const struct view_opts *o)
{
	return o->event < 0 || o->invert || o->collapse_recursion || o->no_idle || o->only ||
	       o->hide || o->focus || o->prune || o->by_module || o->by_entry;
}

static frame_id group_frame(struct profile *p, str_id name, u8 space)
{
	return profile_frame(
		p, &(struct frame){ .function = name, .space = space, .flags = FRAME_GROUP });
}

/* All that a module holds is one function of its name. */
static frame_id module_frame(struct profile *p, const struct frame *f)
{
	return profile_frame(
		p,
		&(struct frame){ .function = f->module, .module = f->module, .space = f->space });
}

struct view_walk {
	struct walk walk;
	struct late_walk late; /* of a profile whose stacks are not in the tree, else all zero */
	const struct profile *profile;
	u32 at[256]; /* contexts of the last nodes, for their weights beyond 2^64 - 1 */
	/* Rewritten stacks: */
	struct profile tree; /* nodes alone are used, with frame ids of `profile` */
	VEC(u64) self;
	struct profile_over over;
};

struct rewrite {
	struct profile *p;
	const struct view_opts *o;
	struct name_filter only, hide, focus, prune;
	VEC(frame_id) path; /* root first */
	struct view_walk *to;
	struct view *v; /* gets left_out and, in nodes of to->tree, its place; or NULL */
	struct buf tmp;
};

/* Applies the options to rw->path; false: the stack is left out. */
static bool rewrite_path(struct rewrite *rw)
{
	const struct view_opts *o = rw->o;
	size_t n = rw->path.n, i, k;
	frame_id *path = rw->path.v;
	struct entry entry;
	bool found;

	if (o->by_entry && !entry_of_path(rw->p, path, n, &entry))
		return false;
	if (o->no_idle && view_path_is_idle(rw->p, path, n))
		return false;
	if (o->only) {
		for (i = 0, found = false; i < n && !found; i++)
			found = filter_match(&rw->only, rw->p, path[i], &rw->tmp);
		if (!found)
			return false;
	}
	if (o->hide)
		for (i = 0; i < n; i++)
			if (filter_match(&rw->hide, rw->p, path[i], &rw->tmp))
				return false;
	if (o->focus) {
		for (i = 0; i < n && !filter_match(&rw->focus, rw->p, path[i], &rw->tmp); i++)
			;
		if (i == n)
			return false;
		n -= i;
		memmove(path, path + i, n * sizeof(*path));
	}
	if (o->prune)
		for (i = 0; i < n; i++)
			if (filter_match(&rw->prune, rw->p, path[i], &rw->tmp))
				n = i + 1;
	if (o->by_module)
		for (i = 0; i < n; i++) {
			const struct frame *f = &rw->p->frames.v[path[i]];

			if (!(f->flags & FRAME_GROUP) && f->module)
				path[i] = module_frame(rw->p, f);
		}
	if (o->collapse_recursion || o->by_module) {
		for (i = k = 0; i < n; i++)
			if (!k || path[k - 1] != path[i])
				path[k++] = path[i];
		n = k;
	}
	if (o->invert)
		for (i = 0; i < n / 2; i++) {
			frame_id f = path[i];

			path[i] = path[n - 1 - i];
			path[n - 1 - i] = f;
		}
	rw->path.n = n;
	if (o->by_entry) {
		str_id kind = strtab_adds(rw->p->strings, entry_kind_name(entry.kind));

		vec_push(&rw->path, 0);
		vec_push(&rw->path, 0);
		path = rw->path.v;
		memmove(path + 2, path, n * sizeof(*path));
		path[0] = group_frame(rw->p, kind, SPACE_NONE);
		path[1] = group_frame(rw->p, entry.name, SPACE_NONE);
	}
	return true;
}

static void rewrite_event(struct rewrite *rw, u32 event, bool named)
{
	const struct profile_event *e = &rw->p->events.v[event];
	struct view_walk *to = rw->to;
	struct view *v = rw->v;
	node_id node, cur;
	size_t i, k;

	for (node = 0; node < e->self.n; node++) {
		if (!e->self.v[node])
			continue;
		rw->path.n = 0;
		for (cur = node; cur; cur = rw->p->nodes.v[cur].parent)
			vec_push(&rw->path, rw->p->nodes.v[cur].frame);
		for (i = 0, k = rw->path.n; i + 1 < k; i++, k--) {
			frame_id f = rw->path.v[i];

			rw->path.v[i] = rw->path.v[k - 1];
			rw->path.v[k - 1] = f;
		}
		if (!rewrite_path(rw)) {
			if (v)
				v->left_out = add_saturated(v->left_out, e->self.v[node]);
			continue;
		}
		cur = 0;
		if (named)
			cur = profile_child(&to->tree, 0, group_frame(rw->p, e->name, SPACE_NONE));
		for (i = 0; i < rw->path.n; i++)
			cur = profile_child(&to->tree, cur, rw->path.v[i]);
		while (to->self.n <= cur)
			vec_push(&to->self, 0);
		profile_over_add(&to->over, cur, &to->self.v[cur],
				 profile_over_whole(&e->over, node, e->self.v[node]));
		if (v && v->place.n)
			v->place.v[(named ? event * rw->p->nodes.n : 0) + node] = cur;
	}
}

/* Room for view_place(): a slot a node of the profile, for one event or for each. */
static void place_init(struct view *v, const struct profile *p, size_t events)
{
	size_t n = p->nodes.n * events;

	if (!p->keep_samples || !n)
		return;
	vec_reserve(&v->place, n);
	memset(v->place.v, 0xff, n * sizeof(*v->place.v));
	v->place.n = n;
}

static int rewrite(struct view_walk *w, struct view *v, struct profile *p,
		   const struct view_opts *o, struct error *err)
{
	struct rewrite rw = { .p = p, .o = o, .to = w, .v = v, .tmp = BUF_INIT };
	int ret = -1;
	u32 i;

	/* Frames that are added while rewriting are groups: no filter looks at them. */
	if (filter_init(&rw.only, "only", o->only, p->frames.n, err) ||
	    filter_init(&rw.hide, "hide", o->hide, p->frames.n, err) ||
	    filter_init(&rw.focus, "focus", o->focus, p->frames.n, err) ||
	    filter_init(&rw.prune, "prune", o->prune, p->frames.n, err))
		goto out;
	if (v)
		place_init(v, p, o->event >= 0 ? 1 : p->events.n);
	if (o->event >= 0)
		rewrite_event(&rw, (u32)o->event, false);
	else
		for (i = 0; i < p->events.n; i++)
			rewrite_event(&rw, i, true);
	if (o->last && !p->keep_samples)
		profile_drop_contexts(p);
	ret = 0;
out:
	filter_release(&rw.only);
	filter_release(&rw.hide);
	filter_release(&rw.focus);
	filter_release(&rw.prune);
	vec_release(&rw.path);
	buf_release(&rw.tmp);
	return ret;
}

static void walk_end(struct view_walk *w)
{
	walk_release(&w->walk);
	profile_release(&w->tree);
	vec_release(&w->self);
	profile_over_release(&w->over);
}

/* Whether a walk needs no tree. */
static bool walks_late(const struct profile *p, const struct view_opts *o)
{
	const struct profile_event *e;

	if (!p->late || needs_rewrite(o) || (u32)o->event != p->late->event)
		return false;
	/* What was added afterwards would have to go between. */
	e = &p->events.v[o->event];
	return p->nodes.n == 1 && !e->self.n;
}

/* `v`: as in struct rewrite. */
static int walk_start(struct view_walk *w, struct view *v, struct profile *p,
		      const struct view_opts *o, struct error *err)
{
	/* While nothing was added yet: an empty picture. */
	bool any = o->event < 0 || (size_t)o->event < p->events.n;
	struct contexts t;

	memset(w, 0, sizeof(*w));
	w->profile = p;
	profile_init(&w->tree, p->strings);
	if (!v && walks_late(p, o)) {
		late_walk_init(&w->late, p->late);
		return 0;
	}
	profile_settle(p);
	if (any && !needs_rewrite(o)) {
		const struct profile_event *e = &p->events.v[o->event];

		t = (struct contexts){ .nodes = p->nodes.v,
				       .n = (u32)p->nodes.n,
				       .self = e->self.v,
				       .self_n = e->self.n,
				       .over = &e->over,
				       .ordered = p->ordered == p->nodes.n };
	} else {
		if (any && rewrite(w, v, p, o, err)) {
			walk_end(w);
			return -1;
		}
		t = (struct contexts){ .nodes = w->tree.nodes.v,
				       .n = (u32)w->tree.nodes.n,
				       .self = w->self.v,
				       .self_n = w->self.n,
				       .over = &w->over };
	}
	walk_init(&w->walk, p, &t);
	return 0;
}

struct view_walk *view_walk_new(struct profile *p, const struct view_opts *o, struct error *err)
{
	struct view_walk *w = xcalloc(1, sizeof(*w));

	if (!walk_start(w, NULL, p, o, err))
		return w;
	free(w);
	return NULL;
}

void view_walk_free(struct view_walk *w)
{
	if (!w)
		return;
	walk_end(w);
	free(w);
}

bool view_walk_empty(const struct view_walk *w)
{
	if (w->late.l)
		return w->late.empty;
	return w->walk.n == 1 && !has_weight(&w->walk.t, 0);
}

u64 view_walk_full(const struct view_walk *w)
{
	return w->late.l ? 0 : profile_over_full(w->walk.t.over);
}

u32 view_walk_next(struct view_walk *w, struct view_step *s, u32 n)
{
	bool over;

	if (w->late.l)
		return late_walk_next(&w->late, s, n);
	over = w->walk.t.over->v.n > 0;
	return walk_next(&w->walk, s, over ? w->at : NULL, MIN(n, (u32)ARRAY_SIZE(w->at)));
}

u128 view_walk_whole(const struct view_walk *w, const struct view_step *s, u32 i)
{
	const struct profile_over *over = w->walk.t.over;

	return over && over->v.n ? profile_over_whole(over, w->at[i], s[i].self) : s[i].self;
}

int view_build(struct view *v, struct profile *p, const struct view_opts *o, struct error *err)
{
	u32 *place = NULL;
	struct view_walk w;
	bool rewritten;
	size_t i;

	memset(v, 0, sizeof(*v));
	v->profile = p;
	v->event = o->event;
	if (walk_start(&w, v, p, o, err))
		return -1;
	rewritten = w.walk.t.nodes == w.tree.nodes.v;
	if (!rewritten)
		place_init(v, p, 1);
	if (v->place.n)
		place = rewritten ? xcalloc(w.tree.nodes.n, sizeof(*place)) : v->place.v;
	store(v, &w.walk, place);
	walk_end(&w);
	if (o->last && !p->keep_samples)
		profile_drop_contexts(p);
	view_finish(v);
	if (rewritten && place) {
		for (i = 0; i < v->place.n; i++)
			if (v->place.v[i] != UINT32_MAX)
				v->place.v[i] = place[v->place.v[i]];
		free(place);
	}
	return 0;
}

void view_release(struct view *v)
{
	vec_release(&v->nodes);
	vec_release(&v->base);
	vec_release(&v->place);
	view_diff_free(v->diff);
	v->diff = NULL;
}

u32 view_place(const struct view *v, u32 event, node_id node)
{
	size_t slot = node;

	if (v->event >= 0 && event != (u32)v->event)
		return UINT32_MAX;
	if (v->event < 0)
		slot += event * v->profile->nodes.n;
	return node < v->profile->nodes.n && slot < v->place.n ? v->place.v[slot] : UINT32_MAX;
}

void view_weight_by_space(const struct view *v, u64 by_space[SPACE_NR])
{
	size_t i;

	memset(by_space, 0, SPACE_NR * sizeof(*by_space));
	for (i = 0; i < v->nodes.n; i++) {
		u8 space = i ? v->profile->frames.v[v->nodes.v[i].frame].space : SPACE_NONE;

		by_space[space] = add_saturated(by_space[space], v->nodes.v[i].self);
	}
}
