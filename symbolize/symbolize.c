/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The public face: modules and mappings as the recording tells them, and the cache of answers. */
#include "symbolize/internal.h"

/* Xen on x86-64 is linked into a GiB of its own (asm-x86/config.h; symbols.md A3):
 * 0xffff82d080000000, since 4.14 0xffff82d040000000. */
#define XEN_WINDOW_SIZE 0x40000000ULL
/* Per-CPU stub pages and the executable fixmap end that GiB: at most 4095 CPUs and a few pages. */
#define XEN_STUBS_SIZE (17ULL << 20)

/* Key of answers for names of KSYMBOL records, which are no module. */
#define WHAT_KSYMBOL (UINT32_MAX - 1)

/* ---- options ---- */

static const char *own_str(struct symbolizer *s, const char *str)
{
	char *copy;

	if (!str)
		return NULL;
	copy = xstrdup(str);
	vec_push(&s->own, copy);
	return copy;
}

static const char *const *own_list(struct symbolizer *s, const char *const *list)
{
	const char **copy;
	size_t n = 0, i;

	if (!list)
		return NULL;
	while (list[n])
		n++;
	copy = xcalloc(n + 1, sizeof(*copy));
	for (i = 0; i < n; i++)
		copy[i] = own_str(s, list[i]);
	vec_push(&s->own, (char *)copy);
	return copy;
}

static void own_opts(struct symbolizer *s, const struct sym_opts *o)
{
	s->opts = *o;
	s->opts.dirs = own_list(s, o->dirs);
	s->opts.symfs = own_list(s, o->symfs);
	s->opts.debug_dirs = own_list(s, o->debug_dirs);
	s->opts.xen_syms = own_str(s, o->xen_syms);
	s->opts.kallsyms = own_str(s, o->kallsyms);
	s->opts.vmlinux = own_str(s, o->vmlinux);
	s->opts.guest_kallsyms = own_str(s, o->guest_kallsyms);
	s->opts.hostname = own_str(s, o->hostname);
	s->opts.release = own_str(s, o->release);
	if (s->opts.xen_build_id_len > sizeof(s->opts.xen_build_id))
		s->opts.xen_build_id_len = 0;
}

/* ---- modules ---- */

/* Memory that is no file: what is executed there was made by a JIT compiler (perf's
 * is_anon_memory() and the like). */
static bool name_is_anon(const char *f)
{
	static const char *const prefix[] = {
		"//anon",  "/dev/zero", "/anon_hugepage", "/SYSV",
		"/memfd:", "[heap]",    "[stack",         "[anon",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(prefix); i++)
		if (str_starts(f, prefix[i]))
			return true;
	return !*f;
}

static bool name_is_ko(const char *f)
{
	const char *ko = strstr(path_base(f), ".ko");

	return ko && (!ko[3] || ko[3] == '.');
}

static enum module_kind kind_of(enum space space, const char *f)
{
	switch (space) {
	case SPACE_HV: return MODULE_HV;
	case SPACE_KERNEL:
		if (str_starts(f, "[kernel") || (f[0] != '[' && !name_is_ko(f)))
			return MODULE_KERNEL;
		return MODULE_KMOD;
	case SPACE_GUEST_KERNEL: return MODULE_GUEST;
	case SPACE_USER:
		if (str_starts(f, "[vdso"))
			return MODULE_VDSO;
		if (name_is_anon(f))
			return MODULE_JIT;
		/* [vsyscall], [uprobes] */
		return f[0] == '[' ? MODULE_NONE : MODULE_USER;
	default: return MODULE_NONE;
	}
}

static str_id module_name(struct strtab *st, enum space space, const char *f)
{
	char name[128];
	size_t i, n;

	switch (kind_of(space, f)) {
	case MODULE_HV: return strtab_adds(st, "xen-syms");
	case MODULE_KERNEL: return strtab_adds(st, "[kernel.kallsyms]");
	case MODULE_KMOD:
		if (f[0] == '[')
			return strtab_adds(st, f);
		/* "/lib/modules/6.1/kernel/net/nf-tables.ko.xz" is "[nf_tables]", as in
		 * /proc/modules */
		f = path_base(f);
		n = MIN((size_t)(strstr(f, ".ko") - f), sizeof(name));
		for (i = 0; i < n; i++)
			name[i] = f[i] == '-' ? '_' : f[i];
		return strtab_addf(st, "[%.*s]", (int)n, name);
	case MODULE_JIT: return strtab_adds(st, *f ? f : "//anon");
	case MODULE_GUEST: return strtab_adds(st, *f ? path_base(f) : "guest");
	default: return strtab_adds(st, *path_base(f) ? path_base(f) : f);
	}
}

