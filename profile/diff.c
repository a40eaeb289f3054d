/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Comparisons: two profiles become one view, with the differences' noise. */
#include <math.h>

#include "profile/layout.h"
#include "profile/noise.h"

/* ---- which frames are the same ---- */

struct match_key {
	u8 space;
	bool group;
	str_id module, function, file;
	u32 line;
};

struct matcher {
	struct profile *into;
	bool by_name; /* a recording knows no modules and so no kernel: names and the hypervisor
			 alone tell functions apart */
	VEC(struct match_key) keys;
	VEC(frame_id) frames; /* that stand for each key */
	struct index index;
};

static bool key_eq(const void *ctx, u32 id, const void *key)
{
	const struct match_key *a = &((const struct matcher *)ctx)->keys.v[id], *b = key;

	return a->space == b->space && a->group == b->group && a->module == b->module &&
	       a->function == b->function && a->file == b->file && a->line == b->line;
}

static bool has_prefix(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

/*
 * A module's name without what differs between builds: "libc-2.31.so" and "libc.so.6" are libc.so,
 * kernel modules come as "[xen_netback]" and "xen-netback.ko.xz"; there is one hypervisor, and one
 * kernel whatever its file is called.
 */
static str_id match_module(struct strtab *t, const struct frame *f, const char *name)
{
	struct buf b = BUF_INIT;
	const char *end;
	str_id id;
	size_t i;

	if (f->flags & FRAME_GROUP || f->space == SPACE_HV)
		return 0;
	if (f->space == SPACE_KERNEL || f->space == SPACE_GUEST_KERNEL) {
		if (has_prefix(name, "vmlinu") || has_prefix(name, "[kernel") ||
		    has_prefix(name, "[guest.kernel"))
			return 0;
		end = strstr(name, ".ko");
		if (!end)
			end = name + strlen(name);
		if (*name == '[')
			name++;
		if (end > name && end[-1] == ']')
			end--;
		buf_put(&b, name, (size_t)(end - name));
		for (i = 0; i < b.n; i++)
			if (b.p[i] == '-')
				b.p[i] = '_';
	} else {
		end = strstr(name, ".so");
		if (!end || (end[3] && end[3] != '.' && end[3] != ' ')) {
			end = strstr(name, " (deleted)");
			buf_put(&b, name, end ? (size_t)(end - name) : strlen(name));
		} else {
			while (end > name && memchr("0123456789.-", end[-1], 12))
				end--;
			buf_put(&b, name, (size_t)(end - name));
			buf_puts(&b, ".so");
		}
	}
	id = strtab_add(t, b.p ? b.p : "", b.n);
	buf_release(&b);
	return id;
}

static str_id translate(struct profile *into, const struct profile *from, str_id id)
{
	if (into->strings == from->strings)
		return id;
	return strtab_add(into->strings, strtab_get(from->strings, id),
			  strtab_len(from->strings, id));
}

/* Whether no frame but those of the hypervisor, which are known by their mark, has a module: folded
 * stacks. */
static bool knows_no_modules(const struct profile *p)
{
	bool any = false;
	size_t i;

	for (i = 0; i < p->frames.n; i++) {
		const struct frame *f = &p->frames.v[i];

		if (f->flags & FRAME_GROUP || f->space == SPACE_HV)
			continue;
		if (f->module)
			return false;
		any = true;
	}
	return any;
}

/* "[libc.so.6+0x2724a]": the length of the module's name, 0 when it is none such.  Text tells what
 * has no symbol by nothing else. */
static u32 offset_name(const struct profile *p, const struct frame *f)
{
	const char *s = strtab_get(p->strings, f->function), *plus = strrchr(s, '+');

	if (*s != '[' || !plus || strncmp(plus, "+0x", 3) || !plus[3] ||
	    strcmp(plus + 3 + strspn(plus + 3, "0123456789abcdef"), "]"))
		return 0;
	return (u32)(plus - s - 1);
}

/* The frame of `into` that stands for a frame of `from`, where this has no module in `module`. */
static frame_id match_frame(struct matcher *m, const struct profile *from, frame_id id,
			    str_id module)
{
	struct frame f = from->frames.v[id];
	struct match_key key;
	u32 at, module_len = offset_name(from, &f);
	u64 hash;

	if (module_len && !(f.flags & FRAME_GROUP)) {
		if (!f.module)
			f.module = strtab_addf(from->strings, "%.*s", (int)module_len,
					       strtab_get(from->strings, f.function) + 1);
		f.flags |= FRAME_UNRESOLVED;
	}

	f.module = translate(m->into, from, f.module ? f.module : module);
	f.function = translate(m->into, from, f.function);
	f.file = translate(m->into, from, f.file);
	if (f.flags & FRAME_UNRESOLVED) {
		/* The offsets of two builds have nothing to do with each other. */
		const char *base = strtab_get(m->into->strings, f.module);

		f.function = !f.module        ? strtab_adds(m->into->strings, "[unknown]")
			     : base[0] == '[' ? f.module
					      : strtab_addf(m->into->strings, "[%s]", base);
		f.file = 0;
		f.line = 0;
	}
	memset(&key, 0, sizeof(key));
	key.space = f.space;
	key.group = f.flags & FRAME_GROUP;
	if (m->by_name && !(f.flags & FRAME_UNRESOLVED)) {
		key.space = f.space == SPACE_HV ? SPACE_HV : SPACE_NONE;
	} else {
		key.module = match_module(m->into->strings, &f,
					  strtab_get(m->into->strings, f.module));
		if (m->by_name)
			key.space = SPACE_NONE;
	}
	/* Of --by-module: builds of a module have names of their own. */
	key.function = f.flags & FRAME_UNRESOLVED || f.function == f.module ? 0 : f.function;
	if (m->into->by_line) {
		key.file = f.file;
		key.line = f.line;
	}
	hash = hash_bytes(
		&(u32[]){ key.space, key.group, key.module, key.function, key.file, key.line },
		6 * sizeof(u32), 0);
	at = index_find(&m->index, hash, key_eq, m, &key);
	if (at == INDEX_NONE) {
		at = (u32)m->keys.n;
		vec_push(&m->keys, key);
		vec_push(&m->frames, profile_frame(m->into, &f));
		index_add(&m->index, hash, at);
	}
	return m->frames.v[at];
}

/* ---- the views become one tree ---- */

/* A recording of a side. */
struct part {
	struct profile *p;
	struct view view;
	u32 *node; /* by node of the view: first of the tree, then of the merged view */
};

struct side {
	VEC(struct part) parts;
	VEC(u64) self; /* by node of the tree, of all parts */
	u64 samples;   /* of the events shown, in samples */
	u64 time;      /* ns that the parts last; 0: not known of all */
	double total;
};

/* The module of a node's frame when that is inlined and does not say, as in text: that of what it
 * is inlined into. */
static str_id inlined_module(const struct part *part, u32 node)
{
	const struct view *v = &part->view;
	const struct frame *f = &part->p->frames.v[v->nodes.v[node].frame];

	while (node && f->flags & FRAME_INLINED && !f->module) {
		node = v->nodes.v[node].parent;
		f = &part->p->frames.v[v->nodes.v[node].frame];
	}
	return node ? f->module : 0;
}

static void add_part(struct side *s, struct part *part, struct matcher *m, struct profile *tree)
{
	size_t frames = part->p->frames.n, k;
	frame_id *same = xcalloc(frames, sizeof(*same));
	u32 i, n = (u32)part->view.nodes.n;

	for (k = 0; k < frames; k++)
		same[k] = UINT32_MAX;
	part->node = xcalloc(n, sizeof(*part->node));
	for (i = 0; i < n; i++) {
		const struct view_node *v = &part->view.nodes.v[i];
		u64 *self;

		if (i) {
			const struct frame *f = &part->p->frames.v[v->frame];
			frame_id match = same[v->frame];

			if (match == UINT32_MAX)
				match = match_frame(m, part->p, v->frame, inlined_module(part, i));
			/* Where it is inlined may differ. */
			if (f->module || !(f->flags & FRAME_INLINED))
				same[v->frame] = match;
			part->node[i] = profile_child(tree, part->node[v->parent], match);
		}
		while (s->self.n <= part->node[i])
			vec_push(&s->self, 0);
		self = &s->self.v[part->node[i]];
		*self = add_saturated(*self, v->self);
	}
	free(same);
}

static void fill_self(struct side *s, size_t n)
{
	while (s->self.n < n)
		vec_push(&s->self, 0);
}

static void side_release(struct side *s)
{
	size_t i;

	for (i = 0; i < s->parts.n; i++) {
		view_release(&s->parts.v[i].view);
		free(s->parts.v[i].node);
	}
	vec_release(&s->parts);
	vec_release(&s->self);
}

/* ns from the first to the last kept sample; 0: not known. */
static u64 duration(const struct profile *p)
{
	u64 first = UINT64_MAX, last = 0;
	size_t i;

	for (i = 0; i < p->samples.n; i++)
		if (p->samples.v[i].time != UINT64_MAX) {
			first = MIN(first, p->samples.v[i].time);
			last = MAX(last, p->samples.v[i].time);
		}
	return last > first ? last - first : 0;
}

/* ---- noise ---- */

/*
 * What the slices of one side say of one node or function.  A slice is a recording when the side
 * has several, else a span of time; it has a weight x and a size t: what x is compared by, so the
 * weight of the whole, a time, or 1.
 */
struct spread {
	double x, xx, xt; /* sums over slices of x, of its square, of x times t */
};

struct spreads {
	struct spread *node_self, *node_total, *fn_self, *fn_total;
	double t, tt; /* sums of the slices' sizes and their squares */
	double whole; /* size of the side */
	u32 slices;   /* 0: nothing to slice */
	bool files;   /* slices are recordings */
};

static void spreads_release(struct spreads *s)
{
	free(s->node_self);
	free(s->node_total);
	free(s->fn_self);
	free(s->fn_total);
}

static void spread_add(struct spread *s, double x, double t)
{
	s->x += x;
	s->xx += x * x;
	s->xt += x * t;
}

/* A kept sample's slice and place. */
struct placed {
	u64 time, weight;
	u32 node;
};

static int cmp_placed(const void *a, const void *b)
{
	u64 x = ((const struct placed *)a)->time, y = ((const struct placed *)b)->time;

	return (x > y) - (x < y);
}

/* The functions of a view: those that each node adds to, and the nodes where a function is
 * outermost on its stack. */
struct functions {
	VEC(frame_id) frames;
	u32 *number;     /* by node */
	bool *outermost; /* by node: not below itself */
};

static void functions_init(struct functions *f, const struct view *v)
{
	u32 *by_frame = xcalloc(v->profile->frames.n, sizeof(*by_frame));
	VEC(u32) on_path = { 0 }; /* by function: how often on the current path */
	VEC(u32) path = { 0 };
	u32 i, k;

	memset(f, 0, sizeof(*f));
	f->number = xcalloc(v->nodes.n, sizeof(*f->number));
	f->outermost = xcalloc(v->nodes.n, sizeof(*f->outermost));
	for (i = 1; i < v->nodes.n; i++) {
		const struct view_node *n = &v->nodes.v[i];

		if (!by_frame[n->frame]) {
			vec_push(&f->frames, n->frame);
			vec_push(&on_path, 0);
			by_frame[n->frame] = (u32)f->frames.n;
		}
		k = by_frame[n->frame] - 1;
		while (path.n >= n->depth)
			on_path.v[path.v[--path.n]]--;
		f->number[i] = k;
		f->outermost[i] = !on_path.v[k]++;
		vec_push(&path, k);
	}
	vec_release(&on_path);
	vec_release(&path);
	free(by_frame);
}

static void functions_release(struct functions *f)
{
	vec_release(&f->frames);
	free(f->number);
	free(f->outermost);
}

/* Work space for slices. */
struct slicer {
	struct spreads *to;
	const struct view *v;
	const struct functions *f;
	double *self, *total, *fn_self, *fn_total; /* of the slice that is being filled */
};

static void slicer_init(struct slicer *s, struct spreads *to, const struct view *v,
			const struct functions *f)
{
	size_t nodes = v->nodes.n, functions = f->frames.n;

	*s = (struct slicer){ .to = to, .v = v, .f = f };
	to->node_self = xcalloc(nodes, sizeof(*to->node_self));
	to->node_total = xcalloc(nodes, sizeof(*to->node_total));
	to->fn_self = xcalloc(functions, sizeof(*to->fn_self));
	to->fn_total = xcalloc(functions, sizeof(*to->fn_total));
	s->self = xcalloc(nodes, sizeof(*s->self));
	s->total = xcalloc(nodes, sizeof(*s->total));
	s->fn_self = xcalloc(functions, sizeof(*s->fn_self));
	s->fn_total = xcalloc(functions, sizeof(*s->fn_total));
}

static void slicer_release(struct slicer *s)
{
	free(s->self);
	free(s->total);
	free(s->fn_self);
	free(s->fn_total);
}

/* Adds the slice whose own weights are in s->self and empties it; size 0: its weight. */
static void add_slice(struct slicer *s, double size)
{
	u32 i, n = (u32)s->v->nodes.n;
	double *self = s->self, *total = s->total, t;

	for (i = 0; i < n; i++)
		total[i] += self[i];
	for (i = n - 1; i > 0; i--)
		total[s->v->nodes.v[i].parent] += total[i];
	t = size > 0 ? size : total[0];
	s->to->t += t;
	s->to->tt += t * t;
	s->to->slices++;
	for (i = 0; i < n; i++) {
		if (!total[i]) {
			self[i] = 0;
			continue;
		}
		spread_add(&s->to->node_self[i], self[i], t);
		spread_add(&s->to->node_total[i], total[i], t);
		if (i) {
			s->fn_self[s->f->number[i]] += self[i];
			if (s->f->outermost[i])
				s->fn_total[s->f->number[i]] += total[i];
		}
		self[i] = total[i] = 0;
	}
	for (i = 0; i < s->f->frames.n; i++) {
		spread_add(&s->to->fn_self[i], s->fn_self[i], t);
		spread_add(&s->to->fn_total[i], s->fn_total[i], t);
		s->fn_self[i] = s->fn_total[i] = 0;
	}
}

/* Slices of equal length in time. Without times there are none: the order of, say, folded stacks is
 * that of names. */
static void slice_time(struct spreads *to, const struct part *part, const struct view *v,
		       const struct functions *f, enum diff_norm norm, u32 slices)
{
	VEC(struct placed) samples = { 0 };
	struct slicer s;
	bool timed = true;
	u64 first, length;
	size_t i, k = 0;
	u32 slice;

	for (i = 0; i < part->p->samples.n; i++) {
		const struct profile_sample *x = &part->p->samples.v[i];
		u32 node = view_place(&part->view, x->event, x->node);

		if (node == UINT32_MAX || !x->weight)
			continue;
		timed = timed && x->time != UINT64_MAX;
		vec_push(&samples, ((struct placed){ x->time, x->weight, part->node[node] }));
	}
	if (!timed || !samples.n)
		goto out;
	qsort(samples.v, samples.n, sizeof(*samples.v), cmp_placed);
	first = samples.v[0].time;
	length = samples.v[samples.n - 1].time - first;
	/* Fewer than five samples a slice say nothing of its spread. */
	slices = MIN(slices, (u32)MIN(samples.n / 5, UINT32_MAX));
	if (slices < 5 || !length)
		goto out;
	slicer_init(&s, to, v, f);
	for (slice = 0; slice < slices; slice++) {
		for (; k < samples.n; k++) {
			const struct placed *x = &samples.v[k];
			double at = (double)(x->time - first) / ((double)length + 1);

			if ((u32)(at * slices) > slice && slice + 1 < slices)
				break;
			s.self[x->node] += (double)x->weight;
		}
		add_slice(&s, norm == DIFF_BY_TOTAL ? 0 : 1);
	}
	slicer_release(&s);
out:
	vec_release(&samples);
}

static void slice_files(struct spreads *to, const struct side *side, const struct view *v,
			const struct functions *f, enum diff_norm norm)
{
	struct slicer s;
	size_t i, k;

	slicer_init(&s, to, v, f);
	for (i = 0; i < side->parts.n; i++) {
		const struct part *part = &side->parts.v[i];

		for (k = 0; k < part->view.nodes.n; k++)
			s.self[part->node[k]] += (double)part->view.nodes.v[k].self;
		add_slice(&s, norm == DIFF_BY_TOTAL  ? 0
			      : norm == DIFF_BY_TIME ? (double)duration(part->p)
						     : 1);
	}
	slicer_release(&s);
	to->files = true;
}

static void measure(struct spreads *to, const struct side *side, const struct view *v,
		    const struct functions *f, enum diff_norm norm, u32 slices)
{
	memset(to, 0, sizeof(*to));
	to->whole = norm == DIFF_BY_TOTAL  ? side->total
		    : norm == DIFF_BY_TIME ? (double)side->time
					   : 1;
	if (side->parts.n > 1)
		slice_files(to, side, v, f, norm);
	else
		slice_time(to, &side->parts.v[0], v, f, norm, slices);
}

/*
 * Frames with fewer samples in both sides together are not looked at: no difference of theirs can
 * be sure, and there are so many of them that they would hide those of others.  How many samples
 * there are says nothing of where they are, so the rate of false changes stays what it is.
 */
#define SAMPLES_MIN 10

#define DOF_MAX 1001 /* from there on Student's distribution is taken for the normal one */

struct noise_ctx {
	const struct view_diff *d;
	const struct spreads *after, *before;
	double total, base_total;     /* of the whole, as recorded */
	double quantile[DOF_MAX + 1]; /* by degrees of freedom; 0: not known yet */
};

/* A variance and how many degrees of freedom its estimate has; 0: there is none. */
struct estimate {
	double v, dof;
};

/*
 * Of a side's weight, in its own weight squared.  A side of one recording cannot tell how
 * recordings differ: what those of the other side tell, brought to the same size, counts where it
 * is more.
 */
static struct estimate variance(const struct spreads *s, const struct spread *x,
				const struct spreads *other, const struct spread *ox)
{
	struct estimate e = { 0, 0 };
	double n = s->slices, r, size;

	if (s->slices > 1 && s->t > 0) {
		r = x->x / s->t;
		e.v = MAX(x->xx - 2 * r * x->xt + r * r * s->tt, 0) * n / (n - 1);
		e.dof = n - 1;
	}
	if (!s->files && other->files && other->t > 0) {
		n = other->slices;
		r = ox->x / other->t;
		size = s->whole / (other->t / n);
		r = MAX(ox->xx - 2 * r * ox->xt + r * r * other->tt, 0) / (n - 1) * size * size;
		if (r >= e.v)
			e = (struct estimate){ r, n - 1 };
	}
	return e;
}

/* NULL: the side has no slices. */
static const struct spread *spread_of(const struct spreads *s, const struct spread *column,
				      size_t i)
{
	return s->slices ? &column[i] : NULL;
}

static double quantile(struct noise_ctx *c, u32 dof)
{
	double *q = &c->quantile[MIN(dof, DOF_MAX)];

	if (!(*q > 0))
		*q = noise_t_quantile(1 - c->d->confidence, dof);
	return *q;
}

/* What is known of the difference x - scale * base of one frame. */
struct raw {
	double difference;
	double counted;  /* variance that the number of samples alone makes: each of them falls into
			    a frame or not */
	double measured; /* that of the slices; dof 0: there are none */
	double dof;
	bool few;
};

static struct raw raw_of(const struct noise_ctx *c, double x, double base, const struct spread *xs,
			 const struct spread *bs)
{
	double scale = c->d->base_scale, n = (double)c->d->samples, nb = (double)c->d->base_samples;
	struct raw r = { .difference = x - scale * base };
	double share;

	if (n > 0 && nb > 0 && c->total > 0 && c->base_total > 0) {
		r.few = n * x / c->total + nb * base / c->base_total < SAMPLES_MIN - 0.5;
		if (c->d->norm == DIFF_BY_TOTAL) {
			share = (n * x / c->total + nb * base / c->base_total) / (n + nb);
			r.counted = MAX(share * (1 - share), 0) * (1 / n + 1 / nb) * c->total *
				    c->total;
		} else {
			r.counted = x * c->total / n + scale * scale * base * c->base_total / nb;
		}
	}
	if (c->d->slices || c->d->by_files) {
		struct estimate a = variance(c->after, xs, c->before, bs),
				b = variance(c->before, bs, c->after, xs);
		double va = a.v, vb = scale * scale * b.v;

		r.measured = va + vb;
		/* Welch's rule; two estimates out of one set of recordings are one. */
		if (c->after->files != c->before->files)
			r.dof = MIN(a.dof, b.dof);
		else if (r.measured > 0)
			r.dof = r.measured * r.measured / (va * va / a.dof + vb * vb / b.dof);
		else
			r.dof = a.dof + b.dof;
		r.dof = MAX(r.dof, 1);
	}
	return r;
}

/*
 * The noise of many frames, and which of them have changed.  Own weights and those with callees are
 * two lists, and to err in either is to err: each gets half of the rate.
 */
static void judge(struct noise_ctx *c, const struct raw *r, struct diff_noise *to, size_t n)
{
	double *p = xcalloc(n, sizeof(*p)), error, limit;
	size_t i, k = 0;

	for (i = 0; i < n; i++) {
		error = sqrt(MAX(r[i].measured, r[i].counted));
		to[i].few = r[i].few;
		to[i].half = quantile(c, (u32)r[i].dof) * error;
		to[i].p = error > 0 ? noise_t_tail(fabs(r[i].difference) / error, (u32)r[i].dof)
				    : 1;
		if (!to[i].few)
			p[k++] = to[i].p;
	}
	limit = noise_limit(p, k, c->d->rate / 2);
	for (i = 0; i < n; i++)
		to[i].changed = !to[i].few && to[i].p <= limit;
	free(p);
}

static void judge_nodes(struct noise_ctx *c, const struct view *v, struct view_diff *d)
{
	size_t n = v->nodes.n, i;
	struct raw *r = xcalloc(n, sizeof(*r));

	vec_reserve(&d->self, n);
	vec_reserve(&d->total, n);
	d->self.n = d->total.n = n;
	for (i = 0; i < n; i++)
		r[i] = raw_of(c, (double)v->nodes.v[i].self, (double)view_base_self(v, i),
			      spread_of(c->after, c->after->node_self, i),
			      spread_of(c->before, c->before->node_self, i));
	judge(c, r, d->self.v, n);
	for (i = 0; i < n; i++)
		r[i] = raw_of(c, (double)v->nodes.v[i].total, (double)view_base_total(v, i),
			      spread_of(c->after, c->after->node_total, i),
			      spread_of(c->before, c->before->node_total, i));
	judge(c, r, d->total.v, n);
	free(r);
}

/* Functions have their sums, `before` as recorded: these are scaled here. */
static void judge_functions(struct noise_ctx *c, struct view_diff *d)
{
	size_t n = d->functions.n, i;
	struct raw *self = xcalloc(n, sizeof(*self)), *total = xcalloc(n, sizeof(*total));
	struct diff_noise *noise = xcalloc(2 * n, sizeof(*noise));

	for (i = 0; i < n; i++) {
		struct diff_function *f = &d->functions.v[i];

		self[i] = raw_of(c, f->self, f->base_self,
				 spread_of(c->after, c->after->fn_self, i),
				 spread_of(c->before, c->before->fn_self, i));
		total[i] = raw_of(c, f->total, f->base_total,
				  spread_of(c->after, c->after->fn_total, i),
				  spread_of(c->before, c->before->fn_total, i));
		f->base_self *= d->base_scale;
		f->base_total *= d->base_scale;
	}
	judge(c, self, noise, n);
	judge(c, total, noise + n, n);
	for (i = 0; i < n; i++) {
		d->functions.v[i].self_noise = noise[i];
		d->functions.v[i].total_noise = noise[n + i];
	}
	free(self);
	free(total);
	free(noise);
}

static _Thread_local const struct profile *sort_profile;

/* Where the change itself is, then what only calls it, then what may be noise. */
static int cmp_function(const void *pa, const void *pb)
{
	const struct diff_function *a = pa, *b = pb;
	int ra = a->self_noise.changed ? 2 : a->total_noise.changed,
	    rb = b->self_noise.changed ? 2 : b->total_noise.changed;
	double da = fabs(a->self - a->base_self), db = fabs(b->self - b->base_self);

	if (ra != rb)
		return ra > rb ? -1 : 1;
	if (ra == 1) {
		da = fabs(a->total - a->base_total);
		db = fabs(b->total - b->base_total);
	}
	if (da != db)
		return da > db ? -1 : 1;
	da = fabs(a->total - a->base_total);
	db = fabs(b->total - b->base_total);
	if (da != db)
		return da > db ? -1 : 1;
	return view_cmp_frames(sort_profile, a->frame, b->frame);
}

static void find_noise(struct view *v, const struct side *after, const struct side *before,
		       u32 slices)
{
	struct view_diff *d = v->diff;
	struct noise_ctx c = { .d = d, .total = after->total, .base_total = before->total };
	struct functions f;
	struct spreads sa, sb;
	size_t i;

	functions_init(&f, v);
	measure(&sa, after, v, &f, d->norm, slices);
	measure(&sb, before, v, &f, d->norm, slices);
	c.after = &sa;
	c.before = &sb;
	d->by_files = sa.files || sb.files;
	if (!d->by_files && sa.slices && sb.slices)
		d->slices = MIN(sa.slices, sb.slices);

	judge_nodes(&c, v, d);
	for (i = 0; i < f.frames.n; i++)
		vec_push(&d->functions, ((struct diff_function){ .frame = f.frames.v[i] }));
	for (i = 1; i < v->nodes.n; i++) {
		struct diff_function *x = &d->functions.v[f.number[i]];

		x->self += (double)v->nodes.v[i].self;
		x->base_self += (double)view_base_self(v, i);
		if (f.outermost[i]) {
			x->total += (double)v->nodes.v[i].total;
			x->base_total += (double)view_base_total(v, i);
		}
	}
	judge_functions(&c, d);
	sort_profile = v->profile;
	if (d->functions.n)
		qsort(d->functions.v, d->functions.n, sizeof(*d->functions.v), cmp_function);
	spreads_release(&sa);
	spreads_release(&sb);
	functions_release(&f);
}

/* ---- the whole ---- */

static int find_scale(struct view_diff *d, const struct side *after, const struct side *before,
		      struct error *err)
{
	d->base_scale = 1;
	switch (d->norm) {
	case DIFF_BY_TOTAL:
		if (before->total > 0 && after->total > 0)
			d->base_scale = after->total / before->total;
		break;
	case DIFF_BY_TIME:
		if (!after->time || !before->time)
			return error_set(err,
					 "cannot compare by time: the %s recording has no times",
					 after->time ? "first" : "second");
		d->base_scale = (double)after->time / (double)before->time;
		break;
	case DIFF_NONE: d->base_scale = (double)after->parts.n / (double)before->parts.n; break;
	}
	return 0;
}

/* The options for another profile: its event of the same name. */
static int other_opts(struct view_opts *o, const struct profile *after, const struct profile *other,
		      const char *side, struct error *err)
{
	const char *name;
	str_id id;
	size_t i;

	if (o->event < 0 || (size_t)o->event >= after->events.n)
		return 0;
	name = strtab_get(after->strings, after->events.v[o->event].name);
	id = strtab_find(other->strings, name, strlen(name));
	for (i = 0; i < other->events.n; i++)
		if (other->events.v[i].name == id) {
			o->event = (int)i;
			return 0;
		}
	if (other->events.n > 1)
		return error_set(err, "the %s recording has no event '%s'", side, name);
	o->event = 0;
	return 0;
}

static u64 samples_of(const struct profile *p, int event)
{
	u64 sum = 0;
	size_t i;

	for (i = 0; i < p->events.n; i++)
		if (event < 0 || (size_t)event == i)
			sum += p->events.v[i].samples;
	return sum;
}

/* How many samples a view shows: filters leave out weight, which is taken to be of samples of the
 * same size. */
static u64 samples_shown(const struct part *p)
{
	double total = (double)p->view.nodes.v[0].total, all = total + (double)p->view.left_out;

	return all > 0 ? (u64)((double)samples_of(p->p, p->view.event) * total / all + 0.5) : 0;
}

/* Views of all recordings of a side, added to the tree. */
static int side_init(struct side *s, struct profile *const *v, size_t n, const char *name,
		     struct matcher *m, struct profile *tree, const struct view_opts *o, u64 time,
		     struct error *err)
{
	bool timed = true;
	size_t i;

	for (i = 0; i < n; i++) {
		struct part part = { .p = v[i] };
		struct view_opts own = *o;
		u64 length = duration(v[i]);

		own.last = false;
		if ((v[i] != m->into && other_opts(&own, m->into, v[i], name, err)) ||
		    view_build(&part.view, v[i], &own, err))
			return -1;
		add_part(s, &part, m, tree);
		vec_push(&s->parts, part);
		s->samples += samples_shown(&part);
		s->total += (double)part.view.nodes.v[0].total;
		s->time += length;
		timed = timed && length;
	}
	if (time)
		s->time = time;
	else if (!timed)
		s->time = 0;
	return 0;
}

/* Weights by width; what has vanished and what has come. */
static void find_widths(struct view *v)
{
	struct view_diff *d = v->diff;
	size_t n = v->nodes.n, i;

	for (i = 1; i < n; i++) {
		const struct view_node *x = &v->nodes.v[i];

		if (!x->total) {
			d->gone_nodes++;
			d->gone += (double)view_base_self(v, i) * d->base_scale;
		}
		if (!view_base_total(v, i)) {
			d->come_nodes++;
			d->come += (double)x->self;
		}
	}
	if (d->width == DIFF_WIDTH_AFTER)
		return;
	for (i = 0; i < n; i++) {
		double base = (double)view_base_self(v, i) * d->base_scale,
		       self = (double)v->nodes.v[i].self;

		vec_push(&d->widths, d->width == DIFF_WIDTH_BEFORE || base > self ? base : self);
	}
	for (i = n - 1; i > 0; i--)
		d->widths.v[v->nodes.v[i].parent] += d->widths.v[i];
}

/* Kept samples of `part`, the only one of AFTER, find their place in the merged view. */
static void move_places(struct view *v, struct part *part)
{
	size_t i;

	vec_reserve(&v->place, part->view.place.n);
	v->place.n = part->view.place.n;
	for (i = 0; i < v->place.n; i++)
		v->place.v[i] = part->view.place.v[i] == UINT32_MAX
					? UINT32_MAX
					: part->node[part->view.place.v[i]];
}

static void place_parts(struct side *s, const u32 *place)
{
	size_t i, k;

	for (i = 0; i < s->parts.n; i++)
		for (k = 0; k < s->parts.v[i].view.nodes.n; k++)
			s->parts.v[i].node[k] = place[s->parts.v[i].node[k]];
}

/* Whether a recording knows modules and another one does not. */
static bool differ_in_modules(const struct diff_input *in)
{
	bool knows[2] = { false, false };
	size_t i;

	for (i = 0; i < in->nr_after; i++)
		knows[knows_no_modules(in->after[i])] = true;
	for (i = 0; i < in->nr_before; i++)
		knows[knows_no_modules(in->before[i])] = true;
	return knows[0] && knows[1];
}

int view_build_diff(struct view *v, const struct diff_input *in, const struct view_opts *o,
		    const struct diff_opts *opts, struct error *err)
{
	struct side a = { .samples = 0 }, b = { .samples = 0 };
	struct profile *after = in->after[0], tree;
	struct matcher m = { .into = after };
	u64 scale = 1;
	u32 *place = NULL;
	int ret = -1;
	size_t i;

	memset(v, 0, sizeof(*v));
	profile_init(&tree, after->strings);
	index_init(&m.index);
	for (i = 0; i < in->nr_after; i++)
		scale = MAX(scale, in->after[i]->weight_scale);
	for (i = 0; i < in->nr_before; i++)
		scale = MAX(scale, in->before[i]->weight_scale);
	m.by_name = differ_in_modules(in);
	for (i = 0; i < in->nr_after; i++)
		profile_set_scale(in->after[i], scale);
	for (i = 0; i < in->nr_before; i++)
		profile_set_scale(in->before[i], scale);
	if (side_init(&a, in->after, in->nr_after, "second", &m, &tree, o, opts->time_after, err) ||
	    side_init(&b, in->before, in->nr_before, "first", &m, &tree, o, opts->time_before, err))
		goto out;
	fill_self(&a, tree.nodes.n);
	fill_self(&b, tree.nodes.n);

	v->profile = after;
	v->event = o->event;
	v->is_diff = true;
	for (i = 0; i < a.parts.n; i++)
		v->left_out = add_saturated(v->left_out, a.parts.v[i].view.left_out);
	v->diff = xcalloc(1, sizeof(*v->diff));
	v->diff->norm = opts->norm;
	v->diff->width = opts->width;
	v->diff->by_name = m.by_name;
	v->diff->rate = opts->rate > 0 ? opts->rate : 0.05;
	v->diff->confidence = opts->confidence > 0 ? opts->confidence : 0.99;
	v->diff->samples = a.samples;
	v->diff->base_samples = b.samples;
	v->diff->recordings = (u32)in->nr_after;
	v->diff->base_recordings = (u32)in->nr_before;
	if (find_scale(v->diff, &a, &b, err))
		goto out;
	place = xcalloc(tree.nodes.n, sizeof(*place));
	view_store(v, after,
		   &(struct contexts){ .nodes = tree.nodes.v,
				       .n = (u32)tree.nodes.n,
				       .self = a.self.v,
				       .self_n = a.self.n,
				       .base = b.self.v },
		   place);
	view_finish(v);
	find_widths(v);
	place_parts(&a, place);
	place_parts(&b, place);
	if (a.parts.n == 1)
		move_places(v, &a.parts.v[0]);
	find_noise(v, &a, &b, opts->slices ? opts->slices : 20);
	ret = 0;
out:
	if (ret)
		view_release(v);
	side_release(&a);
	side_release(&b);
	profile_release(&tree);
	vec_release(&m.keys);
	vec_release(&m.frames);
	index_release(&m.index);
	free(place);
	return ret;
}

/* ---- a comparison becomes a plain view ---- */

void view_subtract(struct view *v, double *floored)
{
	double scale = v->diff->base_scale;
	u32 n = (u32)v->nodes.n, *to = xcalloc(n, sizeof(*to)), i, k;
	struct view_node *nodes = v->nodes.v;

	*floored = 0;
	for (i = 0; i < n; i++) {
		double rest = (double)nodes[i].self - scale * (double)view_base_self(v, i);

		if (rest < 0)
			*floored -= rest;
		nodes[i].total = nodes[i].self = rest > 0 ? (u64)(rest + 0.5) : 0;
	}
	for (i = n - 1; i > 0; i--)
		nodes[nodes[i].parent].total = add_saturated(nodes[nodes[i].parent].total,
							     nodes[i].total);
	v->max_depth = 0;
	for (i = k = 0; i < n; i++) {
		if (i && !nodes[i].total)
			continue;
		to[i] = k;
		nodes[k] = nodes[i];
		nodes[k].parent = to[nodes[i].parent];
		nodes[k].end = k + 1;
		v->max_depth = MAX(v->max_depth, nodes[k].depth);
		k++;
	}
	v->nodes.n = k;
	for (i = k - 1; i > 0; i--)
		nodes[nodes[i].parent].end = MAX(nodes[nodes[i].parent].end, nodes[i].end);
	free(to);
	vec_release(&v->base);
	vec_release(&v->place);
	view_diff_free(v->diff);
	v->diff = NULL;
	v->is_diff = false;
}

void view_diff_free(struct view_diff *d)
{
	if (!d)
		return;
	vec_release(&d->self);
	vec_release(&d->total);
	vec_release(&d->functions);
	vec_release(&d->widths);
	free(d);
}
