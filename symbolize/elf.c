/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbolize/dwarf-index.h"
#include "symbolize/ranges.h"
#include "symbolize/symfile.h"
#include "symbolize/unpack.h"

/*
 * ELF files: sections, symbol table, separate debug files, MiniDebugInfo, PLT.
 *
 * Which symbol names an address (design: the sized symbol that holds it, wherever a nearer label
 * without a size may lie): symbols with a size are flattened, the one that starts last wins; a
 * symbol without a size reaches to the next symbol or to the end of its section, and counts only
 * where no sized one is, and not when it lies inside one.
 */

#define INIT_BASE                                                                               \
	0x40000000u /* where .init sections of a kernel module are put: they are not beside its \
		       .text */

/* What is read of a name. Names may overlap in the table of strings: each may be as long as that.
 */
#define MAX_NAME 16384

struct elf_symbol {
	u64 lo;
	u32 size;          /* 0: a label */
	u32 rank;          /* greater is better; known of those that start together */
	const char *name;  /* borrowed from the file */
	const char *file;  /* STT_FILE before a local symbol: a hint, or NULL */
	str_id raw, shown; /* 0: not made yet */
	u8 info;           /* st_info */
	bool data;         /* in a section with code, but no code: where a label before it ends */
	bool stub;         /* of the PLT: name is the callee's */
};

struct elf_section {
	u64 addr, size; /* in the file's address space; for ET_REL as laid out here */
	u64 offset;
	bool code, alloc, bits; /* bits: it has contents */
	bool plt;
};

struct elf_file {
	struct symfile f; /* first */
	int fd;
	Elf *elf;
	struct buf image; /* the unpacked file, or a copy that is written to */
	bool relocatable;
	u16 machine;
	VEC(struct elf_section) sections; /* by index */
	struct ranges code; /* sections with code, flattened; id: index of the section */
	size_t symtab, dynsym, mini, debuglink, altlink; /* index of section, 0: none */
	bool debug_info;

	struct elf_file *debug;     /* separate debug file, owned */
	u64 bias;                   /* its addresses + bias = ours */
	struct elf_file *minidebug; /* MiniDebugInfo, owned */

	bool dwarf_tried;
	struct dwarf_index *dwarf;
	bool syms_ready;
	VEC(struct elf_symbol) syms; /* sorted */
	struct ranges sized;         /* id: index in syms */
};

static const struct symfile_ops dwarf_ops, symtab_ops, dynsym_ops;

static inline struct elf_file *elf_file(struct symfile *f)
{
	return (struct elf_file *)f;
}

static inline const struct elf_file *celf_file(const struct symfile *f)
{
	return (const struct elf_file *)f;
}

/* ---- opening ---- */

static bool is_native(const struct elf_file *e)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return elf_getident(e->elf, NULL)[EI_DATA] == ELFDATA2LSB;
#else
	return elf_getident(e->elf, NULL)[EI_DATA] == ELFDATA2MSB;
#endif
}

static const char *section_name(struct elf_file *e, size_t names, const GElf_Shdr *sh)
{
	const char *s = elf_strptr(e->elf, names, sh->sh_name);

	return s ? s : "";
}

static void add_code(struct elf_file *e, u64 lo, u64 size, u32 id)
{
	u64 hi = lo + size;

	if (hi >= lo)
		vec_push(&e->code.r, ((struct range){ lo, hi, id }));
}

/*
 * Sections of a kernel module have no addresses yet.  The kernel puts the code first, in the order
 * of the headers, each aligned, what begins with ".init" apart (kernel/module: layout_sections).
 */
static void lay_out(struct elf_file *e, size_t names)
{
	u64 core = 0, init = INIT_BASE;
	size_t i;

	for (i = 1; i < e->sections.n; i++) {
		struct elf_section *s = &e->sections.v[i];
		GElf_Shdr sh;
		u64 *at, align;

		if (!s->code || !gelf_getshdr(elf_getscn(e->elf, i), &sh))
			continue;
		at = strncmp(section_name(e, names, &sh), ".init", 5) ? &core : &init;
		align = MAX(sh.sh_addralign, 1);
		if ((align & (align - 1)) || align > 1u << 21 || s->size > INIT_BASE / 2)
			continue;
		*at = (*at + align - 1) & ~(align - 1);
		s->addr = *at;
		*at += s->size;
		add_code(e, s->addr, s->size, (u32)i);
	}
}

static void read_notes(struct elf_file *e, Elf_Data *data)
{
	GElf_Nhdr nh;
	size_t off = 0, name, desc;

	while (data && !e->f.build_id_len &&
	       (off = gelf_getnote(data, off, &nh, &name, &desc)) > 0) {
		if (nh.n_type != NT_GNU_BUILD_ID || nh.n_namesz != 4 || !nh.n_descsz ||
		    nh.n_descsz > sizeof(e->f.build_id) ||
		    memcmp((char *)data->d_buf + name, "GNU", 4))
			continue;
		memcpy(e->f.build_id, (u8 *)data->d_buf + desc, nh.n_descsz);
		e->f.build_id_len = (u8)nh.n_descsz;
	}
}

/* A debug directory of PE with a CodeView record: "RSDS", then the 16 bytes that Xen reports when
 * booted by EFI. */
static void read_codeview(struct elf_file *e, Elf_Data *data)
{
	const u8 *p;

	if (!data || !data->d_buf || data->d_size < 20)
		return;
	p = memmem(data->d_buf, data->d_size - 16, "RSDS", 4);
	if (!p)
		return;
	memcpy(e->f.build_id, p + 4, 16);
	e->f.build_id_len = 16;
}

static void scan_segments(struct elf_file *e, u64 notes)
{
	size_t n, i;
	bool code = !e->code.r.n;

	if (elf_getphdrnum(e->elf, &n))
		return;
	n = MIN(n, ELF_MAX_PHDRS);
	for (i = 0; i < n; i++) {
		GElf_Phdr ph;

		if (!gelf_getphdr(e->elf, (int)i, &ph))
			break;
		if (code && ph.p_type == PT_LOAD && (ph.p_flags & PF_X))
			add_code(e, ph.p_vaddr, ph.p_memsz, 0);
		if (ph.p_type != PT_NOTE || e->f.build_id_len || ph.p_filesz > notes)
			continue;
		notes -= ph.p_filesz;
		read_notes(e, elf_getdata_rawchunk(e->elf, (int64_t)ph.p_offset, ph.p_filesz,
						   ph.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR));
	}
}

