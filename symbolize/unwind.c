/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwinding of saved user stacks (perf record --call-graph=dwarf) by libdwfl with our own
 * callbacks: registers and the piece of stack come from the sample, code from the mapped files.
 *
 * One Dwfl an address space, kept as long as no mapping that it knows changes; modules are reported
 * to it when the walk first reaches them, so a process with a hundred libraries costs what its
 * stacks touch.  ELF handles are shared by all processes that map the file.  On x86-64 a stack
 * whose frames all have plain rows of CFI (symbolize/cfi.h) is walked here, with the same result.
 * Where there is no unwind information (JIT code, files that were not found), libdwfl's backends
 * follow the frame pointer.
 *
 * Register orders: perf's from arch/{x86,arm64}/include/uapi/asm/perf_regs.h, DWARF's from the
 * psABI documents.
 */
#include <elf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <gelf.h>
#include <unistd.h>

#include "symbolize/cfi.h"
#include "symbolize/internal.h"

/* Address spaces whose state is kept. */
#define MAX_UNWINDERS 128
/* A failed read this far above the saved piece of stack is one of the stack. */
#define STACK_REACH (64ULL << 20)
/* Mappings before and behind an address that are looked at for one that it lies beside; segments of
 * their files that one stack may have looked at. */
#define BESIDE    8
#define MAX_STEPS (1u << 20)

/* The file with the code of a module. */
struct elf_file {
	Elf *elf;
	int fd;
	const u8 *bytes;
	size_t size;
	u64 low, high; /* link-time range of what is loaded */
	VEC(GElf_Phdr) loads;
	struct cfi *cfi; /* NULL: not asked for yet */
};

struct unwinder {
	struct unwinders *owner;
	struct mm *mm;
	Dwfl *dwfl;
	u64 used;  /* tick of the last use */
	bool wide; /* 64-bit */
};

enum machine { MACHINE_X86_64, MACHINE_I386, MACHINE_AARCH64, MACHINE_NR };

struct unwinders {
	struct symbolizer *s;
	VEC(struct unwinder *) v;
	u64 tick;
	Elf *machine[MACHINE_NR];
	Elf64_Ehdr images[MACHINE_NR];

	/* the sample at work */
	struct mm *mm;
	struct unwinder *uw;
	enum machine mach;
	const struct sym_regs *regs;
	u64 ip, sp;
	const u8 *stack;
	size_t stack_size;
	struct sym_unwound *pcs;
	size_t n, max;
	bool ran_out; /* the last failed read was above the saved piece */
	u32 steps;    /* that reads from files may still take */
};

/* perf register number -> DWARF register number, -1: no register of the walk. */
static const signed char x86_64_regs[] = {
	0, 3, 2, 1, 4, 5, 6, 7, 16, -1, -1, -1, -1, -1, -1, -1, 8, 9, 10, 11, 12, 13, 14, 15,
};
static const signed char i386_regs[] = { 0, 3, 1, 2, 6, 7, 5, 4, 8 };

#define PERF_X86_SP   7
#define PERF_X86_IP   8
#define PERF_ARM64_SP 31
#define PERF_ARM64_PC 32

/* ---- files ---- */

static struct elf_file *elf_file_open(const char *path)
{
	struct elf_file *e = xcalloc(1, sizeof(*e));
	size_t n = 0, i;
	GElf_Phdr ph;

	elf_version(EV_CURRENT);
	e->fd = open(path, O_RDONLY | O_CLOEXEC);
	e->elf = e->fd >= 0 ? elf_begin(e->fd, ELF_C_READ_MMAP, NULL) : NULL;
	if (!e->elf || elf_kind(e->elf) != ELF_K_ELF || elf_getphdrnum(e->elf, &n))
		goto fail;
	e->bytes = (const u8 *)elf_rawfile(e->elf, &e->size);
	if (!e->bytes)
		goto fail;
	n = MIN(n, ELF_MAX_PHDRS);
	for (i = 0; i < n; i++) {
		if (!gelf_getphdr(e->elf, (int)i, &ph))
			goto fail;
		if (ph.p_type != PT_LOAD)
			continue;
		/* Sums below must not wrap. */
		if (ph.p_vaddr + ph.p_memsz < ph.p_vaddr || ph.p_offset + ph.p_filesz < ph.p_offset)
			goto fail;
		vec_push(&e->loads, ph);
		if (e->loads.n == 1)
			e->low = ph.p_align ? ph.p_vaddr & -ph.p_align : ph.p_vaddr;
		e->high = MAX(e->high, ph.p_vaddr + ph.p_memsz);
	}
	if (e->loads.n && e->high > e->low)
		return e;
fail:
	if (e->elf)
		elf_end(e->elf);
	if (e->fd >= 0)
		close(e->fd);
	vec_release(&e->loads);
	free(e);
	return NULL;
}