str_id sym_module_name(struct symbolizer *s, enum space space, const char *filename)
{
	return module_name(s->strings, space, filename);
}

struct module_key {
	const struct symbolizer *s;
	enum module_kind kind;
	u8 space;
	u32 pid;
	str_id filename;
	u32 maj, min;
	u64 ino;
	const u8 *build_id;
	size_t build_id_len;
};

static bool module_eq(const void *ctx, u32 id, const void *key)
{
	const struct symbolizer *s = ctx;
	const struct module *m = &s->modules.v[id];
	const struct module_key *k = key;

	return m->filename == k->filename && m->kind == k->kind && m->space == k->space &&
	       m->pid == k->pid && m->maj == k->maj && m->min == k->min && m->ino == k->ino &&
	       m->build_id_len == k->build_id_len &&
	       !memcmp(m->build_id, k->build_id, k->build_id_len);
}

static bool name_eq(const void *ctx, u32 id, const void *key)
{
	return ((const struct symbolizer *)ctx)->modules.v[id].filename == *(const str_id *)key;
}

/* The first module of that filename, the others behind it by same_name; INDEX_NONE: none. */
static u32 module_by_name(const struct symbolizer *s, str_id filename)
{
	return index_find(&s->name_index, hash_u64(filename), name_eq, s, &filename);
}

static bool build_id_eq(const void *ctx, u32 id, const void *key)
{
	return ((const struct symbolizer *)ctx)->build_ids.v[id].filename == *(const str_id *)key;
}

static const struct known_build_id *known_build_id(const struct symbolizer *s, str_id filename)
{
	u32 id = index_find(&s->build_id_index, hash_u64(filename), build_id_eq, s, &filename);

	return id == INDEX_NONE ? NULL : &s->build_ids.v[id];
}

static u32 module_new(struct symbolizer *s, const struct module_key *k)
{
	u32 first = module_by_name(s, k->filename);
	struct module m = {
		.kind = k->kind,
		.space = k->space,
		.pid = k->pid,
		.filename = k->filename,
		.maj = k->maj,
		.min = k->min,
		.ino = k->ino,
		.start = UINT64_MAX,
		.build_id_len = (u8)k->build_id_len,
		.same_name = INDEX_NONE,
	};

	m.name = module_name(s->strings, k->space, strtab_get(s->strings, k->filename));
	if (k->build_id_len)
		memcpy(m.build_id, k->build_id, k->build_id_len);
	if (first == INDEX_NONE) {
		index_add(&s->name_index, hash_u64(k->filename), (u32)s->modules.n);
	} else {
		m.same_name = s->modules.v[first].same_name;
		s->modules.v[first].same_name = (u32)s->modules.n;
	}
	vec_push(&s->modules, m);
	return (u32)(s->modules.n - 1);
}

/*
 * The module of a mapping.  A file is known by its name and build id; without a build id
 * by its name and inode, so that two files of one name in two containers are kept apart.
 */
static u32 module_get(struct symbolizer *s, enum space space, u32 pid,
		      const struct sym_mapping *map)
{
	struct module_key k = {
		.s = s,
		.kind = kind_of(space, map->filename),
		.space = (u8)space,
		.filename = strtab_adds(s->strings, map->filename),
		.build_id = map->build_id,
		.build_id_len = map->build_id_len,
	};
	const struct known_build_id *known;
	u64 hash;
	u32 id;

	if (k.build_id_len > sizeof(s->modules.v->build_id) || !k.build_id)
		k.build_id_len = 0;
	known = k.build_id_len ? NULL : known_build_id(s, k.filename);
	if (known) {
		k.build_id = known->id;
		k.build_id_len = known->len;
	}
	if (!k.build_id_len) {
		k.maj = map->maj;
		k.min = map->min;
		k.ino = map->ino;
		k.build_id = (const u8 *)"";
	}
	if (k.kind == MODULE_JIT || k.kind == MODULE_GUEST)
		k.pid = pid;
	hash = hash_bytes(k.build_id, k.build_id_len, k.filename ^ (u64)k.pid << 32) ^
	       hash_u64(k.ino);
	id = index_find(&s->module_index, hash, module_eq, s, &k);
	if (id != INDEX_NONE)
		return id;
	id = module_new(s, &k);
	index_add(&s->module_index, hash, id);
	return id;
}

