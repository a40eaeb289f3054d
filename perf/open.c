/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of formats; opening a recording by its content. */
#include "perf/reader.h"

/* In the order in which they are told. A new format is one more line. */
static const struct perf_format *const formats[] = {
	&format_perf_data,  &format_perf_script, &format_folded, &format_svg,   &format_xen_console,
	&format_speedscope, &format_json,        &format_d3,     &format_pprof, &format_firefox,
};

const char *const *perf_format_names(void)
{
	static const char *names[ARRAY_SIZE(formats) + 1];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(formats); i++)
		names[i] = formats[i]->name;
	return names;
}

static void titles(struct buf *b, bool names)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(formats); i++)
		buf_printf(b, "%s%s",
			   !i                             ? ""
			   : i + 1 == ARRAY_SIZE(formats) ? " or "
							  : ", ",
			   names ? formats[i]->name : formats[i]->title);
}

static const struct perf_format *choose(struct perf_reader *r, struct error *err)
{
	const u8 *head = r->in.map ? r->in.map : r->in.head;
	size_t n = r->in.map ? (size_t)MIN(r->in.size, (u64)INPUT_HEAD) : r->in.head_n;
	const struct perf_format *best = NULL;
	struct buf b = BUF_INIT;
	int score = 0, s;
	size_t i;

	if (r->opts.format) {
		for (i = 0; i < ARRAY_SIZE(formats); i++)
			if (!strcmp(formats[i]->name, r->opts.format))
				return formats[i];
		titles(&b, true);
		error_set(err, "unknown input format '%s': expected %s", r->opts.format,
			  buf_str(&b));
		goto fail;
	}
	if (!r->in.is_dir && !n) {
		error_set(err, "'%s': is empty", input_name(&r->in));
		goto fail;
	}
	for (i = 0; i < ARRAY_SIZE(formats); i++) {
		s = formats[i]->probe(head, n, r->in.is_dir);
		if (s > score) {
			score = s;
			best = formats[i];
		}
	}
	if (best)
		return best;
	if (!r->in.is_dir && input_packed_twice(&r->in)) {
		error_set(err, "'%s': packed twice: unpack it once by '%s -d'", input_name(&r->in),
			  input_packed_twice(&r->in));
		goto fail;
	}
	titles(&b, false);
	error_set(err, "'%s': not a recording at offset 0x0: expected %s", input_name(&r->in),
		  buf_str(&b));
fail:
	buf_release(&b);
	return NULL;
}

struct perf_reader *perf_open(const char *path, const struct perf_opts *opts,
			      struct strtab *strings, struct diag *diag, struct error *err)
{
	struct perf_reader *r = xcalloc(1, sizeof(*r));

	if (opts)
		r->opts = *opts;
	r->strings = strings;
	r->diag = diag;
	r->meta.first_time = r->meta.last_time = PERF_NO_TIME;
	r->meta.weight_scale = 1;
	if (input_open(&r->in, path, err)) {
		free(r);
		return NULL;
	}
	r->format = choose(r, err);
	if (!r->format)
		goto fail;
	r->meta.format = r->format->title;
	if (r->format->open(r, err))
		goto fail;
	return r;
fail:
	perf_close(r);
	return NULL;
}

int perf_next(struct perf_reader *r, struct perf_item *item, struct error *err)
{
	return r->format->next(r, item, err);
}

const struct perf_meta *perf_meta(const struct perf_reader *r)
{
	return &r->meta;
}

u32 perf_text_id(struct perf_reader *r, u32 number)
{
	return r->text->id ? r->text->id(r, number) : number;
}

const struct perf_text_frame *perf_text_frame(const struct perf_reader *r, u32 id)
{
	return &r->text->v.v[id];
}

u32 perf_text_frame_count(const struct perf_reader *r)
{
	return r->text ? (u32)r->text->v.n : 0;
}

void perf_progress(const struct perf_reader *r, u64 *done, u64 *total)
{
	*done = r->reads_ahead ? r->taken : r->in.consumed;
	*total = r->in.file_size;
}

void perf_close(struct perf_reader *r)
{
	struct perf_meta *m;
	size_t i;

	if (!r)
		return;
	if (r->format)
		r->format->close(r);
	m = &r->meta;
	free(m->hostname);
	free(m->release);
	free(m->arch);
	free(m->cpudesc);
	free(m->cpuid);
	free(m->version);
	free(m->cmdline);
	for (i = 0; i < m->events.n; i++)
		free(m->events.v[i].name);
	vec_release(&m->events);
	for (i = 0; i < m->build_ids.n; i++)
		free(m->build_ids.v[i].filename);
	vec_release(&m->build_ids);
	vec_release(&m->losses);
	input_close(&r->in);
	free(r);
}
