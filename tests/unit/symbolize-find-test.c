/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which file serves a mapping: order, build ids, separate debug files, kernels moved by KASLR, the
 * hypervisor's verdicts.  All files are made here, by compiler and objcopy.
 */
#include "symbolize/symbolize.h"
#include "tests/unit/made-files.h"

#define ID_A "0xa1a2a3a4a5a6a7a8a9a0a1a2a3a4a5a6a7a8a9a0"
#define ID_B "0xb1b2b3b4b5b6b7b8b9b0b1b2b3b4b5b6b7b8b9b0"

static const u8 id_a[20] = {
	0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8, 0xa9, 0xa0,
	0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8, 0xa9, 0xa0,
};
static const u8 id_b[20] = {
	0xb1, 0xb2, 0xb3, 0xb4, 0xb5, 0xb6, 0xb7, 0xb8, 0xb9, 0xb0,
	0xb1, 0xb2, 0xb3, 0xb4, 0xb5, 0xb6, 0xb7, 0xb8, 0xb9, 0xb0,
};
static const u8 guid[16] = {
	0x57, 0xab, 0xa6, 0x48, 0x08, 0x8f, 0x13, 0x9d,
	0x96, 0x79, 0xb1, 0xca, 0xea, 0x62, 0x6f, 0x3a,
};

#define USER_TEXT   0x401000
#define XEN_TEXT    0xffff82d040200000ULL
#define KERNEL_TEXT 0xffffffff81000000ULL

static struct strtab strings;
static struct diag diag;
static struct sym_opts opts;
static const char *dirs[4], *symfs[4], *debug_dirs[4];

static void start(void)
{
	strtab_init(&strings);
	diag_init(&diag);
	memset(dirs, 0, sizeof(dirs));
	memset(symfs, 0, sizeof(symfs));
	memset(debug_dirs, 0, sizeof(debug_dirs));
	opts = (struct sym_opts){
		.dirs = dirs, .symfs = symfs, .debug_dirs = debug_dirs, .offline_only = true
	};
}

/* The recording lies in this folder. */
static void start_in(const char *folder)
{
	start();
	dirs[0] = in_dir(folder);
}

static void end(void)
{
	strtab_release(&strings);
	diag_release(&diag);
}

/* Where there is nothing to remark. */
#define END_SILENT()                   \
	do {                           \
		EQ(diag.entries.n, 0); \
		end();                 \
	} while (0)

/* The outermost function at an address. */
static const char *outer(struct symbolizer *s, enum space space, u64 addr, enum addr_kind kind)
{
	const struct frame *f;
	size_t n = sym_resolve(s, space, 1, addr, kind, &f);

	return strtab_get(&strings, f[n - 1].function);
}

static const char *shown_file(struct symbolizer *s, size_t i)
{
	const struct sym_module_info *infos;

	return i < sym_modules(s, &infos) && infos[i].symbol_file ? infos[i].symbol_file : "(none)";
}

static const char *shown_source(struct symbolizer *s, size_t i)
{
	const struct sym_module_info *infos;

	return i < sym_modules(s, &infos) && infos[i].source ? infos[i].source : "(none)";
}

/*
 * What the function at the start of a program's text is called, the program being recorded as
 * `file` with a build id (or none): each made program calls it after itself.
 */
static const char *user_name_with(const char *file, const u8 *id, u64 ino)
{
	static char name[128], from[256];
	struct symbolizer *s = sym_new(&opts, &strings, &diag);
	struct sym_mapping m = {
		.pid = 1,
		.space = SPACE_USER,
		.addr = 0x7f0000001000,
		.len = 0x1000,
		.pgoff = 0x1000,
		.filename = file,
		.build_id = id,
		.build_id_len = id ? 20 : 0,
		.ino = ino,
	};

	sym_map(s, &m);
	snprintf(name, sizeof(name), "%s", outer(s, SPACE_USER, 0x7f0000001000, ADDR_EXACT));
	snprintf(from, sizeof(from), "%s", shown_file(s, 0));
	if (getenv("V"))
		printf("# %s <- %s\n", name, from);
	sym_free(s);
	return name;
}

static const char *user_name(const char *file, const u8 *id)
{
	return user_name_with(file, id, 0);
}

/* prog FUNCTION NAME FLAGS: a program whose text is one function at USER_TEXT */
static bool prog(const char *function, const char *name, const char *flags)
{
	return run("printf '.text\\n.globl %s\\n.type %s,@function\\n%s: nop\\n nop\\n ret\\n.size "
		   "%s,.-%s\\n' > p.s && "
		   "gcc -nostdlib -static -Wl,-Ttext=0x%x -Wl,-e,%s %s p.s -o %s",
		   function, function, function, function, function, USER_TEXT, function, flags,
		   name);
}

