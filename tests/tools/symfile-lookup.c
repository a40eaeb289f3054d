/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * symfile-lookup [-rnkpbq] [-d DEBUG] FILE: one symbol file asked for the
 * addresses on standard input (hexadecimal, one a line; what follows a blank is left alone).
 *
 * One line a frame and an empty line after each address, as `addr2line -afie` has the facts:
 *	0xADDRESS
 *	function<TAB>file:line		innermost first
 * "?" stands for what is not known.  -r raw names, -n no inlined frames, -k FILE is a table in
 *text, -p it is a perf map, -d a separate debug file, -b print first the source, the build id,
 *where text begins and ends, and the share of functions with a frame pointer; -q no output, for
 *timing.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "symbolize/symfile.h"

int main(int argc, char **argv)
{
	struct symfile_opts opts = { 0 };
	struct error err = { "" };
	struct symframes frames = { { NULL, 0, 0 } };
	struct strtab strings;
	struct diag diag;
	struct symfile *f;
	struct buf b = BUF_INIT;
	const char *debug = NULL;
	bool text = false, jit = false, about = false, quiet = false;
	char *line = NULL;
	size_t cap = 0, i;
	int c;

	while ((c = getopt(argc, argv, "rnkpbqd:")) != -1) {
		switch (c) {
		case 'r': opts.raw_names = true; break;
		case 'n': opts.no_inline = true; break;
		case 'k': text = true; break;
		case 'p': jit = true; break;
		case 'b': about = true; break;
		case 'q': quiet = true; break;
		case 'd': debug = optarg; break;
		default: return 2;
		}
	}
	if (optind + 1 != argc)
		return 2;
	strtab_init(&strings);
	diag_init(&diag);
	opts.strings = &strings;
	opts.diag = &diag;
	f = text  ? symfile_open_ksyms(argv[optind], 0, &opts, &err)
	    : jit ? symfile_open_perfmap(argv[optind], &opts, &err)
		  : symfile_open_elf(argv[optind], &opts, &err);
	if (f && debug) {
		struct symfile *d = symfile_open_elf(debug, &opts, &err);

		if (!d || symfile_elf_add_debug(f, d, &err))
			goto fail;
	}
	if (!f)
		goto fail;
	if (about) {
		char hex[2 * sizeof(f->build_id) + 1];

		build_id_hex(f->build_id, f->build_id_len, hex);
		printf("%s %s 0x%" PRIx64 " 0x%" PRIx64 " %.3f\n", f->ops->source,
		       f->build_id_len ? hex : "-", f->text_start, f->text_end,
		       text || jit ? -1 : symfile_elf_frame_pointer_share(f));
	}
	while (getline(&line, &cap, stdin) > 0) {
		const char *p = line, *end = line + strlen(line);
		u64 addr;

		if (p[0] == '0' && (p[1] | 0x20) == 'x')
			p += 2;
		if (parse_hex(&p, end, &addr))
			continue;
		frames.frames.n = 0;
		if (!symfile_lookup(f, addr, &frames))
			vec_push(&frames.frames, ((struct frame){ .function = 0 }));
		if (quiet)
			continue;
		buf_printf(&b, "0x%" PRIx64 "\n", addr);
		for (i = 0; i < frames.frames.n; i++) {
			const struct frame *fr = &frames.frames.v[i];

			buf_printf(&b, "%s\t%s:",
				   fr->function ? strtab_get(&strings, fr->function) : "?",
				   fr->file ? strtab_get(&strings, fr->file) : "?");
			if (fr->line)
				buf_u64(&b, fr->line);
			else
				buf_putc(&b, '?');
			buf_putc(&b, '\n');
		}
		buf_putc(&b, '\n');
		if (b.n > 1u << 16) {
			fwrite(b.p, 1, b.n, stdout);
			buf_clear(&b);
		}
	}
	if (b.n)
		fwrite(b.p, 1, b.n, stdout);
	fflush(stdout);
	for (i = 0; i < diag.entries.n; i++) {
		buf_clear(&b);
		diag_format(&diag, &diag.entries.v[i], &b);
		fprintf(stderr, "%s\n", buf_str(&b));
	}
	free(line);
	buf_release(&b);
	vec_release(&frames.frames);
	symfile_free(f);
	strtab_release(&strings);
	diag_release(&diag);
	return ferror(stdout) ? 1 : 0;
fail:
	fprintf(stderr, "symfile-lookup: %s\n", err.msg);
	return 1;
}
