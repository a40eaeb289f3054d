/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is known of call chains, by a key of 128 bits.  Most samples repeat a chain: all that such a
 * one needs and changes lies in one piece of 32 bytes, so that it costs one access to memory.
 */
#ifndef XENFLAME_CHAINS_H
#define XENFLAME_CHAINS_H

#include "base/base.h"

struct chain_slot {
	u64 key[2];   /* key[1] 0: the slot is free */
	u32 id, more; /* the caller's */
	u64 samples;
};

/* Starts as zeros. */
struct chain_table {
	struct chain_slot *slots;
	u64 *weights; /* by slot; NULL: they are the samples */
	size_t size, n;
	u64 expected; /* about how many: it need not grow then; to be set before the first look-up
		       */
};

/* The slot of a key, or a free one to be given to chain_table_add() before anything else is done.
 */
struct chain_slot *chain_table_find(struct chain_table *t, const u64 key[2]);
/* Fetches where a key's slot begins to be looked for. */
static inline void chain_table_prefetch(const struct chain_table *t, const u64 key[2])
{
	if (t->size)
		__builtin_prefetch(&t->slots[key[0] & (t->size - 1)], 1);
}
/* Makes a free slot that of `key`, all else 0; other slots may move. */
struct chain_slot *chain_table_add(struct chain_table *t, const u64 key[2], bool weights);
void chain_table_release(struct chain_table *t);

static inline bool chain_slot_used(const struct chain_slot *s)
{
	return s->key[1] != 0;
}

#endif
