/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Is this host ready to record the hypervisor's call chains?  A check for each step of a user's way
 * that is known to fail, most of them silently.
 *
 * Facts: Xen's arch/x86/cpu/vpmu*.c (modes, features, who switches vPMU off and what it prints),
 * Linux' arch/x86/xen/pmu.c and drivers/xen/sys-hypervisor.c (files exist and answer EOPNOTSUPP
 * while vPMU is off; the build id is raw bytes, or the text
 * "<denied>"), both measured on Xen 4.17 with a 6.1 dom0.
 */
#include <errno.h>
#include <signal.h>

#include <jansson.h>

#include "host/host.h"
#include "symbolize/symbolize.h"

#define SECURE_BOOT  "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
#define KEYS_COMMAND "xenflame record --debug-keys=2 -- sleep 60"
/* Of functions with a frame pointer: 2 % are measured in builds without, 62 % with. */
#define FRAME_POINTER_SHARE 0.2

struct doctor {
	struct host_facts *f;
	struct host *h;
	const struct host_distro *distro;
	bool probe;
	struct buf xl_info, xl_dmesg, dmesg;
	bool have_xl_info, have_xl_dmesg, have_dmesg;
	bool no_xl; /* not installed */
	bool dom0, pv, vpmu_on, driver, patched, patched_linux, frame_pointers;
	bool have_perf, bits_32;
	long features; /* -1: not known */
	u64 cpus;      /* physical, 0: not known */
	u8 build_id[20];
	size_t build_id_len;
	char *symbols; /* path of the file that fits, as in the root; or NULL */
};

/* ---- results ---- */

static const char *keep(struct doctor *d, const char *s)
{
	return arena_strndup(&d->f->arena, s, strlen(s));
}

static const char *PRINTF(2, 3) keepf(struct doctor *d, const char *fmt, ...)
{
	struct buf b = BUF_INIT;
	const char *s;
	va_list ap;
	char *line;

	va_start(ap, fmt);
	if (vasprintf(&line, fmt, ap) < 0)
		line = NULL;
	va_end(ap);
	/* Facts come from files that anybody may have written. */
	for (s = line; s && *s; s++)
		buf_putc(&b, (unsigned char)*s < ' ' && *s != '\n' ? '?' : *s);
	s = arena_strndup(&d->f->arena, b.p, b.n);
	free(line);
	buf_release(&b);
	return s;
}

/* As buf_plural(). */
static const char *keepn(struct doctor *d, const char *text, u64 n, const char *subject)
{
	struct buf b = BUF_INIT;
	const char *s;

	buf_plural(&b, text, n, subject);
	s = keepf(d, "%s", buf_str(&b));
	buf_release(&b);
	return s;
}

static struct host_check *add(struct doctor *d, const char *id, enum host_verdict v,
			      const char *text, const char *remedy, const char *commands)
{
	vec_push(&d->f->checks, ((struct host_check){ .id = id,
						      .verdict = v,
						      .text = text,
						      .remedy = remedy,
						      .commands = commands }));
	return &d->f->checks.v[d->f->checks.n - 1];
}

static const char *advice(struct doctor *d, enum host_advice what, const char *option)
{
	return host_distro_advice(d->distro, what, d->f->xen, option, &d->f->arena);
}

static const char *error_text(struct doctor *d, int e)
{
	return keep(d, strerror(e));
}

/* ---- reading ---- */

/* First line of a file without white space at its ends; NULL with *error. */
static const char *read_line(struct doctor *d, const char *path, int *error)
{
	struct buf b = BUF_INIT;
	const char *s = NULL;
	int ret = host_read(d->h, path, &b);
	size_t n;

	if (!ret) {
		n = strcspn(buf_str(&b), "\n");
		while (n && strchr(" \t\r", b.p[n - 1]))
			n--;
		s = keepf(d, "%.*s", (int)MIN(n, (size_t)4096), buf_str(&b));
	}
	if (error)
		*error = ret;
	buf_release(&b);
	return s;
}

/* Value of "key   : value" in xl info, or NULL. */
static const char *xl_value(struct doctor *d, const char *key)
{
	const char *s = d->have_xl_info ? buf_str(&d->xl_info) : "", *v;
	size_t n = strlen(key);

	for (; *s; s += strcspn(s, "\n"), s += *s == '\n') {
		if (strncmp(s, key, n))
			continue;
		v = s + n + strspn(s + n, " \t");
		if (*v != ':')
			continue;
		v++;
		v += strspn(v, " \t");
		return keepf(d, "%.*s", (int)MIN(strcspn(v, "\r\n"), (size_t)4096), v);
	}
	return NULL;
}

/* The line of a log that holds `what`, from there to its end; NULL when there is none. */
static const char *log_line(struct doctor *d, bool have, struct buf *log, const char *what)
{
	const char *s = have ? memmem(log->p ? log->p : "", log->n, what, strlen(what)) : NULL;

	return s ? keepf(d, "%.*s", (int)MIN(strcspn(s, "\r\n"), (size_t)4096), s) : NULL;
}

static const char *xen_log(struct doctor *d, const char *what)
{
	return log_line(d, d->have_xl_dmesg, &d->xl_dmesg, what);
}

static const char *dom0_log(struct doctor *d, const char *what)
{
	return log_line(d, d->have_dmesg, &d->dmesg, what);
}

