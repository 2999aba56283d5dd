/* analysis/facts/shared_lines.c - cache lines that several threads use at the same time, one of them writing: the same bytes (true
 * sharing), or different ones (false sharing).
 *
 * Most lines are used by one thread, and most samples of a large array are on lines with one or two of them. So a first
 * pass only marks places of a table of fixed size, chosen by hash, and the second one keeps details of lines whose place saw
 * two threads, a write, and enough samples to judge. Two lines in one place cost memory, not truth. */
#include "base/order.h"
#include "base/units.h"
#include "analysis/facts/facts_work.h"

#include <math.h>

enum {
    FEWEST_PLACES = 1 << 12,
    MOST_PLACES = 1 << 22,
    WORD = 8,
};

enum place_flag { PLACE_SEVERAL = 1 << 16, PLACE_WRITTEN = 1 << 17, PLACE_ONE = 1 << 18 };
enum { PLACE_THREAD = 0xffff, PLACE_COUNT_SHIFT = 24, PLACE_COUNT_MOST = 255 };

struct line {
    uint64_t addr;
    uint32_t first;  /* user, or FLOW_NONE */
    uint32_t thread; /* of the last look */
    uint32_t bursts;
    uint32_t looks, changes; /* as in concurrency.c */
    uint64_t time;           /* of the last look */
};

struct line_user { /* one thread's use of one object on a line */
    uint32_t next, thread, object;
    uint32_t samples, bursts, last_burst;
    uint32_t read_samples, write_samples;
    uint64_t reads, writes; /* bytes of the line, a bit each */
};

enum { AHEAD = 8 };

struct marking { /* of one access, until its place has come out of memory */
    uint64_t place;
    uint32_t thread;
    bool write;
};

struct lines {
    uint32_t *places;
    uint64_t mask;
    struct marking ahead[AHEAD]; /* a ring; the table is far larger than caches are */
    uint32_t marked;
    struct map64 line_of;
    array_of(struct line) items;
    array_of(struct line_user) users;
};

static uint64_t line_key(const struct gathering *gathering, const struct flow_access *access)
{
    uint64_t process = flow_thread(gathering->flow, access->thread)->process;
    return pair_key(process, access->addr >> CACHE_LINE_SHIFT);
}

void lines_begin(struct gathering *gathering)
{
    struct lines *lines = gathering->lines = mem_zalloc(sizeof *lines);
    uint64_t places = FEWEST_PLACES;
    while (places < gathering->facts->totals.samples && places < MOST_PLACES)
        places *= 2;
    lines->places = mem_zalloc_spread(places * sizeof *lines->places);
    lines->mask = places - 1;
}

static void mark_place(struct lines *lines, const struct marking *marking)
{
    uint32_t *place = &lines->places[marking->place];
    uint32_t thread = marking->thread & PLACE_THREAD;
    if (*place == 0)
        *place = PLACE_ONE | thread;
    else if ((*place & PLACE_THREAD) != thread)
        *place |= PLACE_SEVERAL;
    if (marking->write)
        *place |= PLACE_WRITTEN;
    if (*place >> PLACE_COUNT_SHIFT < PLACE_COUNT_MOST)
        *place += 1u << PLACE_COUNT_SHIFT;
}

void lines_mark(struct gathering *gathering, const struct flow_access *access)
{
    struct lines *lines = gathering->lines;
    struct marking *marking = &lines->ahead[lines->marked % AHEAD];
    if (lines->marked++ >= AHEAD)
        mark_place(lines, marking);
    *marking = (struct marking){line_key(gathering, access) & lines->mask, access->thread, access->write};
    __builtin_prefetch(&lines->places[marking->place], 1);
    if (lines->marked == 2 * AHEAD)
        lines->marked = AHEAD; /* never wraps */
}

void lines_marked(struct gathering *gathering)
{
    struct lines *lines = gathering->lines;
    for (uint32_t i = 0; i < AHEAD && i < lines->marked; i++)
        mark_place(lines, &lines->ahead[i]);
    lines->marked = 0;
}

void lines_expect(const struct gathering *gathering, const struct flow_access *access)
{
    __builtin_prefetch(&gathering->lines->places[line_key(gathering, access) & gathering->lines->mask]);
}

static bool is_worth_it(uint32_t place)
{
    return place & PLACE_SEVERAL && place & PLACE_WRITTEN && place >> PLACE_COUNT_SHIFT >= 2 * thresholds.few_bursts;
}

