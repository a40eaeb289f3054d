/* SPDX-License-Identifier: GPL-2.0-or-later */
/* xenflame [render]: recordings -> one picture or file. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"

enum {
	OPT_FORMAT = 256,
	OPT_INPUT_FORMAT,
	OPT_OPEN,
	OPT_EVENT,
	OPT_WEIGHT,
	OPT_ANNOTATE,
	OPT_SRCLINE,
	OPT_NO_INLINE,
	OPT_RAW_NAMES,
	OPT_ADDRS,
	OPT_GROUP,
	OPT_XEN_SYMS,
	OPT_KALLSYMS,
	OPT_VMLINUX,
	OPT_GUEST_KALLSYMS,
	OPT_SYMFS,
	OPT_DEBUG_DIR,
	OPT_DEBUGINFOD,
	OPT_OFFLINE,
	OPT_FORCE,
	OPT_STRICT,
	OPT_FAIL_IF,
	OPT_QUIET,
	OPT_COMM,
	OPT_PID,
	OPT_TID,
	OPT_CPU,
	OPT_TIME,
	OPT_DSO,
	OPT_GUEST,
	OPT_HOST,
	OPT_ONLY,
	OPT_HIDE,
	OPT_FOCUS,
	OPT_PRUNE,
	OPT_COLLAPSE,
	OPT_BY_MODULE,
	OPT_NO_IDLE,
	OPT_BY_ENTRY,
	OPT_REVERSE,
	OPT_INVERTED,
	OPT_TITLE,
	OPT_SUBTITLE,
	OPT_NOTES,
	OPT_WIDTH,
	OPT_HEIGHT,
	OPT_MINWIDTH,
	OPT_FONT,
	OPT_FONT_SIZE,
	OPT_COUNT_NAME,
	OPT_NAME_TYPE,
	OPT_COLORS,
	OPT_BGCOLORS,
	OPT_PALETTE_FILE,
	OPT_TOTAL,
	OPT_FACTOR,
	OPT_FLAMECHART,
	OPT_NEGATE,
	OPT_PLAIN_DATA,
	OPT_DARK,
	OPT_SCALE,
	OPT_THREADS,
	OPT_ANONYMOUS,
	OPT_HELP,
	OPT_VERSION,
};

const struct option_def draw_options[] = {
	{ "output", 'o', ARG_YES, "FILE",
	  "write to FILE ('-': standard output); its suffix picks the format", "Output" },
	{ "format", OPT_FORMAT, ARG_YES, "NAME",
	  "format of the output, whatever its name is (list below)", NULL },
	{ "open", OPT_OPEN, ARG_NO, NULL, "show the result in the browser", NULL },
	{ "strict", OPT_STRICT, ARG_NO, NULL,
	  "exit 1 when anything was degraded (every 'warning:' line)", NULL },
	{ "fail-if", OPT_FAIL_IF, ARG_YES, "QUALITY>N%",
	  "exit 1 when more than N percent of the samples are so: lost,\nip_zero, ip_zero_guest, "
	  "no_chain, broken_stack, truncated_stack,\nhv_depth_1; or of the frames: unresolved, "
	  "unresolved_hypervisor,\nunresolved_kernel, unresolved_user, unresolved_guest (may "
	  "repeat)",
	  NULL },
	{ "quiet", 'q', ARG_NO, NULL, "tell errors only", NULL },

	{ "input-format", OPT_INPUT_FORMAT, ARG_YES, "NAME", "do not guess the format of the input",
	  "Input" },
	{ "event", OPT_EVENT, ARG_YES, "NAME",
	  "draw this event of a recording with several; 'all' draws all,\neach below its name",
	  NULL },
	{ "weight", OPT_WEIGHT, ARG_YES, "samples|period",
	  "what is added up; samples unless said otherwise", NULL },
	{ "comm", OPT_COMM, ARG_YES, "LIST", "only samples of threads with these names (a,b)",
	  NULL },
	{ "pid", OPT_PID, ARG_YES, "LIST", "only these processes (1,4-7)", NULL },
	{ "tid", OPT_TID, ARG_YES, "LIST", "only these threads", NULL },
	{ "cpu", OPT_CPU, ARG_YES, "LIST", "only these processors", NULL },
	{ "time", OPT_TIME, ARG_YES, "FROM,TO",
	  "only this span: seconds as perf script prints them, +FROM,+TO after\n"
	  "the first sample, or 10%-20%",
	  NULL },
	{ "dso", OPT_DSO, ARG_YES, "LIST",
	  "only samples whose innermost frame lies in these modules", NULL },
	{ "guest", OPT_GUEST, ARG_NO, NULL, "only samples taken in guests", NULL },
	{ "host", OPT_HOST, ARG_NO, NULL, "no samples taken in guests", NULL },
	{ "threads", OPT_THREADS, ARG_YES, "N",
	  "threads for reading, 1 to 16; as many as there are\n"
	  "processors, but 4 at most, unless said otherwise",
	  NULL },

	{ "xen-syms", OPT_XEN_SYMS, ARG_YES, "FILE",
	  "hypervisor symbols: xen-syms, xen.efi.elf, .map, xensyms", "Symbols" },
	{ "kallsyms", OPT_KALLSYMS, ARG_YES, "FILE",
	  "kernel symbols: kallsyms or System.map of the recorded host", NULL },
	{ "vmlinux", OPT_VMLINUX, ARG_YES, "FILE", "kernel image with symbols or DWARF", NULL },
	{ "guest-kallsyms", OPT_GUEST_KALLSYMS, ARG_YES, "FILE", "kernel symbols of the guests",
	  NULL },
	{ "symfs", OPT_SYMFS, ARG_YES, "DIR",
	  "look for files of the recorded system below DIR (may repeat)", NULL },
	{ "debug-dir", OPT_DEBUG_DIR, ARG_YES, "DIR",
	  "one more folder like /usr/lib/debug (may repeat)", NULL },
	{ "debuginfod", OPT_DEBUGINFOD, ARG_NO, NULL,
	  "ask the servers in DEBUGINFOD_URLS for what is missing", NULL },
	{ "offline", OPT_OFFLINE, ARG_NO, NULL,
	  "use nothing of this machine's own system, only what lies\nbeside the recording or is "
	  "named",
	  NULL },
	{ "force", OPT_FORCE, ARG_NO, NULL,
	  "use symbol files whose build id differs from the recorded one", NULL },
	{ "no-inline", OPT_NO_INLINE, ARG_NO, NULL, "no frames for inlined functions", NULL },
	{ "raw-names", OPT_RAW_NAMES, ARG_NO, NULL,
	  "linker names: not demangled, .isra.0 and the like kept", NULL },
	{ "srcline", OPT_SRCLINE, ARG_NO, NULL,
	  "tell frames of one function apart by file and line", NULL },
	{ "addrs", OPT_ADDRS, ARG_NO, NULL, "show addresses outside every mapping one by one",
	  NULL },

	{ "group", OPT_GROUP, ARG_YES, "LIST",
	  "put these above the command: domain,cpu,pid,tid,event", "View" },
	{ "annotate", OPT_ANNOTATE, ARG_YES, "all",
	  "suffixes _[k], _[i], _[j], _[g] on names too, not only _[h]", NULL },
	{ "reverse", OPT_REVERSE, ARG_NO, NULL,
	  "merge from the innermost function: callers above callees", NULL },
	{ "inverted", OPT_INVERTED, ARG_NO, NULL, "root at the top (icicle)", NULL },
	{ "collapse-recursion", OPT_COLLAPSE, ARG_NO, NULL, "direct recursion becomes one frame",
	  NULL },
	{ "by-module", OPT_BY_MODULE, ARG_NO, NULL, "one frame for a run of frames of one module",
	  NULL },
	{ "by-entry", OPT_BY_ENTRY, ARG_NO, NULL,
	  "the hypervisor's stacks alone, below the hypercall, the guest's exit or\nthe exception "
	  "that they are in",
	  NULL },
	{ "no-idle", OPT_NO_IDLE, ARG_NO, NULL, "leave out processors that wait for work", NULL },
	{ "only", OPT_ONLY, ARG_YES, "REGEX", "only stacks with a frame of that name", NULL },
	{ "hide", OPT_HIDE, ARG_YES, "REGEX", "no stacks with a frame of that name", NULL },
	{ "focus", OPT_FOCUS, ARG_YES, "REGEX", "start stacks at the outermost frame of that name",
	  NULL },
	{ "prune", OPT_PRUNE, ARG_YES, "REGEX", "end stacks at the outermost frame of that name",
	  NULL },

	{ "title", OPT_TITLE, ARG_YES, "TEXT", "title", "Picture" },
	{ "subtitle", OPT_SUBTITLE, ARG_YES, "TEXT", "second line of the title", NULL },
	{ "notes", OPT_NOTES, ARG_YES, "TEXT", "notes, shown with the details", NULL },
	{ "width", OPT_WIDTH, ARG_YES, "PX", "fixed width; fluid unless given", NULL },
	{ "height", OPT_HEIGHT, ARG_YES, "PX", "height of a frame", NULL },
	{ "minwidth", OPT_MINWIDTH, ARG_YES, "PX",
	  "boxes below this width are not drawn (the data has them)", NULL },
	{ "fonttype", OPT_FONT, ARG_YES, "NAME", "font", NULL },
	{ "fontsize", OPT_FONT_SIZE, ARG_YES, "PX", "size of the font", NULL },
	{ "countname", OPT_COUNT_NAME, ARG_YES, "TEXT", "what is counted", NULL },
	{ "nametype", OPT_NAME_TYPE, ARG_YES, "TEXT", "what a name is", NULL },
	{ "colors", OPT_COLORS, ARG_YES, "NAME", "palette (list below)", NULL },
	{ "bgcolors", OPT_BGCOLORS, ARG_YES, "NAME",
	  "background: yellow, blue, green, grey or #rrggbb", NULL },
	{ "palette-file", OPT_PALETTE_FILE, ARG_YES, "FILE",
	  "keep colours of functions there: lines 'function->rgb(r,g,b)'", NULL },
	{ "total", OPT_TOTAL, ARG_YES, "N", "what is 100 %, when it is more than the sum", NULL },
	{ "factor", OPT_FACTOR, ARG_YES, "N", "show numbers multiplied by N", NULL },
	{ "flamechart", OPT_FLAMECHART, ARG_NO, NULL,
	  "stacks in order of time, only neighbours merged", NULL },
	{ "negate", OPT_NEGATE, ARG_NO, NULL, "differences: swap the colours of more and less",
	  NULL },
	{ "plain-data", OPT_PLAIN_DATA, ARG_NO, NULL, "do not compress the data in SVG and HTML",
	  NULL },
	{ "dark", OPT_DARK, ARG_NO, NULL,
	  "dark PNG and PDF (SVG and HTML follow the reader's system)", NULL },
	{ "scale", OPT_SCALE, ARG_YES, "N", "pixels of a PNG for each of the picture", NULL },
	{ "anonymous", OPT_ANONYMOUS, ARG_NO, NULL,
	  "leave the name of the host and the command line out", NULL },

	{ "help", 'h', ARG_NO, NULL, "this text", "Other" },
	{ "version", 'V', ARG_NO, NULL, "version", NULL },
	{ NULL, 0, ARG_NO, NULL, NULL, NULL },
};

static void help(void)
{
	const struct render_writer *const *w;
	const char *const *name;
	size_t i;

	puts("usage: xenflame [render] [OPTION]... [FILE]... -o OUT\n"
	     "       xenflame [render] [OPTION]... [FILE]... --open\n"
	     "\n"
	     "Turns recordings of a whole Xen host, or of any Linux system, into one flame graph.\n"
	     "FILE is a perf.data of any kind (perf record, perf kvm record), the text of perf\n"
	     "script, folded stacks, a flame graph, a profile of another tool (speedscope, pprof,\n"
	     "Firefox Profiler, d3-flame-graph), a Xen console log or a bundle; '-' is standard\n"
	     "input. Without one, perf.data.kvm or perf.data of this folder is read.");
	puts("\nVerbs:");
	for (i = 0; verbs[i]; i++)
		printf("  %-16s %s\n", verbs[i]->name, verbs[i]->help);
	options_help(draw_options);
	puts("\nFormats of the output (--format=NAME, or by suffix):");
	for (w = render_writers(); *w; w++)
		printf("  %-16s %-26s %s\n", (*w)->name, (*w)->suffixes, (*w)->help);
	fputs("\nFormats of the input (--input-format=NAME):\n ", stdout);
	for (name = perf_format_names(); *name; name++)
		printf(" %s", *name);
	fputs("\n\nPalettes (--colors=NAME):\n ", stdout);
	for (name = render_palette_names(); *name; name++)
		printf(" %s", *name);
	puts("\n\nExit status: 0 done, 1 failed (with --strict also when degraded) or a "
	     "condition holds, 2 wrong usage.");
}

static int parse_groups(struct pipeline_opts *o, const char *s)
{
	static const char *const known[] = { "domain", "cpu", "pid", "tid", "event" };
	size_t n = 0, i, len;

	for (;;) {
		len = strcspn(s, ",");
		for (i = 0; i < ARRAY_SIZE(known); i++)
			if (strlen(known[i]) == len && !strncmp(s, known[i], len))
				break;
		if (i == ARRAY_SIZE(known) || n >= ARRAY_SIZE(known)) {
			tell("--group=%.*s: expected a list out of domain,cpu,pid,tid,event",
			     (int)len, s);
			return -1;
		}
		o->group[n++] = known[i];
		o->group[n] = NULL;
		if (!s[len])
			return 0;
		s += len + 1;
	}
}

/* The values that a stage has to judge: what it says of them. */
static int check_value(int id, const char *arg, struct error *err)
{
	const char *const *name;

	switch (id) {
	case OPT_PID: return pipeline_check_list("pid", arg, err);
	case OPT_TID: return pipeline_check_list("tid", arg, err);
	case OPT_CPU: return pipeline_check_list("cpu", arg, err);
	case OPT_TIME: return pipeline_check_time(arg, err);
	case OPT_ONLY: return view_check_regex("only", arg, err);
	case OPT_HIDE: return view_check_regex("hide", arg, err);
	case OPT_FOCUS: return view_check_regex("focus", arg, err);
	case OPT_PRUNE: return view_check_regex("prune", arg, err);
	case OPT_BGCOLORS: return render_check_background(arg, err);
	case OPT_INPUT_FORMAT:
		for (name = perf_format_names(); *name && strcmp(*name, arg); name++)
			;
		return *name ? 0
			     : error_set(err,
					 "--input-format=%s: no such format; 'xenflame --help' "
					 "lists them",
					 arg);
	default: return 0;
	}
}

