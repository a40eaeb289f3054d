/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cli: the program. Joins the stages; only it prints and exits.
 */
#ifndef XENFLAME_CLI_H
#define XENFLAME_CLI_H

#include "perf/perf.h"
#include "profile/profile.h"
#include "render/render.h"
#include "symbolize/symbolize.h"

/* Exit codes. */
enum {
	EXIT_DONE = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
};

/* ---- verbs (main.c) ---- */

struct verb {
	const char *name;
	const char *help;                  /* half a line */
	int (*run)(int argc, char **argv); /* argv[0] is the verb; returns an exit code */
};

extern const struct verb *const verbs[]; /* NULL-terminated */
extern const struct verb verb_bundle;
extern const struct verb verb_diff;
extern const struct verb verb_doctor;
extern const struct verb verb_help;
extern const struct verb verb_push;
extern const struct verb verb_record;
extern const struct verb verb_render;
extern const struct verb verb_report;

/* ---- options (options.c) ---- */

enum option_arg { ARG_NO, ARG_YES };

/* Every option of a verb: what getopt_long(), --help, the man page and the completion agree on. */
struct option_def {
	const char *name;
	int id; /* short option letter, or >= 256 */
	enum option_arg has_arg;
	const char *arg; /* metavariable */
	const char *help;
	const char *group; /* heading in --help; NULL: as the one before */
};

#define MAX_OPTIONS 128 /* of a verb, with the end of the table */

/* Next option of argv by the table (ends with name NULL): its id, -1 at the end, '?' after having
 * told an error. */
int options_next(int argc, char **argv, const struct option_def *defs, const char **arg);
/* --help and --version, which all verbs that draw have alike: whether it was one of these. */
bool options_answered(int id, void (*help)(void));
/* A verb's own options and those of draw_options that it has none of the same name of. */
void options_join(struct option_def all[MAX_OPTIONS], const struct option_def *own);
/* The value of an option; -1 after having told what is expected. */
int MUST_CHECK option_number(const char *name, const char *s, double min, double max, double *v);
int MUST_CHECK option_whole(const char *name, const char *s, u64 min, u64 max, u64 *v);
/* After options_next() has returned -1: the next argument that is no option, or NULL. */
const char *options_file(int argc, char **argv);
void options_help(const struct option_def *defs);

/* "xenflame: " + message + newline on standard error. */
void tell(const char *fmt, ...) PRINTF(1, 2);
/* The same of a text as for buf_plural(); nothing when `n` is 0. */
void tell_count(const char *text, u64 n, const char *subject);

/* ---- reading recordings into a profile (pipeline.c) ---- */

#define MAX_LIST 64

struct pipeline_opts {
	struct perf_opts perf;
	struct sym_opts sym;
	const char *event; /* NULL: any */
	bool weight_period;
	bool addrs;
	bool by_line;
	bool keep_samples;
	bool walked; /* this recording alone is read, and all that follows is a walk: see
			profile_batch_keep() */
	/* --group, outermost first; NULL-terminated names out of domain, cpu, pid, tid, event */
	const char *group[MAX_LIST];
	/* filters; NULL: all */
	const char *comm, *pid, *tid, *cpu, *time, *dso;
	bool only_guest, only_host;
	bool quiet;
	/* Called when all is read and the symbolizer still lives. */
	void (*inspect)(void *ctx, const struct symbolizer *s, const struct perf_meta *m);
	void *inspect_ctx;
	/* Called for each sample with saved user registers: its chain with the unwound part. */
	void (*chain)(void *ctx, const struct perf_sample *s, const struct perf_chain *c);
	void *chain_ctx;
};

/* How often a second an event was sampled on each processor. */
struct run_rate {
	str_id event;
	u64 hz;
};

struct run {
	struct strtab strings;
	struct diag diag;
	struct profile profile;
	VEC(struct render_fact) facts;
	struct arena facts_arena;
	char *title;
	u64 first_time, last_time;  /* of samples, ns of the recording's clock; UINT64_MAX when they
				       have none */
	VEC(struct run_rate) rates; /* of events that were sampled at a known rate */
	bool annotated;   /* an input marks its frames `_[k]` …: writers are to do so too */
	bool two_columns; /* folded stacks with two counts: profile is after, base before */
	VEC(u64) base;    /* by node */
	u64 base_samples;
	/* By enum diag_kind, where it can be told: how many, and of how many samples (of frames of
	 * that space, for what is unresolved). */
	u64 quality_part[DIAG_NR], quality_whole[DIAG_NR];
};