static u32 module_fixed(struct symbolizer *s, enum module_kind kind, enum space space,
			const char *filename, const char *name)
{
	struct module_key k = {
		.s = s,
		.kind = kind,
		.space = (u8)space,
		.filename = strtab_adds(s->strings, filename),
	};
	u32 id = module_new(s, &k);

	s->modules.v[id].name = strtab_adds(s->strings, name);
	return id;
}

static void module_set_build_id(struct symbolizer *s, struct module *m, const u8 *id, size_t len)
{
	if (m->build_id_len || !len || len > sizeof(m->build_id))
		return;
	memcpy(m->build_id, id, len);
	m->build_id_len = (u8)len;
	if (m->searched)
		find_late_build_id(s, m, id, len);
}

static u32 answer_add(struct symbolizer *s, const struct frame *frames, size_t n)
{
	struct frame *copy = arena_alloc(&s->arena, n * sizeof(*copy));

	memcpy(copy, frames, n * sizeof(*copy));
	vec_push(&s->answers, ((struct answer){ .frames = copy, .n = (u32)n }));
	return (u32)(s->answers.n - 1);
}

struct symbolizer *sym_new(const struct sym_opts *opts, struct strtab *strings, struct diag *diag)
{
	struct symbolizer *s = xcalloc(1, sizeof(*s));
	size_t i;

	own_opts(s, opts);
	s->strings = strings;
	s->diag = diag;
	spaces_init(&s->spaces);
	s->spaces.drop_unwinder = unwinder_drop;
	index_init(&s->module_index);
	index_init(&s->name_index);
	index_init(&s->build_id_index);
	index_init(&s->marker_index);
	arena_init(&s->arena);
	s->finder = finder_new(s);
	s->unwinders = unwinders_new(s);
	s->kernel = module_fixed(s, MODULE_KERNEL, SPACE_KERNEL, "[kernel.kallsyms]",
				 "[kernel.kallsyms]");
	s->hv = module_fixed(s, MODULE_HV, SPACE_HV, "xen-syms", "xen-syms");
	s->guest = module_fixed(s, MODULE_GUEST, SPACE_GUEST_KERNEL, "[guest.kernel.kallsyms]",
				"[guest.kernel.kallsyms]");
	s->guest_user = module_fixed(s, MODULE_NONE, SPACE_GUEST_USER, "[guest user]",
				     "[guest user]");
	s->unknown = module_fixed(s, MODULE_NONE, SPACE_USER, "[unknown]", "[unknown]");
	if (s->opts.xen_build_id_len)
		module_set_build_id(s, &s->modules.v[s->hv], s->opts.xen_build_id,
				    s->opts.xen_build_id_len);

	/* Answer number i is the broken stack of space i. */
	for (i = 0; i < SPACE_NR; i++) {
		struct frame f = {
			.function = strtab_adds(strings, "[broken stack]"),
			.module = strtab_adds(strings, "[unknown]"),
			.space = (u8)i,
			.flags = FRAME_BROKEN,
		};

		answer_add(s, &f, 1);
	}
	return s;
}

void sym_free(struct symbolizer *s)
{
	size_t i;

	if (!s)
		return;
	spaces_release(&s->spaces);
	unwinders_free(s->unwinders);
	for (i = 0; i < s->modules.n; i++) {
		module_release_elf(&s->modules.v[i]);
		free(s->modules.v[i].elf_path);
	}
	finder_free(s->finder);
	vec_release(&s->modules);
	index_release(&s->module_index);
	index_release(&s->name_index);
	index_release(&s->build_id_index);
	index_release(&s->marker_index);
	vec_release(&s->markers);
	vec_release(&s->build_ids);
	vec_release(&s->answers);
	vec_release(&s->scratch.frames);
	vec_release(&s->infos);
	free(s->cache);
	arena_release(&s->arena);
	for (i = 0; i < s->own.n; i++)
		free(s->own.v[i]);
	vec_release(&s->own);
	free(s);
}

/* ---- what the recording says ---- */

