/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Symbols of kernels: dom0's, its modules', guests'.
 *
 * Names come from a vmlinux with DWARF where there is one (core kernel), then from kallsyms (which
 * knows modules, too), then from System.map, then from a module's .ko.  Where the kernel was loaded
 * is told by the recording: the mapping record names a reference symbol and its run-time address
 * (perf-data.md A5); the difference to the file is the KASLR offset.
 *
 * kallsyms has no build id.  A given one (option, recording's folder) fits unless the `notes`
 * beside it says otherwise or the offset is none that a kernel can be moved by; this machine's own
 * only for a recording of this machine and the running kernel's build id.
 */
#include <sys/stat.h>

#include "symbolize/finder.h"

/* Kernels are moved by multiples of 2 MiB on x86 (CONFIG_PHYSICAL_ALIGN), of 64 KiB at least on
 * arm64. */
#define KASLR_ALIGN 0x10000

/* Reference symbols in the order in which perf tries them. */
static const char *const ref_names[] = { "_text", "_stext" };

struct kernel_search {
	struct symbolizer *s;
	struct module *m;
	struct symfile *ksyms, *elf;
	s64 ksyms_bias, elf_bias;
	bool core_only;
};

static int elf_symbol(struct symfile *f, const char *name, u64 *value)
{
	return symfile_elf_symbol(f, name, value);
}

/*
 * Run-time address minus address in the file.  Without a reference in the recording (text input,
 * kptr_restrict) a kallsyms is taken as it is; it becomes the reference of what is found after it.
 */
static int kernel_bias(struct kernel_search *k, struct symfile *f, bool elf, s64 *bias)
{
	int (*symbol)(struct symfile *, const char *, u64 *) = elf ? elf_symbol
								   : symfile_ksyms_symbol;
	struct module *m = k->m;
	u64 value;
	size_t i;

	*bias = 0;
	if (m->ref_addr) {
		if (symbol(f, strtab_get(k->s->strings, m->ref_name), &value))
			return -1;
		*bias = (s64)(m->ref_addr - value);
		return *bias % KASLR_ALIGN ? -1 : 0;
	}
	for (i = 0; i < ARRAY_SIZE(ref_names); i++)
		if (!symbol(f, ref_names[i], &value)) {
			m->ref_name = strtab_adds(k->s->strings, ref_names[i]);
			m->ref_addr = value;
			break;
		}
	return 0;
}

/* `given`: the user's own choice, so that what is wrong with it is told. */
static bool take_ksyms(struct kernel_search *k, const char *path, bool given)
{
	struct symfile *f;
	s64 bias;

	if (k->ksyms)
		return true;
	f = find_open_ksyms(k->s, path, given);
	if (!f)
		return false;
	if (kernel_bias(k, f, false, &bias)) {
		if (given)
			diag_addf(k->s->diag, DIAG_BUILD_ID_MISMATCH, 1,
				  "'%s' is of another kernel ('%s' cannot have been at 0x%" PRIx64
				  ")",
				  path, strtab_get(k->s->strings, k->m->ref_name), k->m->ref_addr);
		if (!k->s->opts.force)
			return false;
		bias = 0;
	}
	k->ksyms = f;
	k->ksyms_bias = bias;
	k->core_only = bias != 0;
	return true;
}

static bool take_elf(struct kernel_search *k, const char *path, bool given)
{
	const struct module *m = k->m;
	struct symfile *f;
	s64 bias;
	u8 id[32];
	int n;

	if (k->elf)
		return true;
	n = elf_read_build_id(path, id);
	if (m->build_id_len && n >= 0 && !k->s->opts.force &&
	    !(n && build_ids_equal(id, (size_t)n, m->build_id, m->build_id_len))) {
		if (given)
			find_tell_mismatch(k->s, path, id, n, m->build_id, m->build_id_len);
		return false;
	}
	/* Without a recorded build id only the user's word makes it the right one. */
	if (!m->build_id_len && !given)
		return false;
	f = find_open_elf(k->s, path, given);
	if (!f)
		return false;
	if (kernel_bias(k, f, true, &bias)) {
		if (given)
			diag_addf(k->s->diag, DIAG_SYMBOL_FILE, 1,
				  "'%s': no kernel with the recorded reference symbol '%s'", path,
				  strtab_get(k->s->strings, m->ref_name));
		return false;
	}
	find_add_debug(k->s, k->m, f, path);
	k->elf = f;
	k->elf_bias = bias;
	return true;
}

/* Whether the `notes` (a copy of /sys/kernel/notes) of a folder speak of another kernel. */
static bool notes_differ(struct kernel_search *k, const char *dir)
{
	const struct module *m = k->m;
	char *path = path_join(dir, "notes");
	bool differ = false;
	size_t n;
	u8 id[20];

	n = file_exists(path) ? find_notes_build_id(path, id) : 0;
	if (n && m->build_id_len && !build_ids_equal(id, n, m->build_id, m->build_id_len) &&
	    !k->s->opts.force) {
		find_tell_mismatch(k->s, path, id, (int)n, m->build_id, m->build_id_len);
		differ = true;
	}
	free(path);
	return differ;
}

static void search_folder(struct kernel_search *k, const char *dir)
{
	bool differ = notes_differ(k, dir);
	struct find_list l;
	size_t i;
	char *path;

	find_list(&l, dir);
	for (i = 0; i < l.v.n; i++) {
		const char *name = l.v.v[i];

		if (!str_starts(name, "vmlinux") && !str_starts(name, "kallsyms") &&
		    !str_ends(name, ".kallsyms"))
			continue;
		path = path_join(dir, name);
		if (str_starts(name, "vmlinux"))
			take_elf(k, path, true);
		else if (!differ)
			take_ksyms(k, path, true);
		free(path);
	}
	for (i = 0; i < l.v.n && !k->ksyms && !differ; i++)
		if (str_starts(l.v.v[i], "System.map")) {
			path = path_join(dir, l.v.v[i]);
			take_ksyms(k, path, true);
			free(path);
		}
	find_list_free(&l);
}

/* "vmlinux" of a release at the places where distributions install it, below a root ("" or a
 * --symfs). */
static void search_vmlinux(struct kernel_search *k, const char *root)
{
	static const char *const place[] = {
		"%s/usr/lib/debug/boot/vmlinux-%s",
		"%s/usr/lib/debug/lib/modules/%s/vmlinux",
		"%s/usr/lib/debug/usr/lib/modules/%s/vmlinux",
		"%s/usr/lib/debug/boot/vmlinux-%s.debug",
		"%s/boot/vmlinux-%s",
		"%s/lib/modules/%s/build/vmlinux",
		"%s/lib/modules/%s/vmlinux",
	};
	const char *rel = k->s->opts.release;
	struct buf b = BUF_INIT;
	size_t i;

	/* A release is a name, not a path. */
	if (!rel || strchr(rel, '/'))
		return;
	for (i = 0; i < ARRAY_SIZE(place) && !k->elf; i++) {
		const char *r = strstr(place[i] + 2, "%s");

		buf_clear(&b);
		buf_puts(&b, root);
		buf_put(&b, place[i] + 2, (size_t)(r - place[i] - 2));
		buf_puts(&b, rel);
		buf_puts(&b, r + 2);
		if (file_exists(buf_str(&b)))
			take_elf(k, buf_str(&b), *root);
	}
	buf_release(&b);
}

static void search_caches(struct kernel_search *k)
{
	struct symbolizer *s = k->s;
	struct module *m = k->m;
	const char *const *p;
	char *path;

	if (!k->ksyms) {
		path = find_in_perf_cache(s, "[kernel.kallsyms]", m->build_id, m->build_id_len,
					  "kallsyms");
		if (path)
			take_ksyms(k, path, true);
		free(path);
	}
	if (!k->elf) {
		path = find_by_build_id(s, m->build_id, m->build_id_len, true);
		if (!path)
			path = find_by_build_id(s, m->build_id, m->build_id_len, false);
		if (path)
			take_elf(k, path, true);
		free(path);
	}
	for (p = s->opts.symfs; p && *p && !k->elf; p++)
		search_vmlinux(k, *p);
	for (p = s->opts.symfs;
	     p && *p && !k->ksyms && s->opts.release && !strchr(s->opts.release, '/'); p++) {
		path = xasprintf("%s/boot/System.map-%s", *p, s->opts.release);
		if (file_exists(path))
			take_ksyms(k, path, true);
		free(path);
	}
}

static void search_this_machine(struct kernel_search *k)
{
	const struct find_host *h = find_host(k->s);
	const struct module *m = k->m;

	if (k->s->opts.offline_only)
		return;
	if (!k->elf)
		search_vmlinux(k, "");
	/* The running kernel, when it is the recorded one: by build id, else by the very place of
	 * its reference symbol. */
	if (!k->ksyms && h->same_kernel) {
		if (m->build_id_len && h->kernel_id_len)
			take_ksyms(k, "/proc/kallsyms", false);
		else if (m->ref_addr && take_ksyms(k, "/proc/kallsyms", false) && k->ksyms_bias)
			k->ksyms = NULL;
	}
	if (!k->elf && k->s->opts.debuginfod && m->build_id_len) {
		char *path = find_debuginfod(k->s, m->build_id, m->build_id_len, true);

		if (path)
			take_elf(k, path, true);
		free(path);
	}
}

void find_kernel(struct symbolizer *s, struct module *m)
{
	struct kernel_search k = { .s = s, .m = m };
	const char *const *p;

	if (s->opts.kallsyms)
		take_ksyms(&k, s->opts.kallsyms, true);
	if (s->opts.vmlinux)
		take_elf(&k, s->opts.vmlinux, true);
	/* What the user names is the answer: with --kallsyms alone no vmlinux is looked for. */
	if (!k.ksyms || s->opts.vmlinux) {
		for (p = s->opts.dirs; p && *p; p++)
			search_folder(&k, *p);
		search_caches(&k);
		search_this_machine(&k);
	}
	if (k.elf)
		find_add_source(m, k.elf, k.elf_bias, true);
	if (k.ksyms) {
		find_add_source(m, k.ksyms, k.ksyms_bias, false);
		m->src[m->src_n - 1].core_only = k.core_only;
	}
}

/*
 * Where a module's code was loaded is where its mapping starts, and its first executable section is
 * there; its symbols are at the same distance from it in the .ko.
 */
static bool take_ko(struct symbolizer *s, struct module *m, const char *path, bool given)
{
	struct symfile *f;
	u8 id[32];
	int n;

	if (!file_exists(path))
		return false;
	n = elf_read_build_id(path, id);
	/* Compressed ones cannot be asked before they are opened; the others are not opened in
	 * vain. */
	f = n < 0 ? find_open_elf(s, path, given) : NULL;
	if (f) {
		n = f->build_id_len;
		memcpy(id, f->build_id, sizeof(id));
	}
	if (n < 0)
		return false;
	if (m->build_id_len && !s->opts.force &&
	    !(n && build_ids_equal(id, (size_t)n, m->build_id, m->build_id_len))) {
		if (given || find_host(s)->same_kernel)
			find_tell_mismatch(s, path, id, n, m->build_id, m->build_id_len);
		return false;
	}
	if (!m->build_id_len && !given && !find_host(s)->same_kernel)
		return false;
	if (!f)
		f = find_open_elf(s, path, given);
	if (!f)
		return false;
	find_add_debug(s, m, f, path);
	find_add_source(m, f, (s64)(m->start - f->text_start), true);
	return true;
}

void find_kmod(struct symbolizer *s, struct module *m)
{
	struct module *kernel = &s->modules.v[s->kernel];
	const char *file = module_filename(s, m);
	const char *const *p;
	bool done = false;
	char *path;
	size_t i;

	if (!kernel->searched) {
		kernel->searched = true;
		find_module(s, kernel);
	}
	for (i = 0; i < kernel->src_n; i++)
		if (!kernel->src[i].is_elf && !kernel->src[i].core_only)
			m->src[m->src_n++] = kernel->src[i];
	if (file[0] != '/')
		return;
	for (p = s->opts.dirs; p && *p && !done; p++) {
		path = path_join(*p, path_base(file));
		done = take_ko(s, m, path, true);
		free(path);
	}
	for (p = s->opts.symfs; p && *p && !done; p++) {
		path = xasprintf("%s%s", *p, file);
		done = take_ko(s, m, path, true);
		free(path);
	}
	if (!done && m->build_id_len) {
		path = find_by_build_id(s, m->build_id, m->build_id_len, false);
		done = path && take_ko(s, m, path, true);
		free(path);
	}
	if (!done && !s->opts.offline_only)
		take_ko(s, m, file, false);
}

void find_guest(struct symbolizer *s, struct module *m)
{
	struct kernel_search k = { .s = s, .m = m };
	const char *const *p = s->opts.dirs;
	char *path = NULL;
	bool taken;

	if (s->opts.guest_kallsyms)
		path = xstrdup(s->opts.guest_kallsyms);
	for (; p && *p && !path; p++) {
		path = path_join(*p, SYM_GUEST_KALLSYMS);
		if (!file_exists(path)) {
			free(path);
			path = NULL;
		}
	}
	taken = path && take_ksyms(&k, path, true);
	free(path);
	if (!taken)
		return;
	find_add_source(m, k.ksyms, k.ksyms_bias, false);
	m->src[m->src_n - 1].core_only = k.core_only;
}
