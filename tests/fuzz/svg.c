/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzz target: flame graph SVGs. An input that starts with '{' is the JSON of our data block. */
#include "tests/fuzz/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf b = BUF_INIT;

	if (size && data[0] == '{') {
		buf_puts(&b, "<svg><script id=\"xenflame-data\" type=\"application/json\">");
		buf_put(&b, data, size);
		buf_puts(&b, "</script></svg>");
		fuzz_read((const u8 *)b.p, b.n, "svg", 0, 1, NULL);
	} else {
		fuzz_read(data, size, "svg", 0, 1, NULL);
	}
	buf_release(&b);
	return 0;
}
