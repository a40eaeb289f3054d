/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The seam inside render/: the writers.  Each is one file with one const
 * struct render_writer, declared here, and one line in the table in writers.c.
 */
#ifndef XENFLAME_RENDER_WRITER_H
#define XENFLAME_RENDER_WRITER_H

#include "render/render.h"

extern const struct render_writer writer_callgrind;
extern const struct render_writer writer_chrome;
extern const struct render_writer writer_d3;
extern const struct render_writer writer_firefox;
extern const struct render_writer writer_folded;
extern const struct render_writer writer_html;
extern const struct render_writer writer_json;
extern const struct render_writer writer_otlp;
extern const struct render_writer writer_pdf; /* with cairo only */
extern const struct render_writer writer_perf_script;
extern const struct render_writer writer_png; /* with cairo only */
extern const struct render_writer writer_pprof;
extern const struct render_writer writer_speedscope;
extern const struct render_writer writer_speedscope_time;
extern const struct render_writer writer_svg;
extern const struct render_writer writer_text;

#endif