/* libelf looks for the end of each name anew, from the end of the table. */
static bool ends_in_nul(struct elf_file *e, size_t names)
{
	Elf_Data *data = names ? elf_rawdata(elf_getscn(e->elf, names), NULL) : NULL;

	return !data || !data->d_buf || !data->d_size || !((char *)data->d_buf)[data->d_size - 1];
}

static int scan(struct elf_file *e, struct error *err)
{
	GElf_Ehdr eh;
	Elf_Scn *scn;
	size_t n, i, names = 0, codeview = 0, size = 0;
	u64 notes;

	if (elf_kind(e->elf) != ELF_K_ELF || !gelf_getehdr(e->elf, &eh))
		return error_set(err, "'%s': not an ELF file", e->f.path);
	e->relocatable = eh.e_type == ET_REL;
	e->machine = eh.e_machine;
	if (elf_getshdrnum(e->elf, &n))
		n = 0;
	if (elf_getshdrstrndx(e->elf, &names))
		names = 0;
	if (!ends_in_nul(e, names))
		return error_set(err, "'%s': its table of section names is damaged", e->f.path);
	elf_rawfile(e->elf, &size);
	notes = 2 * (u64)size;
	vec_reserve(&e->sections, n);
	for (i = 0; i < n; i++) {
		struct elf_section s = { 0 };
		const char *name;
		GElf_Shdr sh;

		scn = elf_getscn(e->elf, i);
		if (!scn || !gelf_getshdr(scn, &sh)) {
			vec_push(&e->sections, s);
			continue;
		}
		s.addr = e->relocatable ? 0 : sh.sh_addr;
		s.size = sh.sh_size;
		s.offset = sh.sh_offset;
		s.alloc = sh.sh_flags & SHF_ALLOC;
		s.bits = sh.sh_type != SHT_NOBITS;
		s.code = s.alloc && (sh.sh_flags & SHF_EXECINSTR);
		vec_push(&e->sections, s);
		if (s.code && !e->relocatable)
			add_code(e, s.addr, s.size, (u32)i);
		if (sh.sh_type == SHT_SYMTAB)
			e->symtab = i;
		else if (sh.sh_type == SHT_DYNSYM)
			e->dynsym = i;
		else if (sh.sh_type == SHT_NOTE && !e->f.build_id_len && sh.sh_size <= notes) {
			/* Sections may overlap, but real ones do not hold more than the file. */
			notes -= sh.sh_size;
			read_notes(e, elf_getdata(scn, NULL));
		}
		if (sh.sh_type == SHT_NOBITS)
			continue;
		name = section_name(e, names, &sh);
		e->sections.v[i].plt = s.code && !strncmp(name, ".plt", 4);
		if (!strcmp(name, ".debug_info") || !strcmp(name, ".zdebug_info"))
			e->debug_info = true;
		else if (!strcmp(name, ".gnu_debugdata"))
			e->mini = i;
		else if (!strcmp(name, ".gnu_debuglink"))
			e->debuglink = i;
		else if (!strcmp(name, ".gnu_debugaltlink"))
			e->altlink = i;
		else if (!strcmp(name, ".buildid"))
			codeview = i;
	}
	if (e->relocatable)
		lay_out(e, names);
	else
		scan_segments(e, notes);
	if (!e->f.build_id_len && codeview)
		read_codeview(e, elf_rawdata(elf_getscn(e->elf, codeview), NULL));
	ranges_flatten(&e->code);
	if (e->code.r.n) {
		e->f.text_start = e->code.r.v[0].lo;
		e->f.text_end = e->code.r.v[e->code.r.n - 1].hi;
	}
	return 0;
}

static void elf_free(struct symfile *f)
{
	struct elf_file *e = elf_file(f);

	dwarf_index_free(e->dwarf);
	if (e->debug)
		elf_free(&e->debug->f);
	if (e->minidebug)
		elf_free(&e->minidebug->f);
	vec_release(&e->sections);
	vec_release(&e->code.r);
	vec_release(&e->syms);
	vec_release(&e->sized.r);
	if (e->elf)
		elf_end(e->elf);
	if (e->fd >= 0)
		close(e->fd);
	buf_release(&e->image);
	free(f->path);
	free(e);
}

static void choose_ops(struct elf_file *e)
{
	const struct elf_file *d = e->debug;

	if (symfile_elf_has_dwarf(&e->f))
		e->f.ops = &dwarf_ops;
	else
		e->f.ops = e->symtab || e->mini || (d && d->symtab) ? &symtab_ops : &dynsym_ops;
}

static struct elf_file *elf_file_new(const char *path, const struct symfile_opts *opts)
{
	struct elf_file *e = xcalloc(1, sizeof(*e));

	e->fd = -1;
	e->f.opts = *opts;
	e->f.path = xstrdup(path);
	e->f.ops = &symtab_ops;
	return e;
}

/* From bytes that e->image has. */
static int open_image(struct elf_file *e, struct error *err)
{
	e->elf = elf_memory(e->image.p, e->image.n);
	if (!e->elf)
		return error_set(err, "'%s': not an ELF file", e->f.path);
	return scan(e, err);
}

static int relocate(struct elf_file *e);