static struct line_user *user_at(struct lines *lines, struct line *line, const struct flow_access *access,
                                 uint32_t object)
{
    for (uint32_t i = line->first; i != FLOW_NONE; i = lines->users.items[i].next) {
        struct line_user *user = &lines->users.items[i];
        if (user->thread == access->thread && user->object == object)
            return user;
    }
    array_push(&lines->users, (struct line_user){.next = line->first, .thread = access->thread, .object = object});
    line->first = (uint32_t)lines->users.count - 1;
    return &lines->users.items[line->first];
}

void lines_add(struct gathering *gathering, const struct flow_access *access, uint32_t object, uint32_t burst)
{
    struct lines *lines = gathering->lines;
    uint64_t key = line_key(gathering, access);
    if (!is_worth_it(lines->places[key & lines->mask]))
        return;
    bool is_new;
    uint64_t *place = map64_insert(&lines->line_of, key, &is_new);
    if (is_new) {
        *place = lines->items.count;
        array_push(&lines->items, (struct line){.addr = access->addr >> CACHE_LINE_SHIFT << CACHE_LINE_SHIFT,
                                                .first = FLOW_NONE,
                                                .thread = FLOW_NONE});
    }
    struct line *line = &lines->items.items[*place];
    struct line_user *user = user_at(lines, line, access, object);
    unsigned offset = access->addr & ((1 << CACHE_LINE_SHIFT) - 1), size = access->size ? access->size : 1;
    uint64_t bytes = (size >= 64 ? UINT64_MAX : (1ul << size) - 1) << offset;
    user->samples++;
    user->read_samples += (access->flags & SAMPLE_READ) != 0;
    user->write_samples += access->write;
    user->reads |= access->flags & SAMPLE_READ ? bytes : 0;
    user->writes |= access->write ? bytes : 0;
    if (user->last_burst == burst)
        return;
    user->last_burst = burst;
    user->bursts++;
    line->bursts++;
    if (line->thread != FLOW_NONE && access->time < line->time + look_ns())
        return;
    line->looks += line->thread != FLOW_NONE;
    line->changes += line->thread != FLOW_NONE && line->thread != access->thread;
    line->thread = access->thread;
    line->time = access->time;
}

enum verdict { NOT_SHARED, SHARED_TRULY, SHARED_FALSELY };

/* How likely it is that two users who take any of the line's words alike never took the same: the logarithm. */
static double log_chance_apart(uint64_t mine, uint64_t others, double my_bursts, double other_bursts)
{
    unsigned unit = WORD, all = 0, some = 0;
    for (unsigned at = 0; at < 64; at += WORD) {
        if (mine >> at & 0xff && others >> at & 0xff)
            unit = 1; /* they share words, but no bytes */
    }
    for (unsigned at = 0; at < 64; at += unit) {
        uint64_t word = (unit == 1 ? 1ul : 0xfful) << at;
        some += (mine & word) != 0;
        all += ((mine | others) & word) != 0;
    }
    if (some == 0 || some == all)
        return 0;
    double ways = lgamma(all + 1.0) - lgamma(some + 1.0) - lgamma(all - some + 1.0);
    return ways + my_bursts * log((double)some / all) + other_bursts * log((double)(all - some) / all);
}

struct sharer { /* one thread on a line, over its objects */
    uint32_t thread, samples, bursts;
    uint64_t reads, writes;
};

static size_t find_sharers(const struct lines *lines, const struct line *line, struct sharer *sharers, size_t most)
{
    size_t count = 0;
    uint32_t samples = 0;
    for (uint32_t i = line->first; i != FLOW_NONE; i = lines->users.items[i].next) {
        const struct line_user *user = &lines->users.items[i];
        size_t at = 0;
        while (at < count && sharers[at].thread != user->thread)
            at++;
        if (at == most)
            continue;
        if (at == count)
            sharers[count++] = (struct sharer){.thread = user->thread};
        sharers[at].samples += user->samples;
        sharers[at].bursts += user->bursts;
        sharers[at].reads |= user->reads;
        sharers[at].writes |= user->writes;
        samples += user->samples;
    }
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (sharers[i].bursts >= thresholds.few_bursts && sharers[i].samples > thresholds.stray * samples)
            sharers[kept++] = sharers[i];
    }
    return kept;
}

static bool is_concurrent(const struct line *line, const struct sharer *sharers, size_t count)
{
    double squares = 0, total = line->bursts;
    for (size_t i = 0; i < count; i++)
        squares += (double)sharers[i].bursts * sharers[i].bursts;
    double expected = line->looks * (1 - squares / (total * total));
    return expected > 0 && line->changes >= thresholds.halfway * expected;
}

