/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * render: the JSON writers, read back by jansson.  What a format holds is turned into lines
 * "event|frame|frame weight" again and compared with lines written by hand.
 */
#include <jansson.h>

#include "tests/unit/export-test.h"

static struct fixture f;
static struct buf lines;

static json_t *parse(const char *text)
{
	json_error_t why;
	json_t *j = json_loads(text, JSON_REJECT_DUPLICATES, &why);

	OK(j != NULL);
	if (!j)
		printf("# line %d column %d: %s\n", why.line, why.column, why.text);
	return j;
}

static const char *str(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "(none)";
}

static u64 num(const json_t *o, const char *key)
{
	json_t *v = json_object_get(o, key);

	OK(json_is_integer(v));
	return (u64)json_integer_value(v);
}

static int cmp_line(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* `lines` in byte order. */
static const char *sorted_lines(void)
{
	static struct buf out;
	VEC(char *) v = { 0 };
	char *s, *end;
	size_t i;

	buf_clear(&out);
	for (s = (char *)(uintptr_t)buf_str(&lines); *s; s = end + 1) {
		end = strchr(s, '\n');
		*end = '\0';
		vec_push(&v, s);
	}
	qsort(v.v, v.n, sizeof(*v.v), cmp_line);
	for (i = 0; i < v.n; i++)
		buf_printf(&out, "%s\n", v.v[i]);
	vec_release(&v);
	return buf_str(&out);
}

static void fill(void)
{
	fixture_init(&f);
	fixture_add(&f, "cycles", "G app|U main|I helper", 3);
	fixture_add(&f, "cycles", "G app|U main|I helper|K do_syscall_64|H do_mmu_update",
		    9007199254740991U);
	fixture_add(&f, "cycles", "G app", 1);
	fixture_add(&f, "cycles", "G </script>|U \"q\\\t\x01", 5);
	fixture_add(&f, "faults", "G app|U \xff\xc3\xa4", 9);
	fixture_add(&f, "faults", "G app|U main", 2);
}

/* With names as any JSON reader must see them. */
#define ALL_LINES                                                                   \
	"cycles|</script>|\"q\\\t\x01 5\n"                                          \
	"cycles|app 1\n"                                                            \
	"cycles|app|main|helper 3\n"                                                \
	"cycles|app|main|helper|do_syscall_64|do_mmu_update_[h] 9007199254740991\n" \
	"faults|app|main 2\n"                                                       \
	"faults|app|\xef\xbf\xbd\xc3\xa4 9\n"

static void speedscope_lines(const json_t *j)
{
	json_t *frames = json_object_get(json_object_get(j, "shared"), "frames"), *profile, *sample,
	       *frame;
	size_t i, k, m;

	buf_clear(&lines);
	json_array_foreach(json_object_get(j, "profiles"), i, profile)
	{
		json_t *weights = json_object_get(profile, "weights"),
		       *samples = json_object_get(profile, "samples");
		u64 sum = 0;

		STR_EQ(str(profile, "type"), "sampled");
		EQ(json_array_size(weights), json_array_size(samples));
		EQ(num(profile, "startValue"), 0);
		json_array_foreach(samples, k, sample)
		{
			u64 weight = (u64)json_integer_value(json_array_get(weights, k));

			buf_puts(&lines, str(profile, "name"));
			json_array_foreach(sample, m, frame) buf_printf(
				&lines, "|%s",
				str(json_array_get(frames, (size_t)json_integer_value(frame)),
				    "name"));
			buf_printf(&lines, " %" PRIu64 "\n", weight);
			sum += weight;
		}
		EQ(num(profile, "endValue"), sum);
	}
}

static void test_speedscope(void)
{
	struct profile saved;
	json_t *j, *frame;
	size_t i;

	j = parse(fixture_write(&f, "speedscope", &(struct view_opts){ .event = -1 }, NULL));
	STR_EQ(str(j, "$schema"), "https://www.speedscope.app/file-format-schema.json");
	STR_EQ(str(j, "name"), "xenflame");
	EQ(num(j, "activeProfileIndex"), 0);
	OK(strstr(f.text.p, "</script>") == NULL);
	speedscope_lines(j);
	STR_EQ(sorted_lines(), ALL_LINES);
	json_array_foreach(json_object_get(json_object_get(j, "shared"), "frames"), i, frame)
	{
		if (!strcmp(str(frame, "name"), "do_mmu_update_[h]")) {
			STR_EQ(str(frame, "file"), "arch/x86/mm.c");
			EQ(num(frame, "line"), 15);
		} else if (!strcmp(str(frame, "name"), "do_syscall_64")) {
			STR_EQ(str(frame, "file"), "[kernel.kallsyms]");
			OK(!json_object_get(frame, "line"));
		} else if (!strcmp(str(frame, "name"), "app")) {
			OK(!json_object_get(frame, "file"));
		}
	}
	json_decref(j);

	saved = f.p;
	f.p.by_line = true; /* lines have their own field: names stay */
	f.p.unit = "ns";
	j = parse(fixture_write(&f, "speedscope", &(struct view_opts){ .event = 1 },
				&(struct render_opts){ .title = "dom0 \"x\"" }));
	STR_EQ(str(j, "name"), "dom0 \"x\"");
	EQ(json_array_size(json_object_get(j, "profiles")), 1);
	STR_EQ(str(json_array_get(json_object_get(j, "profiles"), 0), "unit"), "nanoseconds");
	speedscope_lines(j);
	STR_EQ(sorted_lines(), "faults|app|main 2\nfaults|app|\xef\xbf\xbd\xc3\xa4 9\n");
	json_decref(j);
	f.p.by_line = saved.by_line;
	f.p.unit = saved.unit;
}

static void test_json(void)
{
	json_t *j = parse(fixture_write(&f, "json", &(struct view_opts){ .event = -1 }, NULL)),
	       *nodes, *frames, *value;
	size_t i, k, n;

	STR_EQ(str(j, "format"), "xenflame-profile");
	EQ(num(j, "version"), 1);
	OK(json_is_null(json_object_get(j, "event")));
	nodes = json_object_get(j, "nodes");
	frames = json_object_get(j, "frames");
	n = json_array_size(json_object_get(nodes, "self"));
	buf_clear(&lines);
	json_array_foreach(json_object_get(nodes, "self"), i, value)
	{
		const char *path[16];
		size_t depth = 0;

		EQ(json_array_size(json_object_get(nodes, "parent")), n);
		if (!json_integer_value(value))
			continue;
		for (k = i; k; k = (size_t)json_integer_value(
				       json_array_get(json_object_get(nodes, "parent"), k)))
			path[depth++] =
				str(json_array_get(frames,
						   (size_t)json_integer_value(json_array_get(
							   json_object_get(nodes, "frame"), k))),
				    "label");
		while (depth)
			buf_printf(&lines, "%s%s", path[depth - 1], depth > 1 ? "|" : ""), depth--;
		buf_printf(&lines, " %" PRIu64 "\n", (u64)json_integer_value(value));
	}
	STR_EQ(sorted_lines(), ALL_LINES);
	json_decref(j);
}

static void d3_lines(const json_t *node, const char *path)
{
	u64 self = num(node, "value");
	char name[300];
	json_t *child;
	size_t i;

	json_array_foreach(json_object_get(node, "children"), i, child)
	{
		snprintf(name, sizeof(name), "%s%s%s", path, *path ? "|" : "", str(child, "name"));
		d3_lines(child, name);
		self -= num(child, "value");
	}
	if (self)
		buf_printf(&lines, "%s %" PRIu64 "\n", path, self);
}

static void test_d3(void)
{
	json_t *j = parse(fixture_write(&f, "d3", &(struct view_opts){ .event = -1 }, NULL));

	STR_EQ(str(j, "name"), "all");
	buf_clear(&lines);
	d3_lines(j, "");
	STR_EQ(sorted_lines(), ALL_LINES);
	json_decref(j);
	STR_EQ(fixture_write(&f, "d3", &(struct view_opts){ .only = "nothing" }, NULL),
	       "{\"name\":\"all\",\"value\":0,\"children\":[]}\n");
}

int main(void)
{
	fill();
	test_speedscope();
	test_json();
	test_d3();
	fixture_release(&f);
	buf_release(&lines);
	return tap_done();
}