static int open_file(struct elf_file *e, struct error *err)
{
	struct file_map map;
	enum packing kind;
	u8 head[18] = { 0 };
	struct stat st;
	ssize_t n;
	bool rel;
	int r = 0;

	if (elf_version(EV_CURRENT) == EV_NONE)
		return error_set(err, "libelf is too old");
	/* O_NONBLOCK: a FIFO in the place of a file must not stop us. */
	e->fd = open(e->f.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (e->fd < 0 || fstat(e->fd, &st))
		return error_errno(err, "'%s'", e->f.path);
	if (!S_ISREG(st.st_mode))
		return error_set(err, "'%s': not a regular file", e->f.path);
	n = pread(e->fd, head, sizeof(head), 0);
	if (n < 0)
		return error_errno(err, "'%s'", e->f.path);
	kind = unpack_kind(head, (size_t)n);
	rel = !memcmp(head, ELFMAG, SELFMAG) && (head[16] == ET_REL || head[17] == ET_REL);
	if (kind != PACKED_NOT || rel) {
		if (file_map_open(&map, e->f.path, 0, err))
			return -1;
		if (kind != PACKED_NOT)
			r = unpack(kind, map.p, map.n, &e->image, e->f.path, err);
		else if (map.n <= UNPACK_MAX)
			buf_put(&e->image, map.p, map.n);
		file_map_close(&map);
	}
	if (r)
		return -1;
	if (e->image.n) {
		close(e->fd);
		e->fd = -1;
		if (open_image(e, err))
			return -1;
		return e->relocatable ? relocate(e) : 0;
	}
	e->elf = elf_begin(e->fd, ELF_C_READ_MMAP, NULL);
	if (!e->elf)
		return error_set(err, "'%s': %s", e->f.path, elf_errmsg(-1));
	return scan(e, err);
}

/* The file is mapped; its descriptor is not needed any more, and a host maps more libraries than a
 * process may have open. */
static void drop_descriptor(struct elf_file *e)
{
	if (e->fd < 0 || elf_cntl(e->elf, ELF_C_FDREAD))
		return;
	close(e->fd);
	e->fd = -1;
}

/* Writes v into a field of a section header. */
static void put_field(u8 *p, size_t n, u64 v)
{
	u32 v32 = (u32)v;

	memcpy(p, n == 8 ? (void *)&v : (void *)&v32, n);
}

/*
 * Debug sections packed by zstd, which libelf reads from 0.189 on only: they are unpacked behind a
 * copy of the file, and their headers lead there (gABI, "Section Compression").
 */
static int unpack_sections(struct elf_file *e, struct error *err)
{
	bool wide = gelf_getclass(e->elf) == ELFCLASS64;
	size_t entry = wide ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr), size, i, names;
	size_t header = wide ? sizeof(Elf64_Chdr) : sizeof(Elf32_Chdr);
	struct buf image = BUF_INIT;
	const char *file;
	GElf_Ehdr eh;

	if (!gelf_getehdr(e->elf, &eh) || elf_getshdrstrndx(e->elf, &names) ||
	    eh.e_shentsize != entry)
		return 0;
	file = elf_rawfile(e->elf, &size);
	for (i = 1; file && i < e->sections.n; i++) {
		Elf_Scn *scn = elf_getscn(e->elf, i);
		GElf_Shdr sh;
		GElf_Chdr ch;
		size_t at;

		if (!scn || !gelf_getshdr(scn, &sh) || !(sh.sh_flags & SHF_COMPRESSED) ||
		    sh.sh_type == SHT_NOBITS ||
		    strncmp(section_name(e, names, &sh), ".debug_", 7) || !gelf_getchdr(scn, &ch) ||
		    ch.ch_type != 2)
			continue;
		if (sh.sh_offset > size || sh.sh_size > size - sh.sh_offset ||
		    sh.sh_size < header || eh.e_shoff > size || (size - eh.e_shoff) / entry <= i ||
		    size > UNPACK_MAX)
			continue;
		if (!image.n)
			buf_put(&image, file, size);
		while (image.n % 16)
			buf_putc(&image, 0);
		at = image.n;
		if (at - size > UNPACK_MAX || at / 2000 > size) {
			buf_release(&image);
			return error_set(err, "'%s': its sections are too large unpacked",
					 e->f.path);
		}
		if (unpack(PACKED_ZSTD, (const u8 *)file + sh.sh_offset + header,
			   sh.sh_size - header, &image, e->f.path, err) ||
		    image.n - at != ch.ch_size) {
			buf_release(&image);
			return error_set(
				err, "'%s': a section that is packed by zstd cannot be unpacked",
				e->f.path);
		}
		if (wide) {
			u8 *p = (u8 *)image.p + eh.e_shoff + i * entry;

			put_field(p + offsetof(Elf64_Shdr, sh_flags), 8,
				  sh.sh_flags & ~(u64)SHF_COMPRESSED);
			put_field(p + offsetof(Elf64_Shdr, sh_offset), 8, at);
			put_field(p + offsetof(Elf64_Shdr, sh_size), 8, ch.ch_size);
		} else {
			u8 *p = (u8 *)image.p + eh.e_shoff + i * entry;

			put_field(p + offsetof(Elf32_Shdr, sh_flags), 4,
				  sh.sh_flags & ~(u64)SHF_COMPRESSED);
			put_field(p + offsetof(Elf32_Shdr, sh_offset), 4, at);
			put_field(p + offsetof(Elf32_Shdr, sh_size), 4, ch.ch_size);
		}
	}
	if (!image.n)
		return 0;
	elf_end(e->elf);
	buf_release(&e->image);
	e->image = image;
	e->sections.n = 0;
	e->code.r.n = 0;
	return open_image(e, err);
}

struct symfile *symfile_open_elf(const char *path, const struct symfile_opts *opts,
				 struct error *err)
{
	struct elf_file *e = elf_file_new(path, opts);
	struct error why = { "" };

	if (open_file(e, err)) {
		elf_free(&e->f);
		return NULL;
	}
	/* Of the other byte order such files are not known; relocated ones are already unpacked as
	 * far as can be. */
	if (!e->relocatable && is_native(e) && unpack_sections(e, &why)) {
		diag_add(opts->diag, DIAG_SYMBOL_FILE, 1, why.msg);
		if (!e->elf) {
			elf_free(&e->f);
			error_set(err, "%s", why.msg);
			return NULL;
		}
	}
	/* libdw wants to know the file's folder: by the descriptor, when it opens the DWARF. */
	if (!e->debug_info)
		drop_descriptor(e);
	choose_ops(e);
	return &e->f;
}

