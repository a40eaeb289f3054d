/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the writers of other tools' formats share. */
#include "render/export.h"

/* Whether each stack of the view stands below a frame with the name of its event. */
static bool split_by_event(const struct view *v)
{
	return v->event < 0 && v->profile->events.n > 0 && v->nodes.n > 1 && !v->nodes.v[0].self;
}

void export_parts_init(struct export_parts *parts, const struct view *v)
{
	const struct profile *p = v->profile;
	struct export_part all = { 0, UINT32_MAX, 0, 0 };
	u32 i, e;

	memset(parts, 0, sizeof(*parts));
	if (!split_by_event(v)) {
		if (v->event >= 0 && (u32)v->event < p->events.n) {
			all.event = (u32)v->event;
			all.name = p->events.v[all.event].name;
		}
		vec_push(&parts->v, all);
		return;
	}
	for (i = 1; i < v->nodes.n; i = v->nodes.v[i].end) {
		const struct frame *f = &p->frames.v[v->nodes.v[i].frame];
		struct export_part part = { f->function, UINT32_MAX, i, 1 };

		for (e = 0; e < p->events.n; e++)
			if (p->events.v[e].name == f->function)
				part.event = e;
		if (part.event == UINT32_MAX || !(f->flags & FRAME_GROUP)) {
			/* Not built by event after all (inverted, filtered): one part. */
			parts->v.n = 0;
			vec_push(&parts->v, all);
			return;
		}
		vec_push(&parts->v, part);
	}
}

void export_parts_release(struct export_parts *parts)
{
	vec_release(&parts->v);
}

void export_frames_init(struct export_frames *f, const struct view *v)
{
	size_t n = v->profile->frames.n, i;

	memset(&f->v, 0, sizeof(f->v));
	f->number = xreallocarray(NULL, n + 1, sizeof(*f->number));
	for (i = 0; i < n; i++)
		f->number[i] = UINT32_MAX;
	for (i = 1; i < v->nodes.n; i++) {
		frame_id id = v->nodes.v[i].frame;

		if (f->number[id] == UINT32_MAX) {
			f->number[id] = (u32)f->v.n;
			vec_push(&f->v, id);
		}
	}
}

void export_frames_release(struct export_frames *f)
{
	vec_release(&f->v);
	free(f->number);
}

bool export_has_samples(const struct view *v)
{
	const struct profile *p = v->profile;
	u64 sum = 0;
	size_t i;

	if (!v->place.n)
		return false;
	for (i = 0; i < p->samples.n; i++)
		if (view_place(v, p->samples.v[i].event, p->samples.v[i].node) != UINT32_MAX &&
		    __builtin_add_overflow(sum, p->samples.v[i].weight, &sum))
			return false;
	return sum == v->nodes.v[0].total;
}

u64 export_duration(const struct profile *p)
{
	u64 first = UINT64_MAX, last = 0;
	size_t i;

	for (i = 0; i < p->samples.n; i++) {
		u64 time = p->samples.v[i].time;

		if (time == UINT64_MAX)
			continue;
		first = MIN(first, time);
		last = MAX(last, time);
	}
	return last > first ? last - first : 0;
}

bool export_is_inlined(const struct view *v, u32 node)
{
	const struct frame *f = &v->profile->frames.v[v->nodes.v[node].frame], *outer;
	u32 parent = v->nodes.v[node].parent;

	if (!(f->flags & FRAME_INLINED) || !parent)
		return false;
	outer = &v->profile->frames.v[v->nodes.v[parent].frame];
	return outer->module == f->module && outer->space == f->space &&
	       !(outer->flags & FRAME_GROUP);
}

const char *export_title(const struct render_opts *opts)
{
	return opts->title ? opts->title : "xenflame";
}

str_id export_string(struct strtab *t, const char *s, size_t n)
{
	struct buf valid = BUF_INIT;
	str_id id;

	if (utf8_valid(s, n))
		return strtab_add(t, s, n);
	buf_utf8(&valid, s, n);
	id = strtab_add(t, valid.p, valid.n);
	buf_release(&valid);
	return id;
}

void export_weight(struct buf *b, u128 v, u64 scale)
{
	u64 rest = 0;

	if (scale == 1) {
		buf_u128(b, v);
		return;
	}
	rest = (u64)(v % scale);
	buf_u128(b, v / scale);
	if (!rest)
		return;
	buf_putc(b, '.');
	while (rest) {
		scale /= 10;
		buf_putc(b, (char)('0' + rest / scale));
		rest %= scale;
	}
}

void export_json(struct buf *b, const char *s)
{
	buf_json(b, s, strlen(s));
}

void export_json_id(struct buf *b, const struct strtab *t, str_id id)
{
	buf_json(b, strtab_get(t, id), strtab_len(t, id));
}

void export_json_frame(struct buf *b, struct buf *scratch, const struct profile *p, frame_id f,
		       bool all)
{
	buf_clear(scratch);
	profile_frame_label(p, f, all, scratch);
	buf_json(b, scratch->p, scratch->n);
}
