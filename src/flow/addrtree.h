/* flow/addrtree.h - an ordered map from addresses to 32-bit numbers that a fork copies for nothing.
 *
 * A B+ tree whose nodes are shared until one side changes them: addrtree_share costs one counter, and after it each
 * side copies only the nodes on the paths it writes. Some 17 bytes an entry. */
#ifndef NUMALENS_FLOW_ADDRTREE_H
#define NUMALENS_FLOW_ADDRTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct addrtree_node;

struct addrtree { /* zeroed = empty and ready */
    struct addrtree_node *root;
    uint32_t height; /* levels above the leaves */
    size_t count;
};

/* Sets the value of `key`; returns false and the former value in `*old` (may be NULL) when there was one. */
bool addrtree_put(struct addrtree *tree, uint64_t key, uint32_t value, uint32_t *old);

/* Removes `key`; false when it is not there. */
bool addrtree_remove(struct addrtree *tree, uint64_t key, uint32_t *value);

bool addrtree_find(const struct addrtree *tree, uint64_t key, uint32_t *value);

/* The entry with the largest key <= `key`; false when there is none. */
bool addrtree_floor(const struct addrtree *tree, uint64_t key, uint64_t *found, uint32_t *value);

/* The entry with the smallest key >= `key`; false when there is none. */
bool addrtree_ceiling(const struct addrtree *tree, uint64_t key, uint64_t *found, uint32_t *value);

/* Where a range may go: whether an entry with key < `key` exists (`*before`, its value) and the smallest key >= `key`
 * (UINT64_MAX when none). One walk instead of two. */
struct addrtree_gap {
    bool has_before;
    uint32_t before;
    uint64_t before_key, next_key;
};
struct addrtree_gap addrtree_gap(const struct addrtree *tree, uint64_t key);

/* A copy that shares all nodes. Both are then freed apart. */
struct addrtree addrtree_share(const struct addrtree *tree);
void addrtree_free(struct addrtree *tree);

#endif
