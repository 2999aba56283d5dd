/* analysis/problems/sharing.c - accesses in order of address: then an address, a line and a page are each one stretch of them. */
#include "analysis/problems/sharing.h"

#include "base/map64.h"
#include "base/order.h"
#include "base/units.h"

#include <string.h>

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };

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

struct keyed_access { /* of an access: its address, with the process in the bits that no address uses */
    uint64_t key;
    uint32_t index;
};

struct look { /* what is counted of an access; in order of the key they are read one after the other, again and again */
    uint64_t key;
    uint32_t object, thread, latency;
    int16_t from;
    uint8_t flags;
};

/* One pass of a radix sort: stable, by one digit of the key. */
static void sort_by_digit(const struct keyed_access *from, struct keyed_access *to, size_t count, unsigned shift)
{
    size_t starts[DIGITS] = {0}, sum = 0;
    for (size_t i = 0; i < count; i++)
        starts[from[i].key >> shift & (DIGITS - 1)]++;
    for (unsigned i = 0; i < DIGITS; i++) {
        size_t own = starts[i];
        starts[i] = sum;
        sum += own;
    }
    for (size_t i = 0; i < count; i++)
        to[starts[from[i].key >> shift & (DIGITS - 1)]++] = from[i];
}

static struct keyed_access *sorted_places(const struct accesses *accesses, size_t *count)
{
    enum { ADDRESS_BITS = 48 };
    const struct flow *flow = accesses->flow;
    struct keyed_access *places = mem_alloc_spread((accesses->items.count + 1) * sizeof *places);
    struct keyed_access *other = mem_alloc_spread((accesses->items.count + 1) * sizeof *other);
    uint64_t differ = 0; /* bits that are not the same in all keys */
    *count = 0;
    for (size_t i = 0; i < accesses->items.count; i++) {
        const struct one_access *access = &accesses->items.items[i];
        if (access->thread == FLOW_NONE)
            continue;
        uint64_t process = flow_thread(flow, access->thread)->process;
        places[*count] = (struct keyed_access){access->addr ^ process << ADDRESS_BITS, (uint32_t)i};
        differ |= places[*count].key ^ places[0].key;
        (*count)++;
    }
    for (unsigned shift = 0; shift < 64; shift += DIGIT_BITS) {
        if ((differ >> shift & (DIGITS - 1)) == 0)
            continue;
        sort_by_digit(places, other, *count, shift);
        struct keyed_access *sorted = other;
        other = places;
        places = sorted;
    }
    free(other);
    return places;
}

/* Accesses whose thread is known, in order of process and address. The caller frees it. */
static struct look *in_order(const struct accesses *accesses, size_t *count)
{
    enum { AHEAD = 16 };
    struct keyed_access *places = sorted_places(accesses, count);
    struct look *looks = mem_alloc_spread((*count + 1) * sizeof *looks);
    for (size_t i = 0; i < *count; i++) {
        if (i + AHEAD < *count)
            __builtin_prefetch(&accesses->items.items[places[i + AHEAD].index]);
        const struct one_access *access = &accesses->items.items[places[i].index];
        looks[i] = (struct look){.key = places[i].key,
                                 .object = access->object,
                                 .thread = access->thread,
                                 .latency = access->latency,
                                 .from = access->from,
                                 .flags = access->flags};
    }
    free(places);
    return looks;
}

struct piece { /* what is known of one so far */
    uint32_t thread;
    int16_t node;
    bool shared, cross, written;
};

static const struct piece no_piece = {.thread = FLOW_NONE, .node = -1};

static void piece_see(struct piece *piece, uint32_t thread, int16_t from, uint8_t flags)
{
    piece->shared |= piece->thread != FLOW_NONE && piece->thread != thread;
    piece->cross |= piece->node >= 0 && from >= 0 && piece->node != from;
    piece->written |= flags & ACCESS_WRITE;
    if (piece->thread == FLOW_NONE)
        piece->thread = thread;
    if (piece->node < 0)
        piece->node = from;
}

/* A thread that moves from node to node shares nothing with anyone. */
static enum sharing_class piece_class(const struct piece *piece)
{
    return !piece->shared ? CLASS_PRIVATE : piece->cross ? CLASS_CROSS_NODE : CLASS_SAME_NODE;
}

/* Accesses to a piece. */
static void count_tally(struct sharing_grain_totals *totals, const struct piece *piece,
                        const struct access_tally *tally)
{
    tally_join(&totals->classes[piece_class(piece)], tally);
    if (piece->shared && piece->written)
        tally_join(&totals->written, tally);
}