static void test_user(void)
{
	OK(run("mkdir -p rec sysroot/opt debug/.build-id/a1 rec2/.build-id/a1 "
	       "perf/.build-id/a1/a2a3a4a5a6a7a8a9a0a1a2a3a4a5a6a7a8a9a0"));
	OK(prog("in_rec_by_id", "rec/renamed", "-Wl,--build-id=" ID_A));
	OK(prog("in_rec_by_name", "rec/prog", "-Wl,--build-id=" ID_B));
	OK(prog("in_symfs", "sysroot/opt/prog", "-Wl,--build-id=" ID_A));
	OK(prog("without_id", "sysroot/opt/plain", "-Wl,--build-id=none"));
	OK(prog("by_id_dir", "rec2/.build-id/a1/a2a3a4a5a6a7a8a9a0a1a2a3a4a5a6a7a8a9a0",
		"-Wl,--build-id=" ID_A));
	OK(prog("in_perf_cache", "perf/.build-id/a1/a2a3a4a5a6a7a8a9a0a1a2a3a4a5a6a7a8a9a0/elf",
		"-Wl,--build-id=" ID_A));

	/* nothing given: nothing found, and nothing to complain of */
	start();
	STR_EQ(user_name("/opt/prog", id_a), "[prog+0x1000]");
	END_SILENT();

	/* the recording's folder by build id whatever the name, before --symfs */
	start_in("rec");
	symfs[0] = in_dir("sysroot");
	STR_EQ(user_name("/opt/prog", id_a), "in_rec_by_id");
	STR_EQ(user_name("/opt/prog", id_b), "in_rec_by_name");
	/* no recorded id: given folders by name */
	STR_EQ(user_name("/opt/prog", NULL), "in_rec_by_name");
	END_SILENT();

	/* --symfs alone, its file by id; a wrong one is told and not used */
	start();
	symfs[0] = in_dir("sysroot");
	STR_EQ(user_name("/opt/prog", id_a), "in_symfs");
	EQ(diag.entries.n, 0);
	STR_EQ(user_name("/opt/prog", id_b), "[prog+0x1000]");
	EQ(diag_count(&diag, DIAG_BUILD_ID_MISMATCH), 1);
	STR_EQ(user_name("/opt/plain", id_a), "[plain+0x1000]");
	EQ(diag_count(&diag, DIAG_BUILD_ID_MISMATCH), 2);
	STR_EQ(user_name("/opt/plain", NULL), "without_id");
	/* --force uses it all the same */
	opts.force = true;
	STR_EQ(user_name("/opt/prog", id_b), "in_symfs");
	EQ(diag_count(&diag, DIAG_BUILD_ID_MISMATCH), 2);
	end();

	/* .build-id in a given folder: file form, perf's folder form */
	start_in("rec2");
	STR_EQ(user_name("/opt/prog", id_a), "by_id_dir");
	dirs[0] = in_dir("perf");
	STR_EQ(user_name("/opt/prog", id_a), "in_perf_cache");
	dirs[0] = NULL;
	debug_dirs[0] = in_dir("perf");
	STR_EQ(user_name("/opt/prog", id_a), "in_perf_cache");
	END_SILENT();

	/* a file under a build id that is not its own */
	start();
	OK(run("cp sysroot/opt/plain rec2/.build-id/a1/a2a3a4a5a6a7a8a9a0a1a2a3a4a5a6a7a8a9a0"));
	dirs[0] = in_dir("rec2");
	STR_EQ(user_name("/opt/prog", id_a), "[prog+0x1000]");
	EQ(diag_count(&diag, DIAG_BUILD_ID_MISMATCH), 1);
	end();

	/* merged /usr, either way round; a FIFO of a fitting name in the folder is not waited for
	 */
	start();
	OK(run("mkdir -p merged/usr/bin merged/sbin && cp rec/renamed merged/usr/bin/one && cp "
	       "rec/renamed merged/sbin/two && "
	       "mkfifo merged/xen-syms-fifo && ln -s xen-syms-fifo merged/xen-syms-link && ln -s "
	       "/dev/zero merged/kallsyms"));
	symfs[0] = in_dir("merged");
	STR_EQ(user_name("/bin/one", id_a), "in_rec_by_id");
	STR_EQ(user_name("/usr/sbin/two", id_a), "in_rec_by_id");
	STR_EQ(user_name("/usr/sbin/one", id_a), "[one+0x1000]");
	dirs[0] = in_dir("merged");
	{
		struct symbolizer *s = sym_new(&opts, &strings, &diag);

		STR_EQ(outer(s, SPACE_HV, XEN_TEXT + 0x100, ADDR_EXACT), "[xen+0x200100]");
		STR_EQ(outer(s, SPACE_KERNEL, KERNEL_TEXT + 0x100, ADDR_EXACT),
		       "[kernel.kallsyms+0xffffffff81000100]");
		sym_free(s);
	}
	END_SILENT();

	/* deleted files, zero-padded and cut ids */
	start();
	symfs[0] = in_dir("sysroot");
	STR_EQ(user_name("/opt/prog (deleted)", id_a), "in_symfs");
	OK(prog("short_id", "sysroot/opt/short", "-Wl,--build-id=0xa1a2a3a4a5a6a7a8"));
	STR_EQ(user_name("/opt/short",
			 (const u8[20]){ 0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8 }),
	       "short_id");
	OK(prog("long_id", "sysroot/opt/long", "-Wl,--build-id=" ID_A "0102030405060708"));
	STR_EQ(user_name("/opt/long", id_a), "long_id");
	end();
}

/* The recorded path on this machine. */
static void test_this_machine(void)
{
	struct stat st;

	OK(prog("here", "here", "-Wl,--build-id=" ID_A));
	OK(!stat(in_dir("here"), &st));
	start();
	opts.offline_only = false;
	STR_EQ(user_name(in_dir("here"), id_a), "here");
	/* another build; nothing is said of it since nothing says that the recording is of this
	 * machine */
	STR_EQ(user_name(in_dir("here"), id_b), "[here+0x1000]");
	EQ(diag.entries.n, 0);
	/* no id: only the very inode counts */
	STR_EQ(user_name(in_dir("here"), NULL), "[here+0x1000]");
	STR_EQ(user_name_with(in_dir("here"), NULL, st.st_ino + 1), "[here+0x1000]");
	end();
	start();
	opts.offline_only = true;
	STR_EQ(user_name(in_dir("here"), id_a), "[here+0x1000]");
	end();
	start();
	char host[256];

	OK(!gethostname(host, sizeof(host)));
	opts.offline_only = false;
	opts.hostname = host;
	STR_EQ(user_name_with(in_dir("here"), NULL, st.st_ino), "here");
	EQ(diag.entries.n, 0);
	STR_EQ(user_name(in_dir("here"), id_b), "[here+0x1000]");
	EQ(diag_count(&diag, DIAG_BUILD_ID_MISMATCH), 1);
	end();
}