/* Xen's command line, or NULL. */
static const char *xen_command_line(struct doctor *d)
{
	const char *s = xl_value(d, "xen_commandline");

	if (s)
		return s;
	s = xen_log(d, "Command line: ");
	return s ? s + strlen("Command line: ") : NULL;
}

/* The last value of an option ("" when it has none), or NULL. */
static const char *boot_option(struct doctor *d, const char *name)
{
	const char *s = xen_command_line(d), *found = NULL;
	size_t n = strlen(name), len;

	for (; s && *s; s += len) {
		s += strspn(s, " ");
		len = strcspn(s, " ");
		if (len >= n && !strncmp(s, name, n) && (len == n || s[n] == '='))
			found = keepf(d, "%.*s", (int)(len - n - (len > n)), s + n + (len > n));
	}
	return found;
}

static bool option_is_on(const char *value)
{
	return value && strcmp(value, "0") && strcmp(value, "off") && strcmp(value, "no") &&
	       strcmp(value, "false") && strcmp(value, "disable");
}

static u64 number(const char *s)
{
	const char *end = s ? s + strlen(s) : NULL;
	u64 v;

	return s && !parse_dec(&s, end, &v) ? v : 0;
}

static void gather(struct doctor *d)
{
	struct buf b = BUF_INIT;
	const char *major, *minor, *extra, *s;
	int e;

	if (host_read(d->h, "/etc/os-release", &b) && host_read(d->h, "/usr/lib/os-release", &b))
		buf_clear(&b);
	d->distro = host_distro_find(buf_str(&b));
	d->f->distro = host_distro_name(d->distro);
	major = read_line(d, "/sys/hypervisor/version/major", NULL);
	minor = read_line(d, "/sys/hypervisor/version/minor", NULL);
	extra = read_line(d, "/sys/hypervisor/version/extra", NULL);
	if (major && minor)
		d->f->xen = keepf(d, "%s.%s%s", major, minor, extra ? extra : "");
	if (!host_command(d->h, HOST_UNAME, &b)) {
		/* Linux HOST RELEASE … */
		s = buf_str(&b);
		s += strcspn(s, " ");
		s += strspn(s, " ");
		s += strcspn(s, " ");
		s += strspn(s, " ");
		d->bits_32 = strstr(s, " i686") || strstr(s, " i586") || strstr(s, " i386");
		if (*s)
			d->f->kernel = keepf(d, "%.*s", (int)MIN(strcspn(s, " \n"), (size_t)200),
					     s);
	}
	buf_release(&b);
	e = host_command(d->h, HOST_XL_INFO, &d->xl_info);
	d->have_xl_info = !e;
	d->no_xl = e == ENOENT && !host_is_tree(d->h);
	d->have_xl_dmesg = !host_command(d->h, HOST_XL_DMESG, &d->xl_dmesg);
	d->have_dmesg = !host_command(d->h, HOST_DMESG, &d->dmesg);
}

/* ---- the steps ---- */

static void check_xen(struct doctor *d)
{
	const char *type = read_line(d, "/sys/hypervisor/type", NULL);

	if (type && !strcmp(type, "xen"))
		add(d, "xen", HOST_OK,
		    d->f->xen ? keepf(d, "runs on Xen %s", d->f->xen) : "runs on Xen", NULL, NULL);
	else
		add(d, "xen", HOST_BAD,
		    type && *type ? keepf(d, "runs on '%s', not on Xen", type)
				  : "does not run on Xen (or in a container that hides it)",
		    "run this in dom0 of the Xen host", NULL);
}

static void check_dom0(struct doctor *d)
{
	struct buf b = BUF_INIT;
	const char *type;
	int e = host_read(d->h, "/proc/xen/capabilities", &b);

	d->dom0 = !e && strstr(buf_str(&b), "control_d");
	if (d->dom0)
		add(d, "dom0", HOST_OK, "this is dom0", NULL, NULL);
	else if (!e)
		add(d, "dom0", HOST_BAD, "this is a guest (domU): it sees only itself",
		    "run this in dom0", NULL);
	else if (e == EACCES || e == EPERM)
		add(d, "dom0", HOST_UNKNOWN, "/proc/xen/capabilities cannot be read",
		    "run this as root", NULL)
			->needed = true;
	else
		add(d, "dom0", HOST_BAD,
		    "/proc/xen/capabilities is not there: a guest, or dom0 without xenfs",
		    "in dom0 mount xenfs, which perf's symbols need too",
		    "mount -t xenfs xenfs /proc/xen");
	buf_release(&b);

	type = read_line(d, "/sys/hypervisor/guest_type", NULL);
	d->pv = !type || !strcmp(type, "PV");
	if (d->bits_32)
		add(d, "dom0-type", HOST_BAD, "a 32-bit kernel: Xen lets it count itself alone",
		    "boot a 64-bit dom0 kernel", NULL);
	else if (!type)
		add(d, "dom0-type", HOST_UNKNOWN,
		    "the kernel does not tell whether it is PV or PVH", NULL, NULL);
	else if (d->pv)
		add(d, "dom0-type", HOST_OK, "PV", NULL, NULL);
	else
		add(d, "dom0-type", HOST_BAD,
		    keepf(d, "%s: Xen offers vPMU to a PV dom0 only", type),
		    "boot without dom0=pvh on Xen's command line; Xen's debug key works in any "
		    "dom0 (see 'keys')",
		    advice(d, ADVICE_NO_OPTION, "dom0"));
}

