#include "flow/addrtree.h"

#include <string.h>

enum {
    FANOUT = 32,
    MAX_HEIGHT = 16,
    THIN = FANOUT / 4, /* a node with fewer entries looks for a neighbour to join */
};

struct entry {
    uint32_t value, length;
};

struct addrtree_node {
    uint32_t refs;
    uint16_t count;
    bool leaf;
    const struct addrtree
        *owner;         /* of a leaf: the tree in which keys from low to before high belong here, if any do. */
    uint64_t low, high; /* More may by now, since neighbours go; fewer only after a split */
    /* Behind `count` of them UINT64_MAX, so that a search has a fixed number of steps. Inner nodes: the smallest key that
     * may be under the child; keys[0] is never compared. */
    uint64_t keys[FANOUT];
    union {
        struct entry entries[0];
        struct addrtree_node *children[0];
    };
};

typedef struct addrtree_node node_t;

static void forget_range(node_t *node)
{
    node->low = node->high = 0;
}

static void no_keys(node_t *node, unsigned from)
{
    for (unsigned i = from; i < FANOUT; i++)
        node->keys[i] = UINT64_MAX;
}

static node_t *node_new(struct addrtree_nodes *nodes, bool leaf)
{
    _Static_assert(sizeof(struct entry) == sizeof(node_t *), "leaves and inner nodes are moved alike");
    node_t *node = nodes->unused;
    if (node)
        nodes->unused = node->children[0];
    else
        node = slab_get(nodes->slab, sizeof *node + FANOUT * sizeof(struct entry));
    node->refs = 1;
    node->count = 0;
    node->leaf = leaf;
    forget_range(node);
    no_keys(node, 0);
    return node;
}

static void node_free(struct addrtree_nodes *nodes, node_t *node)
{
    forget_range(node);
    node->children[0] = nodes->unused;
    nodes->unused = node;
}

static void node_drop(struct addrtree_nodes *nodes, node_t *node)
{
    if (--node->refs > 0)
        return;
    for (unsigned i = 0; !node->leaf && i < node->count; i++)
        node_drop(nodes, node->children[i]);
    node_free(nodes, node);
}

static node_t *node_copy(struct addrtree_nodes *nodes, const node_t *node)
{
    node_t *copy = node_new(nodes, node->leaf);
    copy->count = node->count;
    memcpy(copy->keys, node->keys, node->count * sizeof *node->keys);
    memcpy(copy->entries, node->entries, node->count * sizeof *node->entries);
    for (unsigned i = 0; !node->leaf && i < node->count; i++)
        node->children[i]->refs++;
    return copy;
}

/* The node behind `*place`, made this tree's own. */
static node_t *node_own(struct addrtree_nodes *nodes, node_t **place)
{
    node_t *node = *place;
    if (node->refs == 1)
        return node;
    *place = node_copy(nodes, node);
    node->refs--;
    return *place;
}

#define SEARCH(keys, before)                                                                                           \
    ({                                                                                                                 \
        _Static_assert(FANOUT == 32, "as many steps as it takes");                                                     \
        const uint64_t *base_ = (keys);                                                                                \
        base_ += base_[15] before key ? 16 : 0;                                                                        \
        base_ += base_[7] before key ? 8 : 0;                                                                          \
        base_ += base_[3] before key ? 4 : 0;                                                                          \
        base_ += base_[1] before key ? 2 : 0;                                                                          \
        base_ += base_[0] before key ? 1 : 0;                                                                          \
        (unsigned)(base_ - (keys)) + (*base_ before key);                                                              \
    })

/* How many keys are <= key (upper) or < key (lower). */
static inline unsigned upper_bound(const node_t *node, uint64_t key)
{
    unsigned at = SEARCH(node->keys, <=);
    return at < node->count ? at : node->count;
}

static inline unsigned lower_bound(const node_t *node, uint64_t key)
{
    return SEARCH(node->keys, <);
}

/* The search in a node touches several lines of its keys: fetch them at once, not one after the other. */
static inline const node_t *coming(const node_t *node)
{
    for (unsigned i = 0; i < sizeof node->keys; i += 64)
        __builtin_prefetch((const char *)node->keys + i);
    return node;
}

/* keys[0] may be higher than what is under child 0, so it takes no part. */
static inline unsigned child_of(const node_t *node, uint64_t key)
{
    unsigned at = upper_bound(node, key);
    return at ? at - 1 : 0;
}

