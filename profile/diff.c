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

/* The frame of `into` that stands for a frame of `from`. */
static frame_id match_frame(struct matcher *m, const struct profile *from, frame_id id)
{
	struct frame f = from->frames.v[id];
	struct match_key key;
	u64 hash;
	u32 at;

	f.module = translate(m->into, from, f.module);
	f.function = translate(m->into, from, f.function);
	f.file = translate(m->into, from, f.file);
	if (f.flags & FRAME_UNRESOLVED) {
		/* The offsets of two builds have nothing to do with each other. */
		const char *module = strtab_get(m->into->strings, f.module);

		f.function = !f.module          ? strtab_adds(m->into->strings, "[unknown]")
			     : module[0] == '[' ? f.module
						: strtab_addf(m->into->strings, "[%s]", module);
		f.file = 0;
		f.line = 0;
	}
	memset(&key, 0, sizeof(key));
	key.space = f.space;
	key.group = f.flags & FRAME_GROUP;
	key.module = match_module(m->into->strings, &f, strtab_get(m->into->strings, f.module));
	key.function = f.flags & FRAME_UNRESOLVED ? 0 : f.function;
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

/* ---- two views become one tree ---- */

struct side {
	struct profile *p;
	struct view view;
	u32 *node;     /* by node of the view: first of the tree, then of the merged view */
	VEC(u64) self; /* by node of the tree */
	u64 samples;   /* of the events shown, in samples */
	double total;
};

static void add_side(struct side *s, struct matcher *m, struct profile *tree)
{
	frame_id *same = xcalloc(s->p->frames.n, sizeof(*same));
	u32 i, n = (u32)s->view.nodes.n;
	size_t frames = s->p->frames.n;

	for (i = 0; i < frames; i++)
		same[i] = UINT32_MAX;
	s->node = xcalloc(n, sizeof(*s->node));
	for (i = 0; i < n; i++) {
		const struct view_node *v = &s->view.nodes.v[i];

		if (i) {
			if (same[v->frame] == UINT32_MAX)
				same[v->frame] = match_frame(m, s->p, v->frame);
			s->node[i] = profile_child(tree, s->node[v->parent], same[v->frame]);
		}
		while (s->self.n <= s->node[i])
			vec_push(&s->self, 0);
		s->self.v[s->node[i]] += v->self;
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
	view_release(&s->view);
	vec_release(&s->self);
	free(s->node);
}

/* ---- noise ---- */

/* What the slices of one side say of one node or function. */
struct spread {
	double x, xx,
		xt; /* sums over slices of its weight, of the square, of weight times slice total */
};

struct spreads {
	struct spread *node_self, *node_total, *fn_self, *fn_total;
	double t, tt; /* sums of the slices' totals and their squares */
	u32 slices;   /* 0: no samples to slice */
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

/* Adds the slice whose own weights are in self[]; clears self and total. */
static void add_slice(struct spreads *s, const struct view *v, const struct functions *f,
		      double *self, double *total, double *fn_self, double *fn_total)
{
	u32 i, n = (u32)v->nodes.n;
	double t;

	for (i = 0; i < n; i++)
		total[i] += self[i];
	for (i = n - 1; i > 0; i--)
		total[v->nodes.v[i].parent] += total[i];
	t = total[0];
	s->t += t;
	s->tt += t * t;
	s->slices++;
	for (i = 0; i < n; i++) {
		if (!total[i]) {
			self[i] = 0;
			continue;
		}
		spread_add(&s->node_self[i], self[i], t);
		spread_add(&s->node_total[i], total[i], t);
		if (i) {
			fn_self[f->number[i]] += self[i];
			if (f->outermost[i])
				fn_total[f->number[i]] += total[i];
		}
		self[i] = total[i] = 0;
	}
	for (i = 0; i < f->frames.n; i++) {
		spread_add(&s->fn_self[i], fn_self[i], t);
		spread_add(&s->fn_total[i], fn_total[i], t);
		fn_self[i] = fn_total[i] = 0;
	}
}

/* Slices of equal length in time. Without times there are none: the order of, say, folded stacks is
 * that of names. */
static void measure(struct spreads *s, const struct side *side, const struct view *v,
		    const struct functions *f, u32 slices)
{
	VEC(struct placed) samples = { 0 };
	double *self, *total, *fn_self, *fn_total;
	bool timed = true;
	u64 first, length;
	size_t i, k = 0;
	u32 slice;

	memset(s, 0, sizeof(*s));
	for (i = 0; i < side->p->samples.n; i++) {
		const struct profile_sample *x = &side->p->samples.v[i];
		u32 node = view_place(&side->view, x->event, x->node);

		if (node == UINT32_MAX || !x->weight)
			continue;
		timed = timed && x->time != UINT64_MAX;
		vec_push(&samples, ((struct placed){ x->time, x->weight, side->node[node] }));
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
	s->node_self = xcalloc(v->nodes.n, sizeof(*s->node_self));
	s->node_total = xcalloc(v->nodes.n, sizeof(*s->node_total));
	s->fn_self = xcalloc(f->frames.n, sizeof(*s->fn_self));
	s->fn_total = xcalloc(f->frames.n, sizeof(*s->fn_total));
	self = xcalloc(v->nodes.n, sizeof(*self));
	total = xcalloc(v->nodes.n, sizeof(*total));
	fn_self = xcalloc(f->frames.n, sizeof(*fn_self));
	fn_total = xcalloc(f->frames.n, sizeof(*fn_total));
	for (slice = 0; slice < slices; slice++) {
		for (; k < samples.n; k++) {
			const struct placed *x = &samples.v[k];
			double at = (double)(x->time - first) / ((double)length + 1);

			if ((u32)(at * slices) > slice && slice + 1 < slices)
				break;
			self[x->node] += (double)x->weight;
		}
		add_slice(s, v, f, self, total, fn_self, fn_total);
	}
	free(self);
	free(total);
	free(fn_self);
	free(fn_total);
out:
	vec_release(&samples);
}

struct noise_ctx {
	const struct view_diff *d;
	const struct spreads *after, *before;
	double total, base_total; /* of the whole, as recorded */
	u32 dof;
	double quantile;
};

/* Variance of a side's weight by its slices, in its own weight squared. */
static double variance(const struct spreads *s, const struct spread *x, enum diff_norm norm)
{
	double n = s->slices, r, v;

	if (norm == DIFF_BY_TOTAL) {
		/* of the ratio x / t, times t squared */
		r = s->t > 0 ? x->x / s->t : 0;
		v = x->xx - 2 * r * x->xt + r * r * s->tt;
	} else {
		v = x->xx - x->x * x->x / n;
	}
	return MAX(v, 0) * n / (n - 1);
}

/*
 * Noise of the difference x - scale * base.  Never less than what the number of samples alone
 * makes: of n samples each falls into a frame or not.
 */
static struct diff_noise noise_of(const struct noise_ctx *c, double x, double base,
				  const struct spread *xs, const struct spread *bs)
{
	double scale = c->d->base_scale, n = (double)c->d->samples, nb = (double)c->d->base_samples;
	double measured = 0, counted = 0, share, difference = x - scale * base, error;
	struct diff_noise noise = { 0, 1, false };

	if (n > 0 && nb > 0 && c->total > 0 && c->base_total > 0) {
		if (c->d->norm == DIFF_BY_TOTAL) {
			share = (n * x / c->total + nb * base / c->base_total) / (n + nb);
			counted = MAX(share * (1 - share), 0) * (1 / n + 1 / nb) * c->total *
				  c->total;
		} else {
			counted = x * c->total / n + scale * scale * base * c->base_total / nb;
		}
	}
	if (xs && bs)
		measured = variance(c->after, xs, c->d->norm) +
			   scale * scale * variance(c->before, bs, c->d->norm);
	error = sqrt(MAX(measured, counted));
	noise.half = c->quantile * error;
	if (error > 0)
		noise.p = noise_t_tail(fabs(difference) / error, c->dof);
	return noise;
}

static void mark_nodes(struct diff_noise *v, size_t n, double rate)
{
	double *p = xcalloc(n, sizeof(*p)), limit;
	size_t i;

	for (i = 0; i < n; i++)
		p[i] = v[i].p;
	limit = noise_limit(p, n, rate);
	for (i = 0; i < n; i++)
		v[i].changed = v[i].p <= limit;
	free(p);
}

static _Thread_local const struct profile *sort_profile;

static int cmp_function(const void *pa, const void *pb)
{
	const struct diff_function *a = pa, *b = pb;
	bool ca = a->self_noise.changed || a->total_noise.changed,
	     cb = b->self_noise.changed || b->total_noise.changed;
	double da = fabs(a->self - a->base_self), db = fabs(b->self - b->base_self);

	if (ca != cb)
		return ca ? -1 : 1;
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
	bool sliced;
	size_t i, n;
	double *p;

	functions_init(&f, v);
	measure(&sa, after, v, &f, slices);
	measure(&sb, before, v, &f, slices);
	sliced = sa.slices && sb.slices;
	c.after = &sa;
	c.before = &sb;
	d->slices = sliced ? MIN(sa.slices, sb.slices) : 0;
	c.dof = sliced ? d->slices - 1 : 0;
	c.quantile = noise_t_quantile(1 - d->confidence, c.dof);

	for (i = 0; i < v->nodes.n; i++) {
		const struct view_node *x = &v->nodes.v[i];

		vec_push(&d->self, noise_of(&c, (double)x->self, (double)view_base_self(v, i),
					    sliced ? &sa.node_self[i] : NULL,
					    sliced ? &sb.node_self[i] : NULL));
		vec_push(&d->total, noise_of(&c, (double)x->total, (double)view_base_total(v, i),
					     sliced ? &sa.node_total[i] : NULL,
					     sliced ? &sb.node_total[i] : NULL));
	}
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
	n = d->functions.n;
	for (i = 0; i < n; i++) {
		struct diff_function *x = &d->functions.v[i];

		x->self_noise = noise_of(&c, x->self, x->base_self, sliced ? &sa.fn_self[i] : NULL,
					 sliced ? &sb.fn_self[i] : NULL);
		x->total_noise = noise_of(&c, x->total, x->base_total,
					  sliced ? &sa.fn_total[i] : NULL,
					  sliced ? &sb.fn_total[i] : NULL);
		x->base_self *= d->base_scale;
		x->base_total *= d->base_scale;
	}
	mark_nodes(d->self.v, d->self.n, d->rate);
	mark_nodes(d->total.v, d->total.n, d->rate);
	p = xcalloc(2 * n, sizeof(*p));
	for (i = 0; i < n; i++) {
		p[i] = d->functions.v[i].self_noise.p;
		p[n + i] = d->functions.v[i].total_noise.p;
	}
	{
		double self_limit = noise_limit(p, n, d->rate),
		       total_limit = noise_limit(p + n, n, d->rate);

		for (i = 0; i < n; i++) {
			d->functions.v[i].self_noise.changed = d->functions.v[i].self_noise.p <=
							       self_limit;
			d->functions.v[i].total_noise.changed = d->functions.v[i].total_noise.p <=
								total_limit;
		}
	}
	free(p);
	sort_profile = v->profile;
	if (n)
		qsort(d->functions.v, n, sizeof(*d->functions.v), cmp_function);
	spreads_release(&sa);
	spreads_release(&sb);
	functions_release(&f);
}

/* ---- the whole ---- */

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

static int find_scale(struct view_diff *d, const struct side *after, const struct side *before,
		      const struct diff_opts *o, struct error *err)
{
	u64 time_after = o->time_after ? o->time_after : duration(after->p);
	u64 time_before = o->time_before ? o->time_before : duration(before->p);

	d->base_scale = 1;
	switch (o->norm) {
	case DIFF_BY_TOTAL:
		if (before->total > 0 && after->total > 0)
			d->base_scale = after->total / before->total;
		break;
	case DIFF_BY_TIME:
		if (!time_after || !time_before)
			return error_set(err,
					 "cannot compare by time: the %s recording has no times",
					 time_after ? "first" : "second");
		d->base_scale = (double)time_after / (double)time_before;
		break;
	case DIFF_NONE: break;
	}
	return 0;
}

/* The options for `before`: its event of the same name. */
static int before_opts(struct view_opts *o, const struct profile *after,
		       const struct profile *before, struct error *err)
{
	const char *name;
	str_id id;
	size_t i;

	if (o->event < 0 || (size_t)o->event >= after->events.n)
		return 0;
	name = strtab_get(after->strings, after->events.v[o->event].name);
	id = strtab_find(before->strings, name, strlen(name));
	for (i = 0; i < before->events.n; i++)
		if (before->events.v[i].name == id) {
			o->event = (int)i;
			return 0;
		}
	if (before->events.n > 1)
		return error_set(err, "the first recording has no event '%s'", name);
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

/* How many samples the view shows: filters leave out weight, which is taken to be of samples of the
 * same size. */
static u64 samples_shown(const struct side *s)
{
	double all = s->total + (double)s->view.left_out;

	return all > 0 ? (u64)((double)samples_of(s->p, s->view.event) * s->total / all + 0.5) : 0;
}

int view_build_diff(struct view *v, struct profile *after, struct profile *before,
		    const struct view_opts *o, const struct diff_opts *opts, struct error *err)
{
	struct side a = { .p = after }, b = { .p = before };
	struct view_opts ob = *o;
	struct matcher m = { .into = after };
	struct profile tree;
	u32 i, *place = NULL;
	int ret = -1;

	memset(v, 0, sizeof(*v));
	profile_init(&tree, after->strings);
	index_init(&m.index);
	if (before_opts(&ob, after, before, err) || view_build(&a.view, after, o, err) ||
	    view_build(&b.view, before, &ob, err))
		goto out;
	add_side(&a, &m, &tree);
	add_side(&b, &m, &tree);
	fill_self(&a, tree.nodes.n);
	fill_self(&b, tree.nodes.n);
	a.total = (double)a.view.nodes.v[0].total;
	b.total = (double)b.view.nodes.v[0].total;
	a.samples = samples_shown(&a);
	b.samples = samples_shown(&b);

	v->profile = after;
	v->event = o->event;
	v->is_diff = true;
	v->left_out = a.view.left_out;
	v->diff = xcalloc(1, sizeof(*v->diff));
	v->diff->norm = opts->norm;
	v->diff->rate = opts->rate > 0 ? opts->rate : 0.05;
	v->diff->confidence = opts->confidence > 0 ? opts->confidence : 0.99;
	v->diff->samples = a.samples;
	v->diff->base_samples = b.samples;
	if (find_scale(v->diff, &a, &b, opts, err))
		goto out;
	place = xcalloc(tree.nodes.n, sizeof(*place));
	view_walk(v, after,
		  &(struct contexts){ .nodes = tree.nodes.v,
				      .n = (u32)tree.nodes.n,
				      .self = a.self.v,
				      .self_n = a.self.n,
				      .base = b.self.v,
				      .place = place });
	view_finish(v);
	for (i = 0; i < a.view.nodes.n; i++)
		a.node[i] = place[a.node[i]];
	for (i = 0; i < b.view.nodes.n; i++)
		b.node[i] = place[b.node[i]];
	/* Kept samples of `after` find their place in the merged view. */
	v->place = a.view.place;
	memset(&a.view.place, 0, sizeof(a.view.place));
	vec_reserve(&a.view.place, v->place.n);
	if (v->place.n)
		memcpy(a.view.place.v, v->place.v, v->place.n * sizeof(*v->place.v));
	a.view.place.n = v->place.n;
	for (i = 0; i < v->place.n; i++)
		if (v->place.v[i] != UINT32_MAX)
			v->place.v[i] = a.node[v->place.v[i]];
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

void view_diff_free(struct view_diff *d)
{
	if (!d)
		return;
	vec_release(&d->self);
	vec_release(&d->total);
	vec_release(&d->functions);
	free(d);
}