int draw_take_option(struct draw_args *a, int id, const char *arg)
{
	struct error err = { "" };
	double v;
	u64 whole;

	if (check_value(id, arg, &err)) {
		tell("%s", err.msg);
		return -1;
	}
	switch (id) {
	case 'o': a->output = arg; break;
	case OPT_FORMAT: a->format = arg; break;
	case OPT_OPEN: a->open = true; break;
	case OPT_STRICT: a->strict = true; break;
	case OPT_FAIL_IF:
		if (a->nr_gates == MAX_LIST) {
			tell("more than %d times --fail-if", MAX_LIST);
			return -1;
		}
		if (quality_gate_parse(&a->gates[a->nr_gates], arg, &err)) {
			tell("%s", err.msg);
			return -1;
		}
		a->nr_gates++;
		break;
	case 'q': a->quiet = a->pipe.quiet = true; break;
	case OPT_INPUT_FORMAT: a->pipe.perf.format = arg; break;
	case OPT_EVENT: a->event = arg; break;
	case OPT_WEIGHT:
		if (strcmp(arg, "samples") && strcmp(arg, "period")) {
			tell("--weight=%s: expected samples or period", arg);
			return -1;
		}
		a->pipe.weight_period = !strcmp(arg, "period");
		break;
	case OPT_COMM: a->pipe.comm = arg; break;
	case OPT_PID: a->pipe.pid = arg; break;
	case OPT_TID: a->pipe.tid = arg; break;
	case OPT_CPU: a->pipe.cpu = arg; break;
	case OPT_TIME: a->pipe.time = arg; break;
	case OPT_DSO: a->pipe.dso = arg; break;
	case OPT_GUEST: a->pipe.only_guest = true; break;
	case OPT_HOST: a->pipe.only_host = true; break;
	case OPT_THREADS:
		if (option_whole("threads", arg, 1, 16, &whole))
			return -1;
		a->pipe.perf.threads = (u32)whole;
		break;
	case OPT_XEN_SYMS: a->pipe.sym.xen_syms = arg; break;
	case OPT_KALLSYMS: a->pipe.sym.kallsyms = arg; break;
	case OPT_VMLINUX: a->pipe.sym.vmlinux = arg; break;
	case OPT_GUEST_KALLSYMS: a->pipe.sym.guest_kallsyms = arg; break;
	case OPT_SYMFS:
	case OPT_DEBUG_DIR:
		if ((id == OPT_SYMFS ? a->nr_symfs : a->nr_debug_dirs) >= MAX_LIST) {
			tell("more than %d folders", MAX_LIST);
			return -1;
		}
		if (id == OPT_SYMFS) {
			a->symfs[a->nr_symfs++] = arg;
			a->pipe.sym.symfs = a->symfs;
		} else {
			a->debug_dirs[a->nr_debug_dirs++] = arg;
			a->pipe.sym.debug_dirs = a->debug_dirs;
		}
		break;
	case OPT_DEBUGINFOD: a->pipe.sym.debuginfod = true; break;
	case OPT_OFFLINE: a->pipe.sym.offline_only = true; break;
	case OPT_FORCE: a->pipe.sym.force = true; break;
	case OPT_NO_INLINE: a->pipe.sym.no_inline = true; break;
	case OPT_RAW_NAMES: a->pipe.sym.raw_names = true; break;
	case OPT_SRCLINE: a->pipe.by_line = true; break;
	case OPT_ADDRS: a->pipe.addrs = true; break;
	case OPT_GROUP: return parse_groups(&a->pipe, arg);
	case OPT_ANNOTATE:
		if (strcmp(arg, "all")) {
			tell("--annotate=%s: expected all", arg);
			return -1;
		}
		a->render.annotate_all = true;
		break;
	case OPT_REVERSE: a->view.invert = true; break;
	case OPT_INVERTED: a->render.icicle = true; break;
	case OPT_COLLAPSE: a->view.collapse_recursion = true; break;
	case OPT_BY_MODULE: a->view.by_module = true; break;
	case OPT_BY_ENTRY: a->view.by_entry = true; break;
	case OPT_NO_IDLE: a->view.no_idle = true; break;
	case OPT_ONLY: a->view.only = arg; break;
	case OPT_HIDE: a->view.hide = arg; break;
	case OPT_FOCUS: a->view.focus = arg; break;
	case OPT_PRUNE: a->view.prune = arg; break;
	case OPT_TITLE: a->render.title = arg; break;
	case OPT_SUBTITLE: a->render.subtitle = arg; break;
	case OPT_NOTES: a->render.notes = arg; break;
	case OPT_WIDTH:
		if (option_whole("width", arg, 100, 32767, &whole))
			return -1;
		a->render.width = (u32)whole;
		break;
	case OPT_HEIGHT:
		if (option_whole("height", arg, 6, 200, &whole))
			return -1;
		a->render.frame_height = (u32)whole;
		break;
	case OPT_MINWIDTH: return option_number("minwidth", arg, 0, 10000, &a->render.min_width);
	case OPT_FONT: a->render.font = arg; break;
	case OPT_FONT_SIZE: return option_number("fontsize", arg, 4, 100, &a->render.font_size);
	case OPT_COUNT_NAME: a->render.count_name = arg; break;
	case OPT_NAME_TYPE: a->render.name_type = arg; break;
	case OPT_COLORS: {
		const char *const *name;

		for (name = render_palette_names(); *name && strcmp(*name, arg); name++)
			;
		if (!*name) {
			tell("--colors=%s: no such palette; 'xenflame --help' lists them", arg);
			return -1;
		}
		a->render.colors = arg;
		break;
	}
	case OPT_BGCOLORS: a->render.background = arg; break;
	case OPT_PALETTE_FILE: a->render.palette_file = arg; break;
	case OPT_TOTAL:
		if (option_number("total", arg, 0, 9e18, &v))
			return -1;
		a->render.total = (u64)v;
		break;
	case OPT_FACTOR: return option_number("factor", arg, 1e-18, 1e18, &a->render.factor);
	case OPT_FLAMECHART: a->render.flamechart = true; break;
	case OPT_NEGATE: a->render.negate = true; break;
	case OPT_PLAIN_DATA: a->render.plain_data = true; break;
	case OPT_DARK: a->render.dark = true; break;
	case OPT_SCALE: return option_number("scale", arg, 0.1, 16, &a->render.scale);
	case OPT_ANONYMOUS: a->anonymous = true; break;
	default: return -1;
	}
	return 0;
}