/* In a pipe build ids come after the samples. */
static void test_late(void)
{
	struct symbolizer *s;
	struct sym_mapping m = {
		.pid = 1,
		.space = SPACE_USER,
		.addr = 0x7f0000001000,
		.len = 0x1000,
		.pgoff = 0x1000,
		.filename = "/opt/prog",
	};
	int round;

	for (round = 0; round < 2; round++) {
		start();
		symfs[0] = in_dir("sysroot");
		s = sym_new(&opts, &strings, &diag);
		sym_map(s, &m);
		STR_EQ(outer(s, SPACE_USER, 0x7f0000001000, ADDR_EXACT), "in_symfs");
		sym_build_id(s, "/opt/prog", round ? id_b : id_a, 20);
		sym_build_id(s, "/opt/prog", round ? id_b : id_a, 20);
		EQ(diag_count(&diag, DIAG_SYMBOL_FILE), round);
		STR_EQ(outer(s, SPACE_USER, 0x7f0000001000, ADDR_EXACT), "in_symfs");
		sym_free(s);
		end();
	}
}

/* A stripped program, and its symbols in a file of their own. */
static void test_debug_files(void)
{
	OK(run("mkdir -p split/.build-id/a1 other link"));
	OK(prog("split_off", "full", "-g -Wl,--build-id=" ID_A));
	OK(run("objcopy --only-keep-debug full "
	       "split/.build-id/a1/a2a3a4a5a6a7a8a9a0a1a2a3a4a5a6a7a8a9a0.debug"));
	OK(run("strip -o split/prog full"));
	start_in("split");
	STR_EQ(user_name("/opt/prog", id_a), "split_off");
	/* without the program itself */
	OK(run("mv split/prog other/"));
	STR_EQ(user_name("/opt/prog", id_a), "split_off");
	END_SILENT();

	/* both in the recording's folder, whatever they are called; then the debug file alone */
	OK(run("mkdir both && cp split/.build-id/a1/*.debug both/a && cp other/prog both/b"));
	start_in("both");
	STR_EQ(user_name("/opt/prog", id_a), "split_off");
	OK(run("mv both/a both/c"));
	STR_EQ(user_name("/opt/prog", id_a), "split_off");
	OK(run("rm both/b"));
	STR_EQ(user_name("/opt/prog", id_a), "split_off");
	END_SILENT();

	/* .gnu_debuglink: by CRC when there are no build ids */
	OK(prog("linked", "nid", "-g -Wl,--build-id=none"));
	OK(run("objcopy --only-keep-debug nid link/nid.dbg && strip -o link/nid nid && cd link && "
	       "objcopy --add-gnu-debuglink=nid.dbg nid"));
	start_in("link");
	STR_EQ(user_name("/opt/nid", NULL), "linked");
	EQ(diag.entries.n, 0);
	OK(run("mkdir link/.debug && mv link/nid.dbg link/.debug/"));
	STR_EQ(user_name("/opt/nid", NULL), "linked");
	OK(run("mkdir -p tree/opt && mv link/.debug/nid.dbg tree/opt/"));
	debug_dirs[0] = in_dir("tree");
	STR_EQ(user_name("/opt/nid", NULL), "linked");
	EQ(diag.entries.n, 0);
	/* a byte more: another file */
	OK(run("printf x >> tree/opt/nid.dbg"));
	STR_EQ(user_name("/opt/nid", NULL), "[nid+0x1000]");
	EQ(diag_count(&diag, DIAG_SYMBOL_FILE), 1);
	end();
}

static void test_jit(void)
{
	struct symbolizer *s;
	struct sym_mapping m = {
		.pid = 1,
		.space = SPACE_USER,
		.addr = 0x7f0000100000,
		.len = 0x1000,
		.pgoff = 0x7f0000100000,
		.filename = "//anon",
	};
	const struct frame *f;

	OK(run("mkdir -p jit"));
	write_text("jit/perf-1.map", "7f0000100100 40 LazyCompile:~f /x.js:12\n");
	start_in("jit");
	s = sym_new(&opts, &strings, &diag);
	sym_map(s, &m);
	EQ(sym_resolve(s, SPACE_USER, 1, 0x7f0000100110, ADDR_EXACT, &f), 1);
	STR_EQ(strtab_get(&strings, f->function), "LazyCompile:~f /x.js:12");
	STR_EQ(strtab_get(&strings, f->module), "perf-1.map");
	EQ(f->flags, FRAME_JIT);
	/* the map is of process 1; its child has none */
	sym_fork(s, 2, 1);
	sym_resolve(s, SPACE_USER, 2, 0x7f0000100110, ADDR_EXACT, &f);
	STR_EQ(strtab_get(&strings, f->function), "[//anon+0x7f0000100110]");
	sym_free(s);
	end();
}

static void put(struct buf *b, u64 v, size_t n)
{
	buf_put(b, &v, n);
}

/* A jitdump in which the process has the pid that it has in its container. */
static void write_jitdump(const char *name, const char *function)
{
	u32 size = 16 + 40 + (u32)strlen(function) + 1 + 16, i;
	struct buf b = BUF_INIT;

	put(&b, 0x4a695444, 4);
	put(&b, 1, 4);
	put(&b, 40, 4);
	put(&b, 62, 4);
	put(&b, 0, 4);
	put(&b, 7, 4);
	put(&b, 0, 8);
	put(&b, 0, 8);
	put(&b, 0, 4);
	put(&b, size, 4);
	put(&b, 0, 8);
	put(&b, 7, 4);
	put(&b, 7, 4);
	for (i = 0; i < 2; i++)
		put(&b, 0x7f0000100100, 8);
	put(&b, 16, 8);
	put(&b, 1, 8);
	buf_put(&b, function, strlen(function) + 1);
	for (i = 0; i < 16; i++)
		buf_putc(&b, (char)0x90);
	write_file(name, b.p, b.n);
	buf_release(&b);
}

