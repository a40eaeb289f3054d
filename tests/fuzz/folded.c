/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzz target: folded stacks.  The size of pieces changes nothing, and what was read, written and
 * read again is the same.
 */
#include "tests/fuzz/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf once = BUF_INIT, pieces = BUF_INIT, twice = BUF_INIT, thrice = BUF_INIT;

	fuzz_read(data, size, "folded", 0, 1, &once);
	fuzz_read(data, size, "folded", 8, 1, &pieces);
	must_equal(&once, &pieces);
	/* Names lose their marks the first time, and may then look like another one; the second
	 * text is exact. */
	fuzz_read((const u8 *)once.p, once.n, "folded", 0, 1, &twice);
	if (!once.n || !memmem(once.p, once.n, "_[", 2)) {
		fuzz_read((const u8 *)twice.p, twice.n, "folded", 0, 1, &thrice);
		must_equal(&twice, &thrice);
	}
	buf_release(&once);
	buf_release(&pieces);
	buf_release(&twice);
	buf_release(&thrice);
	return 0;
}