int elf_read_build_id(const char *path, u8 id[32])
{
	struct symfile_opts none = { 0 };
	struct elf_file *e = elf_file_new(path, &none);
	int n = -1;

	if (!open_file(e, NULL)) {
		n = e->f.build_id_len;
		memcpy(id, e->f.build_id, sizeof(e->f.build_id));
	}
	elf_free(&e->f);
	return n;
}

/* ---- relocation of kernel modules ---- */

static bool section_data(struct elf_file *e, size_t i, Elf_Data **data, GElf_Shdr *sh)
{
	Elf_Scn *scn = i ? elf_getscn(e->elf, i) : NULL;

	if (!scn || !gelf_getshdr(scn, sh) || sh->sh_type == SHT_NOBITS)
		return false;
	*data = elf_getdata(scn, NULL);
	return *data && (*data)->d_buf;
}

/* Address of a symbol; in relocatable files its value is an offset in its section. */
static bool symbol_value(struct elf_file *e, Elf_Data *syms, size_t i, u64 *value)
{
	GElf_Sym sym;

	if (i > INT32_MAX || !gelf_getsym(syms, (int)i, &sym) || sym.st_shndx == SHN_UNDEF)
		return false;
	*value = sym.st_value;
	if (sym.st_shndx < e->sections.n)
		*value += e->relocatable ? e->sections.v[sym.st_shndx].addr : 0;
	else if (sym.st_shndx != SHN_ABS)
		return false;
	return true;
}

/* Width of an absolute relocation, 0 for others. */
static size_t reloc_width(u16 machine, u32 type)
{
	switch (machine) {
	case EM_X86_64:
		return type == R_X86_64_64                           ? 8
		       : type == R_X86_64_32 || type == R_X86_64_32S ? 4
								     : 0;
	case EM_AARCH64: return type == R_AARCH64_ABS64 ? 8 : type == R_AARCH64_ABS32 ? 4 : 0;
	default: return 0;
	}
}

/*
 * Applies the relocations of the debug sections, in our copy of the file: DWARF
 * then has the addresses of lay_out().
 */
static int relocate(struct elf_file *e)
{
	size_t i, k, names;
	u64 relocs_left = e->image.n / sizeof(Elf32_Rela),
	    unpack_left = MIN((u64)e->image.n * 2000, UNPACK_MAX);

	if ((e->machine != EM_X86_64 && e->machine != EM_AARCH64) || !is_native(e))
		return 0;
	if (elf_getshdrstrndx(e->elf, &names))
		return 0;
	for (i = 1; i < e->sections.n; i++) {
		GElf_Shdr sh, target;
		Elf_Data *relocs, *syms, *data;
		Elf_Scn *scn = elf_getscn(e->elf, i);
		const char *name;
		size_t n;

		if (!scn || !gelf_getshdr(scn, &sh) || sh.sh_type != SHT_RELA ||
		    sh.sh_info >= e->sections.n ||
		    !gelf_getshdr(elf_getscn(e->elf, sh.sh_info), &target))
			continue;
		name = section_name(e, names, &target);
		if (strncmp(name, ".debug_", 7))
			continue;
		if (target.sh_flags & SHF_COMPRESSED) {
			GElf_Chdr ch;

			if (!gelf_getchdr(elf_getscn(e->elf, sh.sh_info), &ch) ||
			    ch.ch_size > unpack_left ||
			    elf_compress(elf_getscn(e->elf, sh.sh_info), 0, 0) < 0)
				continue;
			unpack_left -= ch.ch_size;
		}
		relocs = elf_getdata(scn, NULL);
		if (!relocs || !section_data(e, sh.sh_link, &syms, &target) ||
		    !section_data(e, sh.sh_info, &data, &target))
			continue;
		n = sh.sh_entsize ? sh.sh_size / sh.sh_entsize : 0;
		for (k = 0; k < n && k < INT32_MAX && relocs_left; k++, relocs_left--) {
			GElf_Rela r;
			u64 value;
			u32 v32;
			size_t width;

			if (!gelf_getrela(relocs, (int)k, &r))
				break;
			width = reloc_width(e->machine, (u32)GELF_R_TYPE(r.r_info));
			if (!width || r.r_offset > data->d_size ||
			    data->d_size - r.r_offset < width ||
			    !symbol_value(e, syms, GELF_R_SYM(r.r_info), &value))
				continue;
			value += (u64)r.r_addend;
			v32 = (u32)value;
			memcpy((u8 *)data->d_buf + r.r_offset,
			       width == 8 ? (void *)&value : (void *)&v32, width);
		}
	}
	return 0;
}

/* ---- symbols ---- */

/* Labels that a linker script or assembler sets at an edge: any other symbol at the same address
 * says more. */
static bool is_marker(const char *s)
{
	static const char *const ends[] = { "_start", "_end", "_begin", "_stop" };
	size_t n = strnlen(s, MAX_NAME), i;

	if (!strncmp(s, "_stext", 6) || !strncmp(s, "_etext", 6) || !strncmp(s, "_sinit", 6) ||
	    !strncmp(s, "_einit", 6) || !strncmp(s, "__start_", 8) || !strncmp(s, "__stop_", 7) ||
	    !strcmp(s, "_text") || !strcmp(s, "_end"))
		return true;
	if (!memchr(s, '_', n))
		return false;
	for (i = 0; i < ARRAY_SIZE(ends); i++) {
		size_t k = strlen(ends[i]);

		if (n >= k && !memcmp(s + n - k, ends[i], k))
			return true;
	}
	return false;
}

/* ARM and RISC-V mark code and data by $x, $d, $a, $t, with ".anything" behind; compilers' local
 * labels begin with .L. */
static bool is_no_name(const char *s)
{
	if (s[0] == '$' && s[1] && strchr("xdat", s[1]) && (!s[2] || s[2] == '.'))
		return true;
	return !s[0] || (s[0] == '.' && s[1] == 'L');
}