static void count_piece(struct sharing_grain_totals *totals, const struct piece *piece)
{
    totals->pieces[piece_class(piece)]++;
    totals->written_pieces += piece->shared && piece->written;
}

static struct sharing_row *row_of(struct sharing *sharing, uint32_t object)
{
    const struct accesses *accesses = sharing->accesses;
    return object < accesses->object_count ? &sharing->rows.items[accesses->thing_of[object]] : NULL;
}

/* A stretch of looks is one piece: all see it, then they count by what it is, those of a row together. */
static void count_stretch(struct sharing *sharing, const struct look *from, const struct look *to,
                          enum sharing_grain grain)
{
    struct piece piece = no_piece;
    for (const struct look *at = from; at < to; at++)
        piece_see(&piece, at->thread, at->from, at->flags);
    count_piece(&sharing->grains[grain], &piece);
    while (from < to) {
        struct sharing_row *row = row_of(sharing, from->object);
        struct access_tally tally = {0};
        uint32_t object = from->object;
        for (; from < to && (from->object == object || row_of(sharing, from->object) == row); from++) {
            tally.latency += from->latency;
            tally.timed += from->flags & ACCESS_TIMED;
            tally.accesses++;
        }
        count_tally(&sharing->grains[grain], &piece, &tally);
        if (!row)
            continue;
        count_tally(&row->grains[grain], &piece, &tally);
        count_piece(&row->grains[grain], &piece);
    }
}

ORDER_BY(by_object, struct look, ORDER(a->object, b->object))

/* At one address one object after the other may have lived. */
static void count_address(struct sharing *sharing, struct look *from, struct look *to)
{
    bool several = false;
    for (const struct look *at = from; at < to && !several; at++)
        several = at->object != from->object;
    if (several)
        qsort(from, (size_t)(to - from), sizeof *from, by_object);
    while (from < to) {
        struct look *end = from + 1;
        while (end < to && end->object == from->object)
            end++;
        count_stretch(sharing, from, end, GRAIN_ADDRESS);
        from = end;
    }
}

static struct look *stretch_end(struct look *from, struct look *to, unsigned shift)
{
    struct look *at = from + 1;
    while (at < to && at->key >> shift == from->key >> shift)
        at++;
    return at;
}

static void count_looks(struct sharing *sharing, struct look *from, struct look *to)
{
    for (struct look *page = from; page < to;) {
        struct look *page_end = stretch_end(page, to, PAGE_UNIT_SHIFT);
        count_stretch(sharing, page, page_end, GRAIN_PAGE);
        for (struct look *line = page; line < page_end;) {
            struct look *line_end = stretch_end(line, page_end, CACHE_LINE_SHIFT);
            count_stretch(sharing, line, line_end, GRAIN_LINE);
            for (struct look *at = line; at < line_end;) {
                struct look *end = stretch_end(at, line_end, 0);
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
    struct counted {
        struct piece piece;
        struct access_tally tally;
    } *objects = mem_alloc((accesses->object_count + 1ul) * sizeof *objects);
    for (uint32_t i = 0; i < accesses->object_count; i++)
        objects[i] = (struct counted){.piece = no_piece};
    array_each (&accesses->items, const struct one_access, access) {
        if (access->object >= accesses->object_count || access->thread == FLOW_NONE)
            continue;
        piece_see(&objects[access->object].piece, access->thread, access->from, access->flags);
        tally_add(&objects[access->object].tally, access);
    }
    for (uint32_t i = 0; i < accesses->object_count; i++) {
        const struct counted *object = &objects[i];
        struct sharing_grain_totals *of_row = &row_of(sharing, i)->grains[GRAIN_OBJECT];
        if (object->piece.thread == FLOW_NONE)
            continue;
        count_tally(&sharing->grains[GRAIN_OBJECT], &object->piece, &object->tally);
        count_tally(of_row, &object->piece, &object->tally);
        count_piece(&sharing->grains[GRAIN_OBJECT], &object->piece);
        count_piece(of_row, &object->piece);
    }
    free(objects);
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

ORDER_BY(by_accesses, struct sharing_user, ORDER(b->all.accesses, a->all.accesses) ?: ORDER(a->thread, b->thread))

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
        struct sharing_row *row = row_of(sharing, access->object);
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
    struct look *looks = in_order(accesses, &count);
    count_looks(sharing, looks, looks + count);
    free(looks);
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
