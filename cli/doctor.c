/* SPDX-License-Identifier: GPL-2.0-or-later */
/* xenflame doctor: is this host ready to record the hypervisor's call chains, and what to type if
 * not. */
#include "cli/cli.h"
#include "host/host.h"

enum { OPT_JSON = 256, OPT_SYSROOT, OPT_PROBE };

static const struct option_def options[] = {
	{ "json", OPT_JSON, ARG_NO, NULL, "for programs", "Options" },
	{ "sysroot", OPT_SYSROOT, ARG_YES, "DIR",
	  "judge the tree of another host: its files, and what its commands\nprinted, in "
	  "DIR/commands/",
	  NULL },
	{ "probe", OPT_PROBE, ARG_NO, NULL,
	  "ask Xen for call chains by writing pmu_features, and put the old\nvalue back; nothing "
	  "else is ever written",
	  NULL },
	{ "help", 'h', ARG_NO, NULL, "this text", NULL },
	{ NULL, 0, ARG_NO, NULL, NULL, NULL },
};

static void help(void)
{
	int c;

	puts("usage: xenflame doctor [OPTION]...\n"
	     "\n"
	     "Looks at each step of the way to a recording with the hypervisor's call chains, and "
	     "says\n"
	     "what is missing, with the commands for this distribution.");
	options_help(options);
	puts("\nCommands whose output is looked at (names in DIR/commands/):");
	for (c = 0; c < HOST_COMMAND_NR; c++)
		printf("  %-16s %s\n", host_command_name((enum host_command)c),
		       host_command_line((enum host_command)c));
	puts("\nExit status: 0 ready for hypervisor stacks, 1 not ready, 2 wrong usage.");
}

/* Each line of `text` behind `mark` and spaces. */
static void lines(const char *mark, const char *text)
{
	for (; *text; text += strcspn(text, "\n"), text += *text == '\n')
		printf("%18s%s%.*s\n", "", mark, (int)strcspn(text, "\n"), text);
}

static void print(const struct host_facts *f)
{
	struct buf b = BUF_INIT;
	size_t i, bad = 0;

	printf("%s", f->distro);
	if (f->xen)
		printf(", Xen %s", f->xen);
	if (f->kernel)
		printf(", Linux %s", f->kernel);
	puts("\n");
	for (i = 0; i < f->checks.n; i++) {
		const struct host_check *c = &f->checks.v[i];

		printf("%-8s%-15s %s\n", host_verdict_name(c->verdict), c->id, c->text);
		if (c->remedy)
			lines("-> ", c->remedy);
		if (c->commands)
			lines("   ", c->commands);
		bad += c->verdict == HOST_BAD || (c->verdict == HOST_UNKNOWN && c->needed);
	}
	if (f->ready) {
		printf("\nReady: %s.\n", host_level_text(f->level));
		return;
	}
	buf_plural(&b, "Not ready for hypervisor stacks (%n obstacle{|s}); %s.", bad,
		   host_level_text(f->level));
	printf("\n%s\n", buf_str(&b));
	buf_release(&b);
}

static int run_doctor(int argc, char **argv)
{
	const char *arg, *sysroot = NULL;
	struct error err = { "" };
	struct buf b = BUF_INIT;
	bool json = false, probe = false;
	struct host_facts f;
	struct host *h;
	struct out out;
	int c;

	while ((c = options_next(argc, argv, options, &arg)) != -1) {
		switch (c) {
		case OPT_JSON: json = true; break;
		case OPT_SYSROOT: sysroot = arg; break;
		case OPT_PROBE: probe = true; break;
		case 'h': help(); return EXIT_DONE;
		default: return EXIT_USAGE;
		}
	}
	if (options_file(argc, argv)) {
		tell("usage: xenflame doctor [--json] [--sysroot=DIR] [--probe]");
		return EXIT_USAGE;
	}
	h = host_new(sysroot, &err);
	if (!h) {
		tell("%s", err.msg);
		return EXIT_USAGE;
	}
	host_doctor(&f, h, probe);
	c = f.ready ? EXIT_DONE : EXIT_FAILED;
	if (json) {
		host_doctor_json(&f, &b);
		if (out_open(&out, "-", &err)) {
			c = EXIT_FAILED;
		} else {
			out_write(&out, b.p, b.n);
			if (out_close(&out, &err))
				c = EXIT_FAILED;
		}
		if (err.msg[0])
			tell("%s", err.msg);
	} else {
		print(&f);
	}
	buf_release(&b);
	host_facts_release(&f);
	host_free(h);
	return c;
}

const struct verb verb_doctor = {
	.name = "doctor",
	.help = "is this host ready to record hypervisor stacks",
	.run = run_doctor,
};
