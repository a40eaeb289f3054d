/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the pictures (SVG, HTML, PNG, PDF) share: the place of the boxes, colours, labels, and the
 * data block that the viewer reads.
 */
#ifndef XENFLAME_RENDER_GRAPH_H
#define XENFLAME_RENDER_GRAPH_H

#include "render/writer.h"

/* ---- colours (palette.c) ---- */

struct rgb {
	u8 r, g, b;
};

/* Classes of the legend: what colours tell apart. A frame is of one of them. */
enum color_class {
	CLASS_HV,
	CLASS_KERNEL,
	CLASS_USER,
	CLASS_JIT,
	CLASS_GUEST_KERNEL,
	CLASS_GUEST_USER,
	CLASS_OTHER, /* groups: comms, events … */
	CLASS_NR
};

/* "hypervisor" …; static. */
const char *color_class_name(enum color_class c);
enum color_class color_class_of(const struct frame *f);

struct color_pair {
	struct rgb light, dark;
};

struct palette {
	VEC(struct color_pair) colors; /* all that are used, each once */
	u32 *frame;            /* index in colors, by frame_id; only of frames that the view uses */
	u32 root;              /* index for the box of all */
	u32 classes[CLASS_NR]; /* index for the legend */
	struct rgb paper[2];   /* light background: top and bottom of a gradient */
	bool by_share;         /* colors are those of shares, palest first */
	bool plain;            /* no gradient, nothing asked for: white */
};

/* Errors: no such palette or background; a palette file that cannot be read or
 * written. */
int palette_init(struct palette *p, const struct render_input *in, const struct render_opts *opts,
		 struct error *err) MUST_CHECK;
void palette_release(struct palette *p);
#define SHARE_STEPS 32 /* what palette "share" tells apart, by the root of the share */
/* Colour of a node's box; negate: see palette_diff(). */
struct color_pair palette_box(const struct palette *p, const struct view *v, u32 node, bool negate);
/* Whether colours tell classes apart, so that a legend may show them. */
bool palette_tells_classes(const struct palette *p, const struct view *v);
/*
 * Colour of a node by how much of the whole it grew (orange) or shrank (blue), grey when that may
 * be noise; of views that compare only.
 */
struct color_pair palette_diff(const struct view *v, u32 node, bool negate);
/* Of a change of that strength: -1 shrank … 0 grey … 1 grew. */
struct color_pair palette_delta(double strength, bool negate);
/* "#rrggbb" */
void buf_rgb(struct buf *b, struct rgb c);

/* ---- comparisons in words (diff-text.c); of views that compare only ---- */

/* Weight that is 100 %. */
double diff_whole(const struct view *v);
/* What view_base_total() times this is comparable with total; and whether a node's difference is
 * beyond noise (true: or nobody knows). */
double diff_scale(const struct view *v);
bool diff_is_sure(const struct view *v, u32 node);
/* Entries of the legend: text and, of the first three, colour. False behind the last one. */
#define DIFF_KEY_COLORS 3
bool diff_key(const struct view *v, bool negate, size_t i, const char **text,
	      struct color_pair *color);
/* "total 3.40% -> 4.60% (+1.20% +/- 0.30%, beyond noise); self …" */
void diff_tip(struct buf *b, const struct view *v, u32 node);
/* "only in BEFORE: f 3.00%, g 2.00%; 12 boxes with 5.00% of it": what widths by AFTER cannot show,
 * or with before = false the reverse.  False, and nothing: there is none. */
bool diff_one_sided(struct buf *b, const struct view *v, bool before);
/* What a picture of these widths cannot show; false, and nothing: it shows all. */
bool diff_note(struct buf *b, const struct view *v);

/* ---- boxes (layout.c) ---- */

struct box {
	u32 node;
	u32 depth;
	double x, w; /* px, from the left edge of the drawing */
};

struct layout {
	VEC(struct box) boxes; /* in preorder: a box after the box that it stands on */
	u32 rows;              /* depth of the deepest box + 1 */
	u64 left_out;          /* nodes that are no box */
};

/*
 * The boxes of a view, `width` px for the whole: those of at least min_width px.  A box's parent is
 * always in.  Children stand from the left edge of their parent on, in the order of the view.
 */
void layout_init(struct layout *l, const struct view *v, double width, double min_width);
/* Of these the widest max_boxes, of at least min_width px.  Rows stay, so that all pictures of a
 * view have their boxes at one place. */
void layout_keep(struct layout *l, const struct view *v, double min_width, size_t max_boxes);
void layout_release(struct layout *l);

