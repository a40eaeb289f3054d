/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzz target: a perf.data of any kind, read as a file and, when it is in pipe mode, as a stream;
 * every byte that the reader hands out is looked at. The mutator knows records, so that what it
 * makes stays readable.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "perf/perf.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/perf-ahead.h"

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned int seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);

static u64 sum;

static void look(const void *p, size_t n)
{
	const u8 *b = p;
	size_t i;

	for (i = 0; i < n; i++)
		sum = sum * 31 + b[i];
}

static void item(const struct perf_item *it, const struct perf_meta *m, struct strtab *strings,
		 struct perf_chain *ch)
{
	const struct perf_sample *s = &it->sample;
	size_t i;

	switch (it->type) {
	case ITEM_SAMPLE:
		must(s->event < m->events.n && !s->text && s->count == 1);
		must(s->chain_nr <= 8192 && s->lbr_nr <= 4096 && s->stack_size <= 65536);
		look(s->chain, s->chain_nr * sizeof(u64));
		look(s->lbr_from, s->lbr_nr * sizeof(u64));
		look(s->stack, s->stack_size);
		if (s->user_abi)
			look(s->user_regs, 8 * (size_t)__builtin_popcountll(s->user_mask));
		look(strtab_get(strings, s->comm), strtab_len(strings, s->comm));
		perf_chain_classify(ch, s);
		must(ch->addrs.n <= (size_t)s->chain_nr + 1 && ch->root <= ROOT_XEN);
		for (i = 0; i < ch->addrs.n; i++)
			must(ch->addrs.v[i].space < SPACE_NONE &&
			     ch->addrs.v[i].kind <= ADDR_RETURN);
		must(ch->ip_zero == !ch->addrs.n);
		break;
	case ITEM_MMAP:
		look(it->mmap.filename, strlen(it->mmap.filename));
		must(it->mmap.build_id_len <= 20);
		break;
	case ITEM_KSYMBOL: look(it->ksymbol.name, strlen(it->ksymbol.name)); break;
	default: must(it->type <= ITEM_KSYMBOL); break;
	}
}

static void run(const char *path)
{
	struct perf_opts opts = { .format = "perf.data" };
	struct perf_chain ch;
	struct error err = { "" };
	const struct perf_meta *m;
	struct perf_reader *r;
	struct strtab strings;
	struct perf_item it;
	struct diag diag;
	size_t i;
	int ret;

	strtab_init(&strings);
	diag_init(&diag);
	perf_chain_init(&ch);
	r = perf_open(path, &opts, &strings, &diag, &err);
	if (r) {
		m = perf_meta(r);
		while ((ret = perf_next(r, &it, &err)) > 0)
			item(&it, m, &strings, &ch);
		for (i = 0; i < m->events.n; i++)
			look(m->events.v[i].name, strlen(m->events.v[i].name));
		for (i = 0; i < m->build_ids.n; i++)
			look(m->build_ids.v[i].filename, strlen(m->build_ids.v[i].filename));
		must(ret == 0 || err.msg[0]);
	} else {
		must(err.msg[0] != '\0');
	}
	perf_close(r);
	perf_chain_release(&ch);
	diag_release(&diag);
	strtab_release(&strings);
}

static void run_file(const u8 *data, size_t size)
{
	const char *dir = getenv("TMPDIR"); /* a file system in memory makes it faster */
	char *path = path_join(dir && *dir ? dir : ".", "xenflame-fuzz-XXXXXX");
	int fd = mkstemp(path);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	close(fd);
	run(path);
	/* This takes twice as long as all else. */
	if (size % 2)
		must(!perf_ahead_differs(path));
	unlink(path);
	free(path);
}

