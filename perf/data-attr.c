/* SPDX-License-Identifier: GPL-2.0-or-later */
/* perf.data: events (perf_event_attr), their ids and names. */
#include "perf/data.h"

#define ATTR_MIN 64 /* PERF_ATTR_SIZE_VER0 */

static u16 words(u64 sample_type, u64 mask)
{
	return (u16)(8 * __builtin_popcountll(sample_type & mask));
}

static void layout(struct pd_attr *a)
{
	u64 st = a->sample_type;

	if (st & PERF_SAMPLE_TIME)
		a->time_off = 8 +
			      words(st, PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID);
	if (st & PERF_SAMPLE_IDENTIFIER)
		a->id_off = 8;
	else if (st & PERF_SAMPLE_ID)
		a->id_off = 8 + words(st, PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
						  PERF_SAMPLE_ADDR);
	/* READ has no fixed size. */
	if (st & PERF_SAMPLE_CALLCHAIN && !(st & PERF_SAMPLE_READ))
		a->chain_off = 8 + words(st, PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP |
						     PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
						     PERF_SAMPLE_ADDR | PERF_SAMPLE_ID |
						     PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |
						     PERF_SAMPLE_PERIOD);
	if (!(a->flags >> ATTR_SAMPLE_ID_ALL & 1))
		return;
	if (st & PERF_SAMPLE_TIME)
		a->tail_time = 8 + words(st, PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |
						     PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER);
	if (st & PERF_SAMPLE_IDENTIFIER)
		a->tail_id = 8;
	else if (st & PERF_SAMPLE_ID)
		a->tail_id = 8 + words(st, PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU);
	if (st & PERF_SAMPLE_CPU)
		a->tail_cpu = 8 + words(st, PERF_SAMPLE_IDENTIFIER);
	a->tail_size = words(st, PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
					 PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |
					 PERF_SAMPLE_IDENTIFIER);
}

static u64 reverse_bits(u64 v)
{
	u64 r = 0;
	int i;

	for (i = 0; i < 64; i++)
		r |= (v >> i & 1) << (63 - i);
	return r;
}

static char *default_name(u32 type, u64 config, u64 flags)
{
	static const char *const hardware[] = {
		"cycles",
		"instructions",
		"cache-references",
		"cache-misses",
		"branches",
		"branch-misses",
		"bus-cycles",
		"stalled-cycles-frontend",
		"stalled-cycles-backend",
		"ref-cycles",
	};
	static const char *const software[] = {
		"cpu-clock",        "task-clock",   "page-faults",  "context-switches",
		"cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
		"emulation-faults", "dummy",        "bpf-output",   "cgroup-switches",
	};
	static const char *const caches[] = { "L1-dcache", "L1-icache", "LLC", "dTLB",
					      "iTLB",      "branch",    "node" };
	static const char *const ops[] = { "load", "store", "prefetch" };
	struct buf b = BUF_INIT;
	char *name;
	int i;

	if (type == 0 && config < ARRAY_SIZE(hardware))
		buf_puts(&b, hardware[config]);
	else if (type == 1 && config < ARRAY_SIZE(software))
		buf_puts(&b, software[config]);
	else if (type == 2)
		buf_printf(&b, "tracepoint-%" PRIu64, config);
	else if (type == 3 && (config & 0xff) < ARRAY_SIZE(caches) &&
		 (config >> 8 & 0xff) < ARRAY_SIZE(ops) && config >> 16 < 2)
		buf_printf(&b, "%s-%s%s", caches[config & 0xff], ops[config >> 8 & 0xff],
			   config >> 16                ? "-misses"
			   : (config >> 8 & 0xff) == 2 ? "es"
						       : "s");
	else if (type == 4)
		buf_printf(&b, "raw-0x%" PRIx64, config);
	else if (type == 5)
		buf_puts(&b, "breakpoint");
	else
		buf_printf(&b, "pmu-%" PRIu32 "/0x%" PRIx64 "/", type, config);
	if (flags >> ATTR_EXCLUDE_USER & 7 || flags >> ATTR_PRECISE & 3) {
		buf_putc(&b, ':');
		if (flags >> ATTR_EXCLUDE_USER & 7) {
			if (!(flags >> ATTR_EXCLUDE_USER & 1))
				buf_putc(&b, 'u');
			if (!(flags >> ATTR_EXCLUDE_KERNEL & 1))
				buf_putc(&b, 'k');
			if (!(flags >> ATTR_EXCLUDE_HV & 1))
				buf_putc(&b, 'h');
		}
		for (i = 0; i < (int)(flags >> ATTR_PRECISE & 3); i++)
			buf_putc(&b, 'p');
	}
	name = xstrdup(buf_str(&b));
	buf_release(&b);
	return name;
}

