/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JSON documents of readers over stacks. */
#ifndef XENFLAME_PERF_STACKS_JSON_H
#define XENFLAME_PERF_STACKS_JSON_H

#include <jansson.h>

#include "perf/stacks.h"

/* The whole input as an object; the caller gives it back by json_decref(). NULL on error. */
json_t *stacks_json_load(struct perf_reader *r, struct error *err) MUST_CHECK;
/* A number as weight; false: it is none, or below 0. */
bool stacks_json_weight(const json_t *v, u64 *whole, double *part);
/* An index below n; false: it is none. */
bool stacks_json_index(const json_t *v, size_t n, size_t *i);
/* A string of an object, 0 when it has none. */
str_id stacks_json_str(struct perf_reader *r, const json_t *object, const char *key);
u32 stacks_json_line(const json_t *object, const char *key);

#endif
