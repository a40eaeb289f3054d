/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#ifdef HAVE_IBERTY
#include <libiberty/demangle.h>
#undef ARRAY_SIZE /* libiberty.h has one too */
#endif

#include "symbolize/symfile.h"

/* A longer linker name is shown as it is: what the demangler makes of it can grow without bound. */
#define MAX_MANGLED 8192
/* The cache starts anew beyond so many names. */
#define MAX_CACHED (1u << 18)

/*
 * Suffixes that compilers give to pieces and copies of a function: GCC's ipa-split, ipa-sra,
 * ipa-cp, hot/cold splitting and LTO, clang's ThinLTO.  A number may follow.
 */
static const char *const clone_suffixes[] = {
	"isra", "part",     "constprop", "cold",       "hot",
	"warm", "lto_priv", "llvm",      "localalias", "clone",
};

/* Length without clone suffixes. */
static size_t fold_clones(const char *s, size_t n)
{
	for (;;) {
		size_t end = n, i, word;
		bool known = false;

		while (end && s[end - 1] >= '0' && s[end - 1] <= '9')
			end--;
		if (end == n || !end || s[end - 1] != '.')
			end = n; /* no number at the end */
		else
			end--;
		for (word = end; word && s[word - 1] != '.';)
			word--;
		if (word < 2)
			return n; /* no dot, or nothing before it */
		for (i = 0; i < ARRAY_SIZE(clone_suffixes) && !known; i++)
			known = strlen(clone_suffixes[i]) == end - word &&
				!memcmp(s + word, clone_suffixes[i], end - word);
		if (!known)
			return n;
		n = word - 1;
	}
}

#ifdef HAVE_IBERTY
/*
 * What has been demangled, by content, so that it serves every string table; one for the process,
 * since a name's meaning depends on nothing else.
 */
static struct strtab cache_in, cache_out;
static bool cache_ready;
static VEC(str_id) cache; /* id in cache_in -> id in cache_out, 0: it is no mangled name */

static char *demangle_new(const char *s)
{
	int opts = DMGL_PARAMS | DMGL_ANSI;

	if (s[0] == '_' && s[1] == 'D' && ((s[2] >= '0' && s[2] <= '9') || !strcmp(s, "_Dmain")))
		return dlang_demangle(s, opts);
	return cplus_demangle(s, opts | DMGL_AUTO);
}

static bool looks_mangled(const char *s, size_t n)
{
	return n > 2 && n <= MAX_MANGLED && s[0] == '_' &&
	       (s[1] == 'Z' || s[1] == 'R' || s[1] == 'D');
}

/* Demangled form, borrowed until the next call, or NULL. */
static const char *demangle_cached(const char *s, size_t n)
{
	char *text;
	str_id id;

	if (!cache_ready || cache.n > MAX_CACHED) {
		if (cache_ready) {
			strtab_release(&cache_in);
			strtab_release(&cache_out);
			vec_release(&cache);
		}
		strtab_init(&cache_in);
		strtab_init(&cache_out);
		cache_ready = true;
	}
	id = strtab_add(&cache_in, s, n);
	if (id < cache.n)
		return cache.v[id] ? strtab_get(&cache_out, cache.v[id]) : NULL;
	text = demangle_new(strtab_get(&cache_in, id));
	while (cache.n <= id)
		vec_push(&cache, 0);
	if (text && *text)
		cache.v[id] = strtab_adds(&cache_out, text);
	free(text);
	return cache.v[id] ? strtab_get(&cache_out, cache.v[id]) : NULL;
}
#endif

str_id demangle(struct strtab *strings, str_id raw, bool raw_names)
{
	const char *s = strtab_get(strings, raw), *at;
	size_t n = strtab_len(strings, raw), full = n;

	if (raw_names || !n)
		return raw;
	/* "name@VERSION" and "name@@VERSION" of a shared library; "name@plt" says something. */
	at = memchr(s + 1, '@', n - 1);
	if (at && strcmp(at, "@plt"))
		n = (size_t)(at - s);
	if (memchr(s, '.', n)) {
		/* Xen names the out-of-line fixup code of an object file so. */
		if (n > 11 && !memcmp(s + n - 11, ".o.unlikely", 11)) {
			const char *slash = strrchr(s, '/'), *base = slash ? slash + 1 : s;

			return strtab_addf(strings, "[fixup %.*s]", (int)(s + n - 9 - base), base);
		}
		n = fold_clones(s, n);
	}
#ifdef HAVE_IBERTY
	if (looks_mangled(s, n)) {
		bool plt = n > 4 && !memcmp(s + n - 4, "@plt", 4);
		const char *text = demangle_cached(s, plt ? n - 4 : n);

		if (text)
			return plt ? strtab_addf(strings, "%s@plt", text)
				   : strtab_adds(strings, text);
	}
#endif
	return n == full ? raw : strtab_add(strings, s, n);
}