/* 1, 0 or -1 (not told) */
static int config_says(const char *config)
{
	return strstr(config, "CONFIG_FRAME_POINTER=y")              ? 1
	       : strstr(config, "# CONFIG_FRAME_POINTER is not set") ? 0
								     : -1;
}

/* Build configurations in /boot that may be those of the running version: what they agree on, else
 * -1. */
static int boot_configs(struct doctor *d, const char **which)
{
	struct buf b = BUF_INIT;
	char **names = d->f->xen ? host_list(d->h, "/boot") : NULL;
	int found = -1, one;
	size_t i, pass;

	/* The very name first (XCP-ng has xen-4.17.6-2.config and xen-4.17.6-2-d.config), then
	 * those with the whole version, then Debian's way: xen-4.17-amd64.config. */
	for (pass = 0; names && pass < 3 && found == -1; pass++) {
		const char *full = d->f->xen, *dot = strchr(full, '.');
		size_t n = strlen(full);

		if (pass == 2) {
			dot = dot ? strchr(dot + 1, '.') : NULL;
			if (!dot)
				break;
			n = (size_t)(dot - full);
		}
		for (i = 0; names[i]; i++) {
			size_t len = strlen(names[i]);
			char *path;

			if (strncmp(names[i], "xen-", 4) || strncmp(names[i] + 4, full, n) ||
			    len < n + 11 || strcmp(names[i] + len - 7, ".config") ||
			    (names[i][4 + n] != '.' && names[i][4 + n] != '-') ||
			    (!pass && len != n + 11))
				continue;
			path = path_join("/boot", names[i]);
			one = host_read(d->h, path, &b) ? -1 : config_says(buf_str(&b));
			if (one >= 0 && found >= 0 && one != found) {
				free(path);
				found = -2;
				goto out;
			}
			if (one >= 0) {
				found = one;
				*which = keepf(d, "%s", path);
			}
			free(path);
		}
	}
out:
	free(names);
	buf_release(&b);
	return found < 0 ? -1 : found;
}

static void read_build_id(struct doctor *d)
{
	struct buf b = BUF_INIT;
	size_t i, n;

	if (!host_read(d->h, "/sys/hypervisor/properties/buildid", &b)) {
		n = b.n;
		while (n && (b.p[n - 1] == '\n' || b.p[n - 1] == ' ') && n != 16 && n != 20)
			n--;
		if (n == 16 || n == 20) {
			memcpy(d->build_id, b.p, n);
			d->build_id_len = n;
		} else if (n == 32 || n == 40) {
			/* Trees made by hand hold it as text. */
			for (i = 0; i < n / 2; i++) {
				const char *p = b.p + 2 * i;
				u64 v;

				if (parse_hex(&p, b.p + 2 * i + 2, &v) || p != b.p + 2 * i + 2)
					break;
				d->build_id[i] = (u8)v;
			}
			d->build_id_len = i == n / 2 ? i : 0;
		}
	}
	buf_release(&b);
}

/* The hypervisor's symbols on this machine. */
static void check_symbols(struct doctor *d)
{
	static const char *const places[] = { "/boot", "/usr/lib/debug/boot", "/usr/lib/debug" };
	const char *open_file = NULL, *other = NULL, *snapshot = NULL;
	struct buf b = BUF_INIT;
	char hex[65] = "";
	size_t i, k;
	u8 id[32];

	read_build_id(d);
	if (d->build_id_len)
		build_id_hex(d->build_id, d->build_id_len, hex);
	for (i = 0; i < ARRAY_SIZE(places) && !d->symbols; i++) {
		char **names = host_list(d->h, places[i]);

		for (k = 0; names && names[k] && !d->symbols; k++) {
			size_t len = strlen(names[k]);
			bool elf = len > 8 && !strcmp(names[k] + len - 8, ".efi.elf");
			char *path, *real;
			int n;

			if (!elf && (strncmp(names[k], "xen-syms", 8) ||
				     (len > 4 && !strcmp(names[k] + len - 4, ".map"))))
				continue;
			path = path_join(places[i], names[k]);
			real = host_path(d->h, path);
			n = sym_file_build_id(real, id);
			if (n > 0 && (size_t)n == d->build_id_len &&
			    !memcmp(id, d->build_id, (size_t)n))
				d->symbols = xstrdup(path);
			else if (n >= 0 && (size_t)n != d->build_id_len && d->build_id_len == 16)
				open_file = keepf(d, "%s", path);
			else if (n >= 0)
				other = keepf(d, "%s", path);
			free(real);
			free(path);
		}
		free(names);
	}
	if (!host_read(d->h, "/proc/xen/xensyms", &b) && b.n)
		snapshot = "/proc/xen/xensyms";
	buf_release(&b);

	if (d->symbols)
		add(d, "symbols", HOST_OK,
		    keepf(d, "'%s' is of the running hypervisor (build id %s)", d->symbols, hex),
		    NULL, NULL);
	else if (open_file && snapshot)
		add(d, "symbols", HOST_OK,
		    keepf(d,
			  "'%s' may be of the running hypervisor, which was started from xen.efi "
			  "and reports the id of that file "
			  "(%s); its symbols are compared with /proc/xen/xensyms when used",
			  open_file, hex),
		    NULL, NULL);
	else if (snapshot)
		add(d, "symbols", HOST_WARN,
		    keepf(d,
			  "names of functions come from /proc/xen/xensyms; %s%s%swithout a file of "
			  "the same "
			  "build there are no inlined functions and no lines",
			  other ? "'" : "", other ? other : "",
			  other ? "' is of another build; " : ""),
		    "install the hypervisor's symbol file", advice(d, ADVICE_SYMBOLS, NULL));
	else
		add(d, "symbols", HOST_WARN,
		    other ? keepf(d,
				  "'%s' is of another build than the running hypervisor (%s), and "
				  "/proc/xen/xensyms cannot be read",
				  other, *hex ? hex : "which does not tell its build id")
			  : "no xen-syms of the running hypervisor, and /proc/xen/xensyms cannot "
			    "be read: hypervisor frames stay without names",
		    "run this as root, and install the hypervisor's symbol file",
		    advice(d, ADVICE_SYMBOLS, NULL));
}