static bool eq_id(const void *ctx, u32 i, const void *key)
{
	const struct pd *pd = ctx;

	return pd->ids.v[i].id == *(const u64 *)key;
}

u32 pd_id_find(const struct pd *pd, u64 id)
{
	return index_find(&pd->id_index, hash_u64(id), eq_id, pd, &id);
}

static void id_add(struct pd *pd, u64 id, u32 event)
{
	u32 i = pd_id_find(pd, id);

	if (i == INDEX_NONE) {
		i = (u32)pd->ids.n;
		vec_push(&pd->ids,
			 ((struct pd_id){ .id = id, .event = event, .vcpu = PERF_NO_CPU }));
		index_add(&pd->id_index, hash_u64(id), i);
	}
}

static void add_place(struct pd_places *p, u16 off)
{
	u32 i;

	for (i = 0; i < p->n; i++)
		if (p->off[i] == off)
			return;
	/* There are fewer than 16 fields that an id can stand behind. */
	if (off && p->n < ARRAY_SIZE(p->off))
		p->off[p->n++] = off;
}

bool pd_attr_add(struct pd *pd, const u8 *p, size_t n, const u8 *ids, u64 nids)
{
	struct perf_meta *m = &pd->r->meta;
	struct pd_attr a = { .sample_type = 0 };
	struct perf_event ev = { .name = NULL };
	struct cursor c;
	u64 i;

	if (pd->attrs.n >= PD_MAX_EVENTS)
		return false;
	cursor_init(&c, p, n, pd->swap);
	ev.type = cursor_u32(&c);
	cursor_u32(&c);
	ev.config = cursor_u64(&c);
	ev.period = cursor_u64(&c);
	a.sample_type = cursor_u64(&c);
	a.read_format = cursor_u64(&c);
	a.flags = cursor_u64(&c);
	if (pd->big)
		a.flags = reverse_bits(a.flags);
	if (c.bad)
		return false;
	cursor_skip(&c, 24); /* wakeup_events, bp_type, config1, config2 */
	a.branch_type = cursor_u64(&c);
	a.regs_user = cursor_u64(&c);
	cursor_skip(&c, 8); /* sample_stack_user, clockid */
	a.regs_intr = cursor_u64(&c);
	layout(&a);
	ev.sample_type = a.sample_type;
	ev.freq = a.flags >> ATTR_FREQ & 1;
	ev.exclude_guest = a.flags >> ATTR_EXCLUDE_GUEST & 1;
	ev.exclude_host = a.flags >> ATTR_EXCLUDE_HOST & 1;
	ev.name = default_name(ev.type, ev.config, a.flags);
	if (!pd->attrs.n) {
		pd->same_id = pd->same_tail_time = true;
	} else {
		pd->same_id &= a.id_off == pd->attrs.v[0].id_off;
		pd->same_tail_time &= a.tail_time == pd->attrs.v[0].tail_time &&
				      a.tail_size == pd->attrs.v[0].tail_size;
	}
	add_place(&pd->id_places, a.id_off);
	add_place(&pd->tail_places, a.tail_id);
	vec_push(&pd->attrs, a);
	vec_push(&m->events, ev);
	for (i = 0; i < nids && pd->ids_read < PD_MAX_IDS; i++, pd->ids_read++)
		id_add(pd, ld64(ids + 8 * i, pd->swap), (u32)(pd->attrs.n - 1));
	return true;
}

void pd_event_rename(struct pd *pd, u32 event, const char *name, size_t len)
{
	struct perf_event *ev;
	const char *nul = memchr(name, 0, len);

	if (nul)
		len = (size_t)(nul - name);
	if (event >= pd->r->meta.events.n || !len)
		return;
	ev = &pd->r->meta.events.v[event];
	free(ev->name);
	ev->name = xstrndup(name, len);
}

