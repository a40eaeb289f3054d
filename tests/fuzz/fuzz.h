/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What all fuzz targets share. */
#ifndef XENFLAME_FUZZ_H
#define XENFLAME_FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A promise of the code under test. */
#define must(cond)                                                             \
	do {                                                                   \
		if (!(cond)) {                                                 \
			fprintf(stderr, "line %d: not %s\n", __LINE__, #cond); \
			abort();                                               \
		}                                                              \
	} while (0)

#endif