static void too_many(struct symbolizer *s, const char *what, const char *of)
{
	diag_addf(s->diag, DIAG_BAD_RECORD, 1, "more than %d %s of one %s, or %zu of all",
		  MM_MAX_MAPS, what, of, MM_MAX_HELD);
}

/* A kernel's mapping: "[kernel.kallsyms]_text" names its reference symbol, pgoff is where that was.
 */
static void map_kernel(struct symbolizer *s, const struct sym_mapping *map, struct mapping *out)
{
	bool guest = map->space == SPACE_GUEST_KERNEL;
	const char *end = strchr(map->filename, ']');
	struct sym_mapping plain = *map;
	struct module *m;
	char name[256];

	if (map->filename[0] == '[' && end && end[1]) {
		snprintf(name, sizeof(name), "%.*s", (int)(end + 1 - map->filename), map->filename);
		plain.filename = name;
	}
	if (kind_of(map->space, plain.filename) == MODULE_KERNEL)
		out->module = s->kernel;
	else
		out->module = module_get(s, map->space, map->pid, &plain);
	m = &s->modules.v[out->module];
	module_set_build_id(s, m, map->build_id, map->build_id ? map->build_id_len : 0);
	m->start = MIN(m->start, out->start);
	if ((out->module == s->kernel || guest) && !m->ref_addr && map->pgoff && end && end[1] &&
	    !m->searched) {
		m->ref_name = strtab_adds(s->strings, end + 1);
		m->ref_addr = map->pgoff;
		if (guest && !s->modules.v[s->guest].ref_addr) {
			s->modules.v[s->guest].ref_name = m->ref_name;
			s->modules.v[s->guest].ref_addr = m->ref_addr;
		}
	}
}

static bool marker_eq(const void *ctx, u32 id, const void *key)
{
	return ((const struct symbolizer *)ctx)->markers.v[id].pid == *(const u32 *)key;
}

static str_id jit_marker(const struct symbolizer *s, u32 pid)
{
	u32 id = index_find(&s->marker_index, hash_u64(pid), marker_eq, s, &pid);

	return id == INDEX_NONE ? 0 : s->markers.v[id].filename;
}

static void set_jit_marker(struct symbolizer *s, u32 pid, str_id filename)
{
	u32 id = index_find(&s->marker_index, hash_u64(pid), marker_eq, s, &pid);

	if (id != INDEX_NONE) {
		s->markers.v[id].filename = filename;
	} else if (filename) {
		index_add(&s->marker_index, hash_u64(pid), (u32)s->markers.n);
		vec_push(&s->markers, ((struct jit_marker){ pid, filename }));
	}
}

/* "/any/where/jit-123.dump" */
static bool name_is_jitdump(const char *f)
{
	const char *name = path_base(f), *p = name + 4;
	u64 pid;

	return *f == '/' && str_starts(name, "jit-") && !parse_dec(&p, name + strlen(name), &pid) &&
	       (!strcmp(p, ".dump") || !strcmp(p, ".dump (deleted)"));
}

void sym_map(struct symbolizer *s, const struct sym_mapping *map)
{
	struct mapping m = { .start = map->addr, .end = map->addr + map->len, .pgoff = map->pgoff };
	enum mm_class class = MM_HOST;

	if (!map->len)
		return;
	if (m.end < m.start)
		m.end = UINT64_MAX;
	if (map->space == SPACE_HV) {
		if (map->build_id)
			module_set_build_id(s, &s->modules.v[s->hv], map->build_id,
					    map->build_id_len);
		return;
	}
	if (map->pid == SYM_KERNEL_PID && map->space != SPACE_GUEST_KERNEL) {
		struct sym_mapping k = *map;

		k.space = SPACE_KERNEL;
		map_kernel(s, &k, &m);
		if (!spaces_map_kernel(&s->spaces, &m))
			too_many(s, "mappings", "kernel");
		return;
	}
	if (map->space == SPACE_GUEST_KERNEL) {
		map_kernel(s, map, &m);
		class = MM_GUEST_KERNEL;
	} else if (map->space == SPACE_GUEST_USER) {
		m.module = module_get(s, map->space, map->pid, map);
		class = MM_GUEST_USER;
	} else {
		m.module = module_get(s, SPACE_USER, map->pid, map);
		if (name_is_jitdump(map->filename))
			set_jit_marker(s, map->pid, s->modules.v[m.module].filename);
	}
	if (!spaces_map(&s->spaces, class, map->pid, &m, s->modules.v[m.module].kind == MODULE_JIT))
		too_many(s, "mappings", "process");
}

