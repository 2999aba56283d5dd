/* analysis/sharing.c - accesses in order of address: then an address, a line and a page are each one stretch of them. */
#include "analysis/sharing.h"

#include "base/map64.h"

#include <string.h>

enum { LINE_SHIFT = 6, PAGE_SHIFT = 12, DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };

const char *sharing_grain_name(enum sharing_grain grain)
{
    static const char *const names[GRAINS] = {"address", "line", "page", "object"};
    return grain < GRAINS ? names[grain] : "";
}

struct access_tally sharing_shared(const struct sharing_grain_totals *totals)
{
    struct access_tally shared = totals->classes[CLASS_SAME_NODE];
    tally_join(&shared, &totals->classes[CLASS_CROSS_NODE]);
    return shared;
}

struct place { /* of an access: its address, with the process in the bits that no address uses */
    uint64_t key;
    uint32_t index;
};

/* One pass of a radix sort: stable, by one digit of the key. False when all keys have the same digit. */
static bool sort_by_digit(const struct place *from, struct place *to, size_t count, unsigned shift)
{
    size_t starts[DIGITS] = {0}, sum = 0;
    for (size_t i = 0; i < count; i++)
        starts[from[i].key >> shift & (DIGITS - 1)]++;
    for (unsigned i = 0; i < DIGITS; i++) {
        if (starts[i] == count)
            return false;
        size_t own = starts[i];
        starts[i] = sum;
        sum += own;
    }
    for (size_t i = 0; i < count; i++)
        to[starts[from[i].key >> shift & (DIGITS - 1)]++] = from[i];
    return true;
}

/* Accesses that have an object, in order of process and address. The caller frees it. */
static struct place *in_order(const struct accesses *accesses, size_t *count)
{
    enum { ADDRESS_BITS = 48 };
    const struct flow *flow = accesses->flow;
    struct place *places = mem_alloc((accesses->items.count + 1) * sizeof *places);
    struct place *other = mem_alloc((accesses->items.count + 1) * sizeof *other);
    *count = 0;
    for (size_t i = 0; i < accesses->items.count; i++) {
        const struct one_access *access = &accesses->items.items[i];
        if (access->thread == FLOW_NONE)
            continue;
        uint64_t process = flow_thread(flow, access->thread)->process;
        places[(*count)++] = (struct place){access->addr ^ process << ADDRESS_BITS, (uint32_t)i};
    }
    for (unsigned shift = 0; shift < 64; shift += DIGIT_BITS) {
        if (!sort_by_digit(places, other, *count, shift))
            continue;
        struct place *sorted = other;
        other = places;
        places = sorted;
    }
    free(other);
    return places;
}

struct piece { /* what is known of one so far */
    uint32_t thread;
    int16_t node;
    bool shared, cross, written;
};

static const struct piece no_piece = {.thread = FLOW_NONE, .node = -1};

static void piece_see(struct piece *piece, const struct one_access *access)
{
    piece->shared |= piece->thread != FLOW_NONE && piece->thread != access->thread;
    piece->cross |= piece->node >= 0 && access->from >= 0 && piece->node != access->from;
    piece->written |= access->flags & ACCESS_WRITE;
    if (piece->thread == FLOW_NONE)
        piece->thread = access->thread;
    if (piece->node < 0)
        piece->node = access->from;
}

/* A thread that moves from node to node shares nothing with anyone. */
static enum sharing_class piece_class(const struct piece *piece)
{
    return !piece->shared ? CLASS_PRIVATE : piece->cross ? CLASS_CROSS_NODE : CLASS_SAME_NODE;
}

static void count_access(struct sharing_grain_totals *totals, const struct piece *piece,
                         const struct one_access *access)
{
    tally_add(&totals->classes[piece_class(piece)], access);
    if (piece->shared && piece->written)
        tally_add(&totals->written, access);
}

static void count_piece(struct sharing_grain_totals *totals, const struct piece *piece)
{
    totals->pieces[piece_class(piece)]++;
    totals->written_pieces += piece->shared && piece->written;
}

static const struct one_access *access_at(const struct sharing *sharing, const struct place *place)
{
    return &sharing->accesses->items.items[place->index];
}

static struct sharing_row *row_of(struct sharing *sharing, const struct one_access *access)
{
    uint32_t thing = access_thing(sharing->accesses, access);
    return thing != FLOW_NONE ? &sharing->rows.items[thing] : NULL;
}

/* A stretch of places is one piece: all see it, then each counts by what it is. */
static void count_stretch(struct sharing *sharing, const struct place *from, const struct place *to,
                          enum sharing_grain grain)
{
    struct piece piece = no_piece;
    const struct sharing_row *last = NULL;
    for (const struct place *at = from; at < to; at++)
        piece_see(&piece, access_at(sharing, at));
    count_piece(&sharing->grains[grain], &piece);
    for (const struct place *at = from; at < to; at++) {
        const struct one_access *access = access_at(sharing, at);
        struct sharing_row *row = row_of(sharing, access);
        count_access(&sharing->grains[grain], &piece, access);
        if (row)
            count_access(&row->grains[grain], &piece, access);
        if (row && row != last)
            count_piece(&row->grains[grain], &piece);
        last = row;
    }
}

static int by_object(const void *left, const void *right, void *context)
{
    const struct sharing *sharing = context;
    uint32_t a = access_at(sharing, left)->object, b = access_at(sharing, right)->object;
    return a < b ? -1 : a > b;
}

