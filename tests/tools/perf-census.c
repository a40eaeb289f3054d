/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prints what a recording holds as one line of tab-separated figures, in the columns of
 * tests/data/corpus/EXPECTED.tsv, which an independent reader made:
 *   file events samples total_period chain_entries max_depth garbage_ctx samples_without_addr
 * threads lost first_ns last_ns
 * --raw: chains as recorded (the default). --spaces: instead, addresses by space, exact addresses
 * and samples by root after perf_chain_classify(). --dump: a line an item. --diag: what was
 * degraded, on standard error.
 */
#include <stdlib.h>

#include "tests/unit/perf-ahead.h"

static struct {
	bool spaces, dump, diag, quiet;
} opt;

struct census {
	u64 period, entries, depth, garbage, no_addr;
	u64 by_space[SPACE_NR], exact, by_root[3], markers_dropped, ip_zero;
	u64 items[ITEM_KSYMBOL + 1];
	VEC(u64) events;
	VEC(u32) tids;
};

static void thread(struct census *c, u32 tid)
{
	size_t lo = 0, hi = c->tids.n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (c->tids.v[mid] < tid)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo < c->tids.n && c->tids.v[lo] == tid)
		return;
	vec_push(&c->tids, tid);
	memmove(c->tids.v + lo + 1, c->tids.v + lo, (c->tids.n - 1 - lo) * sizeof(u32));
	c->tids.v[lo] = tid;
}

static void sample(struct census *c, struct perf_chain *ch, const struct perf_sample *s,
		   bool has_chain)
{
	u64 depth = 0, garbage = 0;
	u32 i;

	for (i = 0; i < s->chain_nr; i++) {
		u64 v = s->chain[i];

		if (v < PERF_CONTEXT_MAX)
			depth++;
		else
			garbage += v != PERF_CONTEXT_HV && v != PERF_CONTEXT_KERNEL &&
				   v != PERF_CONTEXT_USER && v != PERF_CONTEXT_USER_DEFERRED &&
				   v != PERF_CONTEXT_GUEST && v != PERF_CONTEXT_GUEST_KERNEL &&
				   v != PERF_CONTEXT_GUEST_USER;
	}
	c->period += s->period;
	c->entries += depth;
	c->depth = MAX(c->depth, depth);
	c->garbage += garbage != 0;
	c->no_addr += has_chain && !depth;
	while (c->events.n <= s->event)
		vec_push(&c->events, (u64)0);
	c->events.v[s->event]++;
	thread(c, s->tid);
	if (!opt.spaces)
		return;
	perf_chain_classify(ch, s);
	for (i = 0; i < ch->addrs.n; i++) {
		c->by_space[ch->addrs.v[i].space]++;
		c->exact += ch->addrs.v[i].kind == ADDR_EXACT;
	}
	c->by_root[ch->root]++;
	c->ip_zero += ch->ip_zero;
}

static void dump(const struct perf_item *it, struct strtab *strings, struct perf_chain *ch)
{
	static const char *const types[] = { "sample", "mmap", "fork", "exec", "exit", "ksymbol" };
	u32 i;

	printf("%s %" PRIu64, types[it->type], it->time);
	switch (it->type) {
	case ITEM_SAMPLE:
		printf(" %s %" PRId32 "/%" PRId32 " [%" PRId32 "] event %" PRIu32 " period %" PRIu64
		       " mode %u ip %" PRIx64,
		       strtab_get(strings, it->sample.comm), (int32_t)it->sample.pid,
		       (int32_t)it->sample.tid, (int32_t)it->sample.cpu, it->sample.event,
		       it->sample.period, it->sample.cpumode, it->sample.ip);
		if (opt.spaces) {
			perf_chain_classify(ch, &it->sample);
			for (i = 0; i < ch->addrs.n; i++)
				printf(" %c%s%" PRIx64, "ukhUK-"[ch->addrs.v[i].space],
				       ch -> addrs.v[i].kind == ADDR_EXACT ? "=" : "-",
				       ch->addrs.v[i].addr);
		} else {
			for (i = 0; i < it->sample.chain_nr; i++)
				printf(" %" PRIx64, it->sample.chain[i]);
		}
		break;
	case ITEM_MMAP:
		printf(" %" PRId32 " %" PRIx64 "+%" PRIx64 " pgoff %" PRIx64 " mode %u %s",
		       (int32_t)it->mmap.pid, it->mmap.addr, it->mmap.len, it->mmap.pgoff,
		       it->mmap.cpumode, it->mmap.filename);
		break;
	case ITEM_KSYMBOL:
		printf(" %" PRIx64 "+%" PRIx32 " %s", it->ksymbol.addr, it->ksymbol.len,
		       it->ksymbol.name);
		break;
	default: printf(" %" PRIu32 " %" PRIu32, it->task.pid, it->task.ppid); break;
	}
	putchar('\n');
}