void sym_build_id(struct symbolizer *s, const char *filename, const u8 *id, size_t len)
{
	str_id name = strtab_adds(s->strings, filename);
	struct known_build_id b = { .filename = name, .len = (u8)len };
	u32 i;

	if (!len || len > sizeof(b.id))
		return;
	if (str_starts(filename, "[xen") || str_starts(filename, "[hypervisor") ||
	    str_starts(path_base(filename), "xen-syms"))
		module_set_build_id(s, &s->modules.v[s->hv], id, len);
	if (known_build_id(s, name))
		return;
	memcpy(b.id, id, len);
	index_add(&s->build_id_index, hash_u64(name), (u32)s->build_ids.n);
	vec_push(&s->build_ids, b);
	for (i = module_by_name(s, name); i != INDEX_NONE; i = s->modules.v[i].same_name)
		if (s->modules.v[i].kind != MODULE_HV)
			module_set_build_id(s, &s->modules.v[i], id, len);
}

void sym_fork(struct symbolizer *s, u32 pid, u32 ppid)
{
	if (pid != ppid)
		set_jit_marker(s, pid, 0);
	if (!spaces_fork(&s->spaces, pid, ppid))
		too_many(s, "mappings", "process");
}

void sym_exec(struct symbolizer *s, u32 pid)
{
	set_jit_marker(s, pid, 0);
	spaces_exec(&s->spaces, pid);
}

void sym_exit(struct symbolizer *s, u32 pid)
{
	spaces_exit(&s->spaces, pid);
}

void sym_ksymbol(struct symbolizer *s, u64 addr, u32 len, const char *name, bool unregister)
{
	if (!spaces_ksymbol(&s->spaces, addr, len, strtab_adds(s->strings, name), unregister))
		too_many(s, "run-time symbols", "kernel");
}

u64 sym_generation(const struct symbolizer *s, u32 pid)
{
	return spaces_generation(&s->spaces, pid);
}

/* ---- resolving ---- */

static struct cache_slot *cache_slot(struct symbolizer *s, u64 addr, u32 what)
{
	size_t i = hash_u64(addr ^ (u64)what << 32) & (s->cache_size - 1);

	while (s->cache[i].answer && (s->cache[i].addr != addr || s->cache[i].what != what))
		i = (i + 1) & (s->cache_size - 1);
	return &s->cache[i];
}

static void cache_grow(struct symbolizer *s)
{
	struct cache_slot *old = s->cache;
	size_t n = s->cache_size, i;

	if (s->cache_n * 3 < n * 2)
		return;
	s->cache_size = n ? n * 2 : 1024;
	s->cache = xcalloc(s->cache_size, sizeof(*s->cache));
	for (i = 0; i < n; i++)
		if (old[i].answer)
			*cache_slot(s, old[i].addr, old[i].what) = old[i];
	free(old);
}

/* Whether an address lies where the hypervisor's code can be. */
static bool hv_may_resolve(const struct source *src, u64 addr)
{
	if (space_is_hv_reserved(addr) && !space_is_hv_text(addr))
		return false;
	return addr >= src->f->text_start && addr < src->f->text_end;
}

/* Looks `la` up in one source. Frames are in s->scratch. */
static bool source_lookup(struct symbolizer *s, struct module *m, const struct source *src, u64 la)
{
	u64 addr = la - (u64)src->bias;

	switch (m->kind) {
	case MODULE_USER:
	case MODULE_VDSO:
		if (m->debug_only ? addr < src->f->text_start || addr >= src->f->text_end
				  : symfile_elf_offset_to_vaddr(src->f, la, &addr))
			return false;
		break;
	case MODULE_HV:
		if (!hv_may_resolve(src, addr))
			return false;
		break;
	case MODULE_KERNEL:
	case MODULE_KMOD:
	case MODULE_GUEST:
		if (addr < src->f->text_start || addr >= src->f->text_end)
			return false;
		break;
	default: break;
	}
	if (!symfile_lookup(src->f, addr, &s->scratch))
		return false;
	if (!src->is_elf && src->core_only && symfile_ksyms_module(src->f, addr)) {
		s->scratch.frames.n = 0;
		return false;
	}
	return true;
}

