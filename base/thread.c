/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads that help the main one. */
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include "base/base.h"

unsigned threads_for(unsigned asked)
{
	cpu_set_t set;
	int n = sched_getaffinity(0, sizeof(set), &set) ? 0 : CPU_COUNT(&set);

	if (asked)
		return asked;
	/* More processors than a cpu_set_t holds. */
	return n > 0 ? (unsigned)n : (unsigned)MAX(sysconf(_SC_NPROCESSORS_ONLN), 1);
}

int thread_start(pthread_t *t, void *(*run)(void *), void *arg)
{
	sigset_t all, before;
	int ret;

	/* Signals are the main thread's, which blocks them where their handler would be in the
	 * way. The new thread inherits the mask. SIGBUS is of the thread that reads a mapped
	 * file. */
	sigfillset(&all);
	sigdelset(&all, SIGBUS);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	ret = pthread_create(t, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return ret ? -1 : 0;
}
