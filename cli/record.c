/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xenflame record: sets Xen's counters, looks at one second of data, records with perf, and puts
 * everything back.
 *
 * From the moment that something is set, signals are only noted: perf ends, what was set is put
 * back, then we end.
 */
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/keys.h"
#include "host/host.h"

extern char **environ;

enum { OPT_FORCE = 256, OPT_FREQ, OPT_EVENT, OPT_SYSROOT, OPT_NO_TRIAL, OPT_DEBUG_KEYS };

static const struct option_def options[] = {
	{ "output", 'o', ARG_YES, "FILE", "the recording; perf.data.kvm unless given", "Options" },
	{ "freq", OPT_FREQ, ARG_YES, "HZ", "samples per second and processor; 97 unless given",
	  NULL },
	{ "event", OPT_EVENT, ARG_YES, "NAME",
	  "perf's event; cycles, or cpu-clock where only dom0 can be recorded", NULL },
	{ "force", OPT_FORCE, ARG_NO, NULL, "record also what cannot hold hypervisor frames",
	  NULL },
	{ "no-trial", OPT_NO_TRIAL, ARG_NO, NULL, "do not look at one second of data first", NULL },
	{ "debug-keys", OPT_DEBUG_KEYS, ARG_YES, "HZ",
	  "no perf: press Xen's debug key d so often a second (1 to 100) and\nsave what the "
	  "console prints; for hosts without vPMU",
	  NULL },
	{ "sysroot", OPT_SYSROOT, ARG_YES, "DIR",
	  "a tree in place of this machine, as doctor has it (for tests)", NULL },
	{ "quiet", 'q', ARG_NO, NULL, "tell errors only", NULL },
	{ "help", 'h', ARG_NO, NULL, "this text", NULL },
	{ NULL, 0, ARG_NO, NULL, NULL, NULL },
};

#define MAX_COMMAND 1024

struct record {
	const char *output, *freq, *event;
	bool force, no_trial, quiet, kvm;
	u64 keys_hz; /* 0: perf */
	char **command;
	struct host *host;
	struct host_pmu pmu;
};

static volatile sig_atomic_t caught, child;

static void note_signal(int sig)
{
	caught = sig;
	/* perf writes what it has at SIGINT; a second one, from the terminal, does no harm. */
	if (child)
		kill((pid_t)child, SIGINT);
}

static void help(void)
{
	puts("usage: xenflame record [OPTION]... [-- COMMAND...]\n"
	     "\n"
	     "Records the whole host while COMMAND runs, or until Ctrl-C: checks what doctor "
	     "checks, sets\n"
	     "Xen's pmu_mode and pmu_features and puts them back, looks at one second of data "
	     "before the\n"
	     "long run, and saves beside the recording what naming addresses elsewhere needs.");
	options_help(options);
	puts("\nExit status: 0 recorded, 1 refused or failed, 2 wrong usage.");
}

/* perf's command line for a recording into `path` while `command` runs. */
static int run_perf(const struct record *r, const char *path, char *const *command,
		    struct error *err)
{
	const char *argv[MAX_COMMAND + 20];
	int n = 0, ret, status;
	posix_spawnattr_t attr;
	sigset_t defaults;
	pid_t pid;

	argv[n++] = "perf";
	if (r->kvm) {
		argv[n++] = "kvm";
		argv[n++] = "--host";
		argv[n++] = "--guest";
	}
	argv[n++] = "record";
	argv[n++] = "-a";
	argv[n++] = "-g";
	argv[n++] = "-F";
	argv[n++] = r->freq;
	argv[n++] = "-e";
	argv[n++] = r->event;
	argv[n++] = "-o";
	argv[n++] = path;
	if (command && *command) {
		argv[n++] = "--";
		for (; *command && n < MAX_COMMAND + 19; command++)
			argv[n++] = *command;
	}
	argv[n] = NULL;
	/* We ignore a closed pipe, perf and the command are not to. */
	sigemptyset(&defaults);
	sigaddset(&defaults, SIGPIPE);
	if (posix_spawnattr_init(&attr))
		return error_set(err, "perf cannot be started");
	posix_spawnattr_setsigdefault(&attr, &defaults);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF);
	ret = posix_spawnp(&pid, "perf", NULL, &attr, (char *const *)(uintptr_t)argv, environ);
	posix_spawnattr_destroy(&attr);
	if (ret) {
		errno = ret;
		return error_errno(err, "perf cannot be started");
	}
	child = pid;
	/* One that came before perf was there. */
	if (caught)
		kill(pid, SIGINT);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return error_errno(err, "perf cannot be waited for");
	child = 0;
	/* perf ends with the command's status, or by the signal that ended it; the file tells
	 * whether there is a recording. */
	if (!file_exists(path))
		return error_set(err, "perf has recorded nothing (%s %d)",
				 WIFEXITED(status) ? "exit status" : "signal",
				 WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
	return 0;
}

