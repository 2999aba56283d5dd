/* flow/addrtree.h - an ordered map from addresses to 32-bit numbers that a fork copies for nothing.
 *
 * A B+ tree whose nodes are shared until one side changes them: addrtree_share costs one counter, and after it each
 * side copies only the nodes on the paths it writes. Some 23 bytes an entry. */
#pragma once

#include "flow/slab.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct addrtree_node;

/* Where nodes come from and go to: one for all trees that share. */
struct addrtree_nodes {
    struct slab *slab;
    struct addrtree_node *unused;
};

struct addrtree { /* zeroed but for `nodes` = empty and ready */
    struct addrtree_nodes *nodes;
    struct addrtree_node *root;
    uint32_t height; /* levels above the leaves */
    bool shared;     /* was ever shared: nodes may be another tree's too */
    size_t count;
};

/* A leaf found ahead of time. It notes which keys belong to it: whoever comes with a key that does not, or after the
 * leaf was split or given up, is sent the whole way. So a spot never becomes wrong, and may be kept as long as the slab. */
struct addrtree_spot {
    struct addrtree_node *leaf;
    uint32_t at; /* where addrtree_peek found the key: the next search looks there first */
};

#define ADDRTREE_NOWHERE ((struct addrtree_spot){NULL, 0})

/* The entry before a key, and the smallest key after it. When none is nearer than `length`, next_key is some number
 * that is not either. */
struct addrtree_around {
    bool has_before;
    uint32_t before_length; /* as it was put */
    uint64_t before_key, next_key;
};

/* Sets the value of `key`. Returns false and the former value in `*old` when there was one. `length` is kept beside the
 * value, so that neighbours can be judged without a look at what the value stands for; `around` may be NULL. */
bool addrtree_put(struct addrtree *tree, struct addrtree_spot spot, uint64_t key, uint32_t value, uint32_t length,
                  uint32_t *old, struct addrtree_around *around);

/* Removes `key`; false when it is not there. */
bool addrtree_remove(struct addrtree *tree, struct addrtree_spot spot, uint64_t key, uint32_t *value);

/* For callers that know some keys before they need them: seek asks memory for the place, peek looks there a while
 * later, without waiting. The entry that peek finds (the largest key <= `key` in the same leaf) is a hint, no answer. */
struct addrtree_spot addrtree_seek(const struct addrtree *tree, uint64_t key);

/* Likewise, with a spot of the same tree at hand: the way down is saved when the key belongs there as well. */
struct addrtree_spot addrtree_seek_near(const struct addrtree *tree, struct addrtree_spot last, uint64_t key);
bool addrtree_peek(const struct addrtree *tree, struct addrtree_spot *spot, uint64_t key, uint32_t *value);

/* The entry with the largest key <= `key`; false when there is none. */
bool addrtree_floor(const struct addrtree *tree, uint64_t key, uint64_t *found, uint32_t *value);
bool addrtree_floor_near(const struct addrtree *tree, struct addrtree_spot spot, uint64_t key, uint64_t *found,
                         uint32_t *value);

/* The entry with the smallest key >= `key`; false when there is none. */
bool addrtree_ceiling(const struct addrtree *tree, uint64_t key, uint64_t *found, uint32_t *value);

/* Visits the entries in nodes that are this tree's alone. What is skipped was there when the tree was last shared. */
void addrtree_each_own(const struct addrtree *tree, void (*visit)(void *context, uint32_t value), void *context);

/* A copy that shares all nodes. Both are then freed apart. */
struct addrtree addrtree_share(struct addrtree *tree);
void addrtree_free(struct addrtree *tree);