/* The event that is drawn: named, or the first one with samples; the others are told. */
int draw_pick_event(struct run *r, const struct draw_args *a, struct error *err)
{
	const struct profile *p = &r->profile;
	struct buf names = BUF_INIT;
	int found = -1;
	size_t i;

	if (a->event && !strcmp(a->event, "all"))
		return -1;
	for (i = 0; i < p->events.n; i++) {
		const char *name = strtab_get(&r->strings, p->events.v[i].name);
		size_t len = a->event ? strlen(a->event) : 0;

		buf_printf(&names, "%s%s", i ? ", " : "", name);
		if (found < 0 && p->events.v[i].samples &&
		    (!a->event || !strcmp(name, a->event) ||
		     (!strncmp(name, a->event, len) && name[len] == ':')))
			found = (int)i;
	}
	if (found < 0)
		error_set(err, "--event=%s: no samples of that event; the recording has %s",
			  a->event, names.n ? buf_str(&names) : "none");
	else
		for (i = 0; i < p->events.n; i++)
			if ((int)i != found && p->events.v[i].samples)
				diag_add(&r->diag, DIAG_OTHER_EVENTS, p->events.v[i].samples,
					 strtab_get(&r->strings, p->events.v[i].name));
	buf_release(&names);
	return found;
}