static const char *jit_name(struct symbolizer *s, u32 pid, u64 addr)
{
	static char name[128];
	const struct frame *f;

	sym_resolve(s, SPACE_USER, pid, addr, ADDR_EXACT, &f);
	snprintf(name, sizeof(name), "%s %s %u", strtab_get(&strings, f->function),
		 strtab_get(&strings, f->module), f->flags);
	return name;
}

static void test_jitdump(void)
{
	struct symbolizer *s;
	struct sym_mapping m = {
		.pid = 1,
		.space = SPACE_USER,
		.addr = 0x7f0000100000,
		.len = 0x1000,
		.pgoff = 0x7f0000100000,
		.filename = "//anon",
	};
	struct sym_mapping marker = {
		.pid = 1,
		.space = SPACE_USER,
		.addr = 0x7f0000400000,
		.len = 0x1000,
		.filename = "/home/u/.debug/jit/jit-7.dump",
	};

	OK(run("mkdir -p dump/home/u/.debug/jit dump2 dump2/tmp"));
	write_jitdump("dump/home/u/.debug/jit/jit-7.dump", "below");
	write_text("dump2/tmp/perf-1.map", "7f0000100100 40 mapped\n");
	start();
	symfs[0] = in_dir("dump");
	s = sym_new(&opts, &strings, &diag);
	sym_map(s, &m);
	/* The file is not looked for before the recording tells of it, and what was not known then
	 * is asked again. */
	STR_EQ(jit_name(s, 1, 0x7f0000100100), "[//anon+0x7f0000100100] //anon 2");
	sym_map(s, &marker);
	STR_EQ(jit_name(s, 1, 0x7f0000100108), "below jit-7.dump 4");
	STR_EQ(shown_source(s, 0), "jitdump");
	/* nobody else's */
	sym_fork(s, 2, 1);
	STR_EQ(jit_name(s, 2, 0x7f0000100108), "[//anon+0x7f0000100108] //anon 2");
	m.pid = 3;
	sym_map(s, &m);
	STR_EQ(jit_name(s, 3, 0x7f0000100108), "[//anon+0x7f0000100108] //anon 2");
	/* a new program in the process */
	sym_exec(s, 1);
	m.pid = 1;
	sym_map(s, &m);
	STR_EQ(jit_name(s, 1, 0x7f0000100109), "[//anon+0x7f0000100109] //anon 2");
	EQ(diag.entries.n, 0);
	sym_free(s);
	end();

	/* Beside the recording, before any tree; a map fills the gaps. */
	write_jitdump("dump2/jit-7.dump", "beside");
	start_in("dump2");
	symfs[0] = in_dir("dump");
	s = sym_new(&opts, &strings, &diag);
	sym_map(s, &m);
	marker.filename = "/home/u/.debug/jit/jit-7.dump (deleted)";
	sym_map(s, &marker);
	STR_EQ(jit_name(s, 1, 0x7f0000100108), "beside jit-7.dump 4");
	STR_EQ(jit_name(s, 1, 0x7f0000100110), "mapped perf-1.map 4");
	sym_free(s);
	end();

	/* One that is none is told. */
	write_text("dump2/jit-7.dump", "text");
	start_in("dump2");
	s = sym_new(&opts, &strings, &diag);
	sym_map(s, &m);
	sym_map(s, &marker);
	STR_EQ(jit_name(s, 1, 0x7f0000100108), "mapped perf-1.map 4");
	EQ(diag_count(&diag, DIAG_SYMBOL_FILE), 1);
	/* Names that only look like it. */
	marker.filename = "/x/jit-7.dumps";
	sym_map(s, &marker);
	marker.filename = "/x/jit-.dump";
	sym_map(s, &marker);
	STR_EQ(jit_name(s, 1, 0x7f0000100109), "mapped perf-1.map 4");
	EQ(diag_count(&diag, DIAG_SYMBOL_FILE), 1);
	sym_free(s);
	end();
}

/* ---- kernels ---- */

static const char *kernel_name(u64 ref, const u8 *id, u64 addr)
{
	static char name[128];
	struct symbolizer *s = sym_new(&opts, &strings, &diag);
	struct sym_mapping m = {
		.pid = SYM_KERNEL_PID,
		.space = SPACE_KERNEL,
		.addr = ref,
		.len = 0x1000000,
		.pgoff = ref,
		.filename = "[kernel.kallsyms]_text",
	};
	const struct frame *f;

	if (ref)
		sym_map(s, &m);
	if (id)
		sym_build_id(s, "[kernel.kallsyms]", id, 20);
	sym_resolve(s, SPACE_KERNEL, 1, addr, ADDR_EXACT, &f);
	snprintf(name, sizeof(name), "%s %s %s", strtab_get(&strings, f->function),
		 strtab_get(&strings, f->module), shown_source(s, 0));
	sym_free(s);
	return name;
}

static void write_notes(const char *name, const u8 *id)
{
	u8 note[16 + 20] = { 4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0 };

	memcpy(note + 16, id, 20);
	write_file(name, note, sizeof(note));
}

