/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The hypervisor's symbols.
 *
 * Sources, best first: an ELF file (xen-syms, or xen.efi.elf under either name) with DWARF; one
 * with a symbol table only; a `.map` of the build; a snapshot of /proc/xen/xensyms.  The snapshot
 * is of the running hypervisor, so it is always right: it stays behind an ELF file for what that
 * does not cover, and an ELF file that contradicts it is not used.
 *
 * Build ids (symbols.md A1, xen-users.md 0.3): xen-syms and xen.gz carry a GNU note of 20 bytes;
 * xen.efi carries a CodeView GUID of 16 bytes, and a hypervisor booted from it reports that.  Ids
 * of different kinds cannot be compared; code symbols have the same addresses in both files of one
 * build.  So: equal ids prove a file; ids of the same kind that differ refute it; ids of different
 * kinds leave it open until the EFI file of the same version (xen-*.efi, *.efi.elf) or the xensyms
 * snapshot decides.  What stays open is used when the user gave the file or its folder, and told;
 * never when it was merely found on this machine.
 */
#include <sys/stat.h>

#include "symbolize/finder.h"

#define GUID_LEN 16
#define NOTE_LEN 20
/* Symbols of a snapshot that are compared with a file. */
#define CHECKED_SYMBOLS 256
#define IMAGE_ALIGN     (2ULL << 20)

enum verdict {
	REFUTED,
	OPEN,
	PROVED,
};

struct candidate {
	char *path;
	struct symfile *f;
	enum verdict verdict;
	bool dwarf;
};

struct hv_search {
	struct symbolizer *s;
	struct module *m;
	struct candidate best; /* ELF */
	struct symfile *map, *snapshot;
	char *snapshot_path;
	const char *tree; /* root of the tree that is searched, NULL: a plain folder */
	bool ambiguous;
	char *other_path; /* an open candidate beside the best one */
};

/* The GUID of a PE file's CodeView record ("RSDS", 16 bytes) is `id`. xen.efi is no ELF file. */
static bool pe_has_guid(const char *path, const u8 *id)
{
	u8 needle[4 + GUID_LEN];
	struct file_map map;
	bool found;

	memcpy(needle, "RSDS", 4);
	memcpy(needle + 4, id, GUID_LEN);
	if (file_map_open(&map, path, 1 << 30, NULL))
		return false;
	found = map.n > 2 && !memcmp(map.p, "MZ", 2) &&
		memmem(map.p, map.n, needle, sizeof(needle));
	file_map_close(&map);
	return found;
}

/* "xen-syms-4.17-amd64" and "xen-4.17-amd64.efi" are of one build, as far as names can tell. */
static bool same_version(const char *syms, const char *efi)
{
	const char *v = str_starts(syms, "xen-syms-") ? syms + strlen("xen-syms-") : "";
	const char *w = str_starts(efi, "xen-") ? efi + strlen("xen-") : "";
	size_t n = strlen(v);

	return !n || (!strncmp(v, w, n) && str_starts(w + n, ".efi"));
}

static bool efi_in(const char *dir, const char *path, const u8 *id)
{
	bool found = false;
	struct find_list l;
	u8 have[32];
	char *other;
	size_t i;

	find_list(&l, dir);
	for (i = 0; i < l.v.n && !found; i++) {
		const char *name = l.v.v[i];

		if ((!str_ends(name, ".efi") && !str_ends(name, ".efi.elf")) ||
		    !same_version(path_base(path), name))
			continue;
		other = path_join(dir, name);
		found = str_ends(name, ".elf") ? elf_read_build_id(other, have) == GUID_LEN &&
							 !memcmp(have, id, GUID_LEN)
					       : pe_has_guid(other, id);
		free(other);
	}
	find_list_free(&l);
	return found;
}

/* Beside an xen-syms, or where distributions put it in the same tree, lies the EFI file that was
 * running, of the same version. */
static bool efi_proves(const struct hv_search *h, const char *path, const u8 *id)
{
	static const char *const places[] = { "/boot", "/boot/efi/EFI/xen", "/usr/lib64/efi",
					      "/usr/lib/efi" };
	const char *slash = strrchr(path, '/');
	char *dir = slash ? xstrndup(path, (size_t)(slash - path)) : xstrdup(".");
	bool found = efi_in(dir, path, id);
	size_t i;

	for (i = 0; h->tree && i < ARRAY_SIZE(places) && !found; i++) {
		free(dir);
		dir = xasprintf("%s%s", h->tree, places[i]);
		found = efi_in(dir, path, id);
	}
	free(dir);
	return found;
}