const char *draw_unit(const struct run *r, const struct draw_args *a, int event)
{
	const char *name;

	if (!a->pipe.weight_period || event < 0)
		return a->pipe.weight_period ? "period" : "samples";
	name = strtab_get(&r->strings, r->profile.events.v[event].name);
	if (!strncmp(name, "cpu-clock", 9) || !strncmp(name, "task-clock", 10))
		return "ns";
	return name;
}

int draw_show(const char *path)
{
	const char *browser = getenv("BROWSER");
	pid_t pid;
	int status;

	if (!browser || !*browser)
		browser = "xdg-open";
	pid = fork();
	if (!pid) {
		execlp(browser, browser, path, (char *)NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status)) {
		tell("'%s' could not be started to show '%s'; set BROWSER, or open the file "
		     "yourself",
		     browser, path);
		return -1;
	}
	return 0;
}

const char *draw_default_file(void)
{
	static const char *const names[] = { "perf.data.kvm", "perf.data" };
	size_t i;

	/* A folder is a recording too: perf record --threads. */
	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (!access(names[i], F_OK))
			return names[i];
	return NULL;
}

int draw_keep_inputs(const struct draw_args *a, const char *const *files)
{
	struct stat in, out;

	if (!a->output || stat(a->output, &out) || !S_ISREG(out.st_mode))
		return EXIT_DONE;
	for (; *files; files++)
		if (!stat(*files, &in) && in.st_dev == out.st_dev && in.st_ino == out.st_ino) {
			tell("'%s' is read: it would be lost by writing to it", a->output);
			return EXIT_USAGE;
		}
	return EXIT_DONE;
}

