/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <math.h>

#include "perf/stacks-json.h"

json_t *stacks_json_load(struct perf_reader *r, struct error *err)
{
	const char *p, *end;
	json_error_t why;
	json_t *root;

	if (stacks_map(r, STACKS_JSON_MAX, err))
		return NULL;
	end = (const char *)r->in.map + r->in.size;
	p = skip_bom((const char *)r->in.map, end);
	root = json_loadb(p, (size_t)(end - p), JSON_ALLOW_NUL, &why);
	if (!root)
		error_set(err, "'%s': no JSON at line %d, column %d: %s", input_name(&r->in),
			  why.line, why.column, why.text);
	else if (!json_is_object(root)) {
		error_set(err, "'%s': expected a JSON object", input_name(&r->in));
		json_decref(root);
		root = NULL;
	}
	return root;
}

bool stacks_json_weight(const json_t *v, u64 *whole, double *part)
{
	double d;

	*whole = 0;
	*part = 0;
	if (json_is_integer(v)) {
		if (json_integer_value(v) < 0)
			return false;
		*whole = (u64)json_integer_value(v);
		return true;
	}
	if (!json_is_real(v))
		return false;
	d = json_real_value(v);
	if (!(d >= 0 && d < 9e18))
		return false;
	*whole = (u64)floor(d);
	*part = d - floor(d);
	return true;
}

bool stacks_json_index(const json_t *v, size_t n, size_t *i)
{
	if (!json_is_integer(v) || json_integer_value(v) < 0 || (u64)json_integer_value(v) >= n)
		return false;
	*i = (size_t)json_integer_value(v);
	return true;
}

str_id stacks_json_str(struct perf_reader *r, const json_t *object, const char *key)
{
	const json_t *v = json_object_get(object, key);

	return json_is_string(v)
		       ? strtab_add(r->strings, json_string_value(v), json_string_length(v))
		       : 0;
}

u32 stacks_json_line(const json_t *object, const char *key)
{
	const json_t *v = json_object_get(object, key);

	return json_is_integer(v) && json_integer_value(v) > 0 && json_integer_value(v) < UINT32_MAX
		       ? (u32)json_integer_value(v)
		       : 0;
}
