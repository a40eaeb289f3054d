/* SPDX-License-Identifier: GPL-2.0-or-later */
/* xenflame bundle: a recording with all that reading it elsewhere takes, in one file. */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "host/host.h"

enum { OPT_SYSROOT = OPTION_OF_VERB, OPT_STRIP_STACKS };

static const struct option_def own_options[] = {
	{ "sysroot", OPT_SYSROOT, ARG_YES, "DIR",
	  "take the facts of the host from a tree, as doctor does", "Bundle" },
	{ "strip-stacks", OPT_STRIP_STACKS, ARG_NO, NULL,
	  "unwind the pieces of stacks that --call-graph=dwarf has saved, and\nput call chains in "
	  "their place: the same graph without what was on\nthe stacks",
	  NULL },
	{ NULL, 0, ARG_NO, NULL, NULL, NULL },
};

/* Of the options of all verbs: those that say where symbols are, and what may be told. */
static const char *const borrowed[] = {
	"output",     "anonymous", "quiet",          "input-format", "xen-syms",
	"kallsyms",   "vmlinux",   "guest-kallsyms", "symfs",        "debug-dir",
	"debuginfod", "offline",   "force",          "help",
};

#define SAMPLE_STACK_USER (1 << 13) /* PERF_SAMPLE_STACK_USER */

struct bundler {
	struct draw_args draw;
	struct bundle bundle;
	char *path, *dir, *host_name;
	size_t symbol_files, left_out;
	bool stack_dumps, strip, is_folder, is_this_host, inspected;
	struct perf_strip stripped;
	char kernel_id[65];
};

static void help(const struct option_def *defs)
{
	puts("usage: xenflame bundle [OPTION]... FILE [-o OUT.tar.zst]\n"
	     "\n"
	     "Puts a recording, the symbol files that it needs, and the facts of the host into "
	     "one\n"
	     "compressed tar. Every verb reads it in place of the recording, on any machine, with "
	     "the\n"
	     "same result.");
	options_help(defs);
	puts("\nExit status: 0 done, 1 failed, 2 wrong usage.");
}