int draw_stdin_once(const char *const *files, const char *const *more)
{
	size_t n = 0;

	for (; *files; files++)
		n += !strcmp(*files, "-");
	for (; more && *more; more++)
		n += !strcmp(*more, "-");
	if (n < 2)
		return EXIT_DONE;
	tell("'-' is given twice: standard input can be read once only");
	return EXIT_USAGE;
}

/* The picture would take the palette's place, or stand in one stream with it. */
static int check_palette_file(const struct draw_args *a)
{
	const char *file = a->render.palette_file;
	const char *const files[] = { file, NULL };

	if (!file)
		return EXIT_DONE;
	if (!*file || !strcmp(file, "-") || (a->output && !strcmp(a->output, file))) {
		tell("--palette-file=%s: expected a file of its own", file);
		return EXIT_USAGE;
	}
	if (a->render.colors && !strcmp(a->render.colors, "share")) {
		tell("--palette-file has no meaning with --colors=share: functions have no colours "
		     "there");
		return EXIT_USAGE;
	}
	return draw_keep_inputs(a, files);
}

static const struct render_writer *choose_writer(const struct draw_args *a)
{
	const struct render_writer *w;

	if (a->format) {
		w = render_writer_by_name(a->format);
		if (!w)
			tell("--format=%s: no such format; 'xenflame --help' lists them",
			     a->format);
		return w;
	}
	if (!a->output || !strcmp(a->output, "-"))
		return render_writer_by_name(a->open ? "html" : "svg");
	w = render_writer_by_path(a->output);
	if (!w)
		tell("'%s': the suffix names no format; use --format ('xenflame --help' lists "
		     "them)",
		     a->output);
	return w;
}

