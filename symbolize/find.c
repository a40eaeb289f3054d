/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which file serves a mapping: user modules, JIT maps, the vdso, and what all searches share.
 *
 * Order for a user file, first that fits wins:
 *   the recording's folder(s) by build id, by base name and by whole path; --symfs; build-id
 * folders in those; the recorded path on this machine; build-id folders of this machine
 * (/usr/lib/debug, ~/.debug); a debuginfod server. A separate debug file: the same folders by build
 * id; .gnu_debuglink with its CRC; debuginfod.
 *
 * When does a file fit?  With a recorded build id, when its own is equal, nothing else counts.
 * Without one: files that the user named (folders, --symfs) fit by name.  A file of this machine
 * fits only when the mapping tells the inode and it is the same one, and host name or device agree
 * as well: a package upgrade after the recording replaces files by new inodes, and another
 * machine's /usr/lib/libc.so.6 is another file.
 */
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <zlib.h>

#include "symbolize/finder.h"

/* A recording may lie in a folder full of other things. */
#define MAX_LIST  4096
#define MAX_NAMES 200000

bool str_starts(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

bool str_ends(const char *s, const char *suffix)
{
	size_t n = strlen(s), k = strlen(suffix);

	return n >= k && !strcmp(s + n - k, suffix);
}

/* ---- folders ---- */

static int cmp_str(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void find_list(struct find_list *l, const char *dir)
{
	struct dirent *e;
	DIR *d = opendir(dir);

	memset(l, 0, sizeof(*l));
	if (!d)
		return;
	while (l->v.n < MAX_NAMES && (e = readdir(d))) {
		struct stat st;

		/* A FIFO or a device would be waited for. */
		if (e->d_name[0] == '.' ||
		    (e->d_type != DT_REG &&
		     ((e->d_type != DT_LNK && e->d_type != DT_UNKNOWN) ||
		      fstatat(dirfd(d), e->d_name, &st, 0) || !S_ISREG(st.st_mode))))
			continue;
		vec_push(&l->v, xstrdup(e->d_name));
	}
	closedir(d);
	if (l->v.n)
		qsort(l->v.v, l->v.n, sizeof(*l->v.v), cmp_str);
}

void find_list_free(struct find_list *l)
{
	size_t i;

	for (i = 0; i < l->v.n; i++)
		free(l->v.v[i]);
	vec_release(&l->v);
}

static void add_root(struct finder *fi, bool host, char *path)
{
	char *ids = path_join(path, ".build-id");
	struct stat st;

	if (!stat(ids, &st) && S_ISDIR(st.st_mode))
		vec_push(&fi->roots, ((struct find_root){ .path = path, .host = host }));
	else
		free(path);
	free(ids);
}

static void add_roots(struct symbolizer *s, struct finder *fi)
{
	const char *const *p;
	const char *home;

	for (p = s->opts.dirs; p && *p; p++) {
		add_root(fi, false, xstrdup(*p));
		add_root(fi, false, path_join(*p, ".debug"));
		add_root(fi, false, path_join(*p, "debug"));
		add_root(fi, false, path_join(*p, "usr/lib/debug"));
	}
	for (p = s->opts.symfs; p && *p; p++) {
		add_root(fi, false, xstrdup(*p));
		add_root(fi, false, path_join(*p, "usr/lib/debug"));
		add_root(fi, false, path_join(*p, "root/.debug"));
	}
	for (p = s->opts.debug_dirs; p && *p; p++)
		add_root(fi, false, xstrdup(*p));
	if (s->opts.offline_only)
		return;
	add_root(fi, true, xstrdup("/usr/lib/debug"));
	home = getenv("HOME");
	if (home && *home) {
		fi->perf_cache = path_join(home, ".debug");
		add_root(fi, true, xstrdup(fi->perf_cache));
	}
}

/* ---- this machine ---- */

size_t find_notes_build_id(const char *path, u8 id[20])
{
	struct file_map map;
	struct cursor c;
	size_t n = 0;

	if (file_map_open(&map, path, 1 << 20, NULL))
		return 0;
	cursor_init(&c, map.p, map.n, false);
	while (!c.bad && cursor_left(&c) >= 12) {
		u32 name_n = cursor_u32(&c), desc_n = cursor_u32(&c), type = cursor_u32(&c);
		const u8 *name, *desc;

		if (name_n > cursor_left(&c) || desc_n > cursor_left(&c))
			break;
		name = cursor_bytes(&c, name_n);
		cursor_skip(&c, -name_n & 3);
		desc = cursor_bytes(&c, desc_n);
		cursor_skip(&c, -desc_n & 3);
		if (name && desc && type == NT_GNU_BUILD_ID && name_n == 4 &&
		    !memcmp(name, "GNU", 4) && desc_n <= 20) {
			memcpy(id, desc, desc_n);
			n = desc_n;
			break;
		}
	}
	file_map_close(&map);
	return n;
}

/* Seconds since 1970 at which this machine was booted, 0 when not known. */
static s64 boot_time(void)
{
	FILE *f = fopen("/proc/stat", "re");
	const char *p;
	char line[4096];
	u64 t = 0;

	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f)) {
		p = line + 6;
		if (str_starts(line, "btime ") && !parse_dec(&p, line + strlen(line), &t))
			break;
	}
	fclose(f);
	return (s64)t;
}