static void test_kernel(void)
{
	static const char kallsyms[] =
		"ffffffff81000000 T _stext\nffffffff81000000 T _text\nffffffff81000100 t "
		"do_this\nffffffff81000200 T do_that\n"
		"ffffffff81000300 T _etext\nffffffffc0100000 t "
		"mod_work\t[nf_tables]\nffffffffc0100040 t mod_more\t[nf_tables]\n";
	const u64 moved = 0xffffffff9e000000;

	OK(run("mkdir -p k k2 kid vm"));
	write_text("k/kallsyms", kallsyms);
	start_in("k");
	STR_EQ(kernel_name(KERNEL_TEXT, NULL, KERNEL_TEXT + 0x110),
	       "do_this [kernel.kallsyms] kallsyms");
	STR_EQ(kernel_name(KERNEL_TEXT, NULL, 0xffffffffc0100010), "mod_work [nf_tables] kallsyms");
	/* the kernel lay elsewhere: the same boot's table would say so, so modules of this one
	 * cannot be trusted */
	STR_EQ(kernel_name(moved, NULL, moved + 0x210), "do_that [kernel.kallsyms] kallsyms");
	STR_EQ(kernel_name(moved, NULL, 0xffffffffc0100010 + moved - KERNEL_TEXT),
	       "[kernel.kallsyms+0xffffffffdd100010] [kernel.kallsyms] kallsyms");
	/* nothing known of the kernel's place */
	STR_EQ(kernel_name(0, NULL, KERNEL_TEXT + 0x110), "do_this [kernel.kallsyms] kallsyms");
	EQ(diag.entries.n, 0);
	/* a distance that is none of KASLR's: another kernel */
	STR_EQ(kernel_name(moved + 0x1230, NULL, moved + 0x210),
	       "[kernel.kallsyms+0xffffffff9e000210] [kernel.kallsyms] (none)");
	EQ(diag_count(&diag, DIAG_BUILD_ID_MISMATCH), 1);
	end();

	/* `notes` beside it decide */
	OK(run("cp k/kallsyms k2/"));
	write_notes("k2/notes", id_b);
	start_in("k2");
	STR_EQ(kernel_name(KERNEL_TEXT, id_b, KERNEL_TEXT + 0x110),
	       "do_this [kernel.kallsyms] kallsyms");
	EQ(diag.entries.n, 0);
	STR_EQ(kernel_name(KERNEL_TEXT, id_a, KERNEL_TEXT + 0x110),
	       "[kernel.kallsyms+0xffffffff81000110] [kernel.kallsyms] (none)");
	EQ(diag_count(&diag, DIAG_BUILD_ID_MISMATCH), 1);
	end();

	/* perf's build-id cache */
	OK(run("d='kid/.debug/[kernel.kallsyms]/a1a2a3a4a5a6a7a8a9a0a1a2a3a4a5a6a7a8a9a0'; mkdir "
	       "-p \"$d\" && cp k/kallsyms \"$d/\""));
	start_in("kid");
	STR_EQ(kernel_name(KERNEL_TEXT, id_a, KERNEL_TEXT + 0x110),
	       "do_this [kernel.kallsyms] kallsyms");
	STR_EQ(kernel_name(KERNEL_TEXT, id_b, KERNEL_TEXT + 0x110),
	       "[kernel.kallsyms+0xffffffff81000110] [kernel.kallsyms] (none)");
	end();

	/* vmlinux: linked at KERNEL_TEXT, ran elsewhere; kallsyms beside it knows the modules */
	OK(run("printf '.text\\n.globl _text\\n_text:\\n.globl _stext\\n_stext: nop\\n.org "
	       "0x400\\n.globl from_vmlinux\\n.type from_vmlinux,@function\\n"
	       "from_vmlinux: nop\\n ret\\n.size from_vmlinux,.-from_vmlinux\\n' > k.s && "
	       "gcc -nostdlib -static -Wl,-Ttext=0x%llx -Wl,-e,_text -Wl,--build-id=" ID_A
	       " k.s -o vm/vmlinux",
	       KERNEL_TEXT));
	start();
	opts.vmlinux = in_dir("vm/vmlinux");
	STR_EQ(kernel_name(moved, id_a, moved + 0x401), "from_vmlinux [kernel.kallsyms] symtab");
	STR_EQ(kernel_name(moved, NULL, moved + 0x401), "from_vmlinux [kernel.kallsyms] symtab");
	EQ(diag.entries.n, 0);
	STR_EQ(kernel_name(moved, id_b, moved + 0x401),
	       "[kernel.kallsyms+0xffffffff9e000401] [kernel.kallsyms] (none)");
	EQ(diag_count(&diag, DIAG_BUILD_ID_MISMATCH), 1);
	opts.vmlinux = NULL;
	dirs[0] = in_dir("vm");
	STR_EQ(kernel_name(moved, id_a, moved + 0x401), "from_vmlinux [kernel.kallsyms] symtab");
	dirs[1] = in_dir("k");
	STR_EQ(kernel_name(KERNEL_TEXT, id_a, KERNEL_TEXT + 0x401),
	       "from_vmlinux [kernel.kallsyms] symtab");
	STR_EQ(kernel_name(KERNEL_TEXT, id_a, 0xffffffffc0100010), "mod_work [nf_tables] symtab");
	/* --kallsyms is the answer */
	opts.kallsyms = in_dir("k/kallsyms");
	STR_EQ(kernel_name(KERNEL_TEXT, id_a, KERNEL_TEXT + 0x210),
	       "do_that [kernel.kallsyms] kallsyms");
	end();

	/* an all-zero table is told */
	write_text("zero", "0000000000000000 T _text\n0000000000000000 T do_this\n");
	start();
	opts.kallsyms = in_dir("zero");
	STR_EQ(kernel_name(KERNEL_TEXT, NULL, KERNEL_TEXT + 0x110),
	       "[kernel.kallsyms+0xffffffff81000110] [kernel.kallsyms] (none)");
	EQ(diag_count(&diag, DIAG_SYMBOL_FILE), 1);
	end();

	/* a guest's */
	start();
	opts.guest_kallsyms = in_dir("k/kallsyms");
	{
		struct symbolizer *s = sym_new(&opts, &strings, &diag);
		struct sym_mapping m = {
			.pid = 0,
			.space = SPACE_GUEST_KERNEL,
			.addr = moved,
			.len = 0x1000000,
			.pgoff = moved,
			.filename = "[guest.kernel.kallsyms]_text",
		};

		STR_EQ(outer(s, SPACE_GUEST_KERNEL, KERNEL_TEXT + 0x110, ADDR_EXACT), "do_this");
		sym_free(s);
		s = sym_new(&opts, &strings, &diag);
		sym_map(s, &m);
		STR_EQ(outer(s, SPACE_GUEST_KERNEL, moved + 0x110, ADDR_EXACT), "do_this");
		sym_free(s);
	}
	END_SILENT();
}