/* What one second of data says: -1 with the reason when a longer recording would hold nothing of
 * the hypervisor. */
static int look(const char *path, struct error *err)
{
	struct pipeline_opts opts = { .sym = { .offline_only = true, .no_inline = true } };
	u64 by_space[SPACE_NR], depth_1;
	struct view_opts vo = { .event = -1 };
	struct buf why = BUF_INIT;
	struct view view = { 0 };
	struct run run;
	int ret = -1;

	run_init(&run);
	if (run_read(&run, path, &opts, err) || view_build(&view, &run.profile, &vo, err))
		goto out;
	view_weight_by_space(&view, by_space);
	depth_1 = diag_count(&run.diag, DIAG_HV_DEPTH_1);
	if (diag_count(&run.diag, DIAG_HV_SOFTWARE_EVENT)) {
		error_set(err, "perf fell back to a software clock: such a recording cannot hold "
			       "hypervisor frames");
	} else if (!by_space[SPACE_HV]) {
		buf_plural(&why,
			   "one second of data has %n sample{ and it is not|s and none of them is} "
			   "in the hypervisor",
			   view.nodes.v[0].total, "");
		error_set(err, "%s", buf_str(&why));
		buf_release(&why);
	} else {
		if (depth_1)
			tell("note: samples of the hypervisor have one frame, not its call chain");
		ret = 0;
	}
out:
	view_release(&view);
	run_release(&run);
	return ret;
}

static int trial(const struct record *r, struct error *err)
{
	static char *const second[] = { (char *)"sleep", (char *)"1", NULL };
	const char *tmp = getenv("TMPDIR");
	char *path = xasprintf("%s/xenflame-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	int fd = temp_file(path, 0), ret;

	if (fd < 0) {
		error_errno(err, "'%s': cannot write", path);
		free(path);
		return -1;
	}
	close(fd);
	ret = run_perf(r, path, second, err);
	if (!ret && !caught)
		ret = look(path, err);
	temp_remove(path);
	free(path);
	path = NULL;
	return ret;
}

/* Files that xenflame looks for beside a recording. */
static int save_beside(const struct record *r, struct error *err)
{
	static const struct {
		const char *from, *name;
	} files[] = {
		{ "/proc/kallsyms", "kallsyms" },
		{ "/sys/kernel/notes", "notes" },
		{ "/proc/xen/xensyms", "xensyms" },
		{ "/sys/hypervisor/properties/buildid", "xen.buildid" },
	};
	const char *slash = strrchr(r->output, '/');
	struct buf b = BUF_INIT;
	struct out out;
	size_t i;
	int ret = 0;

	for (i = 0; i < ARRAY_SIZE(files) && !ret; i++) {
		char *path = slash ? xasprintf("%.*s%s", (int)(slash - r->output + 1), r->output,
					       files[i].name)
				   : xstrdup(files[i].name);
		int e = host_read(r->host, files[i].from, &b);

		if (!e && b.n) {
			ret = out_open(&out, path, err);
			if (!ret) {
				out_write(&out, b.p, b.n);
				ret = out_close(&out, err);
			}
		} else if (!r->quiet && e != ENOENT) {
			tell("note: '%s' could not be saved%s%s", files[i].from, e ? ": " : "",
			     e ? strerror(e) : "");
		}
		free(path);
	}
	buf_release(&b);
	return ret;
}

/* doctor's short check. 0, or -1 after having told what is in the way. */
static int check_host(struct record *r, const struct host_facts *f)
{
	size_t i;

	if (f->level == HOST_STACKS)
		return 0;
	for (i = 0; i < f->checks.n; i++)
		if (f->checks.v[i].verdict == HOST_BAD && (!r->quiet || f->level < HOST_ADDRESSES))
			tell("%s: %s", f->checks.v[i].id, f->checks.v[i].text);
	if (f->level == HOST_ADDRESSES) {
		if (!r->quiet)
			tell("note: %s; 'xenflame doctor' says more", host_level_text(f->level));
		return 0;
	}
	if (!r->force) {
		tell("%s; 'xenflame doctor' says what to do, --force records all the same%s",
		     host_level_text(f->level),
		     f->level >= HOST_KEYS ? ", --debug-keys=2 takes call traces by Xen's debug key"
					   : "");
		return -1;
	}
	return 0;
}

static void catch_signals(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(signals); i++) {
		struct sigaction sa = { .sa_handler = note_signal };

		sigaction(signals[i], &sa, NULL);
	}
}

