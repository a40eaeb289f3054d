/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzz target: perf script text, in one piece, in small ones, and in threads, which must not change
 * anything. */
#include "tests/fuzz/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf one = BUF_INIT, many = BUF_INIT;
	struct fuzz_result a, b;

	fuzz_read(data, size, "perf-script", 0, 1, NULL);
	a = fuzz_read(data, size, "perf-script", 48, 1, &one);
	if (size % 16 == 0) {
		b = fuzz_read(data, size, "perf-script", 48, 2, &many);
		must(a.samples == b.samples && a.bad == b.bad);
		must_equal(&one, &many);
	}
	buf_release(&one);
	buf_release(&many);
	return 0;
}