/* A module's .ko: its code begins where its mapping begins. */
static void test_module(void)
{
	struct sym_mapping k = {
		.pid = SYM_KERNEL_PID,
		.space = SPACE_KERNEL,
		.addr = 0xffffffffc0100000,
		.len = 0x1000,
		.filename = "/lib/modules/6.1.0/kernel/drivers/net/made-up.ko",
	};
	struct symbolizer *s;
	const struct frame *f;

	OK(run("mkdir -p mods/lib/modules/6.1.0/kernel/drivers/net"));
	OK(run("printf '.section .init.text,\"ax\"\n.globl init_module\n.type "
	       "init_module,@function\ninit_module: ret\n.size init_module,1\n"
	       ".text\n.type first,@function\nfirst: nop\n ret\n.size first,2\n.org 0x40\n.globl "
	       "second\n.type second,@function\n"
	       "second: nop\n nop\n ret\n.size second,3\n' > m.s && gcc -c m.s -o m.o && "
	       "ld -r --build-id=" ID_A
	       " m.o -o mods/lib/modules/6.1.0/kernel/drivers/net/made-up.ko"));
	start();
	symfs[0] = in_dir("mods");
	s = sym_new(&opts, &strings, &diag);
	sym_map(s, &k);
	sym_build_id(s, k.filename, id_a, 20);
	EQ(sym_resolve(s, SPACE_KERNEL, 1, k.addr + 0x42, ADDR_EXACT, &f), 1);
	STR_EQ(strtab_get(&strings, f->function), "second");
	STR_EQ(strtab_get(&strings, f->module), "[made_up]");
	STR_EQ(outer(s, SPACE_KERNEL, k.addr, ADDR_EXACT), "first");
	EQ(diag.entries.n, 0);
	sym_free(s);
	/* from perf's build-id cache */
	OK(run("mkdir -p kocache/.debug/.build-id/a1/a2a3a4a5a6a7a8a9a0a1a2a3a4a5a6a7a8a9a0 && "
	       "cp mods/lib/modules/6.1.0/kernel/drivers/net/made-up.ko "
	       "kocache/.debug/.build-id/a1/a2a3a4a5a6a7a8a9a0a1a2a3a4a5a6a7a8a9a0/elf"));
	symfs[0] = NULL;
	dirs[0] = in_dir("kocache");
	s = sym_new(&opts, &strings, &diag);
	sym_map(s, &k);
	sym_build_id(s, k.filename, id_a, 20);
	STR_EQ(outer(s, SPACE_KERNEL, k.addr + 0x42, ADDR_EXACT), "second");
	EQ(diag.entries.n, 0);
	sym_free(s);
	dirs[0] = NULL;
	symfs[0] = in_dir("mods");
	/* of another build */
	s = sym_new(&opts, &strings, &diag);
	sym_map(s, &k);
	sym_build_id(s, k.filename, id_b, 20);
	STR_EQ(outer(s, SPACE_KERNEL, k.addr + 0x42, ADDR_EXACT), "[made_up+0x42]");
	EQ(diag_count(&diag, DIAG_BUILD_ID_MISMATCH), 1);
	sym_free(s);
	end();
}

/* ---- the hypervisor ---- */

static const char *xen_name_at(u64 addr, enum addr_kind kind)
{
	static char name[128];
	struct symbolizer *s = sym_new(&opts, &strings, &diag);
	const char *function;

	function = outer(s, SPACE_HV, addr, kind);
	snprintf(name, sizeof(name), "%s %s", function, shown_source(s, 0));
	sym_free(s);
	return name;
}

static const char *xen_name(void)
{
	return xen_name_at(XEN_TEXT + 0x101, ADDR_EXACT);
}

/* A Xen whose function at +0x100 has the given name; flags: build id. */
static bool xen(const char *function, const char *name, const char *flags)
{
	return run(
		"{ printf '.text\\n.globl _stext\\n_stext: nop\\n.globl start_xen\\n.type "
		"start_xen,@function\\nstart_xen: call 1f\\n nop\\n1: ret\\n.size "
		"start_xen,.-start_xen\\n';"
		"for i in 1 2 3 4 5 6 7 8 9; do printf \".org 0x${i}0\\n.globl pad$i\\n.type "
		"pad$i,@function\\npad$i: nop\\n.size pad$i,.-pad$i\\n\"; done;"
		"printf '.org 0x100\\n.globl %s\\n.type %s,@function\\n%s: nop\\n ret\\n.size "
		"%s,.-%s\\n.globl _etext\\n_etext:\\n.org 0x1000\\n.globl _end\\n_end: nop\\n"
		"%s'; } > x.s && gcc -nostdlib -static -Wl,-Ttext=0x%llx -Wl,-e,_stext %s x.s -o "
		"%s",
		function, function, function, function, function,
		strstr(flags, "guid")
			? ".section .buildid,\"a\"\\n.long 0,0,0,2,0,0,0\\n.ascii \"RSDS\"\\n.byte "
			  "0x57,0xab,0xa6,0x48,8,0x8f,0x13,0x9d,0x96,0x79,0xb1,0xca,0xea,0x62,0x6f,"
			  "0x3a\\n.long 1\\n.byte 0\\n"
			: "",
		XEN_TEXT, strstr(flags, "guid") ? "-Wl,--build-id=none" : flags, name);
}