/* XCP-ng's builds say it by a symbol in the table that is installed with them. */
static bool map_says(struct doctor *d, const char **which)
{
	char *path = d->f->xen ? xasprintf("/boot/xen-syms-%s.map", d->f->xen) : NULL;
	struct buf b = BUF_INIT;
	bool says = false;

	if (path && !host_read(d->h, path, &b) && strstr(buf_str(&b), "XEN_FRAME_POINTER")) {
		*which = keepf(d, "%s", path);
		says = true;
	}
	buf_release(&b);
	free(path);
	return says;
}

static void check_frame_pointers(struct doctor *d)
{
	struct buf b = BUF_INIT;
	const char *from = NULL;
	double share;
	char *path;
	int says = -1;

	if (!host_command(d->h, HOST_XEN_CONFIG, &b)) {
		says = config_says(buf_str(&b));
		from = "its own configuration (xenhypfs)";
	}
	buf_release(&b);
	if (says < 0 && d->symbols) {
		path = host_path(d->h, d->symbols);
		share = sym_file_frame_pointers(path);
		free(path);
		if (share >= 0) {
			says = share >= FRAME_POINTER_SHARE;
			from = keepf(d, "the code of '%s': %.0f%% of the functions set one up",
				     d->symbols, share * 100);
		}
	}
	if (says < 0 && map_says(d, &from))
		says = 1;
	if (says < 0)
		says = boot_configs(d, &from);
	d->frame_pointers = says == 1;
	if (says == 1)
		add(d, "frame-pointers", HOST_OK,
		    keepf(d, "the hypervisor is built with frame pointers, says %s", from), NULL,
		    NULL);
	else if (!says)
		add(d, "frame-pointers", HOST_BAD,
		    keepf(d,
			  "the hypervisor is built without frame pointers, says %s: call chains "
			  "end "
			  "after one function",
			  from),
		    "boot a hypervisor built with CONFIG_FRAME_POINTER=y",
		    advice(d, ADVICE_FRAME_POINTERS, NULL));
	else
		add(d, "frame-pointers", HOST_UNKNOWN,
		    "nothing tells whether the hypervisor is built with frame pointers: neither "
		    "xenhypfs, "
		    "nor a xen-syms of its build id, nor one configuration of its version in /boot",
		    "install the hypervisor's symbol file, or run this as root",
		    advice(d, ADVICE_SYMBOLS, NULL))
			->needed = true;
}

/* Why vPMU is off though the command line asks for it, in Xen's words. */
static void vpmu_off(struct doctor *d)
{
	const char *line, *option = boot_option(d, "vpmu");

	if (xen_log(d, "NMI watchdog is enabled. Turning VPMU off.") ||
	    (option_is_on(option) && option_is_on(boot_option(d, "watchdog")))) {
		add(d, "vpmu", HOST_BAD, "Xen has switched vPMU off since its NMI watchdog is on",
		    "take the watchdog off Xen's command line",
		    advice(d, ADVICE_NO_OPTION, "watchdog"));
	} else if ((line = xen_log(d, "VPMU: PMU version ")) ||
		   (line = xen_log(d, "VPMU: Unknown CPU vendor")) ||
		   (line = xen_log(d, "VPMU: Initialization failed"))) {
		add(d, "vpmu", HOST_BAD,
		    keepf(d, "Xen does not know the performance counters of this processor: '%s'",
			  line),
		    "Xen with the patches can sample by a timer instead of counters; without them "
		    "use the debug key (see 'keys')",
		    advice(d, ADVICE_BOOT_OPTION, "vpmu=timer"));
	} else if (option_is_on(option)) {
		add(d, "vpmu", HOST_BAD,
		    keepf(d, "vPMU is off though Xen was started with vpmu=%s", option),
		    "see why in Xen's log", "xl dmesg | grep -i -e vpmu -e watchdog");
	} else {
		add(d, "vpmu", HOST_BAD,
		    "vPMU is off (the files in /sys/hypervisor/pmu are there even so)",
		    option_is_on(boot_option(d, "watchdog"))
			    ? "start Xen with vpmu=on and without watchdog, which wins over it"
			    : "start Xen with vpmu=on",
		    advice(d, ADVICE_BOOT_OPTION,
			   option_is_on(boot_option(d, "watchdog")) ? "vpmu=on watchdog=0"
								    : "vpmu=on"));
	}
}

/* Whether a table of symbols has one of these. */
static int has_symbol(struct doctor *d, const char *path, const char *const *names,
		      const char **which)
{
	struct buf b = BUF_INIT;
	int found = -1;

	if (!host_read(d->h, path, &b) && b.n) {
		found = 0;
		for (; *names && !found; names++)
			if (strstr(buf_str(&b), *names)) {
				*which = *names;
				found = 1;
			}
	}
	buf_release(&b);
	return found;
}

