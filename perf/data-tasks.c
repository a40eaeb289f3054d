/* SPDX-License-Identifier: GPL-2.0-or-later */
/* perf.data: names of threads, and when a process has ended. */
#include "perf/data.h"

static bool eq_task(const void *ctx, u32 i, const void *key)
{
	return ((const struct pd *)ctx)->tasks.v[i].tid == *(const u32 *)key;
}

static struct pd_task *task_find(struct pd *pd, u32 tid)
{
	u32 i = index_find(&pd->task_index, hash_u64(tid), eq_task, pd, &tid);

	return i == INDEX_NONE ? NULL : &pd->tasks.v[i];
}

static void task_set(struct pd *pd, u32 tid, str_id comm)
{
	struct pd_task *t = task_find(pd, tid);

	pd->last_comm.known = false;
	if (t) {
		t->comm = comm;
		return;
	}
	index_add(&pd->task_index, hash_u64(tid), (u32)pd->tasks.n);
	vec_push(&pd->tasks, ((struct pd_task){ .tid = tid, .comm = comm }));
}

void pd_comm_set(struct pd *pd, u32 tid, const char *name, size_t len)
{
	task_set(pd, tid, strtab_add(pd->r->strings, name, len));
}

void pd_comm_fork(struct pd *pd, u32 pid, u32 tid, u32 ppid, u32 ptid)
{
	struct pd_task *t = task_find(pd, ptid);

	if (!t)
		t = task_find(pd, pid == ppid ? pid : ppid);
	if (t && tid != ptid)
		task_set(pd, tid, t->comm);
}

static str_id find_comm(struct pd *pd, u32 pid, u32 tid)
{
	const struct pd_task *t = task_find(pd, tid);

	if (!t && tid != pid)
		t = task_find(pd, pid);
	if (t)
		return t->comm;
	return tid ? strtab_addf(pd->r->strings, ":%d", (int)tid)
		   : strtab_adds(pd->r->strings, "swapper");
}

str_id pd_comm(struct pd *pd, u32 pid, u32 tid)
{
	if (UNLIKELY(!pd->last_comm.known || pd->last_comm.tid != tid ||
		     pd->last_comm.pid != pid)) {
		pd->last_comm.comm = find_comm(pd, pid, tid);
		pd->last_comm.pid = pid;
		pd->last_comm.tid = tid;
		pd->last_comm.known = true;
	}
	return pd->last_comm.comm;
}

static bool eq_proc(const void *ctx, u32 i, const void *key)
{
	return ((const struct pd *)ctx)->procs.v[i].pid == *(const u32 *)key;
}

static struct pd_process *proc(struct pd *pd, u32 pid)
{
	u32 i = index_find(&pd->proc_index, hash_u64(pid), eq_proc, pd, &pid);

	if (i == INDEX_NONE) {
		i = (u32)pd->procs.n;
		index_add(&pd->proc_index, hash_u64(pid), i);
		vec_push(&pd->procs, ((struct pd_process){ .pid = pid }));
	}
	return &pd->procs.v[i];
}

void pd_thread_started(struct pd *pd, u32 pid, bool first)
{
	struct pd_process *p = proc(pd, pid);

	p->threads = first ? 1 : p->threads + 1;
}

bool pd_thread_ended(struct pd *pd, u32 pid, u32 tid)
{
	struct pd_process *p = proc(pd, pid);
	bool counted = p->threads > 0;

	p->threads--;
	/* A process whose threads were not all seen to start ends with its first one. */
	return counted ? !p->threads : pid == tid;
}