/* Address of a symbol in this machine's /proc/kallsyms; 0: unknown or hidden from us. The reference
 * symbols stand at its beginning. */
static u64 live_symbol(const char *name)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	char line[1024];
	u64 addr = 0;
	int left = 20000;

	if (!f)
		return 0;
	while (left-- && fgets(line, sizeof(line), f)) {
		const char *p = line, *end = line + strcspn(line, "\n");

		if (parse_hex(&p, end, &addr) || end - p < 3 ||
		    (size_t)(end - p - 3) != strlen(name) || memcmp(p + 3, name, strlen(name)))
			addr = 0;
		else
			break;
	}
	fclose(f);
	return addr;
}

const struct find_host *find_host(const struct symbolizer *s)
{
	struct finder *fi = s->finder;
	const struct module *k = &s->modules.v[s->kernel];
	struct find_host *h = &fi->host;
	struct utsname u;
	u64 ref;

	if (fi->host_known)
		return h;
	fi->host_known = true;
	if (s->opts.offline_only || uname(&u))
		return h;
	h->same_host = s->opts.hostname && !strcmp(s->opts.hostname, u.nodename);
	h->same_kernel = h->same_host && s->opts.release && !strcmp(s->opts.release, u.release);
	h->kernel_id_len = (u8)find_notes_build_id("/sys/kernel/notes", h->kernel_id);
	if (h->same_kernel && h->kernel_id_len && k->build_id_len &&
	    !build_ids_equal(h->kernel_id, h->kernel_id_len, k->build_id, k->build_id_len))
		h->same_kernel = false;
	if (h->same_kernel && s->opts.mtime && boot_time() && s->opts.mtime >= boot_time()) {
		ref = k->ref_addr ? live_symbol(strtab_get(s->strings, k->ref_name)) : 0;
		h->same_boot = !ref || ref == k->ref_addr;
	}
	return h;
}

/* ---- files, each opened once ---- */

static char *find_alt(void *ctx, const char *path, const char *name, const u8 *id, size_t n);

struct symfile_opts find_symfile_opts(const struct symbolizer *s)
{
	return (struct symfile_opts){
		.find_alt = find_alt,
		.ctx = (void *)(uintptr_t)s,
		.strings = s->strings,
		.diag = s->diag,
		.no_inline = s->opts.no_inline,
		.no_lines = s->opts.no_lines,
		.raw_names = s->opts.raw_names,
	};
}