static inline void open_slot(node_t *node, unsigned at)
{
    memmove(node->keys + at + 1, node->keys + at, (node->count - at) * sizeof *node->keys);
    memmove(node->entries + at + 1, node->entries + at, (node->count - at) * sizeof *node->entries);
    node->count++;
}

static inline void close_slot(node_t *node, unsigned at)
{
    node->count--;
    memmove(node->keys + at, node->keys + at + 1, (node->count - at) * sizeof *node->keys);
    memmove(node->entries + at, node->entries + at + 1, (node->count - at) * sizeof *node->entries);
    node->keys[node->count] = UINT64_MAX;
}

static void move_tail(node_t *to, node_t *from, unsigned first)
{
    unsigned moved = from->count - first;
    memcpy(to->keys + to->count, from->keys + first, moved * sizeof *from->keys);
    memcpy(to->entries + to->count, from->entries + first, moved * sizeof *from->entries);
    to->count += moved;
    from->count = first;
    no_keys(from, first);
}

/* Splits parent's full child `at` (which is parent's own). A split at the right edge leaves the left node full:
 * addresses mostly grow. */
static void split_child(struct addrtree *tree, node_t *parent, unsigned at, bool at_edge)
{
    node_t *left = parent->children[at];
    forget_range(left);
    node_t *right = node_new(tree->nodes, left->leaf);
    move_tail(right, left, at_edge ? FANOUT - 2 : FANOUT / 2);
    open_slot(parent, at + 1);
    parent->keys[at + 1] = right->keys[0];
    parent->children[at + 1] = right;
}

/* The last leaf before, or the first leaf after, the one where `key` belongs. */
static const node_t *neighbour_leaf(const struct addrtree *tree, uint64_t key, bool after)
{
    const node_t *node = tree->root, *neighbour = NULL;
    while (node && !node->leaf) {
        unsigned at = child_of(node, key);
        if (after && at + 1 < node->count)
            neighbour = node->children[at + 1];
        if (!after && at > 0)
            neighbour = node->children[at - 1];
        node = node->children[at];
    }
    while (neighbour && !neighbour->leaf)
        neighbour = neighbour->children[after ? 0 : neighbour->count - 1];
    return neighbour;
}

static inline void look_around(const struct addrtree *tree, const node_t *leaf, unsigned at, uint64_t key,
                               struct addrtree_around *around)
{
    uint32_t length = leaf->entries[at].length;
    const node_t *before = at ? leaf : neighbour_leaf(tree, key, false);
    *around = (struct addrtree_around){.next_key = UINT64_MAX};
    if (before && before->count) {
        unsigned last = at ? at - 1 : before->count - 1u;
        around->has_before = true;
        around->before_key = before->keys[last];
        around->before_length = before->entries[last].length;
    }
    if (at + 1 < leaf->count) {
        around->next_key = leaf->keys[at + 1];
    } else if (leaf->owner == tree && !tree->shared && length < UINT32_MAX && leaf->high > key &&
               leaf->high - key >= length) {
        around->next_key = leaf->high; /* up to there keys would be in this leaf */
    } else {
        const node_t *next = neighbour_leaf(tree, key, true);
        if (next && next->count)
            around->next_key = next->keys[0];
    }
}

/* The leaf for `key`, with room for one more, all the way down this tree's own. */
static node_t *leaf_with_room(struct addrtree *tree, uint64_t key)
{
    if (!tree->root)
        tree->root = node_new(tree->nodes, true);
    node_t *node = node_own(tree->nodes, &tree->root);
    if (node->count == FANOUT) {
        node_t *root = node_new(tree->nodes, false);
        root->keys[0] = node->keys[0];
        root->children[0] = node;
        root->count = 1;
        tree->root = root;
        tree->height++;
        split_child(tree, root, 0, key > node->keys[FANOUT - 1]);
        node = root;
    }
    while (!node->leaf) {
        unsigned at = child_of(node, key);
        coming(node->children[at]);
        node_t *child = node_own(tree->nodes, &node->children[at]);
        if (child->count == FANOUT) {
            split_child(tree, node, at, key > child->keys[FANOUT - 1]);
            if (key >= node->keys[at + 1])
                at++;
            child = node->children[at];
        }
        node = child;
    }
    return node;
}