static void elf_file_close(struct elf_file *e)
{
	if (!e)
		return;
	cfi_free(e->cfi);
	elf_end(e->elf);
	close(e->fd);
	vec_release(&e->loads);
	free(e);
}

void module_release_elf(struct module *m)
{
	elf_file_close(m->elf);
	m->elf = NULL;
}

bool elf_first_vaddr(const char *path, u64 *vaddr)
{
	struct elf_file *e = elf_file_open(path);

	if (!e)
		return false;
	*vaddr = e->low;
	elf_file_close(e);
	return true;
}

bool elf_has_code(const char *path)
{
	struct elf_file *e = elf_file_open(path);
	Elf_Scn *scn = NULL;
	bool code = false;
	GElf_Shdr sh;
	size_t i;

	if (!e)
		return false;
	while ((scn = elf_nextscn(e->elf, scn)) && !code)
		code = gelf_getshdr(scn, &sh) && sh.sh_flags & SHF_EXECINSTR &&
		       sh.sh_type != SHT_NOBITS;
	/* The table of sections may have been stripped off. */
	if (!elf_nextscn(e->elf, NULL))
		for (i = 0; i < e->loads.n; i++)
			code |= e->loads.v[i].p_flags & PF_X && e->loads.v[i].p_filesz;
	elf_file_close(e);
	return code;
}

static struct elf_file *module_elf(struct symbolizer *s, struct module *m)
{
	if (!m->elf_searched)
		find_code(s, m);
	if (!m->elf && m->elf_path && !m->elf_failed) {
		m->elf = elf_file_open(m->elf_path);
		m->elf_failed = !m->elf;
	}
	return m->elf;
}

/* Link-time address of a mapped file offset: by the executable segment that holds it, else by any.
 */
static bool offset_to_vaddr(const struct elf_file *e, u64 off, u64 *vaddr)
{
	bool found = false;
	size_t i;

	for (i = 0; i < e->loads.n; i++) {
		const GElf_Phdr *ph = &e->loads.v[i];

		/* Mappings are of whole pages. */
		if (off < (ph->p_offset & ~(u64)4095) || off >= ph->p_offset + ph->p_filesz ||
		    (found && !(ph->p_flags & PF_X)))
			continue;
		*vaddr = off - ph->p_offset + ph->p_vaddr;
		found = true;
		if (ph->p_flags & PF_X)
			break;
	}
	return found;
}

/* ---- libdwfl's questions ---- */

static int find_elf(Dwfl_Module *mod, void **userdata, const char *name, Dwarf_Addr base,
		    char **file, Elf **elfp)
{
	struct elf_file *e = *userdata;

	(void)mod;
	(void)name;
	(void)base;
	(void)file;
	/* One more reference to the handle that all processes share. */
	*elfp = e ? elf_begin(-1, ELF_C_READ_MMAP, e->elf) : NULL;
	return -1;
}

static int find_debuginfo(Dwfl_Module *mod, void **userdata, const char *name, Dwarf_Addr base,
			  const char *file, const char *link, GElf_Word crc, char **debug_file)
{
	(void)mod;
	(void)userdata;
	(void)name;
	(void)base;
	(void)file;
	(void)link;
	(void)crc;
	(void)debug_file;
	/* .eh_frame is in the file with the code, and so is .debug_frame where a program has
	 * nothing else. */
	return -1;
}

