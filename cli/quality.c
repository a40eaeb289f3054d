/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What was degraded: told on standard error, and handed to the writers. */
#include "cli/cli.h"

void quality_tell(const struct run *r)
{
	struct buf b = BUF_INIT;
	size_t i;

	for (i = 0; i < r->diag.entries.n; i++) {
		const struct diag_entry *e = &r->diag.entries.v[i];

		buf_clear(&b);
		diag_format(&r->diag, e, &b);
		tell("%s%s", diag_is_strict(e->kind) ? "warning: " : "note: ", buf_str(&b));
	}
	buf_release(&b);
}

bool quality_has_strict(const struct run *r)
{
	size_t i;

	for (i = 0; i < r->diag.entries.n; i++)
		if (diag_is_strict(r->diag.entries.v[i].kind))
			return true;
	return false;
}

struct render_quality *quality_list(struct run *r, size_t *n)
{
	struct render_quality *q = arena_zalloc(&r->facts_arena,
						(r->diag.entries.n + 1) * sizeof(*q));
	struct buf b = BUF_INIT;
	size_t i;

	for (i = 0; i < r->diag.entries.n; i++) {
		const struct diag_entry *e = &r->diag.entries.v[i];

		buf_clear(&b);
		diag_format(&r->diag, e, &b);
		q[i].name = diag_name(e->kind);
		q[i].text = arena_strndup(&r->facts_arena, b.p, b.n);
		q[i].count = e->count;
		q[i].strict = diag_is_strict(e->kind);
	}
	buf_release(&b);
	*n = r->diag.entries.n;
	return q;
}