/* Nodes that are another tree's too are not written to before they are copied, on the way down. */
static inline bool spot_has(const struct addrtree *tree, struct addrtree_spot spot, uint64_t key)
{
    return spot.leaf && spot.leaf->owner == tree && key - spot.leaf->low < spot.leaf->high - spot.leaf->low &&
           !tree->shared;
}

bool addrtree_put(struct addrtree *tree, struct addrtree_spot spot, uint64_t key, uint32_t value, uint32_t length,
                  uint32_t *old, struct addrtree_around *around)
{
    bool known = spot_has(tree, spot, key) && spot.leaf->count < FANOUT;
    node_t *leaf = known ? spot.leaf : leaf_with_room(tree, key);
    unsigned at = lower_bound(leaf, key);
    bool is_new = at == leaf->count || leaf->keys[at] != key;
    if (is_new) {
        open_slot(leaf, at);
        leaf->keys[at] = key;
        tree->count++;
    } else if (old) {
        *old = leaf->entries[at].value;
    }
    leaf->entries[at] = (struct entry){.value = value, .length = length};
    if (around)
        look_around(tree, leaf, at, key, around);
    return is_new;
}

/* Joins a thin child with a neighbour when both fit into one node with room to spare. */
static void join_child(struct addrtree *tree, node_t *parent, unsigned at)
{
    unsigned left = at > 0 ? at - 1 : at;
    if (left + 1 >= parent->count)
        return;
    if (parent->children[left]->count + parent->children[left + 1]->count > FANOUT * 3 / 4)
        return;
    node_t *into = node_own(tree->nodes, &parent->children[left]);
    node_t *from = node_own(tree->nodes, &parent->children[left + 1]);
    if (!from->leaf && from->count)
        from->keys[0] = parent->keys[left + 1]; /* its keys[0] is compared from now on */
    move_tail(into, from, 0);
    node_free(tree->nodes, from);
    close_slot(parent, left + 1);
}

/* Whether the leaf need not look for a neighbour once it has one entry less: when it gets thin it does, and then only now
 * and then. */
static inline bool may_shrink(const node_t *leaf)
{
    return leaf->count > THIN || (leaf->count < THIN && leaf->count != THIN / 2 && leaf->count > 1);
}

bool addrtree_remove(struct addrtree *tree, struct addrtree_spot spot, uint64_t key, uint32_t *value)
{
    if (spot_has(tree, spot, key) && may_shrink(spot.leaf)) {
        unsigned slot = spot.at;
        if (slot >= spot.leaf->count || spot.leaf->keys[slot] != key) {
            slot = lower_bound(spot.leaf, key);
            if (slot == spot.leaf->count || spot.leaf->keys[slot] != key)
                return false;
        }
        *value = spot.leaf->entries[slot].value;
        close_slot(spot.leaf, slot);
        tree->count--;
        return true;
    }
    node_t *path[MAX_HEIGHT];
    unsigned at[MAX_HEIGHT], depth = 0;
    bool shared = false;
    if (!tree->root)
        return false;
    node_t *node = tree->root;
    while (!node->leaf) {
        shared |= node->refs > 1;
        path[depth] = node;
        at[depth] = child_of(node, key);
        node = node->children[at[depth]];
        coming(node);
        depth++;
    }
    shared |= node->refs > 1;
    unsigned slot = lower_bound(node, key);
    if (slot == node->count || node->keys[slot] != key)
        return false;
    *value = node->entries[slot].value;
    if (shared) { /* the same way again, now with nodes of our own */
        node = node_own(tree->nodes, &tree->root);
        for (unsigned i = 0; i < depth; i++) {
            path[i] = node;
            node = node_own(tree->nodes, &node->children[at[i]]);
        }
    }
    close_slot(node, slot);
    tree->count--;
    while (depth > 0 && node->count < THIN) {
        depth--;
        if (node->count == 0) {
            node_free(tree->nodes, node);
            close_slot(path[depth], at[depth]);
        } else {
            join_child(tree, path[depth], at[depth]);
        }
        node = path[depth];
    }
    while (tree->root && !tree->root->leaf && tree->root->count <= 1 && tree->root->refs == 1) {
        node_t *root = tree->root;
        tree->root = root->count ? root->children[0] : NULL;
        tree->height = tree->root ? tree->height - 1 : 0;
        node_free(tree->nodes, root);
    }
    return true;
}