static void check_vpmu(struct doctor *d)
{
	static const char *const with_timer[] = { "vpmu_timer_interrupt", NULL };
	const char *mode, *features, *line;
	bool timer;
	int e;

	mode = read_line(d, HOST_PMU_MODE, &e);
	d->vpmu_on = mode != NULL;
	if (mode)
		add(d, "vpmu", HOST_OK, "vPMU is on", NULL, NULL);
	else if (e == EOPNOTSUPP)
		vpmu_off(d);
	else if ((e == EACCES || e == EPERM) && dom0_log(d, "VPMU disabled by hypervisor"))
		vpmu_off(d);
	else if (e == EACCES || e == EPERM)
		add(d, "vpmu", HOST_UNKNOWN, "/sys/hypervisor/pmu/pmu_mode cannot be read",
		    "run this as root", NULL)
			->needed = true;
	else if (e == ENOENT)
		add(d, "vpmu", HOST_BAD,
		    "dom0's kernel has no /sys/hypervisor/pmu: it is too old (before 4.3), is "
		    "built without "
		    "CONFIG_XEN_HAVE_VPMU, or is not PV",
		    "boot a PV dom0 kernel with CONFIG_XEN_DOM0=y and CONFIG_PERF_EVENTS=y", NULL);
	else
		add(d, "vpmu", HOST_BAD,
		    keepf(d, "/sys/hypervisor/pmu/pmu_mode: %s", error_text(d, e)), NULL, NULL);

	features = read_line(d, HOST_PMU_FEATURES, NULL);
	d->features = -1;
	if (features && features[0] == '0' && features[1] == 'x') {
		const char *p = features + 2;
		u64 v;

		if (!parse_hex(&p, p + strlen(p), &v) && v <= 0xffff)
			d->features = (long)v;
	}

	d->driver = host_exists(d->h, "/sys/bus/event_source/devices/cpu");
	line = dom0_log(d, "Performance Events: ");
	line = line ? keepf(d, " (its log: '%s')", line) : "";
	timer = has_symbol(d, "/proc/xen/xensyms", with_timer, &features) == 1;
	if (d->driver)
		add(d, "pmu-driver", HOST_OK, "dom0's kernel has counters of the processor", NULL,
		    NULL);
	else if (d->vpmu_on)
		add(d, "pmu-driver", HOST_BAD,
		    keepf(d,
			  "vPMU is on, but dom0's kernel has no counters%s: perf falls back to a "
			  "software clock, whose samples it then marks as a guest's, with address "
			  "0",
			  line),
		    timer ? "this Xen can sample by a timer, without the processor's counters"
			  : "see why in dom0's log; until that is solved start Xen with vpmu=off "
			    "to record dom0 at least",
		    timer ? advice(d, ADVICE_BOOT_OPTION, "vpmu=timer")
			  : "dmesg | grep -i -e vpmu -e 'performance events'");
	else
		add(d, "pmu-driver", HOST_BAD,
		    keepf(d,
			  "dom0's kernel has no counters of the processor%s: perf records by a "
			  "software clock, which stops at the hypervisor's door",
			  line),
		    d->pv ? "they come with vPMU" : NULL, NULL);
}

