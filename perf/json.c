/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Our own JSON: docs/json-schema/profile-1.json. */
#include "perf/stacks-json.h"

static u8 space_by_name(const char *s)
{
	int i;

	for (i = 0; s && i < SPACE_NR; i++)
		if (!strcmp(s, space_name((enum space)i)))
			return (u8)i;
	return SPACE_NONE;
}

static u8 flags_of(const json_t *list)
{
	static const struct {
		const char *name;
		u8 flag;
	} flags[] = {
		{ "inlined", TEXT_INLINED },
		{ "jit", TEXT_JIT },
		{ "doubtful", TEXT_DOUBTFUL },
		{ "group", TEXT_ROOT },
	};
	const json_t *v;
	u8 out = 0;
	size_t i, k;

	json_array_foreach(list, i, v) for (k = 0; k < ARRAY_SIZE(flags);
					    k++) if (json_is_string(v) &&
						     !strcmp(json_string_value(v), flags[k].name))
		out |= flags[k].flag;
	return out;
}

/* Label and function differ by annotation and what stands below it: the function is what counts. */
static u32 read_frame(struct perf_reader *r, const json_t *v)
{
	const json_t *name = json_object_get(v, "function");
	struct stacks_frame f = {
		.name = json_is_string(name) ? json_string_value(name) : "",
		.name_len = json_is_string(name) ? json_string_length(name) : 0,
		.module = stacks_json_str(r, v, "module"),
		.file = stacks_json_str(r, v, "file"),
		.line = stacks_json_line(v, "line"),
		.flags = flags_of(json_object_get(v, "flags")),
		.space = space_by_name(json_string_value(json_object_get(v, "space"))),
	};

	return stacks_frame(r, &f);
}

static int read_nodes(struct perf_reader *r, const json_t *root, const u32 *frames,
		      size_t nr_frames, struct error *err)
{
	const json_t *nodes = json_object_get(root, "nodes"),
		     *events = json_object_get(root, "events");
	const json_t *frame = json_object_get(nodes, "frame"),
		     *parent = json_object_get(nodes, "parent");
	const json_t *self = json_object_get(nodes, "self"),
		     *base = json_object_get(nodes, "base_self");
	const json_t *which = json_object_get(root, "event"), *name;
	size_t n = json_array_size(frame), i, k;
	struct stacks *s = r->priv;
	u32 *node, *event;
	int ret = -1;

	if (!n || json_array_size(parent) != n || json_array_size(self) != n ||
	    (base && json_array_size(base) != n))
		return error_set(
			err,
			"'%s': expected nodes with columns frame, parent and self of one length",
			input_name(&r->in));
	r->meta.two_columns = base != NULL;
	node = xcalloc(n, sizeof(*node));
	event = xcalloc(n, sizeof(*event));
	name = stacks_json_index(which, json_array_size(events), &k)
		       ? json_object_get(json_array_get(events, k), "name")
		       : NULL;
	if (stacks_event(r, json_is_string(name) ? json_string_value(name) : "",
			 json_is_string(name) ? json_string_length(name) : 0, &event[0], err))
		goto out;
	for (i = 0; i < n; i++) {
		u64 w, b = 0;
		double part;

		if (i) {
			size_t up, f;

			if (!stacks_json_index(json_array_get(parent, i), i, &up) ||
			    !stacks_json_index(json_array_get(frame, i), nr_frames, &f)) {
				error_set(err,
					  "'%s': node %zu has no parent before it, or no frame",
					  input_name(&r->in), i);
				goto out;
			}
			event[i] = event[up];
			if (!up && json_is_null(which)) {
				/* The frames at the bottom are the events. */
				str_id id = r->text->v.v[frames[f]].symbol;

				if (stacks_event(r, strtab_get(r->strings, id),
						 strtab_len(r->strings, id), &event[i], err))
					goto out;
			} else {
				node[i] = stacks_child(s, node[up], frames[f]);
			}
		}
		if (!stacks_json_weight(json_array_get(self, i), &w, &part) ||
		    (base && !stacks_json_weight(json_array_get(base, i), &b, &part)))
			s->bad++;
		else
			stacks_add_base(s, node[i], event[i], w, b);
	}
	ret = 0;
out:
	free(node);
	free(event);
	return ret;
}

static int json_open(struct perf_reader *r, struct error *err)
{
	struct stacks *s = stacks_new(r);
	const json_t *list, *v;
	u32 *frames = NULL;
	json_t *root;
	int ret = -1;
	size_t i;

	root = stacks_json_load(r, err);
	if (!root)
		return -1;
	if (!json_is_integer(json_object_get(root, "version")) ||
	    json_integer_value(json_object_get(root, "version")) != 1) {
		error_set(err, "'%s': expected version 1 of xenflame's JSON", input_name(&r->in));
		goto out;
	}
	list = json_object_get(root, "frames");
	frames = xcalloc(json_array_size(list) + 1, sizeof(*frames));
	json_array_foreach(list, i, v) frames[i] = read_frame(r, v);
	if (read_nodes(r, root, frames, json_array_size(list), err))
		goto out;
	stacks_end(r, s);
	ret = 0;
out:
	free(frames);
	json_decref(root);
	return ret;
}

static int json_probe(const u8 *head, size_t n, bool is_dir)
{
	const char *p = stacks_json_head(head, n, is_dir, &n);

	return p && stacks_head_has(p, n, "\"xenflame-profile\"") ? 100 : 0;
}

const struct perf_format format_json = {
	.name = "json",
	.title = "xenflame's JSON",
	.probe = json_probe,
	.open = json_open,
	.next = stacks_next,
	.close = stacks_close,
};