/* Whether a value of --pid, --tid or --cpu is one, and one of --time. */
int MUST_CHECK pipeline_check_list(const char *what, const char *s, struct error *err);
int MUST_CHECK pipeline_check_time(const char *s, struct error *err);

void run_init(struct run *r);
void run_release(struct run *r);
/* With two_columns: a profile of what was before, with the frames and nodes of r->profile. */
void run_base(struct run *r, struct profile *base);
/* Reads one recording and adds it to r->profile. */
int run_read(struct run *r, const char *path, const struct pipeline_opts *opts,
	     struct error *err) MUST_CHECK;

/* ---- what verbs that draw share (render.c) ---- */

/* --fail-if=QUALITY>N% */
struct quality_gate {
	const char *text; /* as given, borrowed */
	u8 kind;          /* enum diag_kind; DIAG_NR: unresolved frames of all spaces */
	double limit;     /* percent */
};

struct draw_args {
	struct pipeline_opts pipe;
	struct view_opts view;
	struct render_opts render;
	const char *output, *format, *event;
	const char *symfs[MAX_LIST + 1], *debug_dirs[MAX_LIST + 1];
	size_t nr_symfs, nr_debug_dirs;
	struct quality_gate gates[MAX_LIST];
	size_t nr_gates;
	bool open, strict, quiet, anonymous;
	char tmp[64]; /* output of --open without -o */
};

/* Ids of options that other verbs add start here. */
#define OPTION_OF_VERB 1024

extern const struct option_def draw_options[];
/* 0, or -1 after having told what is wrong. */
int draw_take_option(struct draw_args *a, int id, const char *arg);
/* The recording of this folder when none is named; NULL: there is none. Static. */
const char *draw_default_file(void);
/* Refuses to write over one of the recordings that are read (NULL-terminated): an exit code. */
int draw_keep_inputs(const struct draw_args *a, const char *const *files);
/* The same for standard input that is given twice; `more` may be NULL. */
int draw_stdin_once(const char *const *files, const char *const *more);
/* To be called once all options are taken: the writer, and what it wants. An exit code, 0 when all
 * is well. */
int draw_writer(struct draw_args *a, const struct render_writer **w);
/* The event that is drawn: named, or the first one with samples; -1: all. Errors are in err. */
int draw_pick_event(struct run *r, const struct draw_args *a, struct error *err);
const char *draw_unit(const struct run *r, const struct draw_args *a, int event);
/* A profile with its view or walk, `what`, with facts and quality of the run through the writer
 * into a->output. When it has no weight that is an error. */
int draw_write(struct run *r, struct draw_args *a, const struct render_writer *w,
	       const struct render_input *what, struct error *err) MUST_CHECK;
/* The same into an output that is open. */
int draw_into(struct run *r, const struct draw_args *a, const struct render_writer *w,
	      const struct render_input *what, struct out *out, struct error *err) MUST_CHECK;
/* Notes in the diag where sums of the view, or own weights of the walk, end at their limit. */
void draw_note_limits(struct run *r, const struct render_input *what);
int draw_show(const char *path);
/* For --anonymous. */
void draw_drop_identifying_facts(struct run *r);

/* ---- quality (quality.c) ---- */

/* One line each on standard error; with the recording that they are of, unless it is NULL. */
void quality_tell(const struct run *r, const char *recording);
bool quality_has_strict(const struct run *r);
/* Takes a condition; an unknown name or other syntax is an error. */
int quality_gate_parse(struct quality_gate *g, const char *text, struct error *err) MUST_CHECK;
/* How many of the conditions hold; tells each in a line. */
size_t quality_gates_check(const struct quality_gate *gates, size_t n, const struct run *r);
/* For writers; strings live in r->facts_arena. */
struct render_quality *quality_list(struct run *r, size_t *n);

/* ---- progress (progress.c): a line on standard error when it is a terminal and the work takes
 * over a second ---- */

void progress_start(const char *what);
void progress_update(u64 done, u64 total);
void progress_end(void);

#endif