static struct symfile *open_file(struct symbolizer *s, const char *path, enum file_kind kind,
				 bool tell)
{
	struct symfile_opts o = find_symfile_opts(s);
	struct finder *fi = s->finder;
	struct find_file ff = { .kind = (u8)kind };
	struct error err = { "" };
	struct stat st;
	size_t i;

	if (stat(path, &st)) {
		if (tell)
			diag_addf(s->diag, DIAG_SYMBOL_FILE, 1, "'%s': cannot open: %s", path,
				  strerror(errno));
		return NULL;
	}
	for (i = 0; i < fi->files.n; i++)
		if (fi->files.v[i].dev == st.st_dev && fi->files.v[i].ino == st.st_ino &&
		    fi->files.v[i].kind == kind)
			return fi->files.v[i].f;
	ff.dev = st.st_dev;
	ff.ino = st.st_ino;
	if (kind == FILE_ELF)
		ff.f = symfile_open_elf(path, &o, &err);
	else if (kind == FILE_KSYMS)
		ff.f = symfile_open_ksyms(path, 0, &o, &err);
	else if (kind == FILE_PERFMAP)
		ff.f = symfile_open_perfmap(path, &o, &err);
	else
		ff.f = symfile_open_jitdump(path, &o, &err);
	if (!ff.f && tell)
		diag_add(s->diag, DIAG_SYMBOL_FILE, 1, err.msg);
	vec_push(&fi->files, ff);
	return ff.f;
}

struct symfile *find_open_elf(struct symbolizer *s, const char *path, bool tell)
{
	return open_file(s, path, FILE_ELF, tell);
}

struct symfile *find_open_ksyms(struct symbolizer *s, const char *path, bool tell)
{
	return open_file(s, path, FILE_KSYMS, tell);
}

void find_add_source(struct module *m, struct symfile *f, s64 bias, bool is_elf)
{
	if (m->src_n < ARRAY_SIZE(m->src))
		m->src[m->src_n++] = (struct source){ .f = f, .bias = bias, .is_elf = is_elf };
}

/* ---- build ids ---- */

bool build_ids_equal(const u8 *a, size_t an, const u8 *b, size_t bn)
{
	size_t n = MIN(an, bn), i;
	const u8 *rest = an > bn ? a : b;

	if (!n || memcmp(a, b, n))
		return false;
	/* perf before 5.11 does not record the length and pads with zeros; it keeps 20 bytes of
	 * longer ones. */
	for (i = n; i < MAX(an, bn); i++)
		if (rest[i])
			return n == 20;
	return true;
}

void find_tell_mismatch(struct symbolizer *s, const char *path, const u8 *file_id, int file_len,
			const u8 *id, size_t len)
{
	char have[65] = "none", want[65];

	if (file_len > 0)
		build_id_hex(file_id, MIN((size_t)file_len, 32), have);
	build_id_hex(id, MIN(len, 32), want);
	diag_addf(s->diag, DIAG_BUILD_ID_MISMATCH, 1, "'%s' has build id %s, recorded was %s", path,
		  have, want);
}

/* The inode that was mapped is still there under its path. */
static bool is_recorded_inode(struct symbolizer *s, const struct module *m, const char *path)
{
	struct stat st;

	if (!m->ino || stat(path, &st) || (u64)st.st_ino != m->ino)
		return false;
	if (major(st.st_dev) == m->maj && minor(st.st_dev) == m->min)
		return true;
	/* overlayfs and btrfs show another device than the kernel records */
	return find_host(s)->same_host;
}

/* `given`: the user named the file or its folder. */
static bool fits(struct symbolizer *s, const struct module *m, const char *path, bool given)
{
	u8 id[32];
	int n = elf_read_build_id(path, id);

	if (n < 0)
		return false;
	if (!m->build_id_len)
		return given || is_recorded_inode(s, m, path);
	if (n > 0 && build_ids_equal(id, (size_t)n, m->build_id, m->build_id_len))
		return true;
	/* That another machine's files are not ours is no news. */
	if (!given && !find_host(s)->same_host)
		return false;
	if (s->opts.force)
		return true;
	find_tell_mismatch(s, path, id, n, m->build_id, m->build_id_len);
	return false;
}

static bool id_at(const char *path, const u8 *id, size_t len)
{
	u8 have[32];
	int n = elf_read_build_id(path, have);

	return n > 0 && build_ids_equal(have, (size_t)n, id, len);
}