int draw_writer(struct draw_args *a, const struct render_writer **w)
{
	if (a->open && a->output && !strcmp(a->output, "-")) {
		tell("--open shows a file: '-o -' is none");
		return EXIT_USAGE;
	}
	*w = choose_writer(a);
	if (!*w || check_palette_file(a))
		return EXIT_USAGE;
	if ((*w)->samples || a->render.flamechart)
		a->pipe.keep_samples = true;
	if (!a->open && (!a->output || !strcmp(a->output, "-")) && isatty(STDOUT_FILENO)) {
		if ((*w)->binary || !strcmp((*w)->name, "svg") || !strcmp((*w)->name, "html")) {
			tell("standard output is a terminal: name a file by -o out.svg, or use "
			     "--format=text");
			return EXIT_USAGE;
		}
		a->render.color = !strcmp((*w)->name, "text");
	}
	return EXIT_DONE;
}

void draw_drop_identifying_facts(struct run *r)
{
	size_t i, k = 0;

	for (i = 0; i < r->facts.n; i++)
		if (strcmp(r->facts.v[i].key, "host") && strcmp(r->facts.v[i].key, "command"))
			r->facts.v[k++] = r->facts.v[i];
	r->facts.n = k;
}

/* The file for --open without -o; its suffix tells the browser what it is. */
static int make_temporary(struct draw_args *a, const struct render_writer *w, struct error *err)
{
	int len = (int)strcspn(w->suffixes, " "), fd;

	snprintf(a->tmp, sizeof(a->tmp), "/tmp/xenflame-XXXXXX%.*s", len, w->suffixes);
	fd = temp_file(a->tmp, len);
	if (fd < 0)
		return error_errno(err, "'%s': cannot write", a->tmp);
	close(fd);
	a->output = a->tmp;
	return 0;
}

