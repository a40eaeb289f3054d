/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The seam inside perf/: an input (bytes, whatever they came from) and readers
 * over it.  A format is one file with one const struct perf_format, and one
 * line in the table in open.c.
 */
#ifndef XENFLAME_PERF_READER_H
#define XENFLAME_PERF_READER_H

#include "perf/perf.h"

/* ---- input: a file, standard input, with gzip, xz, zstd unpacked on the fly ---- */

struct input {
	const char *path; /* as given, for messages: "-" is told as "standard input" */
	const u8 *map;    /* the whole of a regular, uncompressed file; NULL: a stream */
	u64 size;         /* of map; for a stream 0 */
	u64 dropped;      /* of map: what input_drop() has given back */
	u8 *head; /* first bytes of a stream, peeked for sniffing; input_read() gives them again */
	size_t head_n;
	u64 consumed;  /* compressed or plain bytes taken from the file so far, for progress */
	u64 file_size; /* 0 when not known */
	bool is_dir;   /* perf record --threads: path is a folder */
	struct error head_error; /* why a stream ends within its head, told by input_read() when it
				    gets there */
	void *priv;              /* descriptor and decoder: input.c */
};

#define INPUT_HEAD 65536

int input_open(struct input *in, const char *path, struct error *err) MUST_CHECK;
void input_close(struct input *in);
/* Sequential bytes of a stream: > 0, 0 at the end, -1 on error (a damaged compressed stream names
 * its offset). */
ssize_t input_read(struct input *in, void *buf, size_t n, struct error *err) MUST_CHECK;
/* The program that packed what is packed once more inside; else NULL. */
const char *input_packed_twice(const struct input *in);
/*
 * Makes a stream that has not been read yet into a map, by way of a temporary
 * file ($TMPDIR). A damaged stream gives what was readable, and `damage` says
 * why it ended; -1 when nothing was.
 */
int input_map(struct input *in, struct error *damage, struct error *err) MUST_CHECK;
/*
 * Tells that the map is read once, from its beginning to its end: the system need not keep account
 * of what is used of it, which takes longer than giving it back.
 */
void input_in_order(struct input *in);
/*
 * Tells that map[0..upto) is not needed any more, so that memory does not grow with
 * the size of the file.
 */
void input_drop(struct input *in, u64 upto);
/* The same for a part; it can still be read, at the price of fetching it again. */
void input_drop_range(struct input *in, u64 from, u64 upto);
/* "standard input" or the path. */
const char *input_name(const struct input *in);

/* ---- readers ---- */

struct perf_reader {
	const struct perf_format *format;
	struct input in;
	struct perf_opts opts;
	struct strtab *strings; /* borrowed */
	struct diag *diag;      /* borrowed */
	struct perf_meta meta;
	bool reads_ahead; /* other threads read `in`: what of it is done is `taken` */
	u64 taken;
	struct text_frames *text; /* of text formats, else NULL */
	void *priv;               /* of the format */
};

struct perf_format {
	const char *name;  /* --input-format=NAME */
	const char *title; /* perf_meta.format */
	/* 0: surely not; higher wins. Gets the first bytes (at most INPUT_HEAD) and whether the
	 * input is a folder. */
	int (*probe)(const u8 *head, size_t n, bool is_dir);
	int (*open)(struct perf_reader *r, struct error *err);
	int (*next)(struct perf_reader *r, struct perf_item *item, struct error *err);
	void (*close)(struct perf_reader *r); /* also after a failed open; priv may be NULL then */
};

/* perf.data: file, pipe, directory */
extern const struct perf_format format_perf_data;
/* text: perf script output, folded stacks, flame graph SVG (with libxml2), Xen console log */
extern const struct perf_format format_perf_script;
extern const struct perf_format format_folded;
extern const struct perf_format format_svg;
extern const struct perf_format format_xen_console;
/* other tools' profiles and our own JSON, over stacks.h */
extern const struct perf_format format_speedscope;
extern const struct perf_format format_json;
extern const struct perf_format format_d3;
extern const struct perf_format format_pprof;
extern const struct perf_format format_firefox;

/* ---- frames of text formats: text.c ---- */

struct text_frames {
	VEC(struct perf_text_frame) v;
	struct index index; /* by content */
	/* perf_text_id(); NULL: numbers are ids */
	u32 (*id)(struct perf_reader *r, u32 number);
	struct index events; /* of perf_meta, by name */
};

struct text_frames *text_frames_new(void);
void text_frames_free(struct text_frames *t);
/* Id of an equal frame, made when new. */
u32 text_frames_add(struct text_frames *t, const struct perf_text_frame *f);

#endif