/* Order of perf (choose_best_symbol), with functions before labels and edges last. */
static u32 symbol_rank(const struct elf_symbol *s)
{
	u32 underscores = 0, len = (u32)strnlen(s->name, 255);

	if (s->stub)
		return 0;
	while (s->name[underscores] == '_' && underscores < 15)
		underscores++;
	return (u32)(GELF_ST_TYPE(s->info) != STT_OBJECT) << 17 |
	       (u32)(GELF_ST_TYPE(s->info) != STT_NOTYPE) << 16 | (u32)!is_marker(s->name) << 15 |
	       (u32)(GELF_ST_BIND(s->info) != STB_WEAK) << 14 |
	       (u32)(GELF_ST_BIND(s->info) != STB_LOCAL) << 13 | (15 - underscores) << 8 | len;
}

static int symbol_cmp(const void *pa, const void *pb)
{
	const struct elf_symbol *a = pa, *b = pb;

	if (a->lo != b->lo)
		return a->lo < b->lo ? -1 : 1;
	if (!a->size != !b->size)
		return a->size ? 1 : -1;
	if (a->size != b->size)
		return a->size > b->size ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return strncmp(b->name, a->name, MAX_NAME);
}

/* Size of a string table up to its last NUL: what none ends is no name. */
static size_t strings_size(const Elf_Data *strs)
{
	const char *s = strs->d_buf;
	size_t n = strs->d_size;

	while (n && s[n - 1])
		n--;
	return n;
}

/* Reads one symbol table of `from` into e, `bias` added. */
static void load_symbols(struct elf_file *e, struct elf_file *from, size_t section, u64 bias)
{
	Elf_Data *data, *strs;
	GElf_Shdr sh, strsh;
	const char *file = NULL, *str;
	size_t n, i, strn;

	if (!section_data(from, section, &data, &sh) ||
	    !section_data(from, sh.sh_link, &strs, &strsh) || strsh.sh_type != SHT_STRTAB)
		return;
	str = strs->d_buf;
	strn = strings_size(strs);
	n = sh.sh_entsize ? data->d_size / sh.sh_entsize : 0;
	/* Pages that nothing is written to cost nothing. */
	vec_reserve(&e->syms, MIN(n, (size_t)1 << 16));
	for (i = 1; i < n && i < INT32_MAX; i++) {
		const char *name;
		GElf_Sym sym;
		u64 lo;
		int type;

		if (!gelf_getsym(data, (int)i, &sym))
			break;
		type = GELF_ST_TYPE(sym.st_info);
		if (sym.st_name >= strn)
			continue;
		name = str + sym.st_name;
		if (type == STT_FILE) {
			file = *name ? name : NULL;
			continue;
		}
		if ((type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE &&
		     type != STT_OBJECT) ||
		    sym.st_shndx == SHN_UNDEF || sym.st_shndx == SHN_ABS ||
		    sym.st_shndx == SHN_COMMON || is_no_name(name))
			continue;
		lo = sym.st_value;
		if (from->relocatable) {
			if (sym.st_shndx >= from->sections.n ||
			    !from->sections.v[sym.st_shndx].code)
				continue;
			lo += from->sections.v[sym.st_shndx].addr;
		}
		if (from->code.r.n && !ranges_find(from->code.r.v, from->code.r.n, lo))
			continue;
		vec_push(&e->syms,
			 ((struct elf_symbol){
				 .lo = lo + bias,
				 .size = (u32)MIN(sym.st_size, UINT32_MAX),
				 .name = name,
				 .info = sym.st_info,
				 .data = type == STT_OBJECT,
				 .file = GELF_ST_BIND(sym.st_info) == STB_LOCAL ? file : NULL }));
	}
}

static void load_plt(struct elf_file *e);

/* MiniDebugInfo: an ELF file of its own, packed by xz, with the functions that .dynsym lacks (GDB's
 * manual). */
static void open_minidebug(struct elf_file *e)
{
	struct error err = { "" };
	struct elf_file *m;
	Elf_Data *data;
	GElf_Shdr sh;

	if (!section_data(e, e->mini, &data, &sh))
		return;
	m = elf_file_new(e->f.path, &e->f.opts);
	if (unpack(PACKED_XZ, data->d_buf, data->d_size, &m->image, ".gnu_debugdata", &err) ||
	    open_image(m, &err)) {
		diag_addf(e->f.opts.diag, DIAG_SYMBOL_FILE, 1, "'%s': %s", e->f.path, err.msg);
		elf_free(&m->f);
		return;
	}
	e->minidebug = m;
}

/* By address first, which is quick, then what starts together. */
static void sort_symbols(struct elf_file *e)
{
	size_t n = e->syms.n, i, j, k;
	struct range *keys = xreallocarray(NULL, n, sizeof(*keys));
	struct elf_symbol *sorted = xreallocarray(NULL, n, sizeof(*sorted));

	for (i = 0; i < n; i++)
		keys[i] = (struct range){ e->syms.v[i].lo, 0, (u32)i };
	ranges_sort(keys, n);
	for (i = 0; i < n; i++)
		sorted[i] = e->syms.v[keys[i].id];
	for (i = 0; i < n; i = k) {
		for (k = i + 1; k < n && sorted[k].lo == sorted[i].lo; k++)
			;
		for (j = i; j < k && k - i > 1; j++)
			sorted[j].rank = symbol_rank(&sorted[j]);
		if (k - i > 1)
			qsort(&sorted[i], k - i, sizeof(*sorted), symbol_cmp);
	}
	free(keys);
	free(e->syms.v);
	e->syms.v = sorted;
	e->syms.cap = n;
}

static void index_symbols(struct elf_file *e)
{
	struct elf_file *d = e->debug;
	size_t i;

	if (e->syms_ready)
		return;
	e->syms_ready = true;
	if (d && d->symtab) {
		load_symbols(e, d, d->symtab, e->bias);
	} else if (e->symtab) {
		load_symbols(e, e, e->symtab, 0);
	} else {
		load_symbols(e, e, e->dynsym, 0);
		open_minidebug(e);
		if (e->minidebug)
			load_symbols(e, e->minidebug, e->minidebug->symtab, 0);
	}
	load_plt(e);
	sort_symbols(e);
	vec_reserve(&e->sized.r, e->syms.n);
	for (i = 0; i < e->syms.n; i++) {
		const struct elf_symbol *s = &e->syms.v[i];

		if (s->size && s->lo + s->size > s->lo)
			vec_push(&e->sized.r, ((struct range){ s->lo, s->lo + s->size, (u32)i }));
	}
	ranges_flatten(&e->sized);
}