int draw_into(struct run *r, const struct draw_args *a, const struct render_writer *w,
	      const struct render_input *what, struct out *out, struct error *err)
{
	struct render_input in = *what;
	struct render_opts opts = a->render;

	opts.annotate_all |= r->annotated;
	if (r->profile.weight_scale > 1)
		opts.factor = (opts.factor > 0 ? opts.factor : 1) / (double)r->profile.weight_scale;

	if (a->anonymous)
		draw_drop_identifying_facts(r);
	in.facts = r->facts.v;
	in.nr_facts = r->facts.n;
	in.quality = quality_list(r, &in.nr_quality);
	return w->write(out, &in, &opts, err);
}

/* The output first: when it cannot be written, the palette stays as it was. */
static int close_output(struct out *out, const char *palette_file, const struct buf *colors,
			struct error *err)
{
	struct out palette;

	if (!colors->n)
		return out_close(out, err);
	if (out_open(&palette, palette_file, err)) {
		out_abort(out);
		return -1;
	}
	out_write(&palette, colors->p, colors->n);
	if (out_close(out, err)) {
		out_abort(&palette);
		return -1;
	}
	return out_close(&palette, err);
}

static bool is_empty(const struct render_input *what)
{
	if (what->walk)
		return view_walk_empty(what->walk);
	return !what->view->nodes.v[0].total && !view_base_total(what->view, 0);
}

void draw_note_limits(struct run *r, const struct render_input *what)
{
	const struct view *v = what->view;
	struct buf b = BUF_INIT;
	u64 n = 0, scale = r->profile.weight_scale;
	size_t i;

	if (what->walk) {
		n = view_walk_full(what->walk);
		buf_plural(&b, "%n stack{ has|s have} ", n, "");
		if (scale == 1)
			buf_puts(&b, "2^128 - 1");
		else
			buf_u128(&b, ~(u128)0 / scale);
		buf_puts(&b, " or more, where counts end");
		if (n)
			diag_add(&r->diag, DIAG_SUM_LIMIT, 1, buf_str(&b));
		buf_release(&b);
		return;
	}
	if (v->nodes.v[0].total != UINT64_MAX && view_base_total(v, 0) != UINT64_MAX)
		return;
	for (i = 0; i < v->nodes.n; i++)
		n += v->nodes.v[i].self == UINT64_MAX || view_base_self(v, i) == UINT64_MAX;
	buf_printf(&b, "sums end at %" PRIu64 ", which the whole ", UINT64_MAX / scale);
	if (n)
		buf_plural(&b, "and %n stack{|s} come to", n, "");
	else
		buf_puts(&b, "comes to");
	buf_puts(&b, ", so shares are wrong");
	diag_add(&r->diag, DIAG_SUM_LIMIT, 1, buf_str(&b));
	buf_release(&b);
}

int draw_write(struct run *r, struct draw_args *a, const struct render_writer *w,
	       const struct render_input *what, struct error *err)
{
	struct buf colors = BUF_INIT;
	struct out out;
	int rc = -1;

	if (is_empty(what))
		return error_set(err,
				 a->view.by_entry ? "no stack is in the hypervisor or a hypercall"
				 : a->view.only || a->view.hide || a->view.focus || a->view.no_idle
					 ? "no stack passes --only, --hide, --focus or --no-idle"
					 : "nothing to show: what is drawn adds up to 0");
	draw_note_limits(r, what);
	if (r->profile.weight_scale > 1 && !w->decimals)
		diag_addf(&r->diag, DIAG_NOTE, 1,
			  "the input has decimals, and %s whole numbers: those written are %" PRIu64
			  " times as large",
			  w->name, r->profile.weight_scale);
	if (a->open && !a->output && make_temporary(a, w, err))
		return -1;
	a->render.palette_text = &colors;
	if (!out_open(&out, a->output ? a->output : "-", err)) {
		rc = draw_into(r, a, w, what, &out, err);
		if (rc)
			out_abort(&out);
		else
			rc = close_output(&out, a->render.palette_file, &colors, err);
	}
	a->render.palette_text = NULL;
	buf_release(&colors);
	if (a->tmp[0]) {
		if (rc)
			temp_remove(a->tmp);
		else
			temp_forget(a->tmp);
	}
	return rc;
}

/* The second line of the title, of what the recording tells of itself; empty when nothing. */
static void put_subtitle(struct buf *b, const struct run *r)
{
	static const char *const parts[][2] = { { "host", "" },
						{ "kernel", "kernel " },
						{ "processors", "processors: " },
						{ "time", "" } };
	size_t i, k, recordings = 0;
	u64 lost = 0;

	for (i = 0; i < r->facts.n; i++) {
		recordings += !strcmp(r->facts.v[i].key, "recording");
		if (!strcmp(r->facts.v[i].key, "lost samples"))
			lost = add_saturated(lost, strtoull(r->facts.v[i].value, NULL, 10));
	}
	if (recordings > 1)
		buf_printf(b, "%zu recordings", recordings);
	for (k = 0; recordings == 1 && k < ARRAY_SIZE(parts); k++)
		for (i = 0; i < r->facts.n; i++)
			if (!strcmp(r->facts.v[i].key, parts[k][0]) &&
			    strcmp(r->facts.v[i].value, "(none)") != 0)
				buf_printf(b, "%s%s%s", b->n ? " \xc2\xb7 " : "", parts[k][1],
					   r->facts.v[i].value);
	if (lost)
		buf_printf(b, "%slost samples: %" PRIu64, b->n ? " \xc2\xb7 " : "", lost);
}