struct addrtree_spot addrtree_seek(const struct addrtree *tree, uint64_t key)
{
    node_t *node = tree->root;
    if (!node || tree->shared)
        return ADDRTREE_NOWHERE;
    uint64_t low = 0, high = UINT64_MAX;
    for (uint32_t level = tree->height; level > 0; level--) {
        unsigned at = child_of(node, key);
        if (at > 0)
            low = node->keys[at];
        if (at + 1 < node->count)
            high = node->keys[at + 1];
        node = node->children[at];
    }
    node->owner = tree;
    node->low = low;
    node->high = high;
    return (struct addrtree_spot){node, 0};
}

struct addrtree_spot addrtree_seek_near(const struct addrtree *tree, struct addrtree_spot last, uint64_t key)
{
    struct addrtree_spot spot = spot_has(tree, last, key) ? last : addrtree_seek(tree, key);
#pragma GCC unroll 8
    for (unsigned i = 1; i <= 8; i++)
        __builtin_prefetch((const char *)spot.leaf + 64 * i, 1);
    return spot;
}

bool addrtree_peek(const struct addrtree *tree, struct addrtree_spot *spot, uint64_t key, uint32_t *value)
{
    if (!spot_has(tree, *spot, key))
        return false;
    unsigned at = upper_bound(spot->leaf, key);
    if (at == 0)
        return false;
    spot->at = at - 1;
    *value = spot->leaf->entries[at - 1].value;
    return true;
}

static const node_t *leaf_of(const struct addrtree *tree, uint64_t key)
{
    const node_t *node = tree->root;
    while (node && !node->leaf)
        node = coming(node->children[child_of(node, key)]);
    return node;
}

bool addrtree_floor_near(const struct addrtree *tree, struct addrtree_spot spot, uint64_t key, uint64_t *found,
                         uint32_t *value)
{
    unsigned at = spot_has(tree, spot, key) ? upper_bound(spot.leaf, key) : 0;
    if (at == 0)
        return addrtree_floor(tree, key, found, value);
    *found = spot.leaf->keys[at - 1];
    *value = spot.leaf->entries[at - 1].value;
    return true;
}

bool addrtree_floor(const struct addrtree *tree, uint64_t key, uint64_t *found, uint32_t *value)
{
    const node_t *leaf = leaf_of(tree, key);
    if (!leaf)
        return false;
    unsigned at = upper_bound(leaf, key);
    if (at == 0) {
        leaf = neighbour_leaf(tree, key, false);
        if (!leaf || leaf->count == 0)
            return false;
        at = leaf->count;
    }
    *found = leaf->keys[at - 1];
    *value = leaf->entries[at - 1].value;
    return true;
}

bool addrtree_ceiling(const struct addrtree *tree, uint64_t key, uint64_t *found, uint32_t *value)
{
    const node_t *leaf = leaf_of(tree, key);
    if (!leaf)
        return false;
    unsigned at = lower_bound(leaf, key);
    if (at == leaf->count) {
        leaf = neighbour_leaf(tree, key, true);
        if (!leaf || leaf->count == 0)
            return false;
        at = 0;
    }
    *found = leaf->keys[at];
    *value = leaf->entries[at].value;
    return true;
}

static void each_own(const node_t *node, void (*visit)(void *context, uint32_t value), void *context)
{
    if (node->refs > 1)
        return;
    for (unsigned i = 0; i < node->count; i++) {
        if (node->leaf)
            visit(context, node->entries[i].value);
        else
            each_own(node->children[i], visit, context);
    }
}

void addrtree_each_own(const struct addrtree *tree, void (*visit)(void *context, uint32_t value), void *context)
{
    if (tree->root)
        each_own(tree->root, visit, context);
}

struct addrtree addrtree_share(struct addrtree *tree)
{
    if (tree->root)
        tree->root->refs++;
    tree->shared = true;
    return *tree;
}

void addrtree_free(struct addrtree *tree)
{
    if (tree->root)
        node_drop(tree->nodes, tree->root);
    /* Leaves that others still have may note this tree: it does not trust notes again. */
    *tree = (struct addrtree){.nodes = tree->nodes, .shared = tree->shared};
}