static const Dwfl_Callbacks dwfl_callbacks = {
	.find_elf = find_elf,
	.find_debuginfo = find_debuginfo,
};

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread)
{
	(void)dwfl;
	/* one thread, number 1 */
	if (*thread)
		return 0;
	*thread = arg;
	return 1;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *arg, void **thread)
{
	(void)dwfl;
	(void)tid;
	*thread = arg;
	return true;
}

static u64 word_at(const u8 *p, size_t width)
{
	/* All machines that are unwound here are little-endian. */
	u64 low = (u64)p[0] | (u64)p[1] << 8 | (u64)p[2] << 16 | (u64)p[3] << 24;

	if (width == 4)
		return low;
	return low | (u64)p[4] << 32 | (u64)p[5] << 40 | (u64)p[6] << 48 | (u64)p[7] << 56;
}

static bool read_file(struct unwinders *u, u64 addr, size_t width, u64 *value)
{
	const struct mapping *map = mm_find(u->mm, addr);
	struct elf_file *e;
	u64 off, bias;
	size_t i, last;

	if (map) {
		e = module_elf(u->s, &u->s->modules.v[map->module]);
		off = addr - map->start + map->pgoff;
		if (!e || off > e->size || e->size - off < width)
			return false;
		*value = word_at(e->bytes + off, width);
		return true;
	}
	/* Recordings usually tell executable mappings only: read-only data of the same file lies
	 * beside them. */
	i = mm_lower(u->mm, addr);
	for (i = i > BESIDE ? i - BESIDE : 0, last = MIN(i + 2 * BESIDE, u->mm->maps.n); i < last;
	     i++) {
		map = &u->mm->maps.v[i];
		e = u->s->modules.v[map->module].elf;
		if (!e || u->steps < 2 * e->loads.n || !offset_to_vaddr(e, map->pgoff, &bias))
			continue;
		u->steps -= (u32)(2 * e->loads.n);
		bias = map->start - bias;
		for (size_t k = 0; k < e->loads.n; k++) {
			const GElf_Phdr *ph = &e->loads.v[k];
			u64 at = addr - bias - ph->p_vaddr;

			if ((ph->p_flags & PF_W) || at >= ph->p_filesz || ph->p_filesz - at < width)
				continue;
			off = ph->p_offset + at;
			if (off > e->size || e->size - off < width)
				return false;
			*value = word_at(e->bytes + off, width);
			return true;
		}
	}
	return false;
}

static bool memory_read(Dwfl *dwfl, Dwarf_Addr addr, Dwarf_Word *result, void *arg)
{
	struct unwinders *u = arg;
	size_t width = u->mach == MACHINE_I386 ? 4 : 8;
	u64 off = addr - u->sp, value;

	(void)dwfl;
	/* Addresses near 2^64 are asked for at the ends of chains: nothing here is added to `addr`.
	 */
	if (off < u->stack_size && u->stack_size - off >= width) {
		*result = word_at(u->stack + off, width);
		return true;
	}
	if (read_file(u, addr, width, &value)) {
		*result = value;
		return true;
	}
	u->ran_out = off < u->stack_size + STACK_REACH;
	return false;
}

/* Value of a perf register; false when it was not saved. */
static bool reg_value(const struct sym_regs *r, unsigned int nr, u64 *v)
{
	if (nr >= 64 || !(r->mask >> nr & 1))
		return false;
	*v = r->values[__builtin_popcountll(r->mask & ((1ULL << nr) - 1))];
	return true;
}