static char *by_id_in_roots(struct symbolizer *s, const u8 *id, size_t len, bool debug, bool host)
{
	static const char *const debug_leaf[] = { ".debug", "/debug" };
	/* perf's cache has a folder for each id, older perf a file */
	static const char *const elf_leaf[] = { "/elf", "/vdso", "" };
	const char *const *leaf = debug ? debug_leaf : elf_leaf;
	size_t n = debug ? ARRAY_SIZE(debug_leaf) : ARRAY_SIZE(elf_leaf), i, k;
	struct finder *fi = s->finder;
	char hex[65], *path;

	if (len < 2 || len > 32)
		return NULL;
	build_id_hex(id, len, hex);
	for (i = 0; i < fi->roots.n; i++) {
		if (fi->roots.v[i].host != host)
			continue;
		for (k = 0; k < n; k++) {
			path = xasprintf("%s/.build-id/%.2s/%s%s", fi->roots.v[i].path, hex,
					 hex + 2, leaf[k]);
			if (file_exists(path)) {
				if (id_at(path, id, len))
					return path;
				find_tell_mismatch(s, path, NULL, 0, id, len);
			}
			free(path);
		}
	}
	return NULL;
}

char *find_by_build_id(struct symbolizer *s, const u8 *id, size_t len, bool debug)
{
	char *path = by_id_in_roots(s, id, len, debug, false);

	return path ? path : by_id_in_roots(s, id, len, debug, true);
}

char *find_in_perf_cache(struct symbolizer *s, const char *name, const u8 *id, size_t len,
			 const char *leaf)
{
	struct finder *fi = s->finder;
	const char *const *p;
	char hex[65], *path;

	if (!len || len > 32)
		return NULL;
	build_id_hex(id, len, hex);
	for (p = s->opts.dirs; p && *p; p++) {
		path = xasprintf("%s/%s/%s/%s", *p, name, hex, leaf);
		if (file_exists(path))
			return path;
		free(path);
		path = xasprintf("%s/.debug/%s/%s/%s", *p, name, hex, leaf);
		if (file_exists(path))
			return path;
		free(path);
	}
	for (p = s->opts.symfs; p && *p; p++) {
		path = xasprintf("%s/root/.debug/%s/%s/%s", *p, name, hex, leaf);
		if (file_exists(path))
			return path;
		free(path);
	}
	if (fi->perf_cache) {
		path = xasprintf("%s/%s/%s/%s", fi->perf_cache, name, hex, leaf);
		if (file_exists(path))
			return path;
		free(path);
	}
	return NULL;
}

/* ELF files in the given folders, by build id; made when first asked. */
static void make_folder_index(struct symbolizer *s)
{
	struct finder *fi = s->finder;
	const char *const *p;
	struct find_list l;
	struct find_id e;
	char *path;
	size_t i;
	int n;

	if (fi->ids_known)
		return;
	fi->ids_known = true;
	for (p = s->opts.dirs; p && *p; p++) {
		find_list(&l, *p);
		for (i = 0; i < l.v.n && i < MAX_LIST; i++) {
			path = path_join(*p, l.v.v[i]);
			n = file_exists(path) ? elf_read_build_id(path, e.id) : -1;
			if (n > 0) {
				e.len = (u8)n;
				e.path = path;
				vec_push(&fi->ids, e);
			} else {
				free(path);
			}
		}
		find_list_free(&l);
	}
}

/* The nth file of that build id in the given folders, from 0, or NULL. Borrowed. */
static const char *folder_by_id(struct symbolizer *s, const u8 *id, size_t len, size_t nth)
{
	struct finder *fi = s->finder;
	size_t i;

	if (!len)
		return NULL;
	make_folder_index(s);
	for (i = 0; i < fi->ids.n; i++)
		if (build_ids_equal(fi->ids.v[i].id, fi->ids.v[i].len, id, len) && !nth--)
			return fi->ids.v[i].path;
	return NULL;
}

/* ---- separate debug files ---- */

