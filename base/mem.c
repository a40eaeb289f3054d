/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Heap, vectors and arenas. */
#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <sys/mman.h>

#include "base/base.h"

static void no_memory(void)
{
	static const char msg[] = "xenflame: out of memory\n";

	fwrite(msg, 1, sizeof(msg) - 1, stderr);
	abort();
}

void mem_give_back(void)
{
#ifdef M_MMAP_THRESHOLD
	/* Else glibc raises it up to 32 MiB, once blocks of that size were freed. */
	mallopt(M_MMAP_THRESHOLD, 256 << 10);
#endif
}

void *xmalloc(size_t size)
{
	void *p = malloc(size ? size : 1);

	if (!p)
		no_memory();
	return p;
}

/*
 * A fresh page costs more than what is written into it, so what is large from the start gets large
 * pages, which have to be whole ones at both ends.  What grows stays as it is: it can be moved
 * without being copied, and much of it is never used.
 */
#define HUGE_PAGE ((size_t)2 << 20)
#define LARGE     (2 * HUGE_PAGE)

static void *alloc_large(size_t size)
{
	void *p;

	if (size > SIZE_MAX - HUGE_PAGE)
		no_memory();
	size = (size + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
	p = aligned_alloc(HUGE_PAGE, size);
	if (!p)
		no_memory();
	madvise(p, size, MADV_HUGEPAGE);
	return p;
}

void *xcalloc(size_t n, size_t size)
{
	void *p;

	/* A table that is looked up all over: finding the page takes as long as what is on it. */
	if (n && size && n <= SIZE_MAX / size && n * size % HUGE_PAGE == 0) {
		p = alloc_large(n * size);
		memset(p, 0, n * size);
		return p;
	}
	p = calloc(n ? n : 1, size ? size : 1);
	if (!p)
		no_memory();
	return p;
}

void mem_zero(void *p, size_t n)
{
	memset(p, 0, n);
}

void *xreallocarray(void *p, size_t n, size_t size)
{
	if (size && n > SIZE_MAX / size)
		no_memory();
	if (!p && n * size >= LARGE)
		return alloc_large(n * size);
	p = realloc(p, n && size ? n * size : 1);
	if (!p)
		no_memory();
	return p;
}

void *xrealloc(void *p, size_t size)
{
	return xreallocarray(p, size, 1);
}

char *xstrndup(const char *s, size_t n)
{
	char *p = xmalloc(n + 1);

	if (n)
		memcpy(p, s, n);
	p[n] = '\0';
	return p;
}

char *xstrdup(const char *s)
{
	return xstrndup(s, strlen(s));
}

char *xasprintf(const char *fmt, ...)
{
	va_list ap;
	char *p;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		no_memory();
	p = xmalloc((size_t)n + 1);
	va_start(ap, fmt);
	vsnprintf(p, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return p;
}

void vec_grow(void **v, size_t *cap, size_t need, size_t size)
{
	size_t n = *cap ? *cap : 16;

	while (n < need) {
		if (n > SIZE_MAX / 2)
			no_memory();
		n *= 2;
	}
	*v = xreallocarray(*v, n, size);
	*cap = n;
}

struct arena_chunk {
	struct arena_chunk *next;
	size_t size;
};

#define ARENA_CHUNK (64 * 1024)
#define ARENA_ALIGN sizeof(max_align_t)

void arena_init(struct arena *a)
{
	memset(a, 0, sizeof(*a));
}

void *arena_alloc(struct arena *a, size_t size)
{
	struct arena_chunk *c;
	size_t head = (sizeof(*c) + ARENA_ALIGN - 1) & ~(ARENA_ALIGN - 1);
	size_t need;
	void *p;

	if (size > SIZE_MAX - 2 * ARENA_CHUNK)
		no_memory();
	size = (size + ARENA_ALIGN - 1) & ~(ARENA_ALIGN - 1);
	a->total += size;
	if (LIKELY((size_t)(a->end - a->p) >= size && a->p)) {
		p = a->p;
		a->p += size;
		return p;
	}
	need = head + size;
	if (size > ARENA_CHUNK / 4) {
		/* A chunk of its own, behind the current one, whose free part stays in use. */
		c = xmalloc(need);
		c->size = need;
		if (a->chunks) {
			c->next = a->chunks->next;
			a->chunks->next = c;
		} else {
			c->next = NULL;
			a->chunks = c;
		}
		return (char *)c + head;
	}
	c = xmalloc(ARENA_CHUNK);
	c->size = ARENA_CHUNK;
	c->next = a->chunks;
	a->chunks = c;
	a->p = (char *)c + head + size;
	a->end = (char *)c + ARENA_CHUNK;
	return (char *)c + head;
}

void *arena_zalloc(struct arena *a, size_t size)
{
	return memset(arena_alloc(a, size), 0, size);
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
	char *p = arena_alloc(a, n + 1);

	if (n)
		memcpy(p, s, n);
	p[n] = '\0';
	return p;
}

void arena_clear(struct arena *a)
{
	struct arena_chunk *c, *next;

	for (c = a->chunks; c; c = next) {
		next = c->next;
		free(c);
	}
	memset(a, 0, sizeof(*a));
}

void arena_release(struct arena *a)
{
	arena_clear(a);
}
