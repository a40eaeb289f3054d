/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * speedscope's own file format.
 *
 * Facts: file-format-schema.json of the npm package speedscope.  shared.frames are what samples and
 * events name by index.  A sampled profile has samples, root first, and as many weights; an evented
 * one opens (O) and closes (C) frames in order of time, which makes the time between two events the
 * weight of the stack in between.  Each sampled profile is an event of its name; evented ones, of
 * which there is one a thread, are one event, of their unit's name.
 */
#include "perf/stacks-json.h"

struct frames {
	u32 *root, *inner; /* by place in shared.frames: as the first frame of a stack, as another
			      one */
	size_t n;
};

static int read_frames(struct perf_reader *r, const json_t *root, struct frames *f,
		       struct error *err)
{
	const json_t *list = json_object_get(json_object_get(root, "shared"), "frames"), *v;
	size_t i;

	if (!json_is_array(list))
		return error_set(err, "'%s': expected shared.frames", input_name(&r->in));
	f->n = json_array_size(list);
	f->root = xcalloc(f->n, sizeof(*f->root));
	f->inner = xcalloc(f->n, sizeof(*f->inner));
	json_array_foreach(list, i, v)
	{
		const json_t *name = json_object_get(v, "name");
		struct stacks_frame frame = {
			.name = json_is_string(name) ? json_string_value(name) : "",
			.name_len = json_is_string(name) ? json_string_length(name) : 0,
			.file = stacks_json_str(r, v, "file"),
			.line = stacks_json_line(v, "line"),
			.space = SPACE_NONE,
		};

		/* Without a line our own writer has the module there, and others often have. */
		if (frame.file && !frame.line) {
			frame.module = frame.file;
			frame.file = 0;
		}
		f->inner[i] = f->root[i] = stacks_frame(r, &frame);
		if (!frame.file && !frame.module) {
			frame.flags = TEXT_ROOT;
			f->root[i] = stacks_frame(r, &frame);
		}
	}
	return 0;
}

static int read_sampled(struct perf_reader *r, const json_t *profile, const struct frames *f,
			struct error *err)
{
	const json_t *samples = json_object_get(profile, "samples"),
		     *weights = json_object_get(profile, "weights"), *stack, *v;
	const json_t *name = json_object_get(profile, "name");
	struct stacks *s = r->priv;
	size_t i, k, frame;
	double part;
	u64 whole;
	u32 event;

	if (!json_is_array(samples) || !json_is_array(weights) ||
	    json_array_size(samples) != json_array_size(weights))
		return error_set(err, "'%s': expected as many weights as samples",
				 input_name(&r->in));
	if (stacks_event(r, json_is_string(name) ? json_string_value(name) : "",
			 json_is_string(name) ? json_string_length(name) : 0, &event, err))
		return -1;
	json_array_foreach(samples, i, stack)
	{
		u32 node = 0;

		json_array_foreach(stack, k, v)
		{
			if (!stacks_json_index(v, f->n, &frame))
				break;
			node = stacks_child(s, node, node ? f->inner[frame] : f->root[frame]);
		}
		if (!json_is_array(stack) || k != json_array_size(stack) ||
		    !stacks_json_weight(json_array_get(weights, i), &whole, &part))
			s->bad++;
		else
			stacks_add(s, node, event, whole, part);
	}
	return 0;
}

static int read_evented(struct perf_reader *r, const json_t *profile, const struct frames *f,
			struct error *err)
{
	const json_t *events = json_object_get(profile, "events"),
		     *unit = json_object_get(profile, "unit"), *v;
	struct stacks *s = r->priv;
	VEC(size_t) open = { NULL, 0, 0 };
	u64 last = 0, whole;
	double last_part = 0, part;
	size_t i, frame;
	u32 node = 0, event;
	int ret = 0;

	if (!json_is_array(events))
		return error_set(err, "'%s': expected events", input_name(&r->in));
	if (stacks_event(r, json_is_string(unit) ? json_string_value(unit) : "",
			 json_is_string(unit) ? json_string_length(unit) : 0, &event, err))
		return -1;
	json_array_foreach(events, i, v)
	{
		const char *type = json_string_value(json_object_get(v, "type"));
		bool begin = type && *type == 'O';

		if (!type || (*type != 'O' && *type != 'C') ||
		    !stacks_json_index(json_object_get(v, "frame"), f->n, &frame) ||
		    !stacks_json_weight(json_object_get(v, "at"), &whole, &part) || whole < last ||
		    (whole == last && part < last_part) ||
		    (!begin && (!open.n || open.v[open.n - 1] != frame))) {
			ret = error_set(err,
					"'%s': event %zu of a profile opens or closes no frame, or "
					"time goes back",
					input_name(&r->in), i);
			break;
		}
		if (node) {
			u64 span = whole - last;
			double rest = part - last_part;

			if (rest < 0) {
				span--;
				rest += 1;
			}
			stacks_add(s, node, event, span, rest);
		}
		last = whole;
		last_part = part;
		if (begin) {
			vec_push(&open, frame);
			node = stacks_child(s, node, node ? f->inner[frame] : f->root[frame]);
		} else {
			open.n--;
			node = s->nodes.v[node].parent;
		}
	}
	vec_release(&open);
	return ret;
}

static int speedscope_open(struct perf_reader *r, struct error *err)
{
	struct stacks *s = stacks_new(r);
	struct frames f = { NULL, NULL, 0 };
	json_t *root, *v;
	int ret = -1;
	size_t i;

	root = stacks_json_load(r, err);
	if (!root)
		return -1;
	if (read_frames(r, root, &f, err))
		goto out;
	json_array_foreach(json_object_get(root, "profiles"), i, v)
	{
		const char *type = json_string_value(json_object_get(v, "type"));

		if (!type || (strcmp(type, "sampled") && strcmp(type, "evented"))) {
			error_set(err, "'%s': profile %zu is neither sampled nor evented",
				  input_name(&r->in), i);
			goto out;
		}
		if (*type == 's' ? read_sampled(r, v, &f, err) : read_evented(r, v, &f, err))
			goto out;
	}
	stacks_end(r, s);
	ret = 0;
out:
	free(f.root);
	free(f.inner);
	json_decref(root);
	return ret;
}

static int speedscope_probe(const u8 *head, size_t n, bool is_dir)
{
	const char *p = stacks_json_head(head, n, is_dir, &n);

	if (!p)
		return 0;
	if (stacks_head_has(p, n, "speedscope.app/file-format-schema"))
		return 100;
	return stacks_head_has(p, n, "\"shared\"") && stacks_head_has(p, n, "\"frames\"") ? 60 : 0;
}

const struct perf_format format_speedscope = {
	.name = "speedscope",
	.title = "speedscope",
	.probe = speedscope_probe,
	.open = speedscope_open,
	.next = stacks_next,
	.close = stacks_close,
};