/*
 * Compares code symbols of a snapshot ("ffff82d040204cf0 T name", one a line) with a file: 1 they
 * agree, -1 they do not, 0 too few to tell. Only code counts: in xen.efi and xen-syms of one build
 * the rest lies elsewhere.
 */
static int snapshot_agrees(const char *path, struct symfile *f)
{
	u64 start = 0, end = 0, addr, value;
	size_t lines = 0, step, at = 0, same = 0, other = 0;
	const char *p, *eol, *stop;
	struct file_map map;
	char name[256];

	if (file_map_open(&map, path, 64 << 20, NULL))
		return 0;
	stop = (const char *)map.p + map.n;
	for (p = (const char *)map.p; p && p < stop;
	     p = memchr(p, '\n', (size_t)(stop - p)), p = p ? p + 1 : stop)
		lines++;
	if (symfile_elf_symbol(f, "_stext", &start) || symfile_elf_symbol(f, "_etext", &end)) {
		start = f->text_start;
		end = f->text_end;
	}
	step = lines / CHECKED_SYMBOLS + 1;
	for (p = (const char *)map.p; p < stop; p = eol + 1, at++) {
		eol = memchr(p, '\n', (size_t)(stop - p));
		if (!eol)
			eol = stop;
		if (at % step)
			continue;
		if (parse_hex(&p, eol, &addr) || eol - p < 4 || p[0] != ' ' ||
		    (p[1] | 0x20) != 't' || p[2] != ' ')
			continue;
		p += 3;
		/* "file.c#name" is static: the name may stand there several times */
		if (memchr(p, '#', (size_t)(eol - p)) || (size_t)(eol - p) >= sizeof(name) ||
		    addr < start || addr >= end)
			continue;
		memcpy(name, p, (size_t)(eol - p));
		name[eol - p] = '\0';
		if (symfile_elf_symbol(f, name, &value))
			other++;
		else if (value == addr)
			same++;
		else
			other++;
	}
	file_map_close(&map);
	if (same + other < 8)
		return 0;
	return same * 10 >= (same + other) * 9 ? 1 : -1;
}

static enum verdict verdict_of(struct hv_search *h, const char *path, struct symfile *f,
			       const u8 *id, int n)
{
	const struct module *m = h->m;
	int agrees;

	if (m->build_id_len && n > 0) {
		if ((size_t)n == m->build_id_len)
			return memcmp(id, m->build_id, m->build_id_len) ? REFUTED : PROVED;
		if (m->build_id_len == GUID_LEN && n == NOTE_LEN &&
		    efi_proves(h, path, m->build_id))
			return PROVED;
	}
	agrees = h->snapshot_path ? snapshot_agrees(h->snapshot_path, f) : 0;
	if (agrees)
		return agrees > 0 ? PROVED : REFUTED;
	return OPEN;
}

static bool is_xen(struct symfile *f)
{
	u64 value;

	return space_is_hv_text(f->text_start) || !symfile_elf_symbol(f, "start_xen", &value);
}

/* `given`: named by the user, or in a folder that is. */
static void try_elf(struct hv_search *h, const char *path, bool given, bool explicit)
{
	struct symbolizer *s = h->s;
	struct candidate c = { .verdict = OPEN };
	u8 id[32];
	int n = elf_read_build_id(path, id);

	if (n < 0 || (h->best.f && h->best.verdict == PROVED && h->best.dwarf))
		return;
	c.f = find_open_elf(s, path, given);
	if (!c.f || c.f == h->best.f || (!explicit && !is_xen(c.f)))
		return;
	c.verdict = verdict_of(h, path, c.f, id, n);
	if (c.verdict == REFUTED) {
		if (h->m->build_id_len && n > 0 && (size_t)n == h->m->build_id_len) {
			if (given || find_host(s)->same_host)
				find_tell_mismatch(s, path, id, n, h->m->build_id,
						   h->m->build_id_len);
		} else {
			diag_addf(s->diag, DIAG_BUILD_ID_MISMATCH, 1,
				  "'%s' is of another build than '%s'", path, h->snapshot_path);
		}
		if (!s->opts.force || !given)
			return;
	}
	if (c.verdict == OPEN && !given)
		return;
	find_add_debug(s, h->m, c.f, path);
	c.dwarf = symfile_elf_has_dwarf(c.f);
	if (h->best.f && c.verdict == OPEN && h->best.verdict == OPEN &&
	    !(n > 0 &&
	      build_ids_equal(h->best.f->build_id, h->best.f->build_id_len, id, (size_t)n))) {
		h->ambiguous = true;
		if (!h->other_path)
			h->other_path = xstrdup(path);
	}
	if (h->best.f && (c.verdict < h->best.verdict ||
			  (c.verdict == h->best.verdict && c.dwarf <= h->best.dwarf)))
		return;
	free(h->best.path);
	h->best = c;
	h->best.path = xstrdup(path);
}

