/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf.data: the format's entry in the table, and the loop that reads records,
 * acts on those that need no order, queues the others and hands out items.
 */
#include <dirent.h>

#include "perf/data.h"

#define MAX_FILES 4096u
/* How much of each file of a folder is read in turn, so that their times stay close together. */
#define TURN_BYTES ((u64)2 << 20)

static int probe(const u8 *head, size_t n, bool is_dir)
{
	if (is_dir)
		return 100;
	if (n < 8)
		return 0;
	if (!memcmp(head, "PERFILE2", 8) || !memcmp(head, "2ELIFREP", 8) ||
	    !memcmp(head, "PERFFILE", 8) || !memcmp(head, "ELIFFREP", 8))
		return 100;
	return 0;
}

void pd_bad(struct pd *pd, const struct pd_file *f, const u8 *rec, u32 block, const char *what)
{
	if (!pd->bad++)
		pd->first_bad = xasprintf("'%s': record at 0x%" PRIx64 ": %s", input_name(f->in),
					  pd_rec_offset(pd, f, rec, block), what);
}

static void unknown_type(struct pd *pd, u32 type)
{
	size_t i;

	for (i = 0; i < pd->unknown.n; i++)
		if (pd->unknown.v[i].type == type)
			break;
	if (i == pd->unknown.n) {
		if (i == 64) {
			i = 63;
		} else {
			vec_reserve(&pd->unknown, 1);
			pd->unknown.v[i].type = type;
			pd->unknown.v[i].n = 0;
			pd->unknown.n++;
		}
	}
	pd->unknown.v[i].n++;
}

/* Tells what was counted, once. */
static void tell(struct pd *pd)
{
	struct diag *d = pd->r->diag;
	size_t i;

	if (pd->told)
		return;
	pd->told = true;
	if (pd->bad)
		diag_add(d, DIAG_BAD_RECORD, pd->bad, pd->first_bad);
	for (i = 0; i < pd->unknown.n; i++)
		diag_addf(d, DIAG_UNKNOWN_RECORD, pd->unknown.v[i].n, "%" PRIu32,
			  pd->unknown.v[i].type);
	if (pd->unknown_ids + pd->unknown_members)
		diag_add(d, DIAG_UNKNOWN_ID, pd->unknown_ids + pd->unknown_members, NULL);
	if (pd->out_of_order)
		diag_add(d, DIAG_OUT_OF_ORDER, pd->out_of_order, NULL);
	diag_note(
		d,
		"the kernel throttled sampling %n time{|s}: samples are missing there; record with "
		"a lower frequency (-F)",
		pd->throttled, "");
	diag_note(d, "%n piece{|s} of processor trace (AUX) left out: only samples are drawn",
		  pd->traces, "");
	if (pd->r->meta.lost)
		diag_add(d, DIAG_LOST, pd->r->meta.lost, NULL);
}

/* ---- files ---- */

