/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzz target: profiles of other tools, of which FUZZ_FORMAT says the format. */
#include "tests/fuzz/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf stacks = BUF_INIT;
	struct fuzz_result res = fuzz_read(data, size, FUZZ_FORMAT, 0, 1, &stacks);

	must(res.samples == 0 || stacks.n > 0);
	buf_release(&stacks);
	return 0;
}