static bool name_is_elf(const char *n)
{
	return str_ends(n, ".efi.elf") || (str_starts(n, "xen-syms") && !str_ends(n, ".map") &&
					   !str_ends(n, ".config") && !str_ends(n, ".gz"));
}

static bool name_is_map(const char *n)
{
	return str_starts(n, "xen") && str_ends(n, ".map");
}

/* The build id that was saved beside a recording: raw as in /sys/hypervisor/properties/buildid, or
 * in hexadecimal as `xl info` tells it. */
static void read_build_id(struct hv_search *h, const char *path)
{
	u8 id[NOTE_LEN];
	struct file_map map;
	size_t n, i;

	if (h->m->build_id_len || file_map_open(&map, path, 4096, NULL))
		return;
	n = map.n;
	if (n > 2 * GUID_LEN - 1) {
		while (n && map.p[n - 1] <= ' ')
			n--;
		n /= 2;
		for (i = 0; i < n && n <= NOTE_LEN; i++) {
			const char *p = (const char *)map.p + 2 * i;
			u64 byte;

			if (parse_hex(&p, (const char *)map.p + 2 * i + 2, &byte) ||
			    p != (const char *)map.p + 2 * i + 2)
				n = 0;
			else
				id[i] = (u8)byte;
		}
	} else if (n <= NOTE_LEN) {
		memcpy(id, map.p, n);
	}
	if (n == NOTE_LEN || n == GUID_LEN) {
		memcpy(h->m->build_id, id, n);
		h->m->build_id_len = (u8)n;
	}
	file_map_close(&map);
}

static void take_snapshot(struct hv_search *h, const char *path, bool tell)
{
	if (h->snapshot)
		return;
	h->snapshot = find_open_ksyms(h->s, path, tell);
	if (h->snapshot)
		h->snapshot_path = xstrdup(path);
}

/* Tables first: they help to judge the ELF files. */
static void search_folder(struct hv_search *h, const char *dir, bool given)
{
	struct find_list l;
	size_t i;
	char *path;

	find_list(&l, dir);
	for (i = 0; i < l.v.n && given; i++) {
		path = path_join(dir, l.v.v[i]);
		if (!strcmp(l.v.v[i], "xen.buildid"))
			read_build_id(h, path);
		else if (str_starts(l.v.v[i], "xensyms"))
			take_snapshot(h, path, true);
		free(path);
	}
	for (i = 0; i < l.v.n; i++)
		if (name_is_elf(l.v.v[i])) {
			path = path_join(dir, l.v.v[i]);
			try_elf(h, path, given, false);
			free(path);
		}
	/* A map has no build id: nothing but its place speaks for it. */
	for (i = 0; i < l.v.n && given && !h->map; i++)
		if (name_is_map(l.v.v[i])) {
			path = path_join(dir, l.v.v[i]);
			h->map = find_open_ksyms(h->s, path, true);
			free(path);
		}
	find_list_free(&l);
}

/* Where distributions and upstream install them (xen-users.md section 1): XCP-ng, XenServer;
 * Debian; Qubes, SUSE, Gentoo, upstream. */
static const char *const places[] = { "/boot", "/usr/lib/debug/boot", "/usr/lib/debug" };