/* Asks Xen for the feature, and puts back what was. 0, or an errno value. */
static int probe_features(struct doctor *d, bool *restored)
{
	char old[24], wanted[24];
	sigset_t all, before;
	int e;

	/* What is written is put back, whatever comes. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	snprintf(old, sizeof(old), "%ld", d->features < 0 ? 0 : d->features);
	snprintf(wanted, sizeof(wanted), "%ld",
		 (d->features < 0 ? 0 : d->features) | HOST_FEATURE_STACKS);
	e = host_write(d->h, HOST_PMU_FEATURES, wanted);
	*restored = e || !host_write(d->h, HOST_PMU_FEATURES, old);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return e;
}

static void check_patches(struct doctor *d)
{
	static const char *const in_xen[] = { "vpmu_deliver", "hv_stacktrace",
					      "hypervisor_stacktrace", NULL };
	static const char *const in_linux[] = { "xen_hv_callchain", "hv_stacktrace", NULL };
	const char *which = NULL;
	bool restored = true;
	int e, found;

	if (d->vpmu_on && d->features >= 0 && d->features & HOST_FEATURE_STACKS) {
		d->patched = true;
		add(d, "patched-xen", HOST_OK, "Xen hands over call chains: the feature is on",
		    NULL, NULL);
	} else if (d->probe && d->vpmu_on) {
		e = probe_features(d, &restored);
		d->patched = !e;
		if (!e)
			add(d, "patched-xen", HOST_OK,
			    restored ? "Xen hands over call chains: it took the feature (and has "
				       "its old value again)"
				     : "Xen hands over call chains; the feature stays on, its old "
				       "value was not taken back",
			    NULL, NULL);
		else if (e == EINVAL)
			add(d, "patched-xen", HOST_BAD,
			    "Xen does not know the feature: samples have one address of the "
			    "hypervisor and no call chain",
			    "boot a Xen with the patches of xen/patches", NULL);
		else if (e == EBUSY)
			add(d, "patched-xen", HOST_UNKNOWN,
			    "Xen refuses a change while guests use vPMU",
			    "shut these guests down, then ask again", "xl list")
				->needed = true;
		else
			add(d, "patched-xen", HOST_UNKNOWN,
			    keepf(d, "the feature cannot be asked for: %s", error_text(d, e)),
			    e == EACCES || e == EPERM ? "run this as root" : NULL, NULL)
				->needed = true;
	} else {
		found = has_symbol(d, "/proc/xen/xensyms", in_xen, &which);
		d->patched = found == 1;
		if (found == 1)
			add(d, "patched-xen", HOST_OK,
			    keepf(d, "Xen hands over call chains: it has %s", which), NULL, NULL);
		else
			add(d, "patched-xen", HOST_UNKNOWN,
			    found ? "whether Xen hands over call chains is not known"
				  : "Xen shows no function of the patches that hand over call "
				    "chains",
			    d->vpmu_on ? "'xenflame doctor --probe' asks it; xen/patches has the "
					 "patches"
				       : "once vPMU is on, 'xenflame doctor --probe' asks it; "
					 "xen/patches has the patches",
			    NULL)
				->needed = true;
	}

	found = has_symbol(d, "/proc/kallsyms", in_linux, &which);
	d->patched_linux = found == 1;
	if (found == 1)
		add(d, "patched-linux", HOST_OK,
		    keepf(d, "dom0's kernel takes over call chains: it has %s", which), NULL, NULL);
	else
		add(d, "patched-linux", HOST_UNKNOWN,
		    found ? "whether dom0's kernel takes over Xen's call chains is not known"
			  : "dom0's kernel shows no function of the patches that take over Xen's "
			    "call chains",
		    "linux/patches has the patches", NULL)
			->needed = true;
}

static void check_secure_boot(struct doctor *d)
{
	struct buf b = BUF_INIT;
	const char *lockdown = read_line(d, "/sys/kernel/security/lockdown", NULL);
	/* 4 bytes of attributes, then the value */
	bool secure = !host_read(d->h, SECURE_BOOT, &b) && b.n >= 5 && b.p[4] == 1;

	buf_release(&b);
	/* dom0 does not always see the variables. */
	secure = secure || dom0_log(d, "Secure boot enabled");
	if (!lockdown && dom0_log(d, "Kernel is locked down"))
		lockdown = "[integrity]";
	if (secure)
		add(d, "secure-boot", HOST_WARN,
		    "secure boot is on: Xen's command line comes from the signed image and cannot "
		    "be edited",
		    "switch secure boot off for the time of the profile, or use the debug key (see "
		    "'keys')",
		    KEYS_COMMAND);
	else if (lockdown &&
		 (strstr(lockdown, "[integrity]") || strstr(lockdown, "[confidentiality]")))
		add(d, "secure-boot", HOST_WARN,
		    keepf(d, "dom0's kernel is locked down: %s", lockdown),
		    "perf may be refused; boot with lockdown=none, or use the debug key (see "
		    "'keys')",
		    KEYS_COMMAND);
	else
		add(d, "secure-boot", HOST_OK, "neither secure boot nor lockdown", NULL, NULL);
}

static const char *xl_remedy(const struct doctor *d)
{
	return d->no_xl ? "install Xen's tools: there is no 'xl' here" : "run this as root";
}

/* Domain-0's lines of xl vcpu-list: Name ID VCPU CPU State Time(s) Affinity (Hard / Soft). */
static void dom0_vcpus(struct doctor *d, u64 *online, u64 *pinned)
{
	struct buf b = BUF_INIT;
	const char *s;

	*online = *pinned = 0;
	if (!host_command(d->h, HOST_XL_VCPU_LIST, &b))
		for (s = buf_str(&b); *s; s += strcspn(s, "\n"), s += *s == '\n') {
			const char *p = s, *word[7];
			size_t i, len[7];

			for (i = 0; i < ARRAY_SIZE(word); i++) {
				p += strspn(p, " \t");
				word[i] = p;
				len[i] = strcspn(p, " \t\n");
				p += len[i];
			}
			if (len[0] != 8 || strncmp(s, "Domain-0", 8) || !len[3] || *word[3] == '-')
				continue;
			++*online;
			*pinned += len[6] && strspn(word[6], "0123456789") == len[6];
		}
	buf_release(&b);
}

/* The same without xl: processors that dom0's kernel knows of, and its own. */
static u64 listed_cpus(struct doctor *d)
{
	char **names = host_list(d->h, "/sys/devices/system/xen_cpu");
	u64 n = 0;
	size_t i;

	for (i = 0; names && names[i]; i++)
		n += !strncmp(names[i], "xen_cpu", 7) && names[i][7] &&
		     strspn(names[i] + 7, "0123456789") == strlen(names[i] + 7);
	free(names);
	return n;
}

/* Of a list like 0-3,8: how many. */
static u64 online_cpus(struct doctor *d)
{
	const char *s = read_line(d, "/sys/devices/system/cpu/online", NULL);
	const char *end = s ? s + strlen(s) : NULL;
	u64 n = 0, from, to;

	while (s && s < end) {
		if (parse_dec(&s, end, &from))
			return 0;
		to = from;
		if (*s == '-' && (s++, parse_dec(&s, end, &to)))
			return 0;
		if (to < from || to > 65535 || (*s && *s != ','))
			return 0;
		n += to - from + 1;
		s += *s == ',';
	}
	return n;
}