static bool starts(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

static bool ends(const char *s, const char *suffix)
{
	size_t n = strlen(s), k = strlen(suffix);

	return n >= k && !strcmp(s + n - k, suffix);
}

/* ---- symbol files ---- */

/* Adds a file, by its contents when it has no lasting name. */
static bool add_file(struct bundler *b, const char *name, const char *path)
{
	struct file_map map;
	bool ok;

	if (!starts(path, "/proc/self/"))
		return bundle_add_file(&b->bundle, name, path);
	if (file_map_open(&map, path, 0, NULL))
		return false;
	ok = bundle_add_data(&b->bundle, name, map.p, map.n);
	file_map_close(&map);
	return ok;
}

/* A link .debug/.build-id/xx/rest to a folder of the store, as perf makes it. */
static void add_id_link(struct bundler *b, const char *hex, const char *folder)
{
	char *name = xasprintf(".debug/.build-id/%.2s/%s", hex, hex + 2),
	     *target = xasprintf("../../%s", folder);

	bundle_add_link(&b->bundle, name, target);
	free(name);
	free(target);
}

/* perf's store: NAME/<id>/elf or debug or vdso, and a link by id. */
static bool store(struct bundler *b, const struct sym_file_info *f)
{
	bool vdso = starts(f->path, "/proc/self/"), ok = false;
	char hex[65], *folder, *name;
	const char *leaf = vdso ? "vdso" : f->kind == SYM_FILE_ELF ? "elf" : "debug";
	const char *known = NULL;
	size_t i, k;

	build_id_hex(f->build_id, f->build_id_len, hex);
	/* The debug file goes beside the main one. */
	for (i = 0; i < b->bundle.entries.n && !known; i++) {
		const char *n = b->bundle.entries.v[i].name, *at = strstr(n, hex);

		if (at && starts(n, ".debug/") && !starts(n, ".debug/.build-id/"))
			known = n;
	}
	for (k = 0; k < 2 && !ok; k++) {
		if (known)
			folder = xasprintf("%.*s%s", (int)(strstr(known, hex) - known - 7),
					   known + 7, hex);
		else if (vdso)
			folder = xasprintf("[vdso]/%s", hex);
		else if (!k && *f->path == '/' && !b->draw.anonymous)
			folder = xasprintf("%s/%s", f->path + 1, hex);
		else
			folder = xasprintf("file/%s", hex);
		name = xasprintf(".debug/%s/%s", folder, leaf);
		ok = strlen(folder) <= 90 && add_file(b, name, f->path);
		if (ok)
			add_id_link(b, hex, folder);
		free(folder);
		free(name);
		known = NULL;
	}
	return ok;
}

/* `by_id`: the recording tells the build id of this file; else it is found by its name. */
static bool add_symbol_file(struct bundler *b, const struct sym_file_info *f, bool by_id)
{
	const struct sym_opts *o = &b->draw.pipe.sym;
	const char *base = path_base(f->path);
	bool table = f->kind == SYM_FILE_TABLE;

	if (f->kind == SYM_FILE_ELF_ALT)
		return store(b, f);
	if (o->xen_syms && !strcmp(f->path, o->xen_syms))
		base = table ? (ends(base, ".map") ? "xen.map" : "xensyms") : "xen-syms";
	else if (o->kallsyms && !strcmp(f->path, o->kallsyms))
		base = starts(base, "System.map") ? base : "kallsyms";
	else if (o->guest_kallsyms && !strcmp(f->path, o->guest_kallsyms))
		return add_file(b, SYM_GUEST_KALLSYMS, f->path);
	else if (o->vmlinux && !strcmp(f->path, o->vmlinux))
		base = "vmlinux";
	else if (!table && f->kind != SYM_FILE_JIT && !starts(base, "xen-syms") &&
		 !ends(base, ".efi.elf") && !starts(base, "vmlinux"))
		return (!by_id && (add_file(b, base, f->path) ||
				   add_file(b, f->path + (*f->path == '/'), f->path))) ||
		       (f->build_id_len && store(b, f));
	return add_file(b, base, f->path);
}

/* Whether `path` is a link from its folder to elsewhere: a recording that somebody else has made
 * must not fetch files of this machine. */
static bool leads_out(const char *folder, const char *path)
{
	char *from, *to;
	struct stat st;
	size_t n;
	bool out;

	if (lstat(path, &st) || !S_ISLNK(st.st_mode))
		return false;
	from = realpath(folder, NULL);
	to = realpath(path, NULL);
	n = from ? strlen(from) : 0;
	out = !n || !to || strncmp(to, from, n) != 0 || (from[n - 1] != '/' && to[n] != '/');
	free(from);
	free(to);
	return out;
}

/* What lies beside the recording, or in this machine's /sys, and says which build the files are of.
 */
static void add_beside(struct bundler *b, const char *name, const char *here)
{
	char *path = path_join(b->dir, name);
	struct buf data = BUF_INIT;
	struct host *h;

	if (file_exists(path)) {
		if (!leads_out(b->dir, path))
			bundle_add_file(&b->bundle, name, path);
		else if (!b->draw.quiet)
			tell("warning: '%s' is left out: it is a link to another folder", path);
	} else if (b->is_this_host && (h = host_new(NULL, NULL))) {
		if (!host_read(h, here, &data) && data.n)
			bundle_add_data(&b->bundle, name, data.p, data.n);
		host_free(h);
	}
	buf_release(&data);
	free(path);
}

static void inspect(void *ctx, const struct symbolizer *s, const struct perf_meta *m)
{
	const struct sym_module_info *modules;
	struct sym_file_info *files;
	struct bundler *b = ctx;
	char here[256] = "";
	size_t i, n, nr_modules;

	for (i = 0; i < m->events.n; i++)
		b->stack_dumps |= (m->events.v[i].sample_type & SAMPLE_STACK_USER) != 0 &&
				  m->events.v[i].type != UINT32_MAX;
	b->inspected = true;
	gethostname(here, sizeof(here) - 1);
	b->is_this_host = m->hostname && !strcmp(m->hostname, here) &&
			  !b->draw.pipe.sym.offline_only;
	nr_modules = sym_modules(s, &modules);
	for (i = 0; i < nr_modules; i++)
		if (starts(modules[i].filename, "[kernel.kallsyms]") && modules[i].build_id_len)
			build_id_hex(modules[i].build_id, modules[i].build_id_len, b->kernel_id);
	n = sym_files(s, &files);
	for (i = 0; i < n; i++) {
		bool by_id = false;
		size_t k;

		for (k = 0; k < nr_modules && !by_id; k++)
			by_id = modules[k].build_id_len &&
				modules[k].build_id_len <= files[i].build_id_len &&
				!memcmp(modules[k].build_id, files[i].build_id,
					modules[k].build_id_len);
		if (add_symbol_file(b, &files[i], by_id))
			b->symbol_files++;
		else
			b->left_out++;
	}
	free(files);
	add_beside(b, "notes", "/sys/kernel/notes");
	add_beside(b, "xen.buildid", "/sys/hypervisor/properties/buildid");
	add_beside(b, "xensyms", "/proc/xen/xensyms");
}

/* For plain perf: the kernel's table where its cache has it. */
static void link_kallsyms(struct bundler *b)
{
	char *name, *folder;
	size_t i;

	for (i = 0; i < b->bundle.entries.n; i++)
		if (!strcmp(b->bundle.entries.v[i].name, "kallsyms"))
			break;
	if (i == b->bundle.entries.n || !*b->kernel_id)
		return;
	folder = xasprintf("[kernel.kallsyms]/%s", b->kernel_id);
	name = xasprintf(".debug/%s/kallsyms", folder);
	if (bundle_add_link(&b->bundle, name, "../../../kallsyms"))
		add_id_link(b, b->kernel_id, folder);
	free(name);
	free(folder);
}

/* ---- facts of the host ---- */

/* Without the names of the host and of guests: other lines of xl list and vcpu-list lose their
 * first word. */
static void blank_names(enum host_command c, struct buf *b)
{
	struct buf out = BUF_INIT;
	const char *s;

	for (s = buf_str(b); *s;) {
		size_t len = strcspn(s, "\n"), word = strcspn(s, " \t\n"), i;

		if (c == HOST_XL_INFO && starts(s, "host ")) {
			s += len + (s[len] == '\n');
			continue;
		}
		if ((c == HOST_XL_LIST || c == HOST_XL_VCPU_LIST) && !starts(s, "Name ") &&
		    !starts(s, "Domain-0 ")) {
			for (i = 0; i < word; i++)
				buf_putc(&out, 'x');
			buf_put(&out, s + word, len - word);
		} else if (c == HOST_UNAME) {
			/* Linux HOST RELEASE … */
			size_t at = word + strspn(s + word, " "), host = strcspn(s + at, " \n");

			buf_put(&out, s, at);
			buf_puts(&out, "x");
			buf_put(&out, s + at + host, len - at - host);
		} else {
			buf_put(&out, s, len);
		}
		buf_putc(&out, '\n');
		s += len + (s[len] == '\n');
	}
	buf_release(b);
	*b = out;
}

static bool is_word_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Each place where a name stands as a word. */
static void blank_word(struct buf *b, const char *word)
{
	size_t n = strlen(word), at = 0;
	char *p;

	while (n && at < b->n && (p = memmem(b->p + at, b->n - at, word, n))) {
		at = (size_t)(p - b->p);
		if ((!at || !is_word_char(p[-1])) && (at + n == b->n || !is_word_char(p[n])))
			memset(p, 'x', n);
		at += n;
	}
}

/* The host's name, also as a volume group has it in /dev/mapper, and without its domain. */
static void blank_host(const struct bundler *b, struct buf *data)
{
	char *name = b->host_name ? xstrndup(b->host_name, strcspn(b->host_name, ".")) : NULL;
	struct buf doubled = BUF_INIT;
	size_t i;

	if (name) {
		for (i = 0; name[i]; i++) {
			buf_putc(&doubled, name[i]);
			if (name[i] == '-')
				buf_putc(&doubled, '-');
		}
		blank_word(data, b->host_name);
		blank_word(data, name);
		blank_word(data, buf_str(&doubled));
	}
	buf_release(&doubled);
	free(name);
}

static const char *errno_name(int e)
{
	switch (e) {
	case EOPNOTSUPP: return "EOPNOTSUPP";
	case EACCES: return "EACCES";
	case EPERM: return "EPERM";
	case EINVAL: return "EINVAL";
	default: return "EIO";
	}
}

static void add_fact_file(struct bundler *b, struct host *h, const char *path)
{
	struct buf data = BUF_INIT;
	int e = host_read(h, path, &data);
	char *name;

	if (!e) {
		if (b->draw.anonymous && !strcmp(path, "/proc/cmdline"))
			blank_host(b, &data);
		bundle_add_data(&b->bundle, path + 1, data.p, data.n);
	} else if (e != ENOENT) {
		name = xasprintf("%s.errno", path + 1);
		bundle_add_data(&b->bundle, name, errno_name(e), strlen(errno_name(e)));
		free(name);
	}
	buf_release(&data);
}

/* The tree that doctor --sysroot judges. */
static void add_facts(struct bundler *b, struct host *h)
{
	static const char *const files[] = {
		"/etc/os-release",
		"/proc/cmdline",
		"/proc/cpuinfo",
		"/proc/xen/capabilities",
		"/proc/xen/xensyms",
		"/proc/sys/kernel/kptr_restrict",
		"/sys/kernel/security/lockdown",
		"/sys/hypervisor/type",
		"/sys/hypervisor/guest_type",
		"/sys/hypervisor/version/major",
		"/sys/hypervisor/version/minor",
		"/sys/hypervisor/version/extra",
		"/sys/hypervisor/properties/buildid",
		"/sys/hypervisor/properties/features",
		"/sys/hypervisor/properties/capabilities",
		"/sys/hypervisor/properties/changeset",
		"/sys/hypervisor/compilation/compiler",
		"/sys/hypervisor/compilation/compile_date",
		HOST_PMU_MODE,
		HOST_PMU_FEATURES,
		"/sys/bus/event_source/devices/cpu/type",
	};
	struct buf data = BUF_INIT;
	char **names, *path, *name;
	size_t i, n;
	int c;

	/* Linux HOST RELEASE …; of a tree it may be another than the recording's. */
	if (b->draw.anonymous && !host_command(h, HOST_UNAME, &data)) {
		i = strcspn(buf_str(&data), " \n");
		i += strspn(data.p + i, " ");
		n = strcspn(data.p + i, " \n");
		free(b->host_name);
		b->host_name = xstrndup(data.p + i, n);
	}
	for (i = 0; i < ARRAY_SIZE(files); i++)
		add_fact_file(b, h, files[i]);
	for (i = 0; i < b->bundle.entries.n; i++)
		if (b->bundle.entries.v[i].path &&
		    !strcmp(b->bundle.entries.v[i].path, "/proc/kallsyms"))
			break;
	if (i < b->bundle.entries.n && !host_is_tree(h) &&
	    !strcmp(b->bundle.entries.v[i].name, "kallsyms"))
		bundle_add_link(&b->bundle, "proc/kallsyms", "../kallsyms");
	else
		add_fact_file(b, h, "/proc/kallsyms");
	names = host_list(h, "/boot");
	for (i = 0; names && names[i]; i++)
		if (starts(names[i], "xen") && ends(names[i], ".config")) {
			path = path_join("/boot", names[i]);
			add_fact_file(b, h, path);
			free(path);
		}
	free(names);
	for (c = 0; c < HOST_COMMAND_NR; c++) {
		/* Logs name disks, networks, guests. */
		if (b->draw.anonymous && (c == HOST_DMESG || c == HOST_XL_DMESG))
			continue;
		if (host_command(h, (enum host_command)c, &data))
			continue;
		if (b->draw.anonymous) {
			blank_host(b, &data);
			blank_names((enum host_command)c, &data);
		}
		name = path_join("commands", host_command_name((enum host_command)c));
		bundle_add_data(&b->bundle, name, data.p, data.n);
		free(name);
	}
	buf_release(&data);
}

/* ---- the verb ---- */

static void take_chain(void *ctx, const struct perf_sample *s, const struct perf_chain *c)
{
	struct bundler *b = ctx;

	perf_strip_add(&b->stripped, s, c);
}

/* Whether a file of a recording's folder is its data.N. */
static bool is_part(const char *name, u64 *number)
{
	char canonical[32];
	const char *p = name + 5;

	if (!starts(name, "data.") || parse_dec(&p, name + strlen(name), number))
		return false;
	snprintf(canonical, sizeof(canonical), "data.%" PRIu64, *number);
	return !strcmp(name, canonical);
}

static int cmp_numbers(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

/* `name`: "data" or "data.N". */
static int add_folder_file(struct bundler *b, const char *header, const char *name,
			   struct error *err)
{
	bool is_header = !strcmp(name, "data"), ok = false;
	char *path = path_join(b->path, name), *entry = path_join(path_base(b->path), name);
	struct buf data = BUF_INIT;
	struct file_map map;

	if (leads_out(b->path, path)) {
		error_set(err, "'%s': is a link to another folder: expected a file", path);
		goto out;
	}
	if (b->strip) {
		if (perf_strip_write(&b->stripped, header, is_header ? NULL : path, &data, err))
			goto out;
	} else if (b->draw.anonymous && is_header) {
		if (file_map_open(&map, path, 0, err))
			goto out;
		buf_put(&data, map.p, map.n);
		file_map_close(&map);
	}
	if (b->draw.anonymous && is_header && bundle_blank_recording(&data, path, err))
		goto out;
	ok = b->strip || data.n ? bundle_add_data(&b->bundle, entry, data.p, data.n)
				: bundle_add_file(&b->bundle, entry, path);
	if (!ok)
		error_set(err, "'%s': a file of this name cannot be in a bundle", path);
out:
	buf_release(&data);
	free(path);
	free(entry);
	return ok ? 0 : -1;
}

/* A folder that perf record --threads has made: its header is in `data`, records in data.N. */
static int add_folder(struct bundler *b, struct error *err)
{
	struct host *h = host_new(b->path, err);
	char **names = h ? host_list(h, "/") : NULL, *header = path_join(b->path, "data");
	VEC(u64) numbers = { NULL, 0, 0 };
	int ret = -1;
	u64 number;
	size_t i;

	if (!names) {
		if (!err->msg[0])
			error_set(err, "'%s': cannot read this folder", b->path);
		goto out;
	}
	for (i = 0; names[i]; i++)
		if (is_part(names[i], &number))
			vec_push(&numbers, number);
		else if (strcmp(names[i], "data") != 0 && !b->draw.quiet)
			tell("'%s/%s' is left out: only the files data and data.N are a "
			     "recording's",
			     b->path, names[i]);
	if (numbers.n)
		qsort(numbers.v, numbers.n, sizeof(*numbers.v), cmp_numbers);
	ret = add_folder_file(b, header, "data", err);
	for (i = 0; i < numbers.n && !ret; i++) {
		char *name = xasprintf("data.%" PRIu64, numbers.v[i]);

		ret = add_folder_file(b, header, name, err);
		free(name);
	}
out:
	vec_release(&numbers);
	free(header);
	free(names);
	host_free(h);
	return ret;
}

static int add_recording(struct bundler *b, struct error *err)
{
	const char *base = path_base(b->path);
	struct buf data = BUF_INIT;
	struct file_map map;
	int ret = -1;

	if (b->is_folder)
		return add_folder(b, err);
	if (!b->draw.anonymous && !b->strip) {
		if (bundle_add_file(&b->bundle, base, b->path))
			return 0;
	} else {
		if (b->strip) {
			if (perf_strip_write(&b->stripped, b->path, NULL, &data, err))
				goto out;
		} else {
			if (file_map_open(&map, b->path, 0, err))
				return -1;
			buf_put(&data, map.p, map.n);
			file_map_close(&map);
		}
		if (b->draw.anonymous && bundle_blank_recording(&data, b->path, err))
			goto out;
		if (bundle_add_data(&b->bundle, base, data.p, data.n)) {
			ret = 0;
			goto out;
		}
	}
	error_set(err, "'%s': a file of this name cannot be in a bundle", b->path);
out:
	buf_release(&data);
	return ret;
}

static int make_bundle(struct bundler *b, struct host *facts, const char *output)
{
	struct buf about = BUF_INIT;
	struct error err = { "" };
	int ret = EXIT_FAILED;
	struct stat st;
	struct run run;

	run_init(&run);
	if (bundle_is(b->path)) {
		error_set(&err, "'%s': is a bundle already", b->path);
		goto out;
	}
	if (stat(b->path, &st)) {
		error_errno(&err, "'%s': cannot open", b->path);
		goto out;
	}
	b->bundle.mtime = st.st_mtime;
	b->is_folder = S_ISDIR(st.st_mode);
	if (b->strip) {
		b->draw.pipe.chain = take_chain;
		b->draw.pipe.chain_ctx = b;
	} else if (add_recording(b, &err)) {
		goto out;
	}
	b->draw.pipe.inspect = inspect;
	b->draw.pipe.inspect_ctx = b;
	if (run_read(&run, b->path, &b->draw.pipe, &err)) {
		/* One without a usable sample may be just what somebody is to look at. */
		if (!b->inspected)
			goto out;
		tell("warning: %s", err.msg);
		err.msg[0] = '\0';
	}
	if (b->strip) {
		/* One without dumps is put in as it is. */
		b->strip = b->stack_dumps;
		if (add_recording(b, &err))
			goto out;
		b->stack_dumps = false;
	}
	link_kallsyms(b);
	if (facts || (b->is_this_host && (facts = host_new(NULL, &err))))
		add_facts(b, facts);

	buf_puts(&about, "\"generator\":");
	buf_json(&about, PACKAGE_STRING, strlen(PACKAGE_STRING));
	buf_puts(&about, ",\n\"recording\":");
	buf_json(&about, path_base(b->path), strlen(path_base(b->path)));
	buf_printf(&about, ",\n\"anonymous\":%s,\n\"stack_dumps\":%s,\n\"symbol_files\":%zu",
		   b->draw.anonymous ? "true" : "false", b->stack_dumps ? "true" : "false",
		   b->symbol_files);
	if (bundle_write(&b->bundle, output, buf_str(&about), &err))
		goto out;
	ret = EXIT_DONE;
	if (!b->draw.quiet) {
		if (b->stack_dumps)
			tell("warning: the recording holds pieces of the stacks of programs "
			     "(--call-graph=dwarf), and with them "
			     "passwords and keys that were on these stacks; --strip-stacks leaves "
			     "them out "
			     "(or think of who gets '%s')",
			     output);
		tell_count("warning: %n sample{|s} cannot be written as {a call chain|call chains} "
			   "exactly and will look different",
			   b->stripped.differ, "");
		tell_count("warning: %n symbol file{|s} could not be added", b->left_out, "");
		if (!facts)
			tell("note: facts of the host are not in it, since the recording is of "
			     "another one");
		buf_clear(&about);
		buf_plural(&about, "'%s': the recording and %n symbol file{|s}", b->symbol_files,
			   output);
		tell("%s%s", buf_str(&about), facts ? ", facts of the host" : "");
	}
out:
	if (err.msg[0])
		tell("%s", err.msg);
	host_free(facts);
	run_release(&run);
	buf_release(&about);
	return ret;
}

static int run_bundle(int argc, char **argv)
{
	static struct option_def all[ARRAY_SIZE(borrowed) + ARRAY_SIZE(own_options)];
	static struct bundler b;
	struct error err = { "" };
	struct host *facts = NULL;
	const char *arg, *slash, *sysroot = NULL;
	char *output;
	size_t n = 0, i, k;
	int c;

	for (i = 0; own_options[i].name; i++)
		all[n++] = own_options[i];
	for (i = 0; i < ARRAY_SIZE(borrowed); i++)
		for (k = 0; draw_options[k].name; k++)
			if (!strcmp(draw_options[k].name, borrowed[i])) {
				all[n] = draw_options[k];
				all[n++].group = NULL;
			}

	while ((c = options_next(argc, argv, all, &arg)) != -1) {
		if (c == 'h') {
			help(all);
			return EXIT_DONE;
		}
		if (c == OPT_SYSROOT)
			sysroot = arg;
		else if (c == OPT_STRIP_STACKS)
			b.strip = true;
		else if (c == '?' || draw_take_option(&b.draw, c, arg))
			return EXIT_USAGE;
	}
	arg = options_file(argc, argv);
	if (!arg || options_file(argc, argv) || !strcmp(arg, "-")) {
		tell("usage: xenflame bundle FILE [-o OUT.tar.zst] ('xenflame bundle --help' says "
		     "more)");
		return EXIT_USAGE;
	}
	if (sysroot) {
		facts = host_new(sysroot, &err);
		if (!facts) {
			tell("%s", err.msg);
			return EXIT_USAGE;
		}
	}
	/* A folder's name may end in slashes. */
	for (n = strlen(arg); n > 1 && arg[n - 1] == '/'; n--)
		;
	b.path = xstrndup(arg, n);
	output = b.draw.output ? xstrdup(b.draw.output)
			       : xasprintf("%s%s", b.path, bundle_suffix());
	if (!ends(output, ".tar") && !ends(output, ".tar.gz") && !ends(output, ".tgz") &&
	    !ends(output, ".tar.zst")) {
		tell("'%s': expected a name that ends in .tar.zst, .tar.gz or .tar", output);
		host_free(facts);
		free(output);
		free(b.path);
		return EXIT_USAGE;
	}
	slash = strrchr(b.path, '/');
	b.dir = slash ? xstrndup(b.path, (size_t)(slash - b.path) + 1) : xstrdup(".");
	c = make_bundle(&b, facts, output);
	bundle_release(&b.bundle);
	perf_strip_release(&b.stripped);
	free(b.path);
	free(b.dir);
	free(b.host_name);
	free(output);
	return c;
}

const struct verb verb_bundle = {
	.name = "bundle",
	.help = "a recording with its symbols and the host's facts in one file",
	.run = run_bundle,
};