static bool set_registers(Dwfl_Thread *thread, void *arg)
{
	struct unwinders *u = arg;
	const signed char *order = u->mach == MACHINE_I386 ? i386_regs : x86_64_regs;
	size_t n = u->mach == MACHINE_I386 ? ARRAY_SIZE(i386_regs) : ARRAY_SIZE(x86_64_regs), i;
	Dwarf_Word v;
	u64 value;

	if (u->mach == MACHINE_AARCH64) {
		for (i = 0; i <= PERF_ARM64_SP; i++) {
			if (!reg_value(u->regs, (unsigned int)i, &value))
				continue;
			v = value;
			if (!dwfl_thread_state_registers(thread, (int)i, 1, &v))
				return false;
		}
		dwfl_thread_state_register_pc(thread, u->ip);
		return true;
	}
	for (i = 0; i < n; i++) {
		if (order[i] < 0 || !reg_value(u->regs, (unsigned int)i, &value))
			continue;
		v = u->mach == MACHINE_I386 ? (u32)value : value;
		if (!dwfl_thread_state_registers(thread, order[i], 1, &v))
			return false;
	}
	return true;
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
	.next_thread = next_thread,
	.get_thread = get_thread,
	.memory_read = memory_read,
	.set_initial_registers = set_registers,
};

/* ---- address spaces ---- */

static void report_module(struct unwinders *u, u64 addr)
{
	const struct mapping *map = mm_find(u->mm, addr);
	struct elf_file *e;
	Dwfl_Module *mod;
	u64 vaddr, bias;
	void **userdata;
	char name[32];

	if (!map || dwfl_addrmodule(u->uw->dwfl, addr))
		return;
	e = module_elf(u->s, &u->s->modules.v[map->module]);
	if (!e || !offset_to_vaddr(e, map->pgoff, &vaddr))
		return;
	bias = map->start - vaddr;
	/* A hostile file can claim anything. */
	if (bias + e->high <= bias + e->low)
		return;
	snprintf(name, sizeof(name), "%" PRIx64, bias + e->low);
	dwfl_report_begin_add(u->uw->dwfl);
	mod = dwfl_report_module(u->uw->dwfl, name, bias + e->low, bias + e->high);
	if (mod && dwfl_module_info(mod, &userdata, NULL, NULL, NULL, NULL, NULL, NULL))
		*userdata = e;
	dwfl_report_end(u->uw->dwfl, NULL, NULL);
}

static void unwinder_free(struct unwinder *uw)
{
	dwfl_end(uw->dwfl);
	uw->mm->unwinder = NULL;
	free(uw);
}

void unwinder_drop(void *p)
{
	struct unwinder *uw = p;
	struct unwinders *u = uw->owner;
	size_t i;

	for (i = 0; i < u->v.n && u->v.v[i] != uw; i++)
		;
	if (i < u->v.n)
		u->v.v[i] = u->v.v[--u->v.n];
	unwinder_free(uw);
}

static struct unwinder *unwinder_get(struct unwinders *u, struct mm *mm)
{
	struct unwinder *uw = mm->unwinder;
	size_t i, oldest = 0;

	if (uw && uw->wide == (u->mach != MACHINE_I386)) {
		uw->used = ++u->tick;
		return uw;
	}
	if (uw)
		unwinder_drop(uw);
	if (u->v.n >= MAX_UNWINDERS) {
		for (i = 1; i < u->v.n; i++)
			if (u->v.v[i]->used < u->v.v[oldest]->used)
				oldest = i;
		unwinder_drop(u->v.v[oldest]);
	}
	uw = xcalloc(1, sizeof(*uw));
	uw->owner = u;
	uw->mm = mm;
	uw->wide = u->mach != MACHINE_I386;
	uw->used = ++u->tick;
	uw->dwfl = dwfl_begin(&dwfl_callbacks);
	if (!uw->dwfl ||
	    !dwfl_attach_state(uw->dwfl, u->machine[u->mach], 1, &thread_callbacks, u)) {
		if (uw->dwfl)
			dwfl_end(uw->dwfl);
		free(uw);
		return NULL;
	}
	mm->unwinder = uw;
	vec_push(&u->v, uw);
	return uw;
}

