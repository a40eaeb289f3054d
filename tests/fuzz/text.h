/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the fuzz targets of the text readers share: a read to the end, in which each thing handed
 * out is looked at. */
#ifndef XENFLAME_FUZZ_TEXT_H
#define XENFLAME_FUZZ_TEXT_H

#include "tests/fuzz/fuzz.h"
#include "tests/unit/text-dump.h"

struct fuzz_result {
	u64 samples, count, bad;
	bool failed;
};

/* Names and counts as folded stacks go to `out` when it is not NULL. */
static inline struct fuzz_result fuzz_read(const u8 *data, size_t size, const char *format,
					   u32 piece, u32 threads, struct buf *out)
{
	struct perf_opts opts = { .format = format,
				  .piece = piece,
				  .threads = threads,
				  .portable = threads > 1,
				  .stacks_once = threads > 1 || !out };
	struct dump_stacks stacks = { 0 };
	struct fuzz_result res = { 0, 0, 0, false };
	struct error err = { "" };
	struct perf_reader *r;
	struct perf_item it;
	struct strtab st;
	struct diag diag;
	char path[64];
	int fd = memory_file(data, size, path), ret;
	u32 i;

	must(fd >= 0);
	strtab_init(&st);
	diag_init(&diag);
	r = perf_open(path, &opts, &st, &diag, &err);
	ret = r ? 1 : -1;
	while (ret > 0 && (ret = perf_next(r, &it, &err)) > 0) {
		const struct perf_sample *s = &it.sample;

		must(it.type == ITEM_SAMPLE && s->text);
		must(dump_restore(&stacks, &it.sample));
		must(s->event < perf_meta(r)->events.n);
		must(s->comm < st.str.n);
		res.samples++;
		res.count += s->count;
		for (i = s->chain_nr; i-- > 0;) {
			u32 id = perf_text_id(r, s->frames[i]);
			const struct perf_text_frame *f;

			must(id < perf_text_frame_count(r));
			f = perf_text_frame(r, id);
			must(f->symbol < st.str.n && f->module < st.str.n && f->file < st.str.n &&
			     f->space < SPACE_NR);
			if (!out)
				continue;
			folded_escape(out, strtab_get(&st, f->symbol), strtab_len(&st, f->symbol));
			buf_putc(out, i ? ';' : ' ');
		}
		if (out && perf_meta(r)->two_columns)
			buf_printf(out, "%" PRIu64 " ", s->base_count);
		if (out) {
			buf_u128(out, (perf_meta(r)->two_columns ? 0 : (u128)s->count_high << 64) |
					      s->count);
			buf_putc(out, '\n');
		}
	}
	must(ret == 0 || err.msg[0]);
	res.failed = ret < 0;
	res.bad = diag_count(&diag, DIAG_BAD_LINE);
	perf_close(r);
	dump_stacks_release(&stacks);
	diag_release(&diag);
	strtab_release(&st);
	close(fd);
	return res;
}

static inline void must_equal(const struct buf *a, const struct buf *b)
{
	if (a->n == b->n && (!a->n || !memcmp(a->p, b->p, a->n)))
		return;
	fprintf(stderr, "differ:\n%.*s---\n%.*s", (int)a->n, a->n ? a->p : "", (int)b->n,
		b->n ? b->p : "");
	abort();
}

#endif