static int record_keys(const struct record *r)
{
	struct error err = { "" };

	catch_signals();
	if (!keys_record(r->host, r->output, r->keys_hz, (const char *const *)r->command, &caught,
			 r->quiet, &err))
		return EXIT_DONE;
	tell("%s", err.msg);
	return EXIT_FAILED;
}

static int record(struct record *r)
{
	struct error err = { "" };
	struct host_facts f;
	int ret = EXIT_FAILED;
	bool counters;

	host_doctor(&f, r->host, false);
	if (check_host(r, &f))
		goto out;
	counters = f.level >= HOST_ADDRESSES;
	r->kvm = counters;
	if (!r->event)
		r->event = counters ? "cycles" : "cpu-clock";

	catch_signals();
	if (counters) {
		const struct host_check *c = host_check_by_id(&f, "patched-xen");

		/* Not known: ask, as --probe does; a Xen without the feature records addresses. */
		if (host_pmu_set(&r->pmu, r->host, c && c->verdict != HOST_BAD, &err)) {
			if (!c || c->verdict == HOST_OK)
				goto out;
			err.msg[0] = '\0';
			if (host_pmu_set(&r->pmu, r->host, false, &err))
				goto out;
		}
		if (!r->quiet && !strcmp(r->pmu.now, "hv"))
			tell("note: Xen is busy with guests that use counters; recorded are dom0 "
			     "and the hypervisor, not the guests");
		if (!r->no_trial && trial(r, &err)) {
			if (!r->force || caught)
				goto restore;
			tell("warning: %s", err.msg);
			err.msg[0] = '\0';
		}
	}
	if (caught)
		goto restore;
	if (run_perf(r, r->output, r->command, &err) || save_beside(r, &err))
		goto restore;
	if (!r->quiet)
		tell("'%s': recorded; 'xenflame %s -o out.svg' draws it, 'xenflame bundle %s' "
		     "packs it to take away",
		     r->output, r->output, r->output);
	ret = EXIT_DONE;
restore:
	if (host_pmu_restore(&r->pmu, &err))
		ret = EXIT_FAILED;
out:
	if (err.msg[0])
		tell("%s", err.msg);
	if (ret != EXIT_DONE && caught)
		tell("interrupted; pmu_mode and pmu_features are as before");
	host_facts_release(&f);
	return ret;
}

static int run_record(int argc, char **argv)
{
	struct record r = { .freq = "97" };
	const char *arg, *sysroot = NULL;
	char *command[MAX_COMMAND + 1] = { NULL };
	struct error err = { "" };
	size_t n = 0;
	u64 hz;
	int c;

	while ((c = options_next(argc, argv, options, &arg)) != -1) {
		switch (c) {
		case 'h': help(); return EXIT_DONE;
		case 'o': r.output = arg; break;
		case 'q': r.quiet = true; break;
		case OPT_FORCE: r.force = true; break;
		case OPT_NO_TRIAL: r.no_trial = true; break;
		case OPT_EVENT: r.event = arg; break;
		case OPT_SYSROOT: sysroot = arg; break;
		case OPT_FREQ:
			r.freq = arg;
			if (option_whole("freq", arg, 1, 100000, &hz))
				return EXIT_USAGE;
			break;
		case OPT_DEBUG_KEYS:
			if (option_whole("debug-keys", arg, 1, 100, &r.keys_hz))
				return EXIT_USAGE;
			break;
		default: return EXIT_USAGE;
		}
	}
	if (!r.output)
		r.output = r.keys_hz ? "xen-console.txt" : "perf.data.kvm";
	while ((arg = options_file(argc, argv))) {
		if (n == MAX_COMMAND) {
			tell("the command has more than %d words", MAX_COMMAND);
			return EXIT_USAGE;
		}
		command[n++] = (char *)(uintptr_t)arg;
	}
	if (r.keys_hz && sysroot) {
		tell("--debug-keys is for this machine, not for a tree");
		return EXIT_USAGE;
	}
	r.command = command;
	r.host = host_new(sysroot, &err);
	if (!r.host) {
		tell("%s", err.msg);
		return EXIT_USAGE;
	}
	c = r.keys_hz ? record_keys(&r) : record(&r);
	host_free(r.host);
	return c;
}

const struct verb verb_record = {
	.name = "record",
	.help = "set up Xen's counters, record with perf, put everything back",
	.run = run_record,
};