/* With ids at differing places, the id at an event's place must be one of that event's. */
static u32 search_id(const struct pd *pd, const struct pd_rec *rec, bool tail)
{
	const struct pd_places *places = tail ? &pd->tail_places : &pd->id_places;
	u32 i, k, off;

	for (i = 0; i < places->n; i++) {
		off = places->off[i];
		if (off + 8 > rec->size)
			continue;
		k = pd_id_find(pd, ld64(tail ? rec->p + rec->size - off : rec->p + off, pd->swap));
		if (k == INDEX_NONE)
			continue;
		k = pd->ids.v[k].event;
		if (off == (tail ? pd->attrs.v[k].tail_id : pd->attrs.v[k].id_off))
			return k;
	}
	return INDEX_NONE;
}

u32 pd_event_of_sample(struct pd *pd, const struct pd_rec *rec)
{
	u32 off, k;
	u64 id;

	if (pd->attrs.n <= 1)
		return 0;
	if (!pd->same_id) {
		k = search_id(pd, rec, false);
		if (k != INDEX_NONE)
			return k;
		pd->unknown_ids++;
		return 0;
	}
	off = pd->attrs.v[0].id_off;
	if (!off || off + 8 > rec->size)
		return 0;
	id = ld64(rec->p + off, pd->swap);
	k = pd_id_find(pd, id);
	if (k != INDEX_NONE)
		return pd->ids.v[k].event;
	if (id)
		pd->unknown_ids++;
	return 0;
}

const struct pd_attr *pd_attr_of_other(struct pd *pd, const struct pd_rec *rec)
{
	u32 k;

	if (!pd->attrs.n)
		return NULL;
	if (pd->same_tail_time)
		return &pd->attrs.v[0];
	k = search_id(pd, rec, true);
	return &pd->attrs.v[k == INDEX_NONE ? 0 : k];
}

void pd_id_index_record(struct pd *pd, const struct pd_rec *rec)
{
	struct cursor c;
	u64 nr, i, left;

	cursor_init(&c, rec->p + 8, rec->size - 8, pd->swap);
	nr = cursor_u64(&c);
	left = cursor_left(&c);
	/* {id, idx, cpu, tid} of each, then perhaps {machine_pid, vcpu} of each. */
	if (c.bad || nr > left / 32 || left / 48 < nr)
		return;
	for (i = 0; i < nr; i++) {
		u64 id = ld64(c.p + 32 * i, pd->swap);
		const u8 *second = c.p + 32 * nr + 16 * i;
		u64 machine = ld64(second, pd->swap), vcpu = ld64(second + 8, pd->swap);
		u32 k;

		if (!machine)
			continue;
		k = pd_id_find(pd, id);
		if (k == INDEX_NONE)
			continue;
		pd->ids.v[k].machine_pid = (u32)machine;
		pd->ids.v[k].vcpu = vcpu > UINT32_MAX ? PERF_NO_CPU : (u32)vcpu;
		pd->has_machines = true;
	}
}

void pd_event_update(struct pd *pd, const struct pd_rec *rec)
{
	u32 k;

	/* u64 type, u64 id, data; type 2 is a name */
	if (rec->size <= 24 || ld64(rec->p + 8, pd->swap) != 2)
		return;
	k = pd_id_find(pd, ld64(rec->p + 16, pd->swap));
	if (k != INDEX_NONE)
		pd_event_rename(pd, pd->ids.v[k].event, (const char *)rec->p + 24, rec->size - 24);
}

static bool eq_count(const void *ctx, u32 i, const void *key)
{
	const struct pd_count *a = &((const struct pd *)ctx)->counts.v[i], *b = key;

	return a->id == b->id && a->tid == b->tid;
}

u64 pd_count_delta(struct pd *pd, u64 id, u32 tid, u64 value)
{
	struct pd_count key = { .id = id, .value = value, .tid = tid }, *c;
	u64 h = hash_u64(id ^ (u64)tid << 32), delta;
	u32 i = index_find(&pd->count_index, h, eq_count, pd, &key);

	if (i == INDEX_NONE) {
		index_add(&pd->count_index, h, (u32)pd->counts.n);
		vec_push(&pd->counts, key);
		return value;
	}
	c = &pd->counts.v[i];
	delta = value >= c->value ? value - c->value : value;
	c->value = value;
	return delta;
}
