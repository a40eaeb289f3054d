/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions that have no place here: each use is a compile error that names the reason. */
#ifndef XENFLAME_BANNED_H
#define XENFLAME_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#undef strcpy
#define strcpy(a, b) use_buf_or_memcpy_with_a_known_length()
#undef strcat
#define strcat(a, b) use_buf()
#undef strncpy
#define strncpy(a, b, c) strncpy_does_not_terminate()
#undef sprintf
#define sprintf(...) use_snprintf_or_buf_printf()
#undef strtok
#define strtok(a, b) strtok_has_hidden_state()
#undef atoi
#define atoi(a) use_parse_dec()
#undef gets
#define gets(a) never()

#endif