static struct elf_symbol *find_symbol(struct elf_file *e, u64 addr)
{
	const struct range *r, *code;
	size_t lo = 0, hi;
	struct elf_symbol *s;

	index_symbols(e);
	r = ranges_find(e->sized.r.v, e->sized.r.n, addr);
	if (r)
		return e->syms.v[r->id].data ? NULL : &e->syms.v[r->id];
	hi = e->syms.n;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (e->syms.v[mid].lo <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo)
		return NULL;
	s = &e->syms.v[lo - 1];
	if (s->size || s->data || ranges_find(e->sized.r.v, e->sized.r.n, s->lo))
		return NULL;
	code = ranges_find(e->code.r.v, e->code.r.n, s->lo);
	return code && addr < code->hi ? s : NULL;
}

static str_id symbol_raw(struct elf_file *e, struct elf_symbol *s)
{
	size_t n = strnlen(s->name, MAX_NAME);

	if (!s->raw)
		s->raw = s->stub ? strtab_addf(e->f.opts.strings, "%.*s@plt", (int)n, s->name)
				 : strtab_add(e->f.opts.strings, s->name, n);
	return s->raw;
}

static str_id symbol_shown(struct elf_file *e, struct elf_symbol *s)
{
	if (!s->shown)
		s->shown = demangle(e->f.opts.strings, symbol_raw(e, s), e->f.opts.raw_names);
	return s->shown;
}

/* ---- PLT ---- */

struct plt_slot {
	u64 slot;
	const char *name;
};

static int slot_cmp(const void *pa, const void *pb)
{
	const struct plt_slot *a = pa, *b = pb;

	return (a->slot > b->slot) - (a->slot < b->slot);
}

static const char *slot_name(const struct plt_slot *v, size_t n, u64 slot)
{
	struct plt_slot key = { slot, NULL },
			*hit = n ? bsearch(&key, v, n, sizeof(*v), slot_cmp) : NULL;

	return hit ? hit->name : NULL;
}

static void add_plt_symbol(struct elf_file *e, u64 addr, u32 size, const char *callee)
{
	vec_push(&e->syms,
		 ((struct elf_symbol){ .lo = addr, .size = size, .name = callee, .stub = true }));
}

/*
 * Stubs of the PLT have no symbols.  On x86-64 each one jumps through a slot of the GOT (ff 25
 * rel32), whose relocation names the callee; elsewhere the stubs stand in the order of the
 * relocations (System V psABI of each machine).
 */
static void load_plt(struct elf_file *e)
{
	VEC(struct plt_slot) slots = { NULL, 0, 0 };
	VEC(const char *) order = { NULL, 0, 0 };
	size_t i, k, names, size = 0;
	u64 left;

	if (e->relocatable || !e->dynsym || elf_getshdrstrndx(e->elf, &names))
		return;
	elf_rawfile(e->elf, &size);
	left = size / sizeof(Elf32_Rela);
	for (i = 1; i < e->sections.n; i++) {
		GElf_Shdr sh, symsh, strsh;
		Elf_Data *relocs, *syms, *strs;
		size_t n, strn;
		bool plt;

		if (!section_data(e, i, &relocs, &sh) || sh.sh_type != SHT_RELA ||
		    sh.sh_link != e->dynsym || !section_data(e, sh.sh_link, &syms, &symsh) ||
		    !section_data(e, symsh.sh_link, &strs, &strsh))
			continue;
		plt = !strcmp(section_name(e, names, &sh), ".rela.plt");
		strn = strings_size(strs);
		n = sh.sh_entsize ? relocs->d_size / sh.sh_entsize : 0;
		for (k = 0; k < n && k < INT32_MAX && left; k++, left--) {
			const char *name = NULL;
			GElf_Rela r;
			GElf_Sym sym;

			if (!gelf_getrela(relocs, (int)k, &r))
				break;
			if (GELF_R_SYM(r.r_info) && GELF_R_SYM(r.r_info) <= INT32_MAX &&
			    gelf_getsym(syms, (int)GELF_R_SYM(r.r_info), &sym) &&
			    sym.st_name < strn)
				name = (char *)strs->d_buf + sym.st_name;
			if (plt)
				vec_push(&order, name);
			if (name && *name)
				vec_push(&slots, ((struct plt_slot){ r.r_offset, name }));
		}
	}
	if (slots.n)
		qsort(slots.v, slots.n, sizeof(*slots.v), slot_cmp);
	for (i = 1; slots.n && i < e->sections.n; i++) {
		const struct elf_section *s = &e->sections.v[i];
		Elf_Data *data;
		GElf_Shdr sh;
		const u8 *p;

		if (!s->plt || !section_data(e, i, &data, &sh) || data->d_size > size)
			continue;
		size -= data->d_size; /* overlapping ones are not real */
		p = data->d_buf;
		if (e->machine == EM_X86_64) {
			size_t step = data->d_size % 16 && data->d_size % 8 == 0 ? 8 : 16;

			for (k = 0; k + step <= data->d_size; k += step) {
				size_t j;
				const char *callee = NULL;

				for (j = 0; j + 6 <= step && !callee; j++) {
					u32 rel = (u32)p[k + j + 2] | (u32)p[k + j + 3] << 8 |
						  (u32)p[k + j + 4] << 16 | (u32)p[k + j + 5] << 24;

					if (p[k + j] == 0xff && p[k + j + 1] == 0x25)
						callee = slot_name(slots.v, slots.n,
								   s->addr + k + j + 6 +
									   (u64)(s64)(int32_t)rel);
				}
				/* With IBT the lazy half pushes its number instead: f3 0f 1e fa 68
				 * imm32. */
				if (!callee && step == 16 &&
				    !memcmp(p + k, "\xf3\x0f\x1e\xfa\x68", 5)) {
					u32 nr = (u32)p[k + 5] | (u32)p[k + 6] << 8 |
						 (u32)p[k + 7] << 16 | (u32)p[k + 8] << 24;

					callee = nr < order.n ? order.v[nr] : NULL;
				}
				if (callee)
					add_plt_symbol(e, s->addr + k, (u32)step, callee);
			}
		} else if (e->machine == EM_AARCH64 && data->d_size >= 32 &&
			   !strcmp(section_name(e, names, &sh), ".plt")) {
			size_t step = order.n ? (data->d_size - 32) / order.n : 0;

			for (k = 0; k < order.n && (step == 16 || step == 24); k++)
				if (order.v[k])
					add_plt_symbol(e, s->addr + 32 + k * step, (u32)step,
						       order.v[k]);
		}
	}
	vec_release(&slots);
	vec_release(&order);
}