static void test_xen(void)
{
	struct buf b = BUF_INIT;
	int i;

	OK(run("mkdir -p x/rec x/rec2 x/efi x/boot/boot x/two x/snap x/pe x/map"));
	OK(xen("right", "x/rec/xen-syms-4.17", "-Wl,--build-id=" ID_A));
	OK(xen("wrong", "x/rec/xen-syms-4.16", "-Wl,--build-id=" ID_B));

	/* by id */
	start_in("x/rec");
	memcpy(opts.xen_build_id, id_a, 20);
	opts.xen_build_id_len = 20;
	STR_EQ(xen_name(), "right symtab");
	EQ(diag_count(&diag, DIAG_BUILD_ID_MISMATCH), 1);
	end();
	/* two of them and nothing to tell which: none */
	start_in("x/rec");
	STR_EQ(xen_name(), "[xen+0x200101] (none)");
	EQ(diag_count(&diag, DIAG_NOTE), 1);
	end();
	/* the id beside the recording, raw and in hexadecimal */
	write_file("x/rec/xen.buildid", id_b, 20);
	start_in("x/rec");
	STR_EQ(xen_name(), "wrong symtab");
	end();
	write_text("x/rec/xen.buildid", "a1a2a3a4a5a6a7a8a9a0a1a2a3a4a5a6a7a8a9a0\n");
	start_in("x/rec");
	STR_EQ(xen_name(), "right symtab");
	end();
	/* the only one, no id known: used */
	OK(run("cp x/rec/xen-syms-4.16 x/rec2/xen-syms"));
	start_in("x/rec2");
	STR_EQ(xen_name(), "wrong symtab");
	EQ(diag.entries.n, 0);
	/* id known and another: told, not used; --force */
	memcpy(opts.xen_build_id, id_a, 20);
	opts.xen_build_id_len = 20;
	STR_EQ(xen_name(), "[xen+0x200101] (none)");
	EQ(diag_count(&diag, DIAG_BUILD_ID_MISMATCH), 1);
	opts.force = true;
	STR_EQ(xen_name(), "wrong symtab");
	end();
	/* --xen-syms is checked like all others */
	start();
	opts.xen_syms = in_dir("x/rec/xen-syms-4.16");
	STR_EQ(xen_name(), "wrong symtab");
	memcpy(opts.xen_build_id, id_a, 20);
	opts.xen_build_id_len = 20;
	STR_EQ(xen_name(), "[xen+0x200101] (none)");
	EQ(diag_count(&diag, DIAG_BUILD_ID_MISMATCH), 1);
	end();

	/* booted by EFI: a GUID, while xen-syms has a GNU note. Given: used and told. */
	start_in("x/rec2");
	memcpy(opts.xen_build_id, guid, 16);
	opts.xen_build_id_len = 16;
	STR_EQ(xen_name(), "wrong symtab");
	EQ(diag_count(&diag, DIAG_NOTE), 1);
	EQ(diag_count(&diag, DIAG_BUILD_ID_MISMATCH), 0);
	end();
	/* xen.efi.elf of that build beside it proves it; it has no GNU note itself */
	OK(run("cp x/rec/xen-syms-4.17 x/efi/xen-syms-4.17"));
	OK(xen("in_efi_elf", "x/efi/xen-4.17.efi.elf", "guid"));
	start_in("x/efi");
	memcpy(opts.xen_build_id, guid, 16);
	opts.xen_build_id_len = 16;
	/* both fit; the first by name is taken */
	STR_EQ(xen_name(), "in_efi_elf symtab");
	EQ(diag.entries.n, 0);
	opts.xen_syms = in_dir("x/efi/xen-syms-4.17");
	STR_EQ(xen_name(), "right symtab");
	END_SILENT();
	/* so does xen.efi itself, which is no ELF file */
	OK(run("cp x/rec/xen-syms-4.17 x/pe/"));
	buf_puts(&b, "MZ");
	for (i = 0; i < 100; i++)
		buf_putc(&b, 0);
	buf_puts(&b, "RSDS");
	buf_put(&b, guid, 16);
	write_file("x/pe/xen-4.17.efi", b.p, b.n);
	start_in("x/pe");
	memcpy(opts.xen_build_id, guid, 16);
	opts.xen_build_id_len = 16;
	STR_EQ(xen_name(), "right symtab");
	END_SILENT();

	/* not if it is of another version; nor is then the one in /boot of a tree */
	OK(run("mkdir -p x/tree/boot x/tree/usr/lib/debug/boot && mv x/pe/xen-4.17.efi "
	       "x/tree/boot/xen-4.18.efi && "
	       "cp x/rec/xen-syms-4.17 x/tree/usr/lib/debug/boot/"));
	start();
	symfs[0] = in_dir("x/tree");
	memcpy(opts.xen_build_id, guid, 16);
	opts.xen_build_id_len = 16;
	STR_EQ(xen_name(), "right symtab");
	EQ(diag_count(&diag, DIAG_NOTE), 1);
	OK(run("mv x/tree/boot/xen-4.18.efi x/tree/boot/xen-4.17.efi"));
	STR_EQ(xen_name(), "right symtab");
	EQ(diag_count(&diag, DIAG_NOTE), 1);
	end();

	/* places of distributions below --symfs */
	OK(run("cp x/rec/xen-syms-4.17 x/boot/boot/"));
	start();
	symfs[0] = in_dir("x/boot");
	STR_EQ(xen_name(), "right symtab");
	OK(run("mkdir -p x/boot/usr/lib/debug/boot && mv x/boot/boot/xen-syms-4.17 "
	       "x/boot/usr/lib/debug/boot/xen-syms-4.17-amd64"));
	STR_EQ(xen_name(), "right symtab");
	OK(run("mv x/boot/usr/lib/debug/boot/xen-syms-4.17-amd64 "
	       "x/boot/usr/lib/debug/xen-syms-4.17.5"));
	STR_EQ(xen_name(), "right symtab");
	END_SILENT();

	/* a snapshot of /proc/xen/xensyms: right for the one, refutes the other, serves what
	 * neither covers */
	buf_clear(&b);
	buf_printf(&b, "%llx T _stext\n%llx T start_xen\n", XEN_TEXT, XEN_TEXT + 1);
	for (i = 1; i < 10; i++)
		buf_printf(&b, "%llx T pad%d\n", XEN_TEXT + 16ULL * (u64)i, i);
	buf_printf(&b, "%llx T right\n%llx T later\n", XEN_TEXT + 0x100, XEN_TEXT + 0x2000);
	write_file("x/snap/xensyms", b.p, b.n);
	OK(run("cp x/rec/xen-syms-4.17 x/snap/"));
	start_in("x/snap");
	STR_EQ(xen_name(), "right symtab");
	STR_EQ(xen_name_at(XEN_TEXT + 0x2010, ADDR_EXACT), "later symtab");
	EQ(diag.entries.n, 0);
	OK(run("rm x/snap/xen-syms-4.17"));
	STR_EQ(xen_name(), "right map");
	/* other addresses: another build */
	OK(run("sed 's/^ffff82d0402000\\(.\\)0/ffff82d0402000\\18/' x/snap/xensyms > x/two/xensyms "
	       "&& cp x/rec/xen-syms-4.17 x/two/"));
	dirs[0] = in_dir("x/two");
	STR_EQ(xen_name(), "right map");
	EQ(diag_count(&diag, DIAG_BUILD_ID_MISMATCH), 1);
	end();

	/* a map of the build, new form */
	write_text("x/map/xen-4.17.map", "0xffff82d040200000 T _stext\n0xffff82d040200100 t "
					 "common/domain.c#mapped\n0xffff82d040200200 T _etext\n");
	start_in("x/map");
	STR_EQ(xen_name(), "mapped map");
	opts.xen_syms = in_dir("x/map/xen-4.17.map");
	dirs[0] = NULL;
	STR_EQ(xen_name(), "mapped map");
	end();

	/* areas, and what is a return address */
	start();
	opts.xen_syms = in_dir("x/rec/xen-syms-4.17");
	STR_EQ(xen_name_at(0xffff82d040400010, ADDR_EXACT), "[livepatch] symtab");
	STR_EQ(xen_name_at(XEN_TEXT + 0x1800, ADDR_EXACT), "[xen+0x201800] symtab");
	STR_EQ(xen_name_at(0xffff82d07fffe010, ADDR_EXACT), "[xen stubs] symtab");
	{
		struct symbolizer *s = sym_new(&opts, &strings, &diag);

		/* start_xen is at +1: call rel32 of 5 bytes, nop */
		OK(sym_hv_is_return(s, XEN_TEXT + 6));
		OK(!sym_hv_is_return(s, XEN_TEXT + 7));
		OK(!sym_hv_is_return(s, XEN_TEXT + 0x101));
		OK(!sym_hv_is_return(s, 0xffff82d040400010));
		sym_free(s);
	}
	end();
	buf_release(&b);
}