static bool crc_equals(const char *path, u32 want)
{
	struct file_map map;
	uLong crc;
	size_t at = 0;

	if (file_map_open(&map, path, 0, NULL))
		return false;
	crc = crc32(0, NULL, 0);
	while (at < map.n) {
		uInt k = (uInt)MIN(map.n - at, (size_t)1 << 30);

		crc = crc32(crc, map.p + at, k);
		at += k;
	}
	file_map_close(&map);
	return (u32)crc == want;
}

/* The file that .gnu_debuglink names, when its build id, or lacking that its CRC, is right. */
static bool debuglink_fits(struct symbolizer *s, const struct symfile *f, const char *path, u32 crc)
{
	u8 id[32];
	int n;

	if (!file_exists(path))
		return false;
	n = elf_read_build_id(path, id);
	if (n < 0)
		return false;
	if (n > 0 && f->build_id_len)
		return build_ids_equal(id, (size_t)n, f->build_id, f->build_id_len);
	if (crc_equals(path, crc))
		return true;
	diag_addf(s->diag, DIAG_SYMBOL_FILE, 1, "'%s': not the debug file of '%s' (CRC differs)",
		  path, f->path);
	return false;
}

static char *debuglink_try(struct symbolizer *s, const struct symfile *f, u32 crc, char *path)
{
	if (strcmp(path, f->path) && debuglink_fits(s, f, path, crc))
		return path;
	free(path);
	return NULL;
}

static char *find_debuglink(struct symbolizer *s, const struct module *m, const struct symfile *f)
{
	const char *file = module_filename(s, m), *slash, *link;
	const char *const *p;
	char *path;
	u32 crc;
	int n;

	link = symfile_elf_debuglink(f, &crc);
	/* A name, not a path: what comes from a file does not lead elsewhere. */
	if (!link || !*link || strchr(link, '/'))
		return NULL;
	slash = strrchr(f->path, '/');
	n = slash ? (int)(slash - f->path) : 0;
	path = debuglink_try(s, f, crc,
			     slash ? xasprintf("%.*s/%s", n, f->path, link) : xstrdup(link));
	if (path)
		return path;
	path = debuglink_try(s, f, crc,
			     slash ? xasprintf("%.*s/.debug/%s", n, f->path, link)
				   : xasprintf(".debug/%s", link));
	if (path)
		return path;
	slash = strrchr(file, '/');
	n = slash ? (int)(slash - file) : 0;
	for (p = s->opts.dirs; p && *p; p++) {
		path = debuglink_try(s, f, crc, path_join(*p, link));
		if (path)
			return path;
	}
	for (p = s->opts.symfs; p && *p; p++) {
		path = debuglink_try(s, f, crc,
				     xasprintf("%s/usr/lib/debug%.*s/%s", *p, n, file, link));
		if (path)
			return path;
	}
	for (p = s->opts.debug_dirs; p && *p; p++) {
		path = debuglink_try(s, f, crc, xasprintf("%s%.*s/%s", *p, n, file, link));
		if (path)
			return path;
	}
	if (s->opts.offline_only)
		return NULL;
	return debuglink_try(s, f, crc, xasprintf("/usr/lib/debug%.*s/%s", n, file, link));
}

static char *alt_try(char *path, const u8 *id, size_t n)
{
	if (file_exists(path) && id_at(path, id, n))
		return path;
	free(path);
	return NULL;
}

/* The file of dwz for symfile_opts: by its build id, else by name, below the roots that are given
 * first. */