static u32 unresolved(struct symbolizer *s, struct module *m, u64 addr, u64 la)
{
	struct frame f = { .module = m->name, .space = m->space, .flags = FRAME_UNRESOLVED };
	const char *name = strtab_get(s->strings, m->name);
	size_t n = strtab_len(s->strings, m->name);
	u64 off = addr;

	if (m->kind == MODULE_HV) {
		name = "xen";
		n = 3;
		if (space_is_hv_text(la)) {
			u64 base = la & ~(XEN_WINDOW_SIZE - 1);

			off = addr - base;
			if (la - base >= XEN_WINDOW_SIZE - XEN_STUBS_SIZE) {
				f.function = strtab_adds(s->strings, "[xen stubs]");
				f.flags = 0;
			} else if (m->image_end && la >= m->image_end) {
				f.function = strtab_adds(s->strings, "[livepatch]");
				f.flags = 0;
			}
		} else if (space_is_hv_reserved(la)) {
			f.function = strtab_adds(s->strings, "[xen data?]");
			f.flags = FRAME_DOUBTFUL;
		}
	} else if (m->kind == MODULE_KMOD && addr >= m->start) {
		/* The kernel's own keep the address as perf, System.map and crash dumps have it. */
		off = addr - m->start;
	}
	if (n > 2 && name[0] == '[' && name[n - 1] == ']') {
		name++;
		n -= 2;
	}
	if (!f.function)
		f.function = strtab_addf(s->strings, "[%.*s+0x%" PRIx64 "]", (int)n, name, off);
	return answer_add(s, &f, 1);
}

static u32 resolve_new(struct symbolizer *s, u32 module, u64 addr, bool ret)
{
	struct module *m = &s->modules.v[module];
	u64 la = addr - ret;
	str_id name = m->name, marker = m->kind == MODULE_JIT ? jit_marker(s, m->pid) : 0;
	size_t i;

	if (!m->searched || m->jitdump != marker) {
		m->jitdump = marker;
		m->src_n = 0;
		m->searched = true;
		find_module(s, m);
	}
	s->scratch.frames.n = 0;
	for (i = 0; i < m->src_n; i++)
		if (source_lookup(s, m, &m->src[i], la))
			break;
	if (!s->scratch.frames.n) {
		m->unresolved++;
		return unresolved(s, m, addr, la);
	}
	m->resolved++;
	if (m->kind == MODULE_KERNEL && !m->src[i].is_elf &&
	    symfile_ksyms_module(m->src[i].f, la - (u64)m->src[i].bias))
		name = symfile_ksyms_module(m->src[i].f, la - (u64)m->src[i].bias);
	else if (m->kind == MODULE_JIT)
		name = strtab_adds(s->strings, path_base(m->src[i].f->path));
	for (i = 0; i < s->scratch.frames.n; i++) {
		struct frame *f = &s->scratch.frames.v[i];

		f->module = name;
		f->space = m->space;
		if (m->kind == MODULE_JIT)
			f->flags |= FRAME_JIT;
	}
	return answer_add(s, s->scratch.frames.v, s->scratch.frames.n);
}

static u32 resolve_in(struct symbolizer *s, u32 module, u64 addr, bool ret)
{
	u32 what = module << 1 | ret;
	struct cache_slot *slot;

	cache_grow(s);
	slot = cache_slot(s, addr, what);
	if (!slot->answer) {
		u32 answer = resolve_new(s, module, addr, ret);

		slot->addr = addr;
		slot->what = what;
		slot->answer = answer + 1;
		s->cache_n++;
	}
	return slot->answer - 1;
}

static u32 resolve_ksymbol(struct symbolizer *s, str_id name)
{
	struct cache_slot *slot;

	cache_grow(s);
	slot = cache_slot(s, name, WHAT_KSYMBOL);
	if (!slot->answer) {
		/* perf shows the program's name as its module, too */
		struct frame f = { .function = name, .module = name, .space = SPACE_KERNEL };

		slot->addr = name;
		slot->what = WHAT_KSYMBOL;
		slot->answer = answer_add(s, &f, 1) + 1;
		s->cache_n++;
	}
	return slot->answer - 1;
}

/* Whether an address can be the kernel's at all: the upper half of the address space, and not the
 * last pages (error values). */
static bool is_kernel_address(u64 addr)
{
	return addr >> 63 && addr < (u64)-4095;
}

