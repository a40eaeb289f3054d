/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Why a call failed, and what is degraded without failing. */
#include <errno.h>

#include "base/base.h"

static void set(struct error *err, int errnum, const char *fmt, va_list ap)
{
	size_t n;

	if (!err || err->msg[0])
		return;
	vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	if (errnum) {
		n = strlen(err->msg);
		snprintf(err->msg + n, sizeof(err->msg) - n, ": %s", strerror(errnum));
	}
	make_safe(err->msg);
}

int error_set(struct error *err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set(err, 0, fmt, ap);
	va_end(ap);
	return -1;
}

int error_errno(struct error *err, const char *fmt, ...)
{
	int errnum = errno;
	va_list ap;

	va_start(ap, fmt);
	set(err, errnum, fmt, ap);
	va_end(ap);
	return -1;
}

const char *space_name(enum space s)
{
	static const char *const names[SPACE_NR] = {
		[SPACE_USER] = "user",
		[SPACE_KERNEL] = "kernel",
		[SPACE_HV] = "hypervisor",
		[SPACE_GUEST_USER] = "guest user",
		[SPACE_GUEST_KERNEL] = "guest kernel",
		[SPACE_NONE] = "none",
	};

	return names[s];
}
