/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The JSON tree of d3-flame-graph: name, value (of the node and all above it), children; libtype is
 * a word for the colour. The root is no frame.  What a node has more than its children is its own.
 */
#include <math.h>

#include "perf/stacks-json.h"

struct level {
	const json_t *children;
	size_t at;
	u32 node;
};

static u32 read_frame(struct perf_reader *r, const json_t *v, bool first)
{
	const json_t *name = json_object_get(v, "name");
	const char *type = json_string_value(json_object_get(v, "libtype"));
	struct stacks_frame f = {
		.name = json_is_string(name) ? json_string_value(name) : "",
		.name_len = json_is_string(name) ? json_string_length(name) : 0,
		.space = SPACE_NONE,
	};

	if (type && !strcmp(type, "kernel"))
		f.space = SPACE_KERNEL;
	else if (type && !strcmp(type, "hypervisor"))
		f.space = SPACE_HV;
	else if (type && !strcmp(type, "guest"))
		f.space = SPACE_GUEST_KERNEL;
	else if (type && !strcmp(type, "jit"))
		f.flags = TEXT_JIT;
	else if (type && !strcmp(type, "inlined"))
		f.flags = TEXT_INLINED;
	else if (first)
		f.flags = TEXT_ROOT;
	return stacks_frame(r, &f);
}

/* A node's own weight: its value less those of its children. */
static void add_self(struct stacks *s, const json_t *v, u32 node)
{
	const json_t *child;
	u64 whole, sum = 0, w;
	double part, sum_part = 0, p;
	size_t i;

	if (!stacks_json_weight(json_object_get(v, "value"), &whole, &part)) {
		/* Of the root it may be missing. */
		s->bad += node != 0;
		return;
	}
	json_array_foreach(json_object_get(v, "children"), i,
			   child) if (stacks_json_weight(json_object_get(child, "value"), &w, &p))
	{
		sum = sum + w < sum ? UINT64_MAX : sum + w;
		sum_part += p;
	}
	part -= sum_part;
	if (part < 0 && whole > sum) {
		u64 borrow = (u64)ceil(-part - 1e-9);

		borrow = MIN(borrow, whole - sum);
		whole -= borrow;
		part += (double)borrow;
	}
	stacks_add(s, node, 0, whole > sum ? whole - sum : 0,
		   whole >= sum && part > 1e-9 ? part : 0);
}

static int d3_open(struct perf_reader *r, struct error *err)
{
	VEC(struct level) levels = { NULL, 0, 0 };
	struct stacks *s = stacks_new(r);
	json_t *root;
	u32 event;
	int ret = -1;

	root = stacks_json_load(r, err);
	if (!root)
		return -1;
	if (stacks_event(r, "samples", 7, &event, err))
		goto out;
	add_self(s, root, 0);
	vec_push(&levels, ((struct level){ json_object_get(root, "children"), 0, 0 }));
	while (levels.n) {
		struct level *l = &levels.v[levels.n - 1];
		const json_t *v = json_array_get(l->children, l->at++);
		u32 node;

		if (!v) {
			levels.n--;
			continue;
		}
		node = stacks_child(s, l->node, read_frame(r, v, !l->node));
		add_self(s, v, node);
		vec_push(&levels, ((struct level){ json_object_get(v, "children"), 0, node }));
	}
	stacks_end(r, s);
	ret = 0;
out:
	vec_release(&levels);
	json_decref(root);
	return ret;
}

static int d3_probe(const u8 *head, size_t n, bool is_dir)
{
	const char *p = stacks_json_head(head, n, is_dir, &n);

	return p && stacks_head_has(p, n, "\"name\"") && stacks_head_has(p, n, "\"children\"") &&
			       stacks_head_has(p, n, "\"value\"")
		       ? 50
		       : 0;
}

const struct perf_format format_d3 = {
	.name = "d3",
	.title = "d3-flame-graph JSON",
	.probe = d3_probe,
	.open = d3_open,
	.next = stacks_next,
	.close = stacks_close,
};