static u32 resolve_kernel(struct symbolizer *s, u64 addr, bool ret)
{
	const struct mapping *m = mm_find(&s->spaces.ksymbols, addr - ret);

	if (m && m->module)
		return resolve_ksymbol(s, m->module);
	m = mm_find(&s->spaces.kernel, addr - ret);
	if (m)
		return resolve_in(s, m->module, addr, ret);
	/* 32-bit kernels have their mapping below; anything else there is garbage or a user
	 * address. */
	if (!is_kernel_address(addr))
		return SPACE_KERNEL;
	/* Modules and BPF programs of which the recording does not tell the place: kallsyms may
	 * know them. */
	return resolve_in(s, s->kernel, addr, ret);
}

static u32 resolve_mapped(struct symbolizer *s, const struct mapping *m, u64 addr, bool ret)
{
	enum module_kind kind = s->modules.v[m->module].kind;

	if (kind == MODULE_USER || kind == MODULE_VDSO || kind == MODULE_NONE)
		addr = addr - m->start + m->pgoff;
	return resolve_in(s, m->module, addr, ret);
}

/* JIT modules are known by pid: a child, which has its parent's mappings, gets its own when it is
 * asked for. */
static u32 own_jit(struct symbolizer *s, u32 module, u32 pid)
{
	const struct module *m = &s->modules.v[module];
	struct sym_mapping map = {
		.filename = module_filename(s, m),
		.maj = m->maj,
		.min = m->min,
		.ino = m->ino,
	};

	return m->pid == pid ? module : module_get(s, SPACE_USER, pid, &map);
}

static u32 resolve_user(struct symbolizer *s, u32 pid, u64 addr, bool ret)
{
	const struct mm *mm = spaces_mm(&s->spaces, MM_HOST, pid);
	const struct mapping *m;

	/* Nothing is known of the process: that does not make its addresses broken. */
	if (!mm)
		return resolve_in(s, s->unknown, addr, ret);
	m = mm_find(mm, addr - ret);
	if (!m)
		return SPACE_USER;
	if (s->modules.v[m->module].kind == MODULE_JIT)
		return resolve_in(s, own_jit(s, m->module, pid), addr, ret);
	return resolve_mapped(s, m, addr, ret);
}

static u32 resolve_guest(struct symbolizer *s, enum mm_class class, u32 pid, u64 addr, bool ret)
{
	const struct mm *mm = spaces_mm(&s->spaces, class, pid);
	const struct mapping *m = mm ? mm_find(mm, addr - ret) : NULL;

	/* perf's guest without a process of its own has pid 0 (DEFAULT_GUEST_KERNEL_ID). */
	if (!m) {
		mm = spaces_mm(&s->spaces, class, 0);
		m = mm ? mm_find(mm, addr - ret) : NULL;
	}
	if (m)
		return resolve_mapped(s, m, addr, ret);
	if (class == MM_GUEST_KERNEL)
		return resolve_in(s, s->guest, addr, ret);
	return resolve_in(s, s->guest_user, addr, ret);
}

u32 sym_answer(struct symbolizer *s, enum space space, u32 pid, u64 addr, enum addr_kind kind)
{
	bool ret = kind == ADDR_RETURN && addr;

	switch (space) {
	case SPACE_HV: return resolve_in(s, s->hv, addr, ret);
	case SPACE_KERNEL: return resolve_kernel(s, addr, ret);
	case SPACE_USER: return resolve_user(s, pid, addr, ret);
	case SPACE_GUEST_KERNEL: return resolve_guest(s, MM_GUEST_KERNEL, pid, addr, ret);
	case SPACE_GUEST_USER: return resolve_guest(s, MM_GUEST_USER, pid, addr, ret);
	default: return SPACE_NONE;
	}
}

size_t sym_answer_frames(const struct symbolizer *s, u32 answer, const struct frame **frames)
{
	*frames = s->answers.v[answer].frames;
	return s->answers.v[answer].n;
}

size_t sym_resolve(struct symbolizer *s, enum space space, u32 pid, u64 addr, enum addr_kind kind,
		   const struct frame **frames)
{
	return sym_answer_frames(s, sym_answer(s, space, pid, addr, kind), frames);
}

