/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzz target: Xen console logs, in one piece and in small ones. */
#include "tests/fuzz/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_read(data, size, "xen-console", 0, 1, NULL);
	fuzz_read(data, size, "xen-console", 32, 1, NULL);
	return 0;
}