static char *find_alt(void *ctx, const char *path, const char *name, const u8 *id, size_t n)
{
	struct symbolizer *s = ctx;
	struct find_id used = { .alt = true };
	struct finder *fi = s->finder;
	const char *const *p, *slash = strrchr(path, '/');
	char *found;
	size_t i;

	if (n < 2 || n > sizeof(used.id))
		return NULL;
	found = find_by_build_id(s, id, n, true);
	for (p = s->opts.dirs; p && *p && !found; p++)
		found = alt_try(path_join(*p, path_base(name)), id, n);
	for (p = s->opts.symfs; p && *p && !found && *name == '/'; p++)
		found = alt_try(xasprintf("%s%s", *p, name), id, n);
	if (!found && *name != '/')
		found = alt_try(
			xasprintf("%.*s%s", slash ? (int)(slash - path) + 1 : 0, path, name), id,
			n);
	else if (!found && !s->opts.offline_only)
		found = alt_try(xstrdup(name), id, n);
	if (!found && s->opts.debuginfod)
		found = find_debuginfod(s, id, n, true);
	if (!found)
		return NULL;
	for (i = 0; i < fi->debug_files.n; i++)
		if (!strcmp(fi->debug_files.v[i].path, found))
			return found;
	used.path = xstrdup(found);
	used.len = (u8)n;
	memcpy(used.id, id, n);
	vec_push(&fi->debug_files, used);
	return found;
}

/* Opens a separate debug file that nobody else uses. */
static bool attach(struct symbolizer *s, struct symfile *f, const char *path)
{
	struct symfile_opts o = find_symfile_opts(s);
	struct error err = { "" };
	struct symfile *d;

	d = symfile_open_elf(path, &o, &err);
	if (d && !symfile_elf_add_debug(f, d, &err)) {
		struct find_id used = { .path = xstrdup(path), .len = f->build_id_len };

		memcpy(used.id, f->build_id, f->build_id_len);
		vec_push(&s->finder->debug_files, used);
		return true;
	}
	diag_add(s->diag, DIAG_SYMBOL_FILE, 1, err.msg);
	return false;
}

void find_add_debug(struct symbolizer *s, struct module *m, struct symfile *f, const char *path)
{
	struct finder *fi = s->finder;
	const char *beside;
	char *found = NULL;
	size_t i;

	if (symfile_elf_has_dwarf(f))
		return;
	for (i = 0; i < fi->files.n; i++)
		if (fi->files.v[i].f == f) {
			if (fi->files.v[i].debug_searched)
				return;
			fi->files.v[i].debug_searched = true;
		}
	for (i = 0; f->build_id_len && (beside = folder_by_id(s, f->build_id, f->build_id_len, i));
	     i++)
		if (strcmp(beside, path) && attach(s, f, beside) && symfile_elf_has_dwarf(f))
			return;
	if (f->build_id_len)
		found = find_by_build_id(s, f->build_id, f->build_id_len, true);
	if (!found)
		found = find_debuglink(s, m, f);
	if (!found && s->opts.debuginfod && f->build_id_len)
		found = find_debuginfod(s, f->build_id, f->build_id_len, true);
	if (found)
		attach(s, f, found);
	free(found);
}

/* ---- user files ---- */

/* "/usr/lib/x.so (deleted)": the file that was there. */
static char *plain_name(const char *f)
{
	size_t n = strlen(f);

	if (str_ends(f, " (deleted)"))
		n -= strlen(" (deleted)");
	return xstrndup(f, n);
}

static char *take_if_fits(struct symbolizer *s, struct module *m, char *path, bool given)
{
	if (file_exists(path) && fits(s, m, path, given))
		return path;
	free(path);
	return NULL;
}

/*
 * ROOT/NAME, or with the other name that it has where /bin, /lib and /sbin are links into /usr: a
 * tree that was put together from packages has only one of the two.
 */
static char *take_below(struct symbolizer *s, struct module *m, const char *tree, const char *name)
{
	static const char *const merged[] = { "/bin/",   "/sbin/",  "/lib/",
					      "/lib32/", "/lib64/", "/libx32/" };
	char *path = take_if_fits(s, m, xasprintf("%s%s", tree, name), true);
	bool usr = str_starts(name, "/usr/");
	size_t i;

	for (i = 0; i < ARRAY_SIZE(merged) && !path; i++)
		if (str_starts(name + (usr ? 4 : 0), merged[i]))
			path = take_if_fits(
				s, m,
				xasprintf("%s%s%s", tree, usr ? "" : "/usr", name + (usr ? 4 : 0)),
				true);
	return path;
}

