/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What was degraded: told on standard error, and handed to the writers. */
#include <errno.h>

#include "cli/cli.h"

void quality_tell(const struct run *r, const char *recording)
{
	struct buf b = BUF_INIT;
	size_t i;

	for (i = 0; i < r->diag.entries.n; i++) {
		const struct diag_entry *e = &r->diag.entries.v[i];

		buf_clear(&b);
		if (recording)
			buf_printf(&b, "'%s': ", recording);
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

/* ---- --fail-if ---- */

static const u8 gate_kinds[] = {
	DIAG_UNRESOLVED_HV,    DIAG_UNRESOLVED_KERNEL, DIAG_UNRESOLVED_USER,
	DIAG_UNRESOLVED_GUEST, DIAG_BROKEN_STACK,      DIAG_LOST,
	DIAG_IP_ZERO,          DIAG_IP_ZERO_GUEST,     DIAG_HV_DEPTH_1,
	DIAG_NO_CHAIN,         DIAG_TRUNCATED_STACK,   DIAG_HV_SOFTWARE_EVENT,
	DIAG_CPU_UNSEEN,
};

static bool is_unresolved(u8 kind)
{
	return kind == DIAG_UNRESOLVED_HV || kind == DIAG_UNRESOLVED_KERNEL ||
	       kind == DIAG_UNRESOLVED_USER || kind == DIAG_UNRESOLVED_GUEST || kind == DIAG_NR;
}

static const char *gate_name(u8 kind)
{
	return kind == DIAG_NR ? "unresolved" : diag_name((enum diag_kind)kind);
}

int quality_gate_parse(struct quality_gate *g, const char *text, struct error *err)
{
	const char *sign = strchr(text, '>');
	struct buf known = BUF_INIT;
	size_t i;
	char *end;

	*g = (struct quality_gate){ .text = text, .kind = DIAG_NR };
	if (!sign || !sign[1] || !strchr(".0123456789", sign[1]))
		return error_set(err, "--fail-if=%s: expected QUALITY>N%%", text);
	errno = 0;
	g->limit = strtod(sign + 1, &end);
	if (end == sign + 1 || errno || !(g->limit >= 0 && g->limit <= 100) || strcmp(end, "%"))
		return error_set(err,
				 "--fail-if=%s: expected QUALITY>N%% with a number from 0 to 100",
				 text);
	for (i = 0; i <= ARRAY_SIZE(gate_kinds); i++) {
		u8 kind = i < ARRAY_SIZE(gate_kinds) ? gate_kinds[i] : DIAG_NR;
		const char *name = gate_name(kind);

		if (strlen(name) == (size_t)(sign - text) &&
		    !memcmp(name, text, (size_t)(sign - text))) {
			g->kind = kind;
			buf_release(&known);
			return 0;
		}
		buf_printf(&known, "%s%s", i ? ", " : "", name);
	}
	error_set(err, "--fail-if=%s: no such quality; there are %s", text, buf_str(&known));
	buf_release(&known);
	return -1;
}

size_t quality_gates_check(const struct quality_gate *gates, size_t n, const struct run *r)
{
	struct buf of = BUF_INIT;
	size_t i, k, failed = 0;

	for (i = 0; i < n; i++) {
		const struct quality_gate *g = &gates[i];
		u64 part = 0, whole = 0;
		double share;

		for (k = 0; k < ARRAY_SIZE(gate_kinds); k++)
			if (gate_kinds[k] == g->kind ||
			    (g->kind == DIAG_NR && is_unresolved(gate_kinds[k]))) {
				part = add_saturated(part, r->quality_part[gate_kinds[k]]);
				whole = add_saturated(whole, r->quality_whole[gate_kinds[k]]);
			}
		share = whole ? 100 * (double)part / (double)whole : 0;
		if (!(share > g->limit))
			continue;
		failed++;
		buf_clear(&of);
		buf_plural(&of,
			   is_unresolved(g->kind)       ? "%n frame{|s}"
			   : g->kind == DIAG_CPU_UNSEEN ? "%n processor{|s}"
							: "%n sample{|s}",
			   whole, "");
		tell("%s: %.2f %% (%" PRIu64 " of %s), against --fail-if=%s", gate_name(g->kind),
		     share, part, buf_str(&of), g->text);
	}
	buf_release(&of);
	return failed;
}