/* At one address one object after the other may have lived. */
static void count_address(struct sharing *sharing, struct place *from, struct place *to)
{
    uint32_t object = access_at(sharing, from)->object;
    bool several = false;
    for (const struct place *at = from; at < to && !several; at++)
        several = access_at(sharing, at)->object != object;
    if (several)
        qsort_r(from, (size_t)(to - from), sizeof *from, by_object, sharing);
    while (from < to) {
        struct place *end = from + 1;
        object = access_at(sharing, from)->object;
        while (end < to && access_at(sharing, end)->object == object)
            end++;
        count_stretch(sharing, from, end, GRAIN_ADDRESS);
        from = end;
    }
}

static struct place *stretch_end(struct place *from, struct place *to, unsigned shift)
{
    struct place *at = from + 1;
    while (at < to && at->key >> shift == from->key >> shift)
        at++;
    return at;
}

static void count_places(struct sharing *sharing, struct place *from, struct place *to)
{
    for (struct place *page = from; page < to;) {
        struct place *page_end = stretch_end(page, to, PAGE_SHIFT);
        count_stretch(sharing, page, page_end, GRAIN_PAGE);
        for (struct place *line = page; line < page_end;) {
            struct place *line_end = stretch_end(line, page_end, LINE_SHIFT);
            count_stretch(sharing, line, line_end, GRAIN_LINE);
            for (struct place *at = line; at < line_end;) {
                struct place *end = stretch_end(at, line_end, 0);
                count_address(sharing, at, end);
                at = end;
            }
            line = line_end;
        }
        page = page_end;
    }
}

/* Objects: by number. What has no object is its own piece by page. */
static void count_objects(struct sharing *sharing)
{
    const struct accesses *accesses = sharing->accesses;
    struct piece *pieces = mem_alloc((accesses->object_count + 1ul) * sizeof *pieces);
    for (uint32_t i = 0; i < accesses->object_count; i++)
        pieces[i] = no_piece;
    array_each (&accesses->items, const struct one_access, access)
        if (access->object < accesses->object_count && access->thread != FLOW_NONE)
            piece_see(&pieces[access->object], access);
    array_each (&accesses->items, const struct one_access, access) {
        if (access->object >= accesses->object_count || access->thread == FLOW_NONE)
            continue;
        count_access(&sharing->grains[GRAIN_OBJECT], &pieces[access->object], access);
        count_access(&row_of(sharing, access)->grains[GRAIN_OBJECT], &pieces[access->object], access);
    }
    for (uint32_t i = 0; i < accesses->object_count; i++) {
        if (pieces[i].thread == FLOW_NONE)
            continue;
        count_piece(&sharing->grains[GRAIN_OBJECT], &pieces[i]);
        count_piece(&sharing->rows.items[accesses->thing_of[i]].grains[GRAIN_OBJECT], &pieces[i]);
    }
    free(pieces);
}

static struct sharing_user *find_user(struct sharing *sharing, struct map64 *known, struct sharing_row *row,
                                      uint32_t thread)
{
    bool is_new;
    uint64_t *place = map64_insert(known, (uint64_t)row->thing << 32 | thread, &is_new);
    if (is_new) {
        *place = row->users.count;
        int node = flow_thread_node(sharing->accesses->flow, thread);
        array_push(&row->users, (struct sharing_user){.thread = thread, .node = (int16_t)node});
    }
    return &row->users.items[*place];
}

static int by_accesses(const void *left, const void *right)
{
    const struct sharing_user *a = left, *b = right;
    if (a->all.accesses != b->all.accesses)
        return a->all.accesses > b->all.accesses ? -1 : 1;
    return a->thread < b->thread ? -1 : a->thread > b->thread;
}

static void finish_row(struct sharing_row *row, uint8_t *seen, uint32_t node_count)
{
    memset(seen, 0, node_count + 1ul);
    array_each (&row->users, const struct sharing_user, user) {
        row->writers += user->writes > 0;
        if (user->node >= 0 && (uint32_t)user->node < node_count && !seen[user->node]++)
            row->nodes++;
    }
    array_sort(&row->users, by_accesses);
}

static void count_users(struct sharing *sharing)
{
    const struct accesses *accesses = sharing->accesses;
    struct map64 known = {0};
    struct sharing_row *last_row = NULL;
    uint32_t last_thread = FLOW_NONE;
    struct sharing_user *user = NULL;
    array_each (&accesses->items, const struct one_access, access) {
        struct sharing_row *row = row_of(sharing, access);
        if (!row || access->thread == FLOW_NONE)
            continue;
        if (row != last_row || access->thread != last_thread)
            user = find_user(sharing, &known, row, access->thread);
        last_row = row;
        last_thread = access->thread;
        tally_add(&user->all, access);
        user->writes += (access->flags & ACCESS_WRITE) != 0;
        user->remote += (access->flags & ACCESS_REMOTE) != 0;
        tally_add(&row->all, access);
        if (access->flags & ACCESS_REMOTE)
            tally_add(&row->remote, access);
    }
    map64_free(&known);
    uint8_t *seen = mem_alloc(accesses->node_count + 1ul);
    array_each (&sharing->rows, struct sharing_row, row)
        finish_row(row, seen, accesses->node_count);
    free(seen);
}

struct sharing *sharing_make(const struct accesses *accesses)
{
    struct sharing *sharing = mem_zalloc(sizeof *sharing);
    size_t count;
    sharing->accesses = accesses;
    array_reserve(&sharing->rows, accesses->things.count);
    for (uint32_t i = 0; i < accesses->things.count; i++)
        array_push(&sharing->rows, (struct sharing_row){.thing = i});
    struct place *places = in_order(accesses, &count);
    count_places(sharing, places, places + count);
    free(places);
    count_objects(sharing);
    count_users(sharing);
    return sharing;
}

void sharing_free(struct sharing *sharing)
{
    if (!sharing)
        return;
    array_each (&sharing->rows, struct sharing_row, row)
        array_free(&row->users);
    array_free(&sharing->rows);
    free(sharing);
}