/* The main file: the one with the code. */
static char *find_main(struct symbolizer *s, struct module *m)
{
	char *name = plain_name(module_filename(s, m)), *path = NULL;
	bool is_path = name[0] == '/';
	const char *const *p;
	const char *beside;
	size_t i;

	/* Its separate debug file has the same build id. */
	for (i = 0; !path && (beside = folder_by_id(s, m->build_id, m->build_id_len, i)); i++)
		if (elf_has_code(beside))
			path = xstrdup(beside);
	for (p = s->opts.dirs; p && *p && is_path && !path; p++) {
		path = take_if_fits(s, m, path_join(*p, path_base(name)), true);
		if (!path)
			path = take_below(s, m, *p, name);
	}
	for (p = s->opts.symfs; p && *p && is_path && !path; p++)
		path = take_below(s, m, *p, name);
	if (!path)
		path = by_id_in_roots(s, m->build_id, m->build_id_len, false, false);
	if (!path && is_path && !s->opts.offline_only)
		path = take_if_fits(s, m, xstrdup(name), false);
	if (!path)
		path = by_id_in_roots(s, m->build_id, m->build_id_len, false, true);
	if (!path && s->opts.debuginfod && m->build_id_len)
		path = find_debuginfod(s, m->build_id, m->build_id_len, false);
	free(name);
	return path;
}