/* ---- lookup ---- */

/* DWARF of the file or of its debug file; *bias is what its addresses lack. */
static struct dwarf_index *dwarf_of(struct elf_file *e, u64 *bias)
{
	struct elf_file *d = e->debug && e->debug->debug_info ? e->debug : e;
	struct error err = { "" };

	*bias = d == e ? 0 : e->bias;
	if (!d->dwarf_tried) {
		d->dwarf_tried = true;
		if (d->debug_info)
			d->dwarf = dwarf_index_new(d->elf, d->f.path, &d->code, &d->f.opts, &err);
		drop_descriptor(d);
		if (d->debug_info && !d->dwarf)
			diag_add(e->f.opts.diag, DIAG_SYMBOL_FILE, 1, err.msg);
	}
	return d->dwarf;
}

/* Stubs are the linker's: no unit has them, and to be sure of that is to unpack and read all units.
 */
static bool in_plt(const struct elf_file *e, u64 addr)
{
	const struct range *r = ranges_find(e->code.r.v, e->code.r.n, addr);

	return r && r->id && e->sections.v[r->id].plt;
}

static bool is_word(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	       c == '_' || (u8)c >= 0x80;
}

/*
 * Whether a demangled name is one of the function that DWARF calls `name`: it stands there as a
 * whole word. Arguments of a template do not count, compiler and demangler write them differently.
 */
static bool names_function(const char *sym, const char *name)
{
	size_t n = strcspn(name, "<");
	const char *p;

	if (!n)
		n = strlen(name);
	for (p = sym; (p = memmem(p, strlen(p), name, n)); p++)
		if ((p == sym || !is_word(p[-1]) || !is_word(*name)) &&
		    (!is_word(p[n]) || !is_word(name[n - 1])))
			return true;
	return false;
}

/*
 * The symbol says more than DWARF does about the outermost function: with raw names the clone
 * suffix, in C++ the namespace and the types.
 */
static void prefer_symbol(struct elf_file *e, u64 addr, const struct dwarf_hit *hit,
			  struct frame *outer)
{
	struct elf_symbol *s = find_symbol(e, addr);
	const char *sym, *name;
	size_t n;

	if (!s || !s->size || !hit->name)
		return;
	sym = hit->short_name ? strtab_get(e->f.opts.strings,
					   demangle(e->f.opts.strings, symbol_raw(e, s), false))
			      : s->name;
	name = strtab_get(e->f.opts.strings, hit->name);
	n = strtab_len(e->f.opts.strings, hit->name);
	if (hit->short_name ? names_function(sym, name) : !strncmp(sym, name, n) && sym[n] == '.')
		outer->function = symbol_shown(e, s);
}

static bool elf_lookup(struct symfile *f, u64 addr, struct symframes *out)
{
	struct elf_file *e = elf_file(f);
	struct dwarf_hit hit = { 0 };
	struct elf_symbol *s = NULL;
	struct dwarf_index *dw;
	size_t first = out->frames.n;
	u64 bias = 0;

	dw = in_plt(e, addr) ? NULL : dwarf_of(e, &bias);
	if (dw)
		dwarf_index_lookup(dw, addr - bias, false, out, &hit);
	if (!hit.function) {
		s = find_symbol(e, addr);
		/* Code that belongs to a function, in a unit that seems to have none there: it is
		 * inside another one. */
		if (hit.unit && s && s->size)
			dwarf_index_lookup(dw, addr - bias, true, out, &hit);
	}
	if (hit.function) {
		struct frame *outer = &out->frames.v[out->frames.n - 1];

		if (!outer->function) {
			s = find_symbol(e, addr);
			if (!s) {
				out->frames.n = first;
				return false;
			}
			outer->function = symbol_shown(e, s);
		} else if (f->opts.raw_names || hit.short_name) {
			prefer_symbol(e, addr, &hit, outer);
		}
		return true;
	}
	if (!s)
		return false;
	/* A label reaches to the next symbol, but a function of which DWARF knows the end does not.
	 */
	if (!s->size && dw) {
		struct dwarf_hit label;

		dwarf_index_lookup(dw, s->lo - bias, false, NULL, &label);
		if (label.function)
			return false;
	}
	vec_push(&out->frames,
		 ((struct frame){
			 .function = symbol_shown(e, s), .file = hit.file, .line = hit.line }));
	if (!hit.file && s->file)
		out->frames.v[out->frames.n - 1].file = strtab_adds(f->opts.strings, s->file);
	return true;
}

static const struct symfile_ops dwarf_ops = { "DWARF", elf_lookup, elf_free };
static const struct symfile_ops symtab_ops = { "symtab", elf_lookup, elf_free };
static const struct symfile_ops dynsym_ops = { "dynsym", elf_lookup, elf_free };

/* ---- what others ask ---- */

static u64 section_addr(struct elf_file *e, const char *want)
{
	size_t i, names;

	if (elf_getshdrstrndx(e->elf, &names))
		return 0;
	for (i = 1; i < e->sections.n; i++) {
		GElf_Shdr sh;

		if (gelf_getshdr(elf_getscn(e->elf, i), &sh) &&
		    !strcmp(section_name(e, names, &sh), want))
			return e->sections.v[i].addr;
	}
	return 0;
}