static void search_everywhere(struct hv_search *h)
{
	struct symbolizer *s = h->s;
	const struct find_host *host = find_host(s);
	const char *const *p;
	char *path;
	size_t i;

	for (p = s->opts.dirs; p && *p; p++)
		search_folder(h, *p, true);
	if (h->m->build_id_len == NOTE_LEN &&
	    !(h->best.f && h->best.verdict == PROVED && h->best.dwarf)) {
		path = find_by_build_id(s, h->m->build_id, h->m->build_id_len, true);
		if (!path)
			path = find_by_build_id(s, h->m->build_id, h->m->build_id_len, false);
		if (path)
			try_elf(h, path, true, false);
		free(path);
	}
	for (p = s->opts.symfs; p && *p; p++) {
		h->tree = *p;
		for (i = 0; i < ARRAY_SIZE(places); i++) {
			path = xasprintf("%s%s", *p, places[i]);
			search_folder(h, path, true);
			free(path);
		}
	}
	h->tree = NULL;
	if (s->opts.offline_only)
		return;
	h->tree = "";
	/* The hypervisor that runs now is the recorded one when nothing was booted since. */
	if (host->same_boot) {
		read_build_id(h, "/sys/hypervisor/properties/buildid");
		if (!h->snapshot && file_exists("/proc/xen/xensyms"))
			take_snapshot(h, "/proc/xen/xensyms", false);
	}
	for (i = 0; i < ARRAY_SIZE(places); i++)
		search_folder(h, places[i], false);
	if (!h->best.f && s->opts.debuginfod && h->m->build_id_len == NOTE_LEN) {
		path = find_debuginfod(s, h->m->build_id, h->m->build_id_len, true);
		if (path)
			try_elf(h, path, true, false);
		free(path);
	}
}

static void take_explicit(struct hv_search *h, const char *path)
{
	const char *name = path_base(path);
	struct stat st;
	u8 id[32];

	if (!stat(path, &st) && S_ISDIR(st.st_mode)) {
		search_folder(h, path, true);
		if (!h->best.f && !h->map && !h->snapshot)
			diag_addf(h->s->diag, DIAG_SYMBOL_FILE, 1,
				  "'%s': no hypervisor symbols in this folder that fit", path);
	} else if (elf_read_build_id(path, id) >= 0) {
		try_elf(h, path, true, true);
	} else if (str_starts(name, "xensyms")) {
		take_snapshot(h, path, true);
	} else {
		h->map = find_open_ksyms(h->s, path, true);
	}
}

/* Livepatch payloads lie from the first 2 MiB border behind the image. */
static void set_image_end(struct module *m)
{
	u64 end;

	if (!m->src_n || (m->src[0].is_elf ? symfile_elf_symbol(m->src[0].f, "_end", &end)
					   : symfile_ksyms_symbol(m->src[0].f, "_end", &end)))
		return;
	if (space_is_hv_text(end))
		m->image_end = (end + IMAGE_ALIGN - 1) & ~(IMAGE_ALIGN - 1);
}

void find_hv(struct symbolizer *s, struct module *m)
{
	struct hv_search h = { .s = s, .m = m };
	const char *const *p;
	struct find_list l;
	char *path;

	if (s->opts.xen_syms) {
		/* What was saved beside the recording judges the named file, too. */
		for (p = s->opts.dirs; p && *p; p++) {
			size_t i;

			find_list(&l, *p);
			for (i = 0; i < l.v.n; i++) {
				path = path_join(*p, l.v.v[i]);
				if (!strcmp(l.v.v[i], "xen.buildid"))
					read_build_id(&h, path);
				else if (str_starts(l.v.v[i], "xensyms"))
					take_snapshot(&h, path, false);
				free(path);
			}
			find_list_free(&l);
		}
		take_explicit(&h, s->opts.xen_syms);
	} else {
		search_everywhere(&h);
	}
	if (h.best.f && h.best.verdict == OPEN && h.ambiguous && !s->opts.xen_syms) {
		diag_addf(s->diag, DIAG_NOTE, 1,
			  "hypervisor symbols: both '%s' and '%s' might be right, neither is used; "
			  "choose by --xen-syms=FILE",
			  h.best.path, h.other_path);
		h.best.f = NULL;
	}
	if (h.best.f) {
		if (h.best.verdict == OPEN && m->build_id_len)
			diag_addf(s->diag, DIAG_NOTE, 1,
				  "hypervisor symbols: '%s' cannot be checked against the recorded "
				  "build id (EFI and ELF files carry different ones)",
				  h.best.path);
		find_add_source(m, h.best.f, 0, true);
	}
	/* A map may be of another build than a snapshot, which is of the running hypervisor. */
	if (h.snapshot)
		find_add_source(m, h.snapshot, 0, false);
	else if (h.map)
		find_add_source(m, h.map, 0, false);
	set_image_end(m);
	free(h.best.path);
	free(h.other_path);
	free(h.snapshot_path);
}
