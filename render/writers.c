/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of writers: order is that of --help. */
#include "render/writer.h"

static const struct render_writer *const table[] = { &writer_svg,
						     &writer_html,
#ifdef HAVE_CAIRO
						     &writer_png,
						     &writer_pdf,
#endif
						     &writer_text,
						     &writer_folded,
						     &writer_perf_script,
						     &writer_speedscope,
						     &writer_speedscope_time,
						     &writer_pprof,
						     &writer_otlp,
						     &writer_chrome,
						     &writer_firefox,
						     &writer_callgrind,
						     &writer_d3,
						     &writer_json,
						     NULL };

const struct render_writer *const *render_writers(void)
{
	return table;
}

const struct render_writer *render_writer_by_name(const char *name)
{
	const struct render_writer *const *w;

	for (w = table; *w; w++)
		if (!strcmp((*w)->name, name))
			return *w;
	return NULL;
}

const struct render_writer *render_writer_by_path(const char *path)
{
	const struct render_writer *const *w, *best = NULL;
	const char *base = path_base(path), *s;
	size_t len, n = strlen(base), best_len = 0;

	for (w = table; *w; w++) {
		for (s = (*w)->suffixes; *s; s += len, s += *s == ' ') {
			len = strcspn(s, " ");
			if (len > best_len && len <= n && !strncmp(base + n - len, s, len)) {
				best = *w;
				best_len = len;
			}
		}
	}
	return best;
}