static void check_cpus(struct doctor *d)
{
	u64 vcpus, pinned;
	bool pins_known;
	const char *s;

	d->cpus = number(xl_value(d, "nr_cpus"));
	if (!d->cpus && (s = xen_log(d, "Brought up ")))
		d->cpus = number(s + strlen("Brought up "));
	if (!d->cpus)
		d->cpus = listed_cpus(d);
	dom0_vcpus(d, &vcpus, &pinned);
	if (!vcpus) {
		s = xen_log(d, "Dom0 has maximum ");
		vcpus = s ? number(s + strlen("Dom0 has maximum ")) : 0;
		pinned = option_is_on(boot_option(d, "dom0_vcpus_pin")) ? vcpus : 0;
	}
	pins_known = vcpus;
	if (!vcpus)
		vcpus = online_cpus(d);
	if (!d->cpus || !vcpus)
		add(d, "cpus", HOST_UNKNOWN,
		    "how many processors and dom0 vCPUs there are is not known", xl_remedy(d),
		    NULL);
	else if (vcpus < d->cpus)
		add(d, "cpus", HOST_WARN,
		    keepf(d, "%s: dom0 has %s, and counters run only where a dom0 vCPU does",
			  keepn(d, "%n of %s processors {is|are} invisible", d->cpus - vcpus,
				keepf(d, "%" PRIu64, d->cpus)),
			  keepn(d, "%n vCPU{|s}", vcpus, "")),
		    "give dom0 as many vCPUs as there are processors, pinned",
		    advice(d, ADVICE_BOOT_OPTION,
			   keepf(d, "dom0_max_vcpus=%" PRIu64 " dom0_vcpus_pin", d->cpus)));
	else if (!pins_known)
		add(d, "cpus", HOST_UNKNOWN,
		    keepf(d,
			  "dom0 has a vCPU for each of the %" PRIu64
			  " processors; whether they are pinned is not known",
			  d->cpus),
		    xl_remedy(d), NULL);
	else if (pinned < vcpus)
		add(d, "cpus", HOST_WARN,
		    keepn(d,
			  "%n of dom0's %s {is|are} not pinned: samples of a processor go to the "
			  "vCPU of its number, which may be elsewhere",
			  vcpus - pinned, keepn(d, "%n vCPU{|s}", vcpus, "")),
		    "pin dom0's vCPUs",
		    "for i in $(seq 0 $(($(nproc) - 1))); do xl vcpu-pin 0 $i $i; done");
	else
		add(d, "cpus", HOST_OK,
		    keepf(d, "dom0 has a pinned vCPU for each of the %" PRIu64 " processors",
			  d->cpus),
		    NULL, NULL);
}

static void check_mode(struct doctor *d)
{
	const char *mode = read_line(d, HOST_PMU_MODE, NULL), *s;
	struct buf b = BUF_INIT;
	u64 guests = 0;

	if (!mode)
		return;
	if (!host_command(d->h, HOST_XL_LIST, &b))
		for (s = buf_str(&b); *s; s += strcspn(s, "\n"), s += *s == '\n')
			guests += strncmp(s, "Name ", 5) && strncmp(s, "Domain-0 ", 9);
	buf_release(&b);
	if (!strcmp(mode, "all"))
		add(d, "mode", HOST_OK, "'all': dom0's counters see the whole host", NULL, NULL);
	else if (!strcmp(mode, "hv"))
		add(d, "mode", HOST_OK,
		    "'hv': dom0's counters see dom0 and the hypervisor, not the guests", NULL,
		    NULL);
	else if (guests)
		add(d, "mode", HOST_WARN,
		    keepn(d,
			  "'%s'; %n guest{ runs|s run}, and while one of them uses vPMU Xen "
			  "refuses "
			  "'all' (device or resource busy)",
			  guests, mode),
		    "when refused: shut the guests that use vPMU down, or use 'hv', which is "
		    "allowed from 'self'",
		    "echo all >" HOST_PMU_MODE " || echo hv >" HOST_PMU_MODE);
	else
		add(d, "mode", HOST_WARN,
		    keepf(d,
			  "'%s'; it is to be 'all' for the time of a recording, and does not last "
			  "over a boot",
			  mode),
		    "set it before recording", "echo all >" HOST_PMU_MODE);
}

static void check_perf(struct doctor *d)
{
	struct buf b = BUF_INIT;
	int e = host_command(d->h, HOST_PERF_VERSION, &b);
	const char *s;

	d->have_perf = !e;
	if (!e)
		add(d, "perf", HOST_OK,
		    keepf(d, "%.*s", (int)MIN(strcspn(buf_str(&b), "\r\n"), (size_t)200),
			  buf_str(&b)),
		    NULL, NULL);
	else
		add(d, "perf", HOST_BAD, "perf is not installed, or does not start",
		    "install perf of dom0's kernel", advice(d, ADVICE_PERF, NULL));
	buf_release(&b);

	s = read_line(d, "/proc/sys/kernel/kptr_restrict", NULL);
	if (s && !strcmp(s, "2"))
		add(d, "kernel-symbols", HOST_WARN,
		    "kptr_restrict is 2: nobody sees the kernel's addresses, kernel frames stay "
		    "without names",
		    "allow root to see them", "sysctl kernel.kptr_restrict=1");
	else
		add(d, "kernel-symbols", HOST_OK, "dom0's kernel shows its symbols to root", NULL,
		    NULL);
}

