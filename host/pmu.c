/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Xen's performance counters for the time of a recording.
 *
 * Features go before the mode, and come back after it: Xen refuses a change of features while
 * counters of a domain are in use (arch/x86/cpu/vpmu.c, XENPMU_feature_set).
 */
#include <errno.h>

#include "host/host.h"

static int read_value(struct host *h, const char *path, char *value, size_t size, struct error *err)
{
	struct buf b = BUF_INIT;
	int e = host_read(h, path, &b);
	size_t n = strcspn(buf_str(&b), " \r\n");

	if (e) {
		errno = e;
		error_errno(err, "'%s': cannot read", path);
	} else if (!n || n >= size) {
		e = EINVAL;
		error_set(err, "'%s': unexpected contents", path);
	} else {
		memcpy(value, b.p, n);
		value[n] = '\0';
	}
	buf_release(&b);
	return e ? -1 : 0;
}

static int write_value(struct host *h, const char *path, const char *value, struct error *err)
{
	int e = host_write(h, path, value);

	if (!e)
		return 0;
	errno = e;
	return error_errno(err, "'%s': cannot write '%s'", path, value);
}

int host_pmu_set(struct host_pmu *p, struct host *h, bool stacks, struct error *err)
{
	char mode[sizeof(p->mode)], features[sizeof(p->features)], wanted[24];
	const char *digits, *end;
	u64 bits = 0;
	int e;

	memset(p, 0, sizeof(*p));
	p->host = h;
	if (read_value(h, HOST_PMU_MODE, mode, sizeof(mode), err) ||
	    read_value(h, HOST_PMU_FEATURES, features, sizeof(features), err))
		return -1;
	digits = features + (strncmp(features, "0x", 2) ? 0 : 2);
	end = features + strlen(features);
	if (parse_hex(&digits, end, &bits) || digits != end)
		return error_set(err, "'%s': '%s' is no number", HOST_PMU_FEATURES, features);
	if (stacks && !(bits & HOST_FEATURE_STACKS)) {
		snprintf(wanted, sizeof(wanted), "0x%" PRIx64, bits | HOST_FEATURE_STACKS);
		if (write_value(h, HOST_PMU_FEATURES, wanted, err))
			return -1;
		memcpy(p->features, features, sizeof(features));
	}
	p->now = "all";
	if (!strcmp(mode, "all"))
		return 0;
	e = host_write(h, HOST_PMU_MODE, "all");
	if (e == EBUSY) {
		p->now = "hv";
		e = !strcmp(mode, "hv") ? 0 : host_write(h, HOST_PMU_MODE, "hv");
	}
	if (e) {
		errno = e;
		error_errno(err, "'%s': cannot write '%s'", HOST_PMU_MODE, p->now);
		if (host_pmu_restore(p, NULL))
			error_set(err, "'%s' keeps the feature", HOST_PMU_FEATURES);
		return -1;
	}
	if (strcmp(mode, p->now))
		memcpy(p->mode, mode, sizeof(mode));
	return 0;
}

int host_pmu_restore(struct host_pmu *p, struct error *err)
{
	int ret = 0;

	if (p->mode[0] && write_value(p->host, HOST_PMU_MODE, p->mode, err))
		ret = -1;
	if (p->features[0] && write_value(p->host, HOST_PMU_FEATURES, p->features, err))
		ret = -1;
	p->mode[0] = p->features[0] = '\0';
	return ret;
}
