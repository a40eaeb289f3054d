/* SPDX-License-Identifier: GPL-2.0-or-later */
/* perf.data: the format's entry in the table. */
#include "perf/reader.h"

static int probe(const u8 *head, size_t n, bool is_dir)
{
	if (is_dir)
		return 100;
	if (n < 8)
		return 0;
	if (!memcmp(head, "PERFILE2", 8) || !memcmp(head, "2ELIFREP", 8) || !memcmp(head, "PERFFILE", 8) ||
	    !memcmp(head, "ELIFFREP", 8))
		return 100;
	return 0;
}

static int pd_open(struct perf_reader *r, struct error *err)
{
	if (r->in.is_dir)
		return error_set(err, "'%s': is a directory without a recording", input_name(&r->in));
	return error_set(err, "'%s': this build only recognises perf.data", input_name(&r->in));
}

static int pd_next(struct perf_reader *r, struct perf_item *item, struct error *err)
{
	(void)r;
	(void)item;
	(void)err;
	return 0;
}

static void pd_close(struct perf_reader *r)
{
	(void)r;
}

const struct perf_format format_perf_data = {
	.name = "perf.data",
	.title = "perf.data",
	.probe = probe,
	.open = pd_open,
	.next = pd_next,
	.close = pd_close,
};