static int on_frame(Dwfl_Frame *state, void *arg)
{
	struct unwinders *u = arg;
	bool activation;
	Dwarf_Addr pc;

	u->ran_out = false;
	if (!dwfl_frame_pc(state, &pc, NULL))
		return DWARF_CB_ABORT;
	/* Whether a frame is an activation is told by the next one: asking unwinds it, for which
	 * its module must be known. */
	report_module(u, u->n ? pc - 1 : pc);
	if (u->n && mm_find(u->mm, pc) && !mm_find(u->mm, pc - 1))
		report_module(u, pc);
	if (!dwfl_frame_pc(state, &pc, &activation))
		return DWARF_CB_ABORT;
	if (u->mach == MACHINE_AARCH64)
		pc &= 0x0000ffffffffffffULL; /* pointer authentication lives in the upper 16 bits */
	/* A walk that has left the process' mappings has gone wrong. */
	if (u->n && (!pc || !mm_find(u->mm, activation ? pc : pc - 1)))
		return DWARF_CB_ABORT;
	u->pcs[u->n].pc = pc;
	u->pcs[u->n].kind = activation ? ADDR_EXACT : ADDR_RETURN;
	u->n++;
	return u->n == u->max ? DWARF_CB_ABORT : DWARF_CB_OK;
}

/* ---- plain stacks on x86-64 ---- */

struct plain {
	u64 reg[CFI_REGS];
	u32 have; /* bit i: reg[i] has a value */
};

/* The registers of the caller; those that cannot be read have no value. */
static void plain_step(struct unwinders *u, const struct cfi_row *row, const struct plain *in,
		       struct plain *out)
{
	u64 cfa = in->reg[row->cfa_reg] + (u64)(s64)row->cfa_off, at;
	const struct cfi_saved *r, *end = row->saved + row->nr_saved;
	Dwarf_Word v;

	*out = *in;
	out->have &= row->same;
	if (!(in->have >> row->cfa_reg & 1))
		return;
	for (r = row->saved; r < end; r++) {
		at = cfa + (u64)(s64)r->off;
		if (r->is_value)
			v = at;
		else if (!memory_read(NULL, at, &v, u))
			continue;
		out->reg[r->reg] = v;
		out->have |= 1u << r->reg;
	}
}

/* Code that is mapped in one piece, and what unwinds it. */
struct plain_place {
	u64 start, end, bias;
	struct cfi *cfi;
};

static bool plain_find(struct unwinders *u, u64 pc, struct plain_place *place)
{
	const struct mapping *map = mm_find(u->mm, pc);
	struct elf_file *e;
	u64 vaddr, bias;

	e = map ? module_elf(u->s, &u->s->modules.v[map->module]) : NULL;
	if (!e || !offset_to_vaddr(e, map->pgoff, &vaddr))
		return false;
	bias = map->start - vaddr;
	/* What libdwfl would not take as a module. */
	if (bias + e->high <= bias + e->low)
		return false;
	if (!e->cfi)
		e->cfi = cfi_new(e->elf);
	*place = (struct plain_place){ map->start, map->end, bias, e->cfi };
	return true;
}

/*
 * Walks the stack as libdwfl would, frame by frame: on_frame() says when a walk ends.  False when
 * there is anything that is not plain.
 */
static bool plain_walk(struct unwinders *u)
{
	struct plain a = { .have = 0 }, b, *in = &a, *out = &b, *swap;
	struct plain_place place = { 0 };
	size_t i;
	u64 pc = u->ip;

	if (u->mach != MACHINE_X86_64)
		return false;
	for (i = 0; i < ARRAY_SIZE(x86_64_regs); i++)
		if (x86_64_regs[i] >= 0 &&
		    reg_value(u->regs, (unsigned int)i, &in->reg[x86_64_regs[i]]))
			in->have |= 1u << x86_64_regs[i];
	for (;;) {
		u64 at = u->n ? pc - 1 : pc;
		const struct cfi_row *row;

		if ((at < place.start || at >= place.end) && !plain_find(u, at, &place))
			return false;
		row = cfi_find(place.cfi, at - place.bias);
		if (!row->plain)
			return false;
		u->ran_out = false;
		plain_step(u, row, in, out);
		u->pcs[u->n].pc = pc;
		u->pcs[u->n].kind = u->n ? ADDR_RETURN : ADDR_EXACT;
		if (++u->n == u->max || !(out->have >> CFI_RA & 1) || !out->reg[CFI_RA])
			return true;
		pc = out->reg[CFI_RA];
		swap = in;
		in = out;
		out = swap;
	}
}

