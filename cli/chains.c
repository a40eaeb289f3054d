/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>

#include "cli/chains.h"

#define FIRST_SIZE 8192u
/* Where a recording repeats few chains this much is touched in vain. */
#define MOST_FIRST (1u << 17)

/* At most two thirds full. */
static bool is_full(const struct chain_table *t, u64 n)
{
	return n * 3 > (u64)t->size * 2;
}

static void make_slots(struct chain_table *t)
{
	t->size = FIRST_SIZE;
	while (t->size < MOST_FIRST && is_full(t, t->expected))
		t->size *= 2;
	t->slots = xcalloc(t->size, sizeof(*t->slots));
}

struct chain_slot *chain_table_find(struct chain_table *t, const u64 key[2])
{
	size_t mask, i;

	if (UNLIKELY(!t->size))
		make_slots(t);
	mask = t->size - 1;
	for (i = key[0] & mask; chain_slot_used(&t->slots[i]); i = (i + 1) & mask)
		if (t->slots[i].key[0] == key[0] && t->slots[i].key[1] == key[1])
			break;
	return &t->slots[i];
}

static void grow(struct chain_table *t)
{
	struct chain_table old = *t;
	size_t i;

	t->size *= 2;
	t->slots = xcalloc(t->size, sizeof(*t->slots));
	if (old.weights)
		t->weights = xcalloc(t->size, sizeof(*t->weights));
	for (i = 0; i < old.size; i++) {
		struct chain_slot *s;

		if (!chain_slot_used(&old.slots[i]))
			continue;
		s = chain_table_find(t, old.slots[i].key);
		*s = old.slots[i];
		if (old.weights)
			t->weights[s - t->slots] = old.weights[i];
	}
	free(old.slots);
	free(old.weights);
}

struct chain_slot *chain_table_add(struct chain_table *t, const u64 key[2], bool weights)
{
	struct chain_slot *s;

	if (weights && !t->weights)
		t->weights = xcalloc(t->size, sizeof(*t->weights));
	if (is_full(t, ++t->n))
		grow(t);
	s = chain_table_find(t, key);
	s->key[0] = key[0];
	s->key[1] = key[1];
	return s;
}

void chain_table_release(struct chain_table *t)
{
	free(t->slots);
	free(t->weights);
	memset(t, 0, sizeof(*t));
}