int symfile_elf_add_debug(struct symfile *f, struct symfile *debug, struct error *err)
{
	struct elf_file *e = elf_file(f), *d = elf_file(debug);
	u64 a, b;

	if (e->debug || e->syms_ready || e->dwarf_tried) {
		elf_free(debug);
		return error_set(err, "'%s': it has a debug file, or was asked already", f->path);
	}
	if (e->machine != d->machine || gelf_getclass(e->elf) != gelf_getclass(d->elf)) {
		error_set(err, "'%s': it is for another machine than '%s'", debug->path, f->path);
		elf_free(debug);
		return -1;
	}
	/* prelink moves a file, its debug file stays. */
	a = section_addr(e, ".text");
	b = section_addr(d, ".text");
	e->bias = a && b ? a - b : 0;
	e->debug = d;
	choose_ops(e);
	return 0;
}

bool symfile_elf_has_dwarf(const struct symfile *f)
{
	const struct elf_file *e = celf_file(f);

	return e->debug_info || (e->debug && e->debug->debug_info);
}

bool symfile_elf_has_symtab(const struct symfile *f)
{
	const struct elf_file *e = celf_file(f);

	return e->symtab || (e->debug && e->debug->symtab);
}

const char *symfile_elf_debuglink(const struct symfile *f, u32 *crc)
{
	struct elf_file *e = elf_file((struct symfile *)(uintptr_t)f);
	Elf_Data *data;
	GElf_Shdr sh;
	const char *nul;
	size_t n, at;
	u32 v;

	if (!section_data(e, e->debuglink, &data, &sh))
		return NULL;
	n = data->d_size;
	nul = memchr(data->d_buf, 0, n);
	if (!nul || nul == (char *)data->d_buf)
		return NULL;
	at = ((size_t)(nul - (char *)data->d_buf) + 4) & ~(size_t)3;
	if (at > n || n - at < 4)
		return NULL;
	memcpy(&v, (u8 *)data->d_buf + at, 4);
	*crc = is_native(e) ? v : __builtin_bswap32(v);
	return data->d_buf;
}

int symfile_elf_offset_to_vaddr(const struct symfile *f, u64 offset, u64 *vaddr)
{
	const struct elf_file *e = celf_file(f);
	size_t n, i;
	int pass;

	/* A module's mapping begins where its code was put. */
	if (e->relocatable) {
		*vaddr = offset;
		return 0;
	}
	if (elf_getphdrnum(e->elf, &n))
		return -1;
	n = MIN(n, ELF_MAX_PHDRS);
	/*
	 * Segments are mapped in whole pages, so that an offset may lie in two of them: one with
	 * code that holds it exactly is right, else one that holds it, else one whose pages do.
	 */
	for (pass = 0; pass < 4; pass++) {
		for (i = 0; i < n; i++) {
			u64 lo, hi, page = 4096;
			GElf_Phdr ph;

			if (!gelf_getphdr(e->elf, (int)i, &ph) || ph.p_type != PT_LOAD)
				continue;
			if (!(pass & 1) && !(ph.p_flags & PF_X))
				continue;
			lo = ph.p_offset;
			hi = ph.p_offset + ph.p_filesz;
			if (hi < lo)
				continue;
			if (pass >= 2) {
				lo &= ~(page - 1);
				hi = (hi + page - 1) & ~(page - 1);
			}
			if (offset < lo || offset >= hi)
				continue;
			*vaddr = offset - ph.p_offset + ph.p_vaddr;
			return 0;
		}
	}
	return -1;
}

static int symbol_in(struct elf_file *e, size_t section, const char *name, u64 *value)
{
	Elf_Data *data, *strs;
	GElf_Shdr sh, strsh;
	size_t n, i, len = strlen(name);

	if (!section_data(e, section, &data, &sh) || !section_data(e, sh.sh_link, &strs, &strsh))
		return -1;
	n = sh.sh_entsize ? data->d_size / sh.sh_entsize : 0;
	for (i = 1; i < n && i < INT32_MAX; i++) {
		GElf_Sym sym;

		if (!gelf_getsym(data, (int)i, &sym))
			break;
		if (sym.st_shndx == SHN_UNDEF || sym.st_name >= strs->d_size ||
		    strs->d_size - sym.st_name <= len ||
		    memcmp((char *)strs->d_buf + sym.st_name, name, len + 1))
			continue;
		return symbol_value(e, data, i, value) ? 0 : -1;
	}
	return -1;
}

int symfile_elf_symbol(struct symfile *f, const char *name, u64 *value)
{
	struct elf_file *e = elf_file(f);

	if (e->debug && !symbol_in(e->debug, e->debug->symtab, name, value)) {
		*value += e->bias;
		return 0;
	}
	if (!symbol_in(e, e->symtab, name, value))
		return 0;
	return symbol_in(e, e->dynsym, name, value);
}

const u8 *symfile_elf_bytes(struct symfile *f, u64 vaddr, size_t n)
{
	struct elf_file *e = elf_file(f);
	const struct range *r = ranges_find(e->code.r.v, e->code.r.n, vaddr);
	const struct elf_section *s;
	const u8 *file;
	size_t size;

	if (!r || !r->id)
		return NULL;
	s = &e->sections.v[r->id];
	if (!s->bits || s->size - (vaddr - s->addr) < n)
		return NULL;
	file = (const u8 *)elf_rawfile(e->elf, &size);
	if (!file || s->offset > size || s->size > size - s->offset)
		return NULL;
	return file + s->offset + (vaddr - s->addr);
}

double symfile_elf_frame_pointer_share(struct symfile *f)
{
	struct elf_file *e = elf_file(f);
	size_t i, all = 0, with = 0;

	if (e->machine != EM_X86_64)
		return -1;
	index_symbols(e);
	for (i = 0; i < e->syms.n; i++) {
		const struct elf_symbol *s = &e->syms.v[i];
		size_t n = MIN(s->size, 64u);
		const u8 *p;

		if (s->size < 16 || s->data || s->stub ||
		    (i && e->syms.v[i - 1].lo == s->lo && e->syms.v[i - 1].size))
			continue;
		p = symfile_elf_bytes(f, s->lo, n);
		if (!p)
			continue;
		all++;
		with += memmem(p, n, "\x48\x89\xe5", 3) != NULL; /* mov %rsp,%rbp */
	}
	return all ? (double)with / (double)all : -1;
}