/* Where things are in a picture of this layout; px. */
struct frame_of_picture {
	double width, height;
	double left, inner; /* the drawing's left edge and width */
	/* Baselines; subtitle_y or note_y 0: there is none. */
	double title_y, subtitle_y, legend_y, note_y, foot_y;
	double top; /* upper edge of the rows */
	double row; /* height of a row; a box leaves one px free */
	double font_size;
	bool icicle;
};

#define PICTURE_WIDTH 1200 /* px, when the width is left open */

/* With room for diff_note() when the view has one. */
void picture_init(struct frame_of_picture *f, const struct view *v, const struct render_opts *opts);
/* Once the rows are known. */
void picture_rows(struct frame_of_picture *f, u32 rows);
/* Upper edge of a box. */
double picture_y(const struct frame_of_picture *f, u32 rows, u32 depth);

/* ---- text ---- */

/* Appends s[0..n) for XML text and quoted attributes: valid UTF-8 of characters that XML 1.0
 * allows, others U+FFFD. */
void buf_xml(struct buf *b, const char *s, size_t n);
void buf_xmls(struct buf *b, const char *s);

/*
 * Appends as much of a label as fits into `room` px, with "…" where it is cut; nothing when that
 * would be less than two characters.  Widths are those of common fonts; see text-metrics.c.
 */
void label_fit(struct buf *b, const char *s, size_t n, const char *font, double size, double room);
/* Width of a text in px. */
double label_width(const char *s, size_t n, const char *font, double size);

/* 1234567 -> "1,234,567", scaled by opts->factor. */
void buf_count(struct buf *b, u64 v, const struct render_opts *opts);
/* The same with what is counted: "1,234,567 samples", "1 sample". */
void buf_weight(struct buf *b, u64 v, const struct render_opts *opts, const struct profile *p);
/* "12.34%" */
void buf_share(struct buf *b, u64 part, u64 whole);

/* Defaults of render_opts. */
const char *opt_title(const struct render_opts *opts);
const char *opt_font(const struct render_opts *opts);
const char *opt_count_name(const struct render_opts *opts, const struct profile *p);
u64 opt_total(const struct render_opts *opts, const struct view *v);
double opt_min_width(const struct render_opts *opts);
u32 opt_frame_height(const struct render_opts *opts);
double opt_font_size(const struct render_opts *opts);

/* "name (1,234 samples, 12.34%)", and module and file:line in a second line. Not escaped. */
void box_tip(struct buf *b, const struct render_input *in, const struct render_opts *opts,
	     u32 node);
/* Name of a node's box: profile_frame_name(), or "all". Not escaped. */
void box_name(struct buf *b, const struct render_input *in, const struct render_opts *opts,
	      u32 node);
/* Weight by class of the innermost frame. */
void view_weight_by_class(const struct view *v, u64 by_class[CLASS_NR]);

/* ---- samples in order of time, flame charts (flamechart.c) ---- */

struct placed_sample {
	u64 time; /* ns */
	u64 weight;
	u32 node;          /* of the view */
	u32 cpu, pid, tid, machine; /* as in struct profile_sample */
};

struct placed {
	VEC(struct placed_sample) v;
	u64 timeless; /* samples of the view without a time; not in v */
};

/* The kept samples that are in the view; none when the profile has kept none. */
void placed_samples(struct placed *p, const struct view *v);
void placed_release(struct placed *p);

/* What a picture is drawn from: the input as it is or, with opts->flamechart, a chart made of its
 * samples. */
struct picture_input {
	struct render_input in;
	struct view chart;
};

int picture_begin(struct picture_input *pi, const struct render_input *in,
		  const struct render_opts *opts, struct error *err) MUST_CHECK;
/* To be called after a failed picture_begin() too. */
void picture_end(struct picture_input *pi);

/* ---- data block (data.c) ---- */

/*
 * Writes the <script> element that holds all of the view; its format is described in data.c.
 * The text is valid in XML and in HTML.  regroup: with what the viewer needs to group stacks anew
 * and to hide idle ones.
 */
void data_block(struct out *o, const struct render_input *in, const struct render_opts *opts,
		const struct palette *palette, bool regroup);

/* ---- style and script (page.c) ---- */

/* For the head of a file whose style is `css` and the viewer's: the licence, and the
 * Content-Security-Policy under which style and script run. */
void page_comments(struct buf *b, const char *css);
/* That style, as an element. */
void page_style(struct buf *b, const char *css);

/* viewer.js and viewer.css, made into C by the build; NUL-terminated. */
extern const u8 viewer_js[], viewer_css[];
#define VIEWER_JS  ((const char *)viewer_js)
#define VIEWER_CSS ((const char *)viewer_css)

#endif
