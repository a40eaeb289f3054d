/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * render: a view -> SVG, HTML, PNG, PDF, JSON, pprof, folded, text.
 *
 * The only header of render/ that others include.  A writer is one file with one const
 * struct render_writer, and one line in the table in writers.c.
 */
#ifndef XENFLAME_RENDER_H
#define XENFLAME_RENDER_H

#include "base/base.h"
#include "profile/profile.h"

/* A line of the details pane: "host", "dom0" … */
struct render_fact {
	const char *key, *value;
};

/* A remark on quality, from diag: a line to read and fields for programs. */
struct render_quality {
	const char *name; /* diag_name() */
	const char *text; /* diag_format() */
	u64 count;
	bool strict;
};

struct render_input {
	const struct profile *profile;
	const struct view *view;
	struct view_walk *walk; /* in place of the view, for writers with `walks` */
	const struct render_fact *facts;
	size_t nr_facts;
	const struct render_quality *quality;
	size_t nr_quality;
};

/* What formats for servers say of a recording as a whole. */
struct render_resource {
	const char *service;              /* what was profiled; NULL: xenflame */
	const struct render_fact *labels; /* "host" and others */
	size_t nr_labels;
	u64 start_ns, length_ns; /* Unix time; 0: not known */
	u64 rate;                /* samples a second of each processor; 0: not known */
};

struct render_opts {
	const char *title; /* NULL: "Flame graph" */
	const char *subtitle;
	const char *notes;        /* shown in the details, and kept in the file */
	u32 width;                /* px; 0: fluid */
	u32 frame_height;         /* px; 0: 16 */
	double min_width;         /* px below which a box is not drawn; < 0: default 0.1 */
	const char *font;         /* NULL: monospace */
	double font_size;         /* px; 0: 12 */
	const char *count_name;   /* NULL: profile.unit */
	const char *name_type;    /* NULL: "Function:" */
	const char *colors;       /* palette name; NULL: "xen" */
	const char *background;   /* colour or palette of backgrounds; NULL: by palette */
	const char *palette_file; /* lines "function->rgb(r,g,b)": colours of these functions; or
				     NULL */
	struct buf *palette_text; /* takes what palette_file is to hold, once functions were drawn
				     that it does not name; or NULL */
	u64 total;                /* what is 100 %, when it is more than the sum; 0: the sum */
	double factor;            /* numbers are shown multiplied by it; 0: 1 */
	bool negate;              /* diff: shrunk is orange, grown is blue */
	bool plain_data;          /* SVG, HTML: data block is never compressed */
	bool flamechart;   /* pictures: stacks in order of time; needs profile.keep_samples */
	bool icicle;       /* root at the top */
	bool annotate_all; /* --annotate=all: _[k] _[i] _[j] too */
	bool by_process;   /* reserved for writers that split: one profile a process */
	bool dark;         /* PNG, PDF: dark colours */
	double scale;      /* PNG: device pixels per px; 0: 1 */
	bool color;        /* text: ANSI colours */
	u32 columns;       /* text: width of the terminal; 0: 80 */
	const struct render_resource *resource; /* OTLP, pprof; NULL: what the facts tell */
};

struct render_writer {
	const char *name;     /* --format=NAME */
	const char *suffixes; /* space-separated, longest first: ".speedscope.json" */
	const char *help;     /* half a line for --help */
	bool binary;          /* refused on a terminal */
	bool samples;         /* says more with profile.keep_samples */
	bool no_lines;        /* shows source lines only with --srcline */
	bool decimals;        /* heeds profile.weight_scale; else weights are written as they are */
	bool walks;           /* takes render_input.walk, too */
	int (*write)(struct out *o, const struct render_input *in, const struct render_opts *opts,
		     struct error *err);
};

/* By name, or by the suffix of a file name; NULL when there is none. Static. */
const struct render_writer *render_writer_by_name(const char *name);
const struct render_writer *render_writer_by_path(const char *path);
/* All that this build has, NULL-terminated; static. */
const struct render_writer *const *render_writers(void);

/* How a comparison was made: what is compared, and where its noise is from. */
void render_diff_terms(struct buf *b, const struct view *v);

/* Names of palettes, NULL-terminated; static. */
const char *const *render_palette_names(void);
/* Whether `background` is one, for --bgcolors. */
int MUST_CHECK render_check_background(const char *background, struct error *err);

#endif