static int by_number(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

/* perf record --threads: `data` is a perf.data file, data.N are bare records. */
static int open_dir(struct pd *pd, struct error *err)
{
	struct input *in = &pd->r->in;
	VEC(u64) numbers = { NULL, 0, 0 };
	struct pd_file *f = pd_file_new(pd, NULL);
	struct dirent *de;
	int ret = -1;
	size_t i;
	DIR *dir;

	f->path = path_join(in->path, "data");
	if (!file_exists(f->path))
		return error_set(err,
				 "'%s': is a directory without a recording in it: expected a file "
				 "'data', as 'perf record --threads' writes",
				 in->path);
	if (input_open(&f->own, f->path, err) || pd_header_read(pd, f, err))
		return -1;
	in->file_size = f->own.file_size;
	dir = opendir(in->path);
	if (!dir)
		return error_errno(err, "'%s': cannot read", in->path);
	while ((de = readdir(dir))) {
		const char *p = de->d_name + 5;
		u64 n;

		/* "data.01" is not what perf calls the first one. */
		if (strncmp(de->d_name, "data.", 5) || (p[0] == '0' && p[1]) ||
		    parse_dec(&p, p + strlen(p), &n) || *p)
			continue;
		vec_push(&numbers, n);
	}
	closedir(dir);
	if (numbers.n > MAX_FILES) {
		error_set(err, "'%s': more than %u files", in->path, MAX_FILES);
		goto out;
	}
	if (numbers.n)
		qsort(numbers.v, numbers.n, sizeof(u64), by_number);
	for (i = 0; i < numbers.n; i++) {
		f = pd_file_new(pd, NULL);
		f->path = xasprintf("%s%sdata.%" PRIu64, in->path,
				    in->path[strlen(in->path) - 1] == '/' ? "" : "/", numbers.v[i]);
		/* Opening a pipe would wait for a writer. */
		if (!file_exists(f->path)) {
			error_set(err, "'%s': is no regular file", f->path);
			goto out;
		}
		if (input_open(&f->own, f->path, err))
			goto out;
		f->base = in->file_size;
		in->file_size += f->own.file_size;
		f->end = f->own.size;
		if (!f->own.map && !f->own.head_n)
			f->at_end = true;
	}
	ret = 0;
out:
	vec_release(&numbers);
	return ret;
}

static int pd_open(struct perf_reader *r, struct error *err)
{
	struct pd *pd = xcalloc(1, sizeof(*pd));
	struct pd_file *f;

	r->priv = pd;
	pd->r = r;
	pd->cur_block = BLOCK_NONE;
	index_init(&pd->id_index);
	index_init(&pd->count_index);
	index_init(&pd->task_index);
	index_init(&pd->proc_index);
	index_init(&pd->waiting_index);
	pd->ahead_from = UINT64_MAX;
	if (r->in.is_dir)
		return open_dir(pd, err);
	f = pd_file_new(pd, &r->in);
	if (probe(r->in.map ? r->in.map : r->in.head,
		  r->in.map ? (size_t)MIN(r->in.size, (u64)8) : r->in.head_n, false) == 0)
		return error_set(err, "'%s': no perf.data magic at offset 0x0", input_name(&r->in));
	if (pd_header_read(pd, f, err))
		return -1;
	input_in_order(&r->in);
	pd_ahead_allow(pd);
	return 0;
}

static void pd_close(struct perf_reader *r)
{
	struct pd *pd = r->priv;
	size_t i;

	if (!pd)
		return;
	pd_ahead_stop(pd);
	if (!pd->told && pd->finished)
		tell(pd);
	for (i = 0; i < pd->files.n; i++)
		pd_file_free(pd, pd->files.v[i]);
	vec_release(&pd->files);
	vec_release(&pd->attrs);
	vec_release(&pd->ids);
	index_release(&pd->id_index);
	vec_release(&pd->counts);
	index_release(&pd->count_index);
	vec_release(&pd->tasks);
	index_release(&pd->task_index);
	vec_release(&pd->procs);
	index_release(&pd->proc_index);
	for (i = 0; i < pd->blocks.n; i++)
		free(pd->blocks.v[i].p);
	vec_release(&pd->blocks);
	vec_release(&pd->free_blocks);
	pd_queue_release(pd);
	vec_release(&pd->deferred);
	vec_release(&pd->waiting);
	index_release(&pd->waiting_index);
	vec_release(&pd->emit);
	vec_release(&pd->unknown);
	free(pd->rec_copy.p);
	free(pd->chain_copy.p);
	free(pd->merge_copy.p);
	free(pd->regs_copy.p);
	free(pd->lbr_copy.p);
	free(pd->name_copy.p);
	free(pd->first_bad);
	free(pd);
	r->priv = NULL;
}

/* ---- records that need no order ---- */

static void header_attr(struct pd *pd, const struct pd_file *f, const struct pd_rec *rec)
{
	u32 n = rec->size - 8, size;

	if (!pd->pipe)
		return; /* the header has them already */
	size = n >= 8 ? ld32(rec->p + 12, pd->swap) : 0;
	if (n >= 8 && !size)
		size = 64;
	if (size < 64 || size > n ||
	    !pd_attr_add(pd, rec->p + 8, size, rec->p + 8 + size, (n - size) / 8))
		pd_bad(pd, f, rec->p, rec->block, "no usable event");
}

static void user_record(struct pd *pd, const struct pd_file *f, const struct pd_rec *rec)
{
	switch (rec->type) {
	case REC_HEADER_ATTR: header_attr(pd, f, rec); break;
	case REC_BUILD_ID: pd_build_id_record(pd, rec->p, rec->size); break;
	case REC_ID_INDEX: pd_id_index_record(pd, rec); break;
	case REC_EVENT_UPDATE: pd_event_update(pd, rec); break;
	case REC_HEADER_FEATURE:
		if (rec->size >= 16)
			pd_feature(pd, ld64(rec->p + 8, pd->swap), rec->p + 16, rec->size - 16);
		break;
	case REC_AUXTRACE: pd->traces++; break;
	default:
		if (rec->type > REC_USER_LAST)
			unknown_type(pd, rec->type);
		break;
	}
}

/*
 * A record without a field for its time, as others than samples are without
 * sample_id_all, stays behind the one before it in its file, and behind what
 * has been given already.  At the beginning it is one that perf made up.
 */
static u64 time_before(const struct pd *pd, const struct pd_file *f)
{
	return f->last_time ? MAX(f->last_time, pd->q.last) : 0;
}

static void note_loss(struct pd *pd, u64 time, u64 count, u32 cpu, bool throttled)
{
	struct perf_meta *m = &pd->r->meta;

	if (!time || time == PERF_NO_TIME)
		return;
	if (m->losses.n < PERF_MAX_LOSSES) {
		vec_push(&m->losses, ((struct perf_loss){ time, count, cpu, throttled }));
	} else {
		struct perf_loss *last = &m->losses.v[PERF_MAX_LOSSES - 1];

		last->count = add_saturated(last->count, count);
	}
}

/* Samples that the kernel says are lost; their number is at `off` of the record.
 *
 * A buffer that was full is told twice since Linux 6.0: by LOST when there is room again, and, with
 * PERF_FORMAT_LOST, by what perf reads from each event in the end and writes as LOST_SAMPLES
 * without a time (builtin-record.c, record__read_lost_samples). The latter also has what was lost
 * last, so the larger sum holds. LOST_SAMPLES of the kernel itself are others: what the hardware
 * dropped. */
static void lost(struct pd *pd, const struct pd_file *f, const struct pd_rec *rec, u32 off)
{
	const struct pd_attr *a = pd_attr_of_other(pd, rec);
	u64 time = 0, count, *sum = &pd->lost.hardware;
	u32 cpu = PERF_NO_CPU;

	if (rec->size < off + 8) {
		pd_bad(pd, f, rec->p, rec->block, "too short for what it should hold");
		return;
	}
	count = ld64(rec->p + off, pd->swap);
	if (a && rec->size >= off + 8 + a->tail_size) {
		if (a->tail_time)
			time = ld64(rec->p + rec->size - a->tail_time, pd->swap);
		if (a->tail_cpu)
			cpu = ld32(rec->p + rec->size - a->tail_cpu, pd->swap);
		note_loss(pd, time, count, cpu, false);
	}
	if (rec->type == REC_LOST)
		sum = &pd->lost.buffers;
	else if (a && !time && a->read_format & PERF_FORMAT_LOST)
		sum = &pd->lost.events;
	*sum = add_saturated(*sum, count);
	pd->r->meta.lost = add_saturated(MAX(pd->lost.buffers, pd->lost.events), pd->lost.hardware);
}

/* Whether a record of the kernel is of use, and its time (0: before all others). */
static bool kernel_record(struct pd *pd, const struct pd_file *f, const struct pd_rec *rec,
			  struct pd_entry *e)
{
	const struct pd_attr *a;

	e->rec = rec->p;
	e->block = rec->block;
	e->time = 0;
	e->event = 0;
	switch (rec->type) {
	case REC_SAMPLE:
		e->event = (u16)pd_event_of_sample(pd, rec);
		if (LIKELY(e->event < pd->attrs.n)) {
			a = &pd->attrs.v[e->event];
			if (!a->time_off)
				e->time = time_before(pd, f);
			else if (a->time_off + 8u <= rec->size)
				e->time = ld64(rec->p + a->time_off, pd->swap);
		}
		return true;
	case REC_LOST: lost(pd, f, rec, 16); return false;
	case REC_LOST_SAMPLES:
		/* Samples that a filter of the user's left out are not lost. */
		if (!(rec->misc & MISC_LOST_SAMPLES_BPF))
			lost(pd, f, rec, 8);
		return false;
	case REC_THROTTLE:
		pd->throttled++;
		a = pd_attr_of_other(pd, rec);
		if (rec->size >= 32)
			note_loss(pd, ld64(rec->p + 8, pd->swap), 0,
				  a && a->tail_cpu && rec->size >= 32u + a->tail_size
					  ? ld32(rec->p + rec->size - a->tail_cpu, pd->swap)
					  : PERF_NO_CPU,
				  true);
		return false;
	case REC_MMAP:
	case REC_MMAP2:
	case REC_COMM:
	case REC_FORK:
	case REC_EXIT:
	case REC_KSYMBOL:
	case REC_CALLCHAIN_DEFERRED:
		a = pd_attr_of_other(pd, rec);
		if (a && !a->tail_time)
			e->time = time_before(pd, f);
		else if (a && a->tail_time + 8u <= rec->size)
			e->time = ld64(rec->p + rec->size - a->tail_time, pd->swap);
		return true;
	default:
		if (!rec->type || rec->type > REC_KERNEL_LAST)
			unknown_type(pd, rec->type);
		return false;
	}
}

/* ---- items ---- */

/* The file to read from now; NULL when all are at their end. */
static struct pd_file *current_file(struct pd *pd)
{
	size_t i;

	for (i = 0; i < pd->files.n; i++) {
		struct pd_file *f = pd->files.v[pd->turn];

		if (pd->turn_bytes < TURN_BYTES && !f->at_end)
			return f;
		pd->turn = (pd->turn + 1) % (u32)pd->files.n;
		pd->turn_bytes = 0;
	}
	return pd->files.v[pd->turn]->at_end ? NULL : pd->files.v[pd->turn];
}

static void progress(struct pd *pd)
{
	struct input *in = &pd->r->in;
	size_t i;

	if (!in->map && !in->is_dir)
		return;
	in->consumed = 0;
	for (i = 0; i < pd->files.n; i++)
		in->consumed += pd->files.v[i]->pos;
}

static void let_go(struct pd *pd)
{
	if (pd->cur_block == BLOCK_NONE)
		return;
	pd_block_unref(pd, pd->cur_block);
	pd->cur_block = BLOCK_NONE;
}

enum pd_found pd_find(struct pd *pd, struct pd_entry *e, bool ahead, struct error *err)
{
	struct pd_rec rec;
	struct pd_file *f;
	int r;

	if (pd_queue_pop(pd, e))
		return PD_FOUND;
	while ((f = current_file(pd))) {
		if (ahead && !pd_file_ordinary(pd, f))
			return PD_END;
		r = pd_file_next(pd, f, &rec, err);
		if (r < 0)
			return PD_ERROR;
		if (!r)
			continue;
		pd->turn_bytes += rec.size;
		if (rec.type == REC_FINISHED_ROUND) {
			/* In a folder each file has rounds of its own: they say nothing of the
			 * others. */
			if (pd->files.n == 1)
				pd_queue_round(pd);
			if (pd_queue_pop(pd, e))
				return PD_FOUND;
			continue;
		}
		if (rec.type >= REC_USER_FIRST) {
			user_record(pd, f, &rec);
			continue;
		}
		if (!kernel_record(pd, f, &rec, e))
			continue;
		e->file = (u16)pd->turn;
		if (!e->time || e->time == UINT64_MAX) {
			pd_block_ref(pd, e->block);
			return PD_FOUND;
		}
		f->last_time = e->time;
		pd_queue_add(pd, e);
		if (pd->q.e.n < PD_MAX_QUEUE && pd->held <= PD_MAX_HELD)
			continue;
		if (pd->held > PD_MAX_HELD)
			pd_deferred_flush(pd);
		pd_queue_half(pd);
		return PD_MORE;
	}
	if (ahead)
		return PD_END;
	if (pd->q.e.n > pd->q.head)
		pd_queue_all(pd);
	else if (pd->deferred.n)
		pd_deferred_flush(pd);
	else
		return PD_END;
	return PD_MORE;
}

/* The same, with a thread that reads ahead where that pays. */
static enum pd_found next_record(struct pd *pd, struct pd_ready *r, struct error *err)
{
	enum pd_found found;

	if (!pd->ahead)
		pd_ahead_start(pd);
	if (pd->ahead && pd_ahead_next(pd, r))
		return PD_FOUND;
	r->hashed = false;
	found = pd_find(pd, &r->e, false, err);
	if (found == PD_FOUND && r->e.block == BLOCK_NONE) {
		struct pd_file *f = pd->files.v[r->e.file];
		u64 at = (u64)(r->e.rec - f->in->map), size = ld16(r->e.rec + 6, pd->swap);

		pd_file_given(f, at, at + size, size);
	}
	if (found != PD_FOUND || !(++pd->taken & 0x3ff))
		progress(pd);
	return found;
}

static int pd_next(struct perf_reader *r, struct perf_item *item, struct error *err)
{
	struct pd *pd = r->priv;
	struct pd_ready ready;

	for (;;) {
		if ((pd->group.nr || pd->emit.n) && pd_owed(pd, item))
			return 1;
		let_go(pd);
		switch (next_record(pd, &ready, err)) {
		case PD_ERROR: return -1;
		case PD_END:
			pd->finished = true;
			tell(pd);
			return 0;
		case PD_FOUND:
			pd->cur_block = ready.e.block;
			if (pd_decode(pd, &ready, item))
				return 1;
			break;
		case PD_MORE: break;
		}
	}
}

const struct perf_format format_perf_data = {
	.name = "perf.data",
	.title = "perf.data",
	.probe = probe,
	.open = pd_open,
	.next = pd_next,
	.close = pd_close,
};
