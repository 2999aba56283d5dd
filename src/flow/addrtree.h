/* flow/addrtree.h - an ordered map from addresses to 32-bit numbers that a fork copies for nothing.
 *
 * A B+ tree whose nodes are shared until one side changes them: addrtree_share costs one counter, and after it each
 * side copies only the nodes on the paths it writes. Some 23 bytes an entry. */
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

/* What lies around a key: the entry before it, and the smallest key after it (UINT64_MAX when there is none). */
struct addrtree_around {
    bool has_before;
    uint32_t before_length; /* as it was put */
    uint64_t before_key, next_key;
};

/* Sets the value of `key`. Returns false and the former value in `*old` when there was one. `length` is kept beside the
 * value, so that neighbours can be judged without a look at what the value stands for; `around` may be NULL. */
bool addrtree_put(struct addrtree *tree, uint64_t key, uint32_t value, uint32_t length, uint32_t *old,
                  struct addrtree_around *around);

/* Removes `key`; false when it is not there. */
bool addrtree_remove(struct addrtree *tree, uint64_t key, uint32_t *value);

/* The entry with the largest key <= `key`; false when there is none. */
bool addrtree_floor(const struct addrtree *tree, uint64_t key, uint64_t *found, uint32_t *value);

/* The entry with the smallest key >= `key`; false when there is none. */
bool addrtree_ceiling(const struct addrtree *tree, uint64_t key, uint64_t *found, uint32_t *value);

/* A copy that shares all nodes. Both are then freed apart. */
struct addrtree addrtree_share(const struct addrtree *tree);
void addrtree_free(struct addrtree *tree);

#endif
