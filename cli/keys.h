/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sampling by Xen's debug key, for record. */
#ifndef XENFLAME_KEYS_H
#define XENFLAME_KEYS_H

#include <signal.h>

#include "host/host.h"

/*
 * Presses the key d `hz` times a second (1 to 100) while `command` runs (NULL-terminated; empty:
 * until *stop), and writes what Xen's console says into `output`.
 */
int keys_record(struct host *h, const char *output, u64 hz, const char *const *command,
		const volatile sig_atomic_t *stop, bool quiet, struct error *err) MUST_CHECK;

#endif