/*
 * Which addresses can be return addresses: all that objdump shows behind a call, and few others.
 * The code has calls through registers and memory in all the forms that a compiler makes of
 * function pointers.
 */
static void test_returns(void)
{
	u64 addr, other = 0, taken = 0, calls = 0, seen = 0;
	struct buf b = BUF_INIT;
	struct symbolizer *s;
	char line[512];
	bool after = false;
	FILE *f;
	int i;

	buf_puts(&b, "struct o { long pad[40]; int (*f)(int); int (*g[300])(int); };\nextern int "
		     "(*hook)(int), (*table[64])(int);\n"
		     "int (*hook)(int), (*table[64])(int);\n__attribute__((noinline)) int leaf(int "
		     "x) { return x * 3 + 1; }\n");
	for (i = 0; i < 60; i++)
		buf_printf(&b,
			   "int fn%d(struct o *o, struct o **v, int i) { int r = leaf(i) + o->f(i "
			   "+ %d) + o->g[%d](r) + v[i]->g[i + 1](r);\n"
			   "r += hook(r) * table[i](r) + table[%d](r) + leaf(r + %d); return r + "
			   "v[%d]->f(r) - fn%d(o, v, r); }\n",
			   i, i * 1000, i * 5, i, i, i, i ? i - 1 : 0);
	buf_puts(&b, "void _start(void) { fn59(0, 0, 1); }\n");
	write_file("calls.c", b.p, b.n);
	buf_release(&b);
	OK(run("gcc -O2 -fpie -fno-plt -nostdlib -static -w -Wl,-Ttext=0x%llx -Wl,-Tdata=0x%llx "
	       "-Wl,-Tbss=0x%llx calls.c -o calls && "
	       "objdump -d --no-show-raw-insn calls > calls.txt",
	       XEN_TEXT, XEN_TEXT + 0x200000, XEN_TEXT + 0x201000));
	start();
	opts.xen_syms = in_dir("calls");
	s = sym_new(&opts, &strings, &diag);
	f = fopen(in_dir("calls.txt"), "re");
	while (f && fgets(line, sizeof(line), f)) {
		const char *p = line + strspn(line, " "), *end = line + strlen(line);

		if (parse_hex(&p, end, &addr) || *p != ':' || p[1] != '\t')
			continue;
		if (after) {
			calls++;
			seen += sym_hv_is_return(s, addr);
		} else {
			other++;
			taken += sym_hv_is_return(s, addr);
		}
		after = !strncmp(p + 2, "call", 4);
	}
	if (f)
		fclose(f);
	OK(calls > 400);
	EQ(seen, calls);
	/* by chance: the tail of an instruction looks like a call */
	OK(other > 1000 && taken * 50 < other);
	sym_free(s);
	end();
}

int main(void)
{
	if (!made_start("gcc ld objcopy objdump strip sed"))
		return 0;
	test_user();
	test_this_machine();
	test_late();
	test_debug_files();
	test_jit();
	test_jitdump();
	test_kernel();
	test_module();
	test_xen();
	test_returns();
	made_end();
	return tap_done();
}
