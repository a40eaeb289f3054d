/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A made profile for the tests of writers, and a writer run into memory. */
#ifndef XENFLAME_EXPORT_TEST_H
#define XENFLAME_EXPORT_TEST_H

#include "render/render.h"
#include "tests/unit/tap.h"

struct fixture {
	struct strtab strings;
	struct profile p;
	struct buf text;
	struct error err;
};

static inline void fixture_init(struct fixture *f)
{
	memset(f, 0, sizeof(*f));
	strtab_init(&f->strings);
	profile_init(&f->p, &f->strings);
}

static inline void fixture_release(struct fixture *f)
{
	profile_release(&f->p);
	strtab_release(&f->strings);
	buf_release(&f->text);
}

/*
 * A frame below a node: "G name" is a group, "H name" hypervisor, "K name" kernel, "I name" an
 * inlined user function, "U name" a user one. Modules, files and lines follow from the kind and the
 * length of the name.
 */
static inline node_id fixture_child_n(struct fixture *f, node_id parent, const char *name,
				      size_t len)
{
	static const struct {
		char kind;
		u8 space, flags;
		const char *module, *file;
	} kinds[] = {
		{ 'G', SPACE_NONE, FRAME_GROUP, "", "" },
		{ 'H', SPACE_HV, 0, "xen-syms", "arch/x86/mm.c" },
		{ 'K', SPACE_KERNEL, 0, "[kernel.kallsyms]", "" },
		{ 'U', SPACE_USER, 0, "prog \"x\"", "src/main.c" },
		{ 'I', SPACE_USER, FRAME_INLINED, "prog \"x\"", "src/main.h" },
	};
	size_t i;

	for (i = 0; i + 1 < ARRAY_SIZE(kinds) && kinds[i].kind != name[0]; i++)
		;
	return profile_child(
		&f->p, parent,
		profile_frame(&f->p, &(struct frame){
					     .function = strtab_add(&f->strings, name + 2, len - 2),
					     .module = strtab_adds(&f->strings, kinds[i].module),
					     .file = strtab_adds(&f->strings, kinds[i].file),
					     .line = kinds[i].file[0] ? (u32)len : 0,
					     .space = kinds[i].space,
					     .flags = kinds[i].flags }));
}

static inline node_id fixture_child(struct fixture *f, node_id parent, const char *name)
{
	return fixture_child_n(f, parent, name, strlen(name));
}

/* Frames separated by '|', root first. */
static inline node_id fixture_stack(struct fixture *f, const char *text)
{
	node_id node = 0;
	size_t n;

	for (; *text; text += n + (text[n] == '|')) {
		n = strcspn(text, "|");
		node = fixture_child_n(f, node, text, n);
	}
	return node;
}

static inline void fixture_add(struct fixture *f, const char *event, const char *stack, u64 weight)
{
	profile_add(&f->p, profile_event(&f->p, strtab_adds(&f->strings, event)),
		    fixture_stack(f, stack), 1, weight);
}

/* What a writer makes of a view; valid until the next call. */
static inline const char *fixture_write_view(struct fixture *f, const char *format,
					     const struct view *v, const struct render_opts *ro)
{
	const struct render_writer *w = render_writer_by_name(format);
	struct render_input in = { .profile = &f->p, .view = v };
	struct out o;

	buf_clear(&f->text);
	if (!OK(w != NULL))
		return "";
	out_open_mem(&o, &f->text);
	EQ(w->write(&o, &in, ro, &f->err), 0);
	EQ(out_close(&o, &f->err), 0);
	return buf_str(&f->text);
}

static inline const char *fixture_write(struct fixture *f, const char *format,
					const struct view_opts *vo, const struct render_opts *ro)
{
	static const struct view_opts no_view_opts;
	static const struct render_opts no_render_opts;
	const char *text = "";
	struct view v;

	if (!view_build(&v, &f->p, vo ? vo : &no_view_opts, &f->err)) {
		text = fixture_write_view(f, format, &v, ro ? ro : &no_render_opts);
		view_release(&v);
	}
	STR_EQ(f->err.msg, "");
	return text;
}

#endif