/* ---- the public part ---- */

static int machine_of(const struct sym_regs *r)
{
	const char *arch = r->arch ? r->arch : "x86_64";

	if (!strcmp(arch, "aarch64") || !strcmp(arch, "arm64"))
		return r->abi == 2 ? MACHINE_AARCH64 : -1;
	if (strcmp(arch, "x86_64") && (arch[0] != 'i' || !str_ends(arch, "86")))
		return -1;
	return r->abi == 2 ? MACHINE_X86_64 : r->abi == 1 ? MACHINE_I386 : -1;
}

size_t sym_unwind(struct symbolizer *s, u32 pid, u32 tid, const struct sym_regs *regs,
		  const u8 *stack, size_t stack_size, struct sym_unwound *pcs, size_t max,
		  bool *truncated)
{
	struct unwinders *u = s->unwinders;
	int mach = machine_of(regs);

	(void)tid;
	*truncated = false;
	u->mm = spaces_mm(&s->spaces, MM_HOST, pid);
	if (mach < 0 || !u->mm || !max || !u->machine[mach])
		return 0;
	u->mach = (enum machine)mach;
	u->regs = regs;
	if (!reg_value(regs, mach == MACHINE_AARCH64 ? PERF_ARM64_PC : PERF_X86_IP, &u->ip) ||
	    !reg_value(regs, mach == MACHINE_AARCH64 ? PERF_ARM64_SP : PERF_X86_SP, &u->sp))
		return 0;
	u->stack = stack;
	u->stack_size = stack_size;
	u->pcs = pcs;
	u->n = 0;
	u->max = max;
	u->ran_out = false;
	u->steps = MAX_STEPS;
	if (s->opts.libdwfl || !plain_walk(u)) {
		u->n = 0;
		u->ran_out = false;
		u->uw = unwinder_get(u, u->mm);
		if (!u->uw)
			return 0;
		report_module(u, u->ip);
		dwfl_getthread_frames(u->uw->dwfl, 1, on_frame, u);
	}
	*truncated = u->ran_out;
	return u->n;
}

/* An ELF header with nothing behind it: all that libdwfl needs to choose its backend for a machine.
 */
static Elf *machine_elf(Elf64_Ehdr *h64, int class, u16 machine)
{
	Elf32_Ehdr *h32 = (void *)h64;

	memset(h64, 0, sizeof(*h64));
	memcpy(h64->e_ident, ELFMAG, SELFMAG);
	h64->e_ident[EI_CLASS] = (u8) class;
	h64->e_ident[EI_DATA] = ELFDATA2LSB;
	h64->e_ident[EI_VERSION] = EV_CURRENT;
	if (class == ELFCLASS64) {
		h64->e_type = ET_DYN;
		h64->e_machine = machine;
		h64->e_version = EV_CURRENT;
		h64->e_ehsize = sizeof(*h64);
	} else {
		h32->e_type = ET_DYN;
		h32->e_machine = machine;
		h32->e_version = EV_CURRENT;
		h32->e_ehsize = sizeof(*h32);
	}
	return elf_memory((char *)h64, class == ELFCLASS64 ? sizeof(*h64) : sizeof(*h32));
}

struct unwinders *unwinders_new(struct symbolizer *s)
{
	struct unwinders *u = xcalloc(1, sizeof(*u));

	u->s = s;
	elf_version(EV_CURRENT);
	u->machine[MACHINE_X86_64] = machine_elf(&u->images[MACHINE_X86_64], ELFCLASS64, EM_X86_64);
	u->machine[MACHINE_I386] = machine_elf(&u->images[MACHINE_I386], ELFCLASS32, EM_386);
	u->machine[MACHINE_AARCH64] = machine_elf(&u->images[MACHINE_AARCH64], ELFCLASS64,
						  EM_AARCH64);
	return u;
}

void unwinders_free(struct unwinders *u)
{
	size_t i;

	while (u->v.n)
		unwinder_drop(u->v.v[0]);
	for (i = 0; i < MACHINE_NR; i++)
		elf_end(u->machine[i]);
	vec_release(&u->v);
	free(u);
}