/* This process' own vdso is the recording's when the build ids are equal. */
static char *own_vdso(struct symbolizer *s, struct module *m)
{
	struct finder *fi = s->finder;
	const u8 *p = (const u8 *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
	char path[64];
	size_t n, at;
	ssize_t w;

	if (s->opts.offline_only || !m->build_id_len || !p || fi->vdso_fd >= 0)
		return NULL;
	if (p[EI_CLASS] == ELFCLASS64) {
		const Elf64_Ehdr *h = (const void *)p;

		n = h->e_shoff + (size_t)h->e_shnum * h->e_shentsize;
	} else {
		const Elf32_Ehdr *h = (const void *)p;

		n = h->e_shoff + (size_t)h->e_shnum * h->e_shentsize;
	}
	fi->vdso_fd = memfd_create("vdso", MFD_CLOEXEC);
	for (at = 0; fi->vdso_fd >= 0 && at < n; at += (size_t)w) {
		w = write(fi->vdso_fd, p + at, n - at);
		if (w <= 0)
			return NULL;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fi->vdso_fd);
	return fi->vdso_fd >= 0 && id_at(path, m->build_id, m->build_id_len) ? xstrdup(path) : NULL;
}

void find_code(struct symbolizer *s, struct module *m)
{
	if (m->elf_searched)
		return;
	m->elf_searched = true;
	if (m->kind == MODULE_USER || m->kind == MODULE_VDSO)
		m->elf_path = find_main(s, m);
	if (!m->elf_path && m->kind == MODULE_VDSO)
		m->elf_path = own_vdso(s, m);
}

/*
 * A separate debug file alone does not tell which file offset is which address: its own offsets are
 * those of a file without the code.  With GNU ld code lies at the same distance from the start in
 * the file and in memory; what does not fall into the file's code then is not guessed at.
 */
static void find_user(struct symbolizer *s, struct module *m)
{
	const char *beside;
	struct symfile *f;
	u64 first = 0;
	char *debug;

	find_code(s, m);
	f = m->elf_path ? find_open_elf(s, m->elf_path, true) : NULL;
	if (f) {
		find_add_debug(s, m, f, m->elf_path);
		find_add_source(m, f, 0, true);
		return;
	}
	if (!m->build_id_len)
		return;
	beside = folder_by_id(s, m->build_id, m->build_id_len, 0);
	debug = beside ? xstrdup(beside) : find_by_build_id(s, m->build_id, m->build_id_len, true);
	if (!debug && s->opts.debuginfod)
		debug = find_debuginfod(s, m->build_id, m->build_id_len, true);
	f = debug ? find_open_elf(s, debug, true) : NULL;
	if (f && elf_first_vaddr(debug, &first)) {
		m->debug_only = true;
		find_add_source(m, f, -(s64)first, true);
	}
	free(debug);
}

/*
 * What a JIT compiler wrote belongs to one process of one boot: it is taken from the given folders,
 * or from its place on this machine when the recording was made here since the machine was booted.
 * As perf does, only a file of root or of the user is taken there.
 */
static void find_jit_file(struct symbolizer *s, struct module *m, const char *name,
			  enum file_kind kind)
{
	const char *const *p;
	struct symfile *f = NULL;
	struct stat st;
	char *path;

	for (p = s->opts.dirs; p && *p && !f; p++) {
		path = path_join(*p, path_base(name));
		if (file_exists(path))
			f = open_file(s, path, kind, true);
		free(path);
		path = f ? NULL : xasprintf("%s%s", *p, name);
		if (path && file_exists(path))
			f = open_file(s, path, kind, true);
		free(path);
	}
	for (p = s->opts.symfs; p && *p && !f; p++) {
		path = xasprintf("%s%s", *p, name);
		if (file_exists(path))
			f = open_file(s, path, kind, true);
		free(path);
	}
	if (!f && find_host(s)->same_boot && !lstat(name, &st) && S_ISREG(st.st_mode) &&
	    (!st.st_uid || st.st_uid == geteuid()))
		f = open_file(s, name, kind, true);
	if (f)
		find_add_source(m, f, 0, false);
}

/* A jitdump tells more than the map, which may tell of code that was made before the dump was
 * begun. */
static void find_jit(struct symbolizer *s, struct module *m)
{
	char map[64], *dump;

	if (m->jitdump) {
		dump = plain_name(strtab_get(s->strings, m->jitdump));
		find_jit_file(s, m, dump, FILE_JITDUMP);
		free(dump);
	}
	snprintf(map, sizeof(map), "/tmp/perf-%" PRIu32 ".map", m->pid);
	find_jit_file(s, m, map, FILE_PERFMAP);
}

void find_module(struct symbolizer *s, struct module *m)
{
	switch (m->kind) {
	case MODULE_USER:
	case MODULE_VDSO: find_user(s, m); break;
	case MODULE_JIT: find_jit(s, m); break;
	case MODULE_KERNEL: find_kernel(s, m); break;
	case MODULE_KMOD: find_kmod(s, m); break;
	case MODULE_HV: find_hv(s, m); break;
	case MODULE_GUEST: find_guest(s, m); break;
	case MODULE_NONE: break;
	}
}

void find_late_build_id(struct symbolizer *s, struct module *m, const u8 *id, size_t len)
{
	const struct symfile *f = m->src_n && m->src[0].is_elf ? m->src[0].f : NULL;
	char have[65] = "none", want[65];

	if (!f || m->kind == MODULE_HV || build_ids_equal(f->build_id, f->build_id_len, id, len))
		return;
	if (f->build_id_len)
		build_id_hex(f->build_id, f->build_id_len, have);
	build_id_hex(id, len, want);
	diag_addf(s->diag, DIAG_SYMBOL_FILE, 1,
		  "'%s' was used, but its build id is %s, not the recorded one, which came at the "
		  "recording's end: %s",
		  f->path, have, want);
}

struct finder *finder_new(struct symbolizer *s)
{
	struct finder *fi = xcalloc(1, sizeof(*fi));

	fi->vdso_fd = -1;
	add_roots(s, fi);
	return fi;
}

void finder_free(struct finder *fi)
{
	size_t i;

	for (i = 0; i < fi->files.n; i++)
		symfile_free(fi->files.v[i].f);
	vec_release(&fi->files);
	for (i = 0; i < fi->roots.n; i++)
		free(fi->roots.v[i].path);
	vec_release(&fi->roots);
	for (i = 0; i < fi->ids.n; i++)
		free(fi->ids.v[i].path);
	for (i = 0; i < fi->debug_files.n; i++)
		free(fi->debug_files.v[i].path);
	vec_release(&fi->debug_files);
	vec_release(&fi->ids);
	free(fi->perf_cache);
	if (fi->vdso_fd >= 0)
		close(fi->vdso_fd);
	find_debuginfod_end(fi);
	free(fi);
}