size_t sym_resolve_in_file(struct symbolizer *s, enum space space, const char *filename, u64 off,
			   enum addr_kind kind, const struct frame **frames)
{
	struct sym_mapping map = { .filename = filename };
	str_id name = strtab_adds(s->strings, filename);
	bool ret = kind == ADDR_RETURN && off;
	u32 module;

	if (space == SPACE_HV || space == SPACE_KERNEL || space == SPACE_GUEST_KERNEL)
		return sym_resolve(s, space, 0, off, kind, frames);
	module = module_by_name(s, name);
	while (module != INDEX_NONE && s->modules.v[module].space != space)
		module = s->modules.v[module].same_name;
	if (module == INDEX_NONE)
		module = module_get(s, space, 0, &map);
	return sym_answer_frames(s, resolve_in(s, module, off, ret), frames);
}

str_id sym_display_name(struct symbolizer *s, str_id raw)
{
	return demangle(s->strings, raw, s->opts.raw_names);
}

/* ---- the hypervisor's code ---- */

/*
 * Whether the n bytes before a return address are a call of that length through a register or
 * memory (FF /2, with REX.B for r8-r15; Intel SDM volume 2, CALL).
 */
static bool is_indirect_call(const u8 *p, size_t n)
{
	u8 mod, rm;
	size_t len;

	if (n > 2 && (p[0] & 0xf0) == 0x40) {
		p++;
		n--;
	}
	if (n < 2 || p[0] != 0xff || (p[1] >> 3 & 7) != 2)
		return false;
	mod = p[1] >> 6;
	rm = p[1] & 7;
	len = 2;
	if (mod != 3 && rm == 4) {
		if (n < 3)
			return false;
		len = 3;
		if (mod == 0 && (p[2] & 7) == 5)
			len += 4;
	}
	if (mod == 0 && rm == 5)
		len += 4;
	else if (mod == 1)
		len += 1;
	else if (mod == 2)
		len += 4;
	return len == n;
}

bool sym_hv_is_return(struct symbolizer *s, u64 addr)
{
	struct module *m = &s->modules.v[s->hv];
	struct symfile *f;
	const u8 *p;
	size_t i, n;
	u64 target;
	s64 rel;

	if (!m->searched) {
		m->searched = true;
		find_module(s, m);
	}
	for (i = 0; i < m->src_n && !m->src[i].is_elf; i++)
		;
	if (i == m->src_n)
		return true;
	f = m->src[i].f;
	if (addr < 8 || !symfile_elf_bytes(f, addr - 1, 1)) {
		/* No code in the file at all, or an address outside it: a call cannot be shown to
		 * end there. */
		return !symfile_elf_bytes(f, f->text_start, 1);
	}
	p = symfile_elf_bytes(f, addr - 5, 5);
	if (p && p[0] == 0xe8) {
		rel = (int32_t)((u32)p[1] | (u32)p[2] << 8 | (u32)p[3] << 16 | (u32)p[4] << 24);
		target = addr + (u64)rel;
		if (target >= f->text_start && target < f->text_end)
			return true;
	}
	/* An alternative call of 6 bytes that is patched at boot to a direct call of 5 and a NOP.
	 */
	if (p && p[0] == 0xff && p[1] == 0x15)
		return true;
	for (n = 2; n <= 8; n++) {
		p = symfile_elf_bytes(f, addr - n, n);
		if (p && is_indirect_call(p, n))
			return true;
	}
	return false;
}

/* ---- what was found ---- */

size_t sym_modules(const struct symbolizer *cs, const struct sym_module_info **infos)
{
	/* The list is made anew for each call; nothing else changes. */
	struct symbolizer *s = (struct symbolizer *)(uintptr_t)cs;
	size_t i;

	s->infos.n = 0;
	for (i = 0; i < s->modules.n; i++) {
		const struct module *m = &s->modules.v[i];
		struct sym_module_info info = {
			.name = strtab_get(s->strings, m->name),
			.filename = module_filename(s, m),
			.space = m->space,
			.build_id_len = m->build_id_len,
			.resolved = m->resolved,
			.unresolved = m->unresolved,
		};

		if (!m->resolved && !m->unresolved)
			continue;
		memcpy(info.build_id, m->build_id, m->build_id_len);
		if (m->src_n) {
			info.symbol_file = m->src[0].f->path;
			info.source = m->src[0].f->ops->source;
		}
		vec_push(&s->infos, info);
	}
	*infos = s->infos.v;
	return s->infos.n;
}