static int census(const char *path)
{
	struct error err = { "" };
	struct census c = { .period = 0 };
	struct strtab strings;
	struct perf_chain ch;
	struct perf_reader *r;
	struct perf_item item;
	const struct perf_meta *m;
	const char *differs;
	struct diag diag;
	struct buf line = BUF_INIT;
	u64 total = 0;
	int ret = -1;
	size_t i;

	strtab_init(&strings);
	diag_init(&diag);
	perf_chain_init(&ch);
	r = perf_open(path, NULL, &strings, &diag, &err);
	if (!r)
		goto out;
	differs = strcmp(path, "-") != 0 ? perf_ahead_differs(path) : NULL;
	if (differs) {
		error_set(&err, "'%s': with a thread that reads ahead %s differs", path, differs);
		goto out;
	}
	m = perf_meta(r);
	while ((ret = perf_next(r, &item, &err)) > 0) {
		c.items[item.type]++;
		if (opt.dump)
			dump(&item, &strings, &ch);
		if (item.type == ITEM_SAMPLE) {
			total++;
			sample(&c, &ch, &item.sample,
			       m->events.v[item.sample.event].sample_type & 1 << 5);
		}
	}
	buf_printf(&line, "%s\t", path);
	for (i = 0; i < m->events.n; i++)
		if (m->events.v[i].samples)
			buf_printf(&line, "%s%s=%" PRIu64, line.p[line.n - 1] == '\t' ? "" : ",",
				   m->events.v[i].name, m->events.v[i].samples);
	buf_printf(&line,
		   "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
		   "\t%zu\t%" PRIu64 "\t",
		   total, c.period, c.entries, c.depth, c.garbage, c.no_addr, c.tids.n, m->lost);
	if (m->first_time != PERF_NO_TIME)
		buf_printf(&line, "%" PRIu64 "\t%" PRIu64, m->first_time, m->last_time);
	else
		buf_putc(&line, '\t');
	if (opt.spaces) {
		buf_clear(&line);
		buf_printf(&line, "%s", path);
		for (i = 0; i < SPACE_NONE; i++)
			buf_printf(&line, "\t%s=%" PRIu64, space_name((enum space)i),
				   c.by_space[i]);
		buf_printf(&line,
			   "\texact=%" PRIu64 "\troot_comm=%" PRIu64 "\troot_guest=%" PRIu64
			   "\troot_xen=%" PRIu64 "\tip_zero=%" PRIu64,
			   c.exact, c.by_root[0], c.by_root[1], c.by_root[2], c.ip_zero);
	}
	if (!opt.quiet)
		puts(buf_str(&line));
	if (opt.diag) {
		fprintf(stderr,
			"host %s release %s arch %s cpus %u/%u cmdline %s build ids %zu hv %d "
			"mmaps %" PRIu64 "\n",
			m->hostname ? m->hostname : "-", m->release ? m->release : "-",
			m->arch ? m->arch : "-", m->nrcpus_online, m->nrcpus_avail,
			m->cmdline ? m->cmdline : "-", m->build_ids.n, ch.hv_marker,
			c.items[ITEM_MMAP]);
		for (i = 0; i < diag.entries.n; i++) {
			buf_clear(&line);
			diag_format(&diag, &diag.entries.v[i], &line);
			fprintf(stderr, "%s: %s\n", diag_name(diag.entries.v[i].kind),
				buf_str(&line));
		}
	}
out:
	if (ret < 0)
		fprintf(stderr, "%s\n", err.msg);
	perf_close(r);
	perf_chain_release(&ch);
	diag_release(&diag);
	strtab_release(&strings);
	vec_release(&c.events);
	vec_release(&c.tids);
	buf_release(&line);
	return ret < 0;
}

int main(int argc, char **argv)
{
	int i, failed = 0;

	for (i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--spaces"))
			opt.spaces = true;
		else if (!strcmp(argv[i], "--dump"))
			opt.dump = true;
		else if (!strcmp(argv[i], "--diag"))
			opt.diag = true;
		else if (!strcmp(argv[i], "--quiet"))
			opt.quiet = true;
		else
			failed |= census(argv[i]);
	}
	return failed;
}
