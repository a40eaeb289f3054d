/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prints what the readers of perf/ make of a text, without any other stage:
 *
 *	text-dump [-j THREADS] [-f FORMAT] [-aepstx] FILE
 *
 * One line a sample in the order of the input, root first: "comm;frame;… weight".
 * -a: address, module, space and flags with each frame; -p: the period is the
 * weight; -e: event first; -t: pid/tid, cpu and time first; -s: one line with sums instead.
 * -x: fields for programs (dump_fields()).
 * Diagnostics go to standard error.
 */
#include "text-dump.h"

static void print_sums(const struct perf_reader *r, const struct dump_sums *d,
		       const struct diag *diag)
{
	size_t i;

	printf("samples=%" PRIu64 " frames=%" PRIu64 " periods=%" PRIu64 " hv=%" PRIu64
	       " kernel=%" PRIu64 " exact=%" PRIu64 " inlined=%" PRIu64 " unknown=%" PRIu64
	       " empty=%" PRIu64 " bad=%" PRIu64 " lost=%" PRIu64,
	       d->samples, d->frames, d->periods, d->hv, d->kernel, d->exact, d->inlined,
	       d->unknown, d->empty, diag_count(diag, DIAG_BAD_LINE), perf_meta(r)->lost);
	for (i = 0; i < perf_meta(r)->events.n; i++)
		printf(" %s=%" PRIu64, perf_meta(r)->events.v[i].name,
		       perf_meta(r)->events.v[i].samples);
	printf("\n");
}

int main(int argc, char **argv)
{
	struct perf_opts opts = { .threads = 1 };
	struct dump_sums d = { .samples = 0 };
	struct buf b = BUF_INIT;
	struct error err = { "" };
	struct perf_reader *r;
	struct perf_item it;
	struct strtab st;
	struct diag diag;
	int opt, ret, what = 0;
	bool sums = false, fields = false;
	size_t i;

	while ((opt = getopt(argc, argv, "j:apestxf:")) != -1) {
		if (opt == 'j')
			opts.threads = (u32)strtoul(optarg, NULL, 10);
		else if (opt == 'f')
			opts.format = optarg;
		else if (opt == 'a')
			what |= DUMP_ALL;
		else if (opt == 'p')
			what |= DUMP_PERIOD;
		else if (opt == 'e')
			what |= DUMP_EVENT;
		else if (opt == 't')
			what |= DUMP_TASK;
		else if (opt == 's')
			sums = true;
		else if (opt == 'x')
			fields = true;
		else
			return 2;
	}
	if (optind + 1 != argc)
		return 2;
	strtab_init(&st);
	diag_init(&diag);
	r = perf_open(argv[optind], &opts, &st, &diag, &err);
	ret = r ? 1 : -1;
	while (ret > 0 && (ret = perf_next(r, &it, &err)) > 0) {
		if (it.type != ITEM_SAMPLE)
			continue;
		if (sums) {
			dump_add(&d, r, &it.sample);
			continue;
		}
		buf_clear(&b);
		if (fields)
			dump_fields(&b, r, &st, &it.sample);
		else
			dump_sample(&b, r, &st, &it.sample, what);
		fwrite(b.p, 1, b.n, stdout);
	}
	if (sums && r)
		print_sums(r, &d, &diag);
	for (i = 0; i < diag.entries.n; i++) {
		buf_clear(&b);
		diag_format(&diag, &diag.entries.v[i], &b);
		fprintf(stderr, "diag: %s\n", buf_str(&b));
	}
	if (ret < 0)
		fprintf(stderr, "error: %s\n", err.msg);
	perf_close(r);
	diag_release(&diag);
	strtab_release(&st);
	buf_release(&b);
	return ret < 0;
}