static enum verdict judge(const struct line *line, const struct sharer *sharers, size_t count)
{
    enum verdict verdict = NOT_SHARED;
    if (count < 2 || !is_concurrent(line, sharers, count))
        return NOT_SHARED;
    for (size_t i = 0; i < count; i++) {
        uint64_t others = 0, bursts = 0;
        for (size_t j = 0; j < count; j++) {
            if (i == j)
                continue;
            if (sharers[i].writes & (sharers[j].reads | sharers[j].writes))
                return SHARED_TRULY;
            others |= sharers[j].reads | sharers[j].writes;
            bursts += sharers[j].bursts;
        }
        uint64_t mine = sharers[i].reads | sharers[i].writes;
        if (sharers[i].writes && !(mine & others) &&
            log_chance_apart(mine, others, sharers[i].bursts, (double)bursts) <= log(thresholds.doubt_certain))
            verdict = SHARED_FALSELY;
    }
    return verdict;
}

static void give(struct gathering *gathering, const struct line *line, enum verdict verdict)
{
    struct lines *lines = gathering->lines;
    uint64_t samples = 0;
    for (uint32_t i = line->first; i != FLOW_NONE; i = lines->users.items[i].next)
        samples += lines->users.items[i].samples;
    for (uint32_t i = line->first; i != FLOW_NONE; i = lines->users.items[i].next) {
        const struct line_user *user = &lines->users.items[i];
        struct facts_subject *object = &gathering->facts->objects.items[user->object];
        struct work *work = &gathering->objects[user->object];
        if (verdict == SHARED_TRULY) {
            object->true_sharing += user->samples;
            continue;
        }
        object->false_sharing += user->samples;
        if (samples > work->worst_samples) {
            work->worst_samples = samples;
            object->worst_line = line->addr;
        }
    }
}

struct hot_line {
    uint64_t samples;
    uint32_t line;
    enum verdict verdict;
};

ORDER_BY(hottest_first, struct hot_line, ORDER(b->samples, a->samples) ?: ORDER(a->line, b->line))

static void keep(struct gathering *gathering, const struct hot_line *hot)
{
    const struct lines *lines = gathering->lines;
    const struct line *line = &lines->items.items[hot->line];
    for (uint32_t i = line->first; i != FLOW_NONE; i = lines->users.items[i].next) {
        const struct line_user *user = &lines->users.items[i];
        array_push(&gathering->facts->lines, (struct facts_line){.addr = line->addr,
                                                                 .object = user->object,
                                                                 .thread = user->thread,
                                                                 .reads = user->read_samples,
                                                                 .writes = user->write_samples,
                                                                 .bytes = user->reads | user->writes,
                                                                 .truly = hot->verdict == SHARED_TRULY,
                                                                 .falsely = hot->verdict == SHARED_FALSELY});
    }
}

void lines_finish(struct gathering *gathering)
{
    enum { MOST_SHARERS = 256 };
    struct lines *lines = gathering->lines;
    struct sharer *sharers = mem_alloc(MOST_SHARERS * sizeof *sharers);
    array_of(struct hot_line) hot = {0};
    array_each (&lines->items, const struct line, line) {
        size_t count = find_sharers(lines, line, sharers, MOST_SHARERS);
        enum verdict verdict = judge(line, sharers, count);
        if (verdict != NOT_SHARED)
            give(gathering, line, verdict);
        if (count < 2)
            continue;
        struct hot_line one = {.line = (uint32_t)(line - lines->items.items), .verdict = verdict};
        for (size_t i = 0; i < count; i++)
            one.samples += sharers[i].samples;
        array_push(&hot, one);
    }
    array_sort(&hot, hottest_first);
    for (size_t i = 0; i < hot.count && i < FACTS_LINES; i++)
        keep(gathering, &hot.items[i]);
    array_free(&hot);
    free(sharers);
}

void lines_add_to_site(struct gathering *gathering, uint32_t object, struct facts_subject *site)
{
    const struct facts_subject *subject = &gathering->facts->objects.items[object];
    struct work *sum = &gathering->sites[subject->site].work;
    site->false_sharing += subject->false_sharing;
    site->true_sharing += subject->true_sharing;
    if (gathering->objects[object].worst_samples > sum->worst_samples) {
        sum->worst_samples = gathering->objects[object].worst_samples;
        site->worst_line = subject->worst_line;
    }
}

void lines_free(struct gathering *gathering)
{
    struct lines *lines = gathering->lines;
    if (!lines)
        return;
    free(lines->places);
    map64_free(&lines->line_of);
    array_free(&lines->items);
    array_free(&lines->users);
    free(lines);
}
