/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hashing, the id index and interned strings. */
#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "base/base.h"

#define K0 HASH_K0
#define K1 HASH_K1
#define K2 0xaf251af3b0f025b5ULL

static inline u64 load(const u8 *p)
{
	u64 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline u32 load_half(const u8 *p)
{
	u32 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* Of 1 to 7 bytes, which may be in it twice: how many they are is hashed as well. */
static inline u64 load_few(const u8 *p, size_t n)
{
	if (n >= 4)
		return load_half(p) | (u64)load_half(p + n - 4) << 32;
	return p[0] | (u64)p[n / 2] << 8 | (u64)p[n - 1] << 16;
}

/* Both lanes of the state after all bytes: 128 bits of the data and the seed. */
static inline void mix(const void *data, size_t n, u64 seed, u64 *lane_a, u64 *lane_b)
{
	const u8 *p = data;
	u64 a = seed ^ K0, b = n ^ K2;

	/* A multiplication waits for the one before it in its lane. */
	if (n >= 128) {
		u64 c = a ^ K2, d = b ^ K1;

		do {
			a = hash_fold(load(p) ^ a, load(p + 8) ^ K1);
			b = hash_fold(load(p + 16) ^ b, load(p + 24) ^ K0);
			c = hash_fold(load(p + 32) ^ c, load(p + 40) ^ K1);
			d = hash_fold(load(p + 48) ^ d, load(p + 56) ^ K0);
			p += 64;
			n -= 64;
		} while (n >= 64);
		a = hash_fold(a ^ K2, c ^ K0);
		b = hash_fold(b ^ K1, d ^ K2);
	}
	while (n >= 32) {
		a = hash_fold(load(p) ^ a, load(p + 8) ^ K1);
		b = hash_fold(load(p + 16) ^ b, load(p + 24) ^ K0);
		p += 32;
		n -= 32;
	}
	while (n >= 8) {
		a = hash_fold(load(p) ^ a, b ^ K1);
		p += 8;
		n -= 8;
	}
	if (n)
		b = hash_fold(load_few(p, n) ^ b, a ^ K2);
	*lane_a = a;
	*lane_b = b;
}

u64 hash_bytes(const void *data, size_t n, u64 seed)
{
	u64 a, b;

	mix(data, n, seed, &a, &b);
	return hash_fold(a ^ K1, b ^ K0);
}

u64 hash_bytes_checked_portable(const void *data, size_t n, u64 seed, u64 *check)
{
	u64 a, b;

	mix(data, n, seed, &a, &b);
	*check = hash_fold(b ^ K1, a ^ K2);
	return hash_fold(a ^ K1, b ^ K0);
}

#ifdef __x86_64__
/* One round of AES for each 16 bytes, in two lanes; `n`: 16 at least. */
TARGET_AES static u64 hash_by_aes(const u8 *p, size_t n, u64 seed, u64 *check)
{
	__m128i key = _mm_set_epi64x((s64)hash_u64(seed ^ K2), (s64)hash_u64(seed));
	__m128i a = key, b = _mm_xor_si128(key, _mm_set_epi64x(0, (s64)n));
	const u8 *end = p + n;

	/* Else it could be made up for by the first word: that it is another one has to spread. */
	b = _mm_aesenc_si128(b, key);

#define ROUND(lane, at) \
	(lane) = _mm_aesenc_si128(_mm_xor_si128(lane, _mm_loadu_si128((const void *)(at))), key)
	for (; end - p > 32; p += 32) {
		ROUND(a, p);
		ROUND(b, p + 16);
	}
	if (end - p > 16)
		ROUND(a, p);
	/* Some of these may have been in it already. */
	ROUND(b, end - 16);
#undef ROUND
	a = _mm_aesenc_si128(_mm_aesenc_si128(a, b), key);
	a = _mm_aesenc_si128(_mm_aesenc_si128(a, key), key);
	*check = (u64)_mm_extract_epi64(a, 1);
	return (u64)_mm_cvtsi128_si64(a);
}
#else
#define hash_by_aes(p, n, seed, check) ((u64)0)
#endif

u64 hash_bytes_checked(const void *data, size_t n, u64 seed, u64 *check)
{
	if (n >= 16 && have_aes())
		return hash_by_aes(data, n, seed, check);
	return hash_bytes_checked_portable(data, n, seed, check);
}

void hash_extend(u64 key[2], u64 word)
{
	u64 a = hash_fold(key[0] ^ word, key[1] ^ K1);

	key[1] = hash_fold(key[1] ^ word ^ K2, key[0] ^ K0);
	key[0] = a;
}

void index_init(struct index *ix)
{
	memset(ix, 0, sizeof(*ix));
}

void index_release(struct index *ix)
{
	free(ix->slots);
	memset(ix, 0, sizeof(*ix));
}

void index_clear(struct index *ix)
{
	if (ix->slots)
		memset(ix->slots, 0xff, ((size_t)ix->mask + 1) * sizeof(*ix->slots));
	ix->n = 0;
}

/* One half-size hash serves as slot and as first comparison, so that growing needs no item. */
static inline u32 short_hash(u64 hash)
{
	return (u32)(hash ^ hash >> 32);
}

u32 index_find(const struct index *ix, u64 hash, index_eq_fn eq, const void *ctx, const void *key)
{
	u32 h = short_hash(hash), i;

	if (!ix->slots)
		return INDEX_NONE;
	for (i = h & ix->mask; ix->slots[i].id != INDEX_NONE; i = (i + 1) & ix->mask)
		if (ix->slots[i].hash == h && eq(ctx, ix->slots[i].id, key))
			return ix->slots[i].id;
	return INDEX_NONE;
}

static void slot_put(struct index *ix, struct index_slot s)
{
	u32 i = s.hash & ix->mask;

	while (ix->slots[i].id != INDEX_NONE)
		i = (i + 1) & ix->mask;
	ix->slots[i] = s;
}

void index_add(struct index *ix, u64 hash, u32 id)
{
	struct index_slot *old = ix->slots;
	size_t n = old ? (size_t)ix->mask + 1 : 0, i;

	/* At most three quarters full. */
	if ((u64)ix->n * 4 >= (u64)n * 3) {
		size_t grown = n ? n * 2 : 64;

		ix->slots = xreallocarray(NULL, grown, sizeof(*ix->slots));
		memset(ix->slots, 0xff, grown * sizeof(*ix->slots));
		ix->mask = (u32)(grown - 1);
		for (i = 0; i < n; i++)
			if (old[i].id != INDEX_NONE)
				slot_put(ix, old[i]);
		free(old);
	}
	slot_put(ix, (struct index_slot){ .id = id, .hash = short_hash(hash) });
	ix->n++;
}

struct str_key {
	const char *s;
	size_t len;
};

static bool str_eq(const void *ctx, u32 id, const void *key)
{
	const struct strtab *t = ctx;
	const struct str_key *k = key;

	return t->len.v[id] == k->len && !memcmp(t->str.v[id], k->s, k->len);
}

void strtab_init(struct strtab *t)
{
	memset(t, 0, sizeof(*t));
	arena_init(&t->arena);
	index_init(&t->index);
	/* The empty one is 0, and never looked for. */
	vec_push(&t->str, arena_strndup(&t->arena, "", 0));
	vec_push(&t->len, 0);
}

void strtab_release(struct strtab *t)
{
	arena_release(&t->arena);
	index_release(&t->index);
	vec_release(&t->str);
	vec_release(&t->len);
}

str_id strtab_find(const struct strtab *t, const char *s, size_t len)
{
	struct str_key k = { s, len };
	u32 id = index_find(&t->index, hash_bytes(s, len, 0), str_eq, t, &k);

	return id == INDEX_NONE ? 0 : id;
}

str_id strtab_add(struct strtab *t, const char *s, size_t len)
{
	struct str_key k = { s, len };
	u64 hash;
	u32 id;

	if (!len)
		return 0;
	hash = hash_bytes(s, len, 0);
	id = index_find(&t->index, hash, str_eq, t, &k);
	if (id != INDEX_NONE)
		return id;
	id = (u32)t->str.n;
	vec_push(&t->str, arena_strndup(&t->arena, k.s, len));
	vec_push(&t->len, (u32)len);
	index_add(&t->index, hash, id);
	return id;
}

str_id strtab_adds(struct strtab *t, const char *s)
{
	return strtab_add(t, s, strlen(s));
}

str_id strtab_addf(struct strtab *t, const char *fmt, ...)
{
	char small[256];
	va_list ap;
	str_id id;
	char *p;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(small, sizeof(small), fmt, ap);
	va_end(ap);
	if (n < 0)
		return 0;
	if ((size_t)n < sizeof(small))
		return strtab_add(t, small, (size_t)n);
	p = xmalloc((size_t)n + 1);
	va_start(ap, fmt);
	vsnprintf(p, (size_t)n + 1, fmt, ap);
	va_end(ap);
	id = strtab_add(t, p, (size_t)n);
	free(p);
	return id;
}