static void run_stream(const u8 *data, size_t size)
{
	int fds[2], saved;

	if (size > 65536 || pipe(fds))
		return;
	if (write(fds[1], data, size) != (ssize_t)size)
		abort();
	close(fds[1]);
	saved = dup2(STDIN_FILENO, 200);
	dup2(fds[0], STDIN_FILENO);
	close(fds[0]);
	run("-");
	if (saved >= 0) {
		dup2(saved, STDIN_FILENO);
		close(saved);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	run_file(data, size);
	if (size > 16 && data[8] == 16)
		run_stream(data, size);
	return 0;
}

/* ---- mutation ---- */

static u64 get(const u8 *p, u32 n)
{
	u64 v = 0;
	u32 i;

	for (i = 0; i < n; i++)
		v |= (u64)p[i] << 8 * i;
	return v;
}

static void set(u8 *p, u32 n, u64 v)
{
	u32 i;

	for (i = 0; i < n; i++)
		p[i] = (u8)(v >> 8 * i);
}

struct span {
	size_t at, n;
};

/* Records of a little-endian file or pipe. */
static size_t records(const u8 *d, size_t size, struct span *v, size_t max)
{
	size_t pos, end = size, n = 0;

	if (size < 24 || memcmp(d, "PERFILE2", 8))
		return 0;
	if (d[8] == 16) {
		pos = 16;
	} else {
		if (size < 104 || get(d + 40, 8) > size)
			return 0;
		pos = (size_t)get(d + 40, 8);
		if (get(d + 48, 8) && get(d + 48, 8) < size - pos)
			end = pos + (size_t)get(d + 48, 8);
	}
	while (n < max && end - pos >= 8) {
		size_t k = (size_t)get(d + pos + 6, 2);

		if (k < 8 || k > end - pos)
			break;
		v[n++] = (struct span){ pos, k };
		pos += k;
	}
	return n;
}

static size_t resize(u8 *d, size_t size, size_t at, size_t was, size_t is)
{
	memmove(d + at + is, d + at + was, size - at - was);
	if (d[8] != 16 && size >= 104 && get(d + 48, 8))
		set(d + 48, 8, get(d + 48, 8) + is - was);
	return size + is - was;
}

static const u64 interesting[] = {
	0,
	1,
	7,
	8,
	16,
	24,
	255,
	65535,
	65536,
	UINT32_MAX,
	UINT64_MAX,
	(u64)1 << 63,
	(u64)-32,
	(u64)-128,
	(u64)-512,
	(u64)-640,
	0xffff82d040200000ULL,
	0xffffffff81000000ULL,
	0x401000,
};

size_t LLVMFuzzerCustomMutator(uint8_t *d, size_t size, size_t max, unsigned int seed)
{
	static struct span v[4096];
	size_t n = records(d, size, v, ARRAY_SIZE(v)), at, k;
	u64 h = hash_u64(seed);
	struct span *r, *o;

	if (!n || h % 8 == 0)
		goto any;
	r = &v[(h >> 8) % n];
	o = &v[(h >> 24) % n];
	switch (h % 8) {
	case 1: /* a word of a record */
	case 2:
		k = 2u << (h >> 40) % 3;
		if (r->n < 8 + k)
			break;
		at = r->at + 8 + (h >> 44) % ((r->n - 8) / k) * k;
		set(d + at, (u32)k,
		    (h >> 60) % 2 ? interesting[(h >> 52) % ARRAY_SIZE(interesting)]
				  : get(d + at, (u32)k) + (h >> 50) % 9 - 4);
		return size;
	case 3: /* once more */
		if (size + r->n > max)
			break;
		size = resize(d, size, r->at, 0, r->n);
		memcpy(d + r->at, d + r->at + r->n, r->n);
		return size;
	case 4: /* away */ return resize(d, size, r->at, r->n, 0);
	case 5: /* type or misc */
		if ((h >> 40) % 2)
			set(d + r->at, 4, (h >> 41) % 3 ? (h >> 44) % 23 : 64 + (h >> 44) % 23);
		else
			set(d + r->at + 4, 2, h >> 48);
		return size;
	case 6: /* another place: swapped with a record of the same size */
		if (r->n == o->n && r != o) {
			static u8 tmp[65536];

			memcpy(tmp, d + r->at, r->n);
			memcpy(d + r->at, d + o->at, r->n);
			memcpy(d + o->at, tmp, r->n);
			return size;
		}
		break;
	default: /* what samples hold: sample_type, read_format, flags of an event */
		at = d[8] == 16 ? (get(d + 16, 4) == 64 ? 24 : 0) : (size_t)get(d + 24, 8);
		if (at && at < size && size - at > 88) {
			static const u8 offs[] = { 24, 24, 24, 32, 40, 72, 80 };
			u8 off = offs[(h >> 40) % ARRAY_SIZE(offs)];

			set(d + at + off, 8, get(d + at + off, 8) ^ (u64)1 << (h >> 48) % 25);
			return size;
		}
		break;
	}
any:
#ifdef FUZZ_WITH_LIBFUZZER
	return LLVMFuzzerMutate(d, size, max);
#else
	return size;
#endif
}