static void check_keys(struct doctor *d)
{
	const char *size = boot_option(d, "conring_size");

	if (!d->dom0)
		return;
	if (!d->have_xl_dmesg)
		add(d, "keys", HOST_UNKNOWN, "Xen's console cannot be read ('xl dmesg')",
		    xl_remedy(d), NULL);
	else if (!size)
		add(d, "keys", HOST_WARN,
		    "Xen's debug key d prints the hypervisor's call traces without any of the "
		    "above, but the console's memory of 16 KiB (64 KiB on XCP-ng) holds a few only",
		    "give it more, then record by the key",
		    keepf(d, "%s\n" KEYS_COMMAND,
			  advice(d, ADVICE_BOOT_OPTION, "conring_size=4M")));
	else
		add(d, "keys", HOST_OK,
		    "Xen's debug key d prints the hypervisor's call traces without any of the "
		    "above; record samples by it",
		    NULL, KEYS_COMMAND);
}

static void judge(struct doctor *d)
{
	struct host_facts *f = d->f;
	bool bad = false, open = false, xen = f->checks.v[0].verdict == HOST_OK;
	size_t i;

	for (i = 0; i < f->checks.n; i++) {
		bad |= f->checks.v[i].verdict == HOST_BAD;
		open |= f->checks.v[i].verdict == HOST_UNKNOWN && f->checks.v[i].needed;
	}
	if (!xen || !d->dom0)
		f->level = HOST_NOTHING;
	else if (!bad && d->patched && d->patched_linux && d->frame_pointers)
		f->level = HOST_STACKS;
	else if (d->vpmu_on && d->driver && d->have_perf)
		f->level = HOST_ADDRESSES;
	else if (d->have_perf && !d->vpmu_on)
		f->level = HOST_DOM0;
	else
		f->level = HOST_KEYS;
	f->ready = f->level == HOST_STACKS && !open;
}

void host_doctor(struct host_facts *f, struct host *h, bool probe)
{
	struct doctor d = { .f = f, .h = h, .probe = probe, .features = -1 };

	memset(f, 0, sizeof(*f));
	arena_init(&f->arena);
	gather(&d);
	check_xen(&d);
	if (f->checks.v[0].verdict == HOST_OK) {
		check_dom0(&d);
		check_symbols(&d);
		check_frame_pointers(&d);
		check_vpmu(&d);
		check_patches(&d);
		check_secure_boot(&d);
		check_cpus(&d);
		check_mode(&d);
		check_perf(&d);
		check_keys(&d);
	}
	judge(&d);
	buf_release(&d.xl_info);
	buf_release(&d.xl_dmesg);
	buf_release(&d.dmesg);
	free(d.symbols);
}

void host_facts_release(struct host_facts *f)
{
	vec_release(&f->checks);
	arena_release(&f->arena);
}

const struct host_check *host_check_by_id(const struct host_facts *f, const char *id)
{
	size_t i;

	for (i = 0; i < f->checks.n; i++)
		if (!strcmp(f->checks.v[i].id, id))
			return &f->checks.v[i];
	return NULL;
}

const char *host_verdict_name(enum host_verdict v)
{
	static const char *const names[] = { "ok", "bad", "warn", "unknown" };

	return names[v];
}

const char *host_level_name(enum host_level l)
{
	static const char *const names[] = { "nothing", "debug-keys", "dom0", "addresses",
					     "stacks" };

	return names[l];
}

const char *host_level_text(enum host_level l)
{
	static const char *const texts[] = {
		"nothing of the hypervisor can be recorded here",
		"as it is, call traces by Xen's debug key can be taken from its console",
		"as it is, dom0 can be recorded by a software clock; time in the hypervisor shows "
		"as hypercalls, named by their callers",
		"as it is, samples hold the function of the hypervisor that ran, without its "
		"callers",
		"the hypervisor's call chains can be recorded",
	};

	return texts[l];
}

static json_t *text_or_null(const char *s)
{
	struct buf b = BUF_INIT;
	json_t *j;

	if (!s)
		return json_null();
	buf_utf8(&b, s, strlen(s));
	j = json_string(buf_str(&b));
	buf_release(&b);
	return j;
}

void host_doctor_json(const struct host_facts *f, struct buf *b)
{
	json_t *root = json_object(), *checks = json_array();
	char *text;
	size_t i;

	json_object_set_new(root, "format", json_string("xenflame-doctor"));
	json_object_set_new(root, "version", json_integer(1));
	json_object_set_new(root, "ready", json_boolean(f->ready));
	json_object_set_new(root, "level", json_string(host_level_name(f->level)));
	json_object_set_new(root, "distribution", text_or_null(f->distro));
	json_object_set_new(root, "xen", text_or_null(f->xen));
	json_object_set_new(root, "kernel", text_or_null(f->kernel));
	for (i = 0; i < f->checks.n; i++) {
		const struct host_check *c = &f->checks.v[i];
		json_t *o = json_object();

		json_object_set_new(o, "id", json_string(c->id));
		json_object_set_new(o, "verdict", json_string(host_verdict_name(c->verdict)));
		json_object_set_new(o, "text", text_or_null(c->text));
		json_object_set_new(o, "remedy", text_or_null(c->remedy));
		json_object_set_new(o, "commands", text_or_null(c->commands));
		json_array_append_new(checks, o);
	}
	json_object_set_new(root, "checks", checks);
	text = json_dumps(root, JSON_INDENT(2));
	if (text)
		buf_puts(b, text);
	buf_putc(b, '\n');
	free(text);
	json_decref(root);
}