static int render_all(struct draw_args *a, const struct render_writer *w, const char *const *files)
{
	struct error err = { "" };
	struct profile base = { 0 }, *before = &base, *after;
	struct view_walk *walk = NULL;
	struct view view = { 0 };
	struct buf subtitle = BUF_INIT;
	struct run run;
	int ret = EXIT_FAILED;
	bool degraded = false;
	size_t i;

	run_init(&run);
	for (i = 0; files[i]; i++)
		if (run_read(&run, files[i], &a->pipe, &err))
			goto out;
	a->view.event = draw_pick_event(&run, a, &err);
	if (err.msg[0])
		goto out;
	run.profile.unit = draw_unit(&run, a, a->view.event);
	if (run.two_columns) {
		run_base(&run, &base);
		after = &run.profile;
		if (view_build_diff(&view,
				    &(struct diff_input){ .after = &after,
							  .before = &before,
							  .nr_after = 1,
							  .nr_before = 1 },
				    &a->view, &(struct diff_opts){ .norm = DIFF_NONE }, &err))
			goto out;
	} else {
		a->view.last = true;
		if (w->walks)
			walk = view_walk_new(&run.profile, &a->view, &err);
		else if (view_build(&view, &run.profile, &a->view, &err))
			goto out;
		if (w->walks && !walk)
			goto out;
	}
	if (a->anonymous)
		draw_drop_identifying_facts(&run);
	if (!a->render.subtitle) {
		put_subtitle(&subtitle, &run);
		a->render.subtitle = subtitle.n ? buf_str(&subtitle) : NULL;
	}
	if (draw_write(&run, a, w,
		       &(struct render_input){
			       .profile = &run.profile, .view = walk ? NULL : &view, .walk = walk },
		       &err))
		goto out;
	ret = EXIT_DONE;
	degraded = a->strict && quality_has_strict(&run);
out:
	if (!a->quiet)
		quality_tell(&run, NULL);
	if (err.msg[0])
		tell("%s", err.msg);
	else if (degraded && !a->quiet)
		tell("--strict: the warnings above make this a failure");
	if (ret == EXIT_DONE && (quality_gates_check(a->gates, a->nr_gates, &run) || degraded))
		ret = EXIT_FAILED;
	view_walk_free(walk);
	view_release(&view);
	profile_release(&base);
	run_release(&run);
	buf_release(&subtitle);
	if (ret == EXIT_DONE && a->open && draw_show(a->output))
		ret = EXIT_FAILED;
	return ret;
}

static int run_render(int argc, char **argv)
{
	struct draw_args a = { .render = { .min_width = -1 } };
	const struct render_writer *w;
	const char *files[MAX_LIST + 1] = { NULL };
	const char *arg;
	size_t n = 0;
	int c;

	while ((c = options_next(argc, argv, draw_options, &arg)) != -1) {
		if (options_answered(c, help))
			return EXIT_DONE;
		if (c == '?' || draw_take_option(&a, c, arg))
			return EXIT_USAGE;
	}
	while ((arg = options_file(argc, argv))) {
		if (n == MAX_LIST) {
			tell("more than %d files", MAX_LIST);
			return EXIT_USAGE;
		}
		files[n++] = arg;
	}
	if (!n && (a.open || a.output))
		files[n] = draw_default_file();
	if (!files[0]) {
		tell(a.open || a.output
			     ? "no file named, and neither perf.data.kvm nor perf.data is here"
			     : "usage: xenflame FILE -o out.svg ('xenflame --help' says more)");
		return EXIT_USAGE;
	}
	c = draw_writer(&a, &w);
	if (!c)
		c = draw_keep_inputs(&a, files);
	if (!c)
		c = draw_stdin_once(files, NULL);
	if (c)
		return c;
	a.pipe.sym.no_lines = w->no_lines && !a.pipe.by_line;
	a.pipe.walked = w->walks && !files[1];
	return render_all(&a, w, files);
}

const struct verb verb_render = {
	.name = "render",
	.help = "recordings -> a flame graph or another format",
	.run = run_render,
};
