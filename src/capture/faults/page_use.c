#include "capture/faults/page_use.h"

#include "base/array.h"
#include "base/map64.h"
#include "base/mem.h"
#include "base/order.h"
#include "capture/faults/huge.h"
#include "capture/faults/pagemap.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct page_seen {
    uint64_t page;     /* the address asked for */
    uint64_t physical; /* of its frame; 0 when the kernel does not report */
    bool there;        /* false: the kernel has no page for it, yet or any more */
    bool huge;         /* part of one of `huge_bytes` */
};

enum {
    AT_ONCE = 512,
    GAP = 32, /* entries nobody asked for that cost less than another call */
};

static void read_entries(int fd, struct page_seen *pages, size_t count)
{
    uint64_t entries[AT_ONCE], size = pagemap_page();
    for (size_t i = 0; i < count;) {
        uint64_t first = pages[i].page;
        size_t end = i;
        do
            end++;
        while (end < count && pages[end].page - first < AT_ONCE * size &&
               pages[end].page - pages[end - 1].page <= GAP * size);
        size_t got = pagemap_read(fd, first, entries, (pages[end - 1].page - first) / size + 1);
        for (; i < end; i++) {
            size_t at = (pages[i].page - first) / size;
            uint64_t entry = at < got ? entries[at] : 0;
            pages[i].there = pagemap_entry_categories(entry) & (PAGEMAP_PRESENT | PAGEMAP_SWAPPED);
            pages[i].physical = pagemap_entry_frame(entry) * size;
        }
    }
}

/* Fills all but the addresses, which ascend. False when the process has ended. */
static bool page_look(uint32_t pid, uint64_t huge_bytes, struct page_seen *pages, size_t count)
{
    int fd = pagemap_open(pid);
    if (fd < 0)
        return false;
    read_entries(fd, pages, count);
    close(fd);
    /* After that: what is there now has its size now. */
    uint64_t *addresses = mem_alloc((count + 1) * sizeof *addresses);
    bool *huge = mem_zalloc(count + 1);
    for (size_t i = 0; i < count; i++)
        addresses[i] = pages[i].page;
    if (huge_bytes)
        huge_find(pid, huge_bytes, addresses, count, huge);
    for (size_t i = 0; i < count; i++)
        pages[i].huge = huge[i];
    free(addresses);
    free(huge);
    return true;
}

enum {
    LATE_MOST = 1024,
    LATE_INTERVALS = 128, /* a fault may take so many: on a busy machine a thread has no CPU in the middle of one */
};

struct used {
    uint64_t page, size, physical, ip;
    uint32_t reads, writes, unknown;
    uint32_t order; /* where its CPUs are */
    uint8_t mechanism;
};

struct chunk {
    uint32_t pid, tid;
    uint64_t begin;     /* of what it holds */
    uint64_t until;     /* 0, or when it ended: it was put off */
    uint32_t waited;    /* intervals since */
    struct map64 index; /* page, to its place in `pages` */
    array_of(struct used) pages;
    size_t looked;           /* so many of them have their size and frame */
    array_of(uint64_t) cpus; /* `words` for each page */
};

struct page_use {
    struct sink *sink;
    struct page_use_options options;
    unsigned words;
    uint64_t begin; /* of the current interval */
    uint64_t page_bytes, huge_bytes;
    size_t pages_most, pages;
    array_of(struct chunk *) chunks; /* oldest first */
    struct map64 by_thread;          /* to struct chunk * */
    array_of(struct chunk *) late;   /* put off until the next interval is over */
    struct chunk *written;           /* or NULL */
    uint64_t written_until;
    struct page_use_totals totals;
};

struct page_use *page_use_new(struct sink *sink, const struct page_use_options *options)
{
    struct page_use *use = mem_zalloc(sizeof *use);
    use->sink = sink;
    use->options = *options;
    use->words = (options->cpus + 63) / 64;
    use->begin = options->begin;
    use->page_bytes = pagemap_page();
    use->huge_bytes = huge_page_bytes();
    /* A page, its CPUs, and a slot of a map that is half full and may be growing. */
    use->pages_most = options->memory / (sizeof(struct used) + use->words * 8 + 64);
    use->pages_most = use->pages_most < 64 ? 64 : use->pages_most;
    return use;
}

static void free_chunk(struct chunk *chunk)
{
    map64_free(&chunk->index);
    array_free(&chunk->pages);
    array_free(&chunk->cpus);
    free(chunk);
}

void page_use_free(struct page_use *use)
{
    if (!use)
        return;
    array_each (&use->chunks, struct chunk *, chunk)
        free_chunk(*chunk);
    array_free(&use->chunks);
    array_each (&use->late, struct chunk *, late)
        free_chunk(*late);
    array_free(&use->late);
    map64_free(&use->by_thread);
    if (use->written)
        free_chunk(use->written);
    free(use);
}

ORDER_BY(compare_pages, struct used, ORDER(a->page, b->page))

static void sort_pages(struct used *pages, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (pages[i].page < pages[i - 1].page) { /* often they are in order already */
            qsort(pages, count, sizeof *pages, compare_pages);
            return;
        }
}

/* Parts of one huge page become one, at its beginning. */
static void merge_huge(const struct page_use *use, struct chunk *chunk)
{
    size_t count = chunk->pages.count, to = 0;
    for (size_t i = 0; i < count; i++) {
        struct used page = chunk->pages.items[i], *last = to ? &chunk->pages.items[to - 1] : NULL;
        uint64_t inside = page.page & (page.size - 1);
        page.page -= inside;
        page.physical = page.physical > inside ? page.physical - inside : 0;
        if (!last || last->page + last->size <= page.page) {
            chunk->pages.items[to++] = page;
            continue;
        }
        last->reads += page.reads;
        last->writes += page.writes;
        last->unknown += page.unknown;
        for (unsigned word = 0; word < use->words; word++)
            chunk->cpus.items[last->order * use->words + word] |= chunk->cpus.items[page.order * use->words + word];
    }
    chunk->pages.count = to;
}

/* Asks for sizes and frames of pages that came since the last look. A fault is reported before the kernel has found a page for
 * it: such ones stay for the next look. The chunk's index is out of date then. False when there is nobody to ask. */
static bool look(const struct page_use *use, struct chunk *chunk)
{
    size_t count = chunk->pages.count - chunk->looked;
    struct used *pages = chunk->pages.items + chunk->looked;
    if (count == 0)
        return true;
    sort_pages(pages, count);
    struct page_seen *seen = mem_zalloc(count * sizeof *seen);
    for (size_t i = 0; i < count; i++)
        seen[i].page = pages[i].page;
    bool alive = page_look(chunk->pid, use->huge_bytes, seen, count);
    for (size_t i = 0; i < count && alive; i++) {
        if (!seen[i].there)
            continue;
        struct used page = pages[i], *to = &chunk->pages.items[chunk->looked++];
        if (seen[i].huge && page.size < use->huge_bytes)
            page.size = use->huge_bytes;
        page.physical = seen[i].physical;
        pages[i] = *to;
        *to = page;
    }
    free(seen);
    return alive;
}

void page_use_look(struct page_use *use, uint32_t pid)
{
    array_each (&use->chunks, struct chunk *, place) {
        struct chunk *chunk = *place;
        size_t first = chunk->looked;
        if (chunk->pid != pid)
            continue;
        look(use, chunk);
        for (size_t i = first; i < chunk->pages.count; i++)
            *map64_insert(&chunk->index, chunk->pages.items[i].page, NULL) = i;
    }
}

/* The kernel has no page yet where the program faulted: what becomes of it shows later. */
static void put_off(struct page_use *use, struct chunk *chunk, uint64_t until)
{
    struct chunk *late = mem_zalloc(sizeof *late);
    late->pid = chunk->pid;
    late->tid = chunk->tid;
    late->begin = chunk->begin;
    late->until = until;
    late->waited = chunk == use->written ? LATE_INTERVALS : 0; /* no faults */
    for (size_t i = chunk->looked; i < chunk->pages.count; i++) {
        struct used page = chunk->pages.items[i];
        for (unsigned word = 0; word < use->words; word++)
            array_push(&late->cpus, chunk->cpus.items[page.order * use->words + word]);
        page.order = (uint32_t)late->pages.count;
        array_push(&late->pages, page);
    }
    chunk->pages.count = chunk->looked;
    array_push(&use->late, late);
}

static void report(struct page_use *use, struct chunk *chunk, uint64_t until)
{
    bool alive = look(use, chunk);
    if (alive && chunk->looked < chunk->pages.count && !chunk->until && use->late.count < LATE_MOST)
        put_off(use, chunk, until);
    sort_pages(chunk->pages.items, chunk->pages.count);
    merge_huge(use, chunk);
    struct event event = {.time = chunk->begin, .pid = chunk->pid, .tid = chunk->tid, .kind = EVENT_PAGE};
    array_each (&chunk->pages, struct used, page) {
        const uint64_t *cpus = chunk->cpus.items + page->order * use->words;
        unsigned words = use->words;
        while (words && cpus[words - 1] == 0)
            words--;
        event.page = (struct event_page){.page = page->page,
                                         .size = page->size,
                                         .physical = page->physical,
                                         .until = until,
                                         .ip = page->ip,
                                         .reads = page->reads,
                                         .writes = page->writes,
                                         .unknown = page->unknown,
                                         .mechanism = page->mechanism,
                                         .cpu_words = (uint16_t)words,
                                         .cpus = cpus};
        sink_put(use->sink, &event);
        use->totals.pages++;
    }
    use->totals.chunks++;
}

static uint64_t key_of(uint32_t pid, uint32_t tid)
{
    return (uint64_t)pid << 32 | tid;
}

static void end_chunk(struct page_use *use, size_t at, uint64_t until)
{
    struct chunk *chunk = use->chunks.items[at];
    use->pages -= chunk->pages.count;
    report(use, chunk, until);
    map64_remove(&use->by_thread, key_of(chunk->pid, chunk->tid));
    memmove(use->chunks.items + at, use->chunks.items + at + 1,
            (use->chunks.count - at - 1) * sizeof *use->chunks.items);
    use->chunks.count--;
    free_chunk(chunk);
}

/* A thread is in one fault at a time: once it had another, what is not there will not come. Until then it may be in that fault, and
 * what page it gets is not known: it is looked for again after 1, 2, 4 and so on intervals. */
static bool may_come(struct page_use *use, struct chunk *late)
{
    if (late->waited >= LATE_INTERVALS || map64_find(&use->by_thread, key_of(late->pid, late->tid)))
        return false;
    late->waited++;
    return (late->waited & (late->waited - 1)) != 0 || (look(use, late) && late->looked < late->pages.count);
}

/* Those of one process, or of all (0); when an interval is over, those that are decided. */
static void report_late(struct page_use *use, uint32_t pid, bool all)
{
    for (size_t i = use->late.count; i-- > 0;) {
        struct chunk *late = use->late.items[i];
        if ((pid && late->pid != pid) || (!all && may_come(use, late)))
            continue;
        report(use, late, late->until);
        free_chunk(late);
        use->late.items[i] = use->late.items[--use->late.count];
    }
}

static void report_chunks(struct page_use *use, uint64_t time)
{
    while (use->chunks.count)
        end_chunk(use, use->chunks.count - 1, time);
}

uint64_t page_use_interval(const struct page_use *use, uint64_t time)
{
    return time < use->options.begin ? 0 : (time - use->options.begin) / use->options.interval_ns;
}

void page_use_reach(struct page_use *use, uint64_t time)
{
    uint64_t begin = use->options.begin + page_use_interval(use, time) * use->options.interval_ns;
    if (begin <= use->begin)
        return;
    report_late(use, 0, false);
    report_chunks(use, use->begin + use->options.interval_ns);
    use->begin = begin;
}

void page_use_report_process(struct page_use *use, uint32_t pid, uint64_t time)
{
    page_use_reach(use, time); /* nothing has come since the interval in which it was used */
    for (size_t i = use->chunks.count; i-- > 0;)
        if (use->chunks.items[i]->pid == pid)
            end_chunk(use, i, time);
    report_late(use, pid, true);
}

void page_use_report_all(struct page_use *use, uint64_t time)
{
    page_use_reach(use, time);
    report_chunks(use, time);
    report_late(use, 0, true);
}

static struct chunk *chunk_of(struct page_use *use, const struct page_access *access)
{
    bool is_new;
    uint64_t *place = map64_insert(&use->by_thread, key_of(access->pid, access->tid), &is_new);
    if (!is_new)
        return (struct chunk *)(uintptr_t)*place;
    struct chunk *chunk = mem_zalloc(sizeof *chunk);
    chunk->pid = access->pid;
    chunk->tid = access->tid;
    chunk->begin = use->begin;
    *place = (uintptr_t)chunk;
    if (use->chunks.count >= use->options.chunks) {
        use->totals.early++;
        end_chunk(use, 0, access->time > use->begin ? access->time : use->begin);
    }
    array_push(&use->chunks, chunk);
    return chunk;
}

static struct used *page_of(struct page_use *use, struct chunk *chunk, const struct page_access *access)
{
    uint64_t size = access->size ? access->size : use->page_bytes, page = access->addr & ~(size - 1);
    bool is_new;
    size_t next = chunk->pages.count;
    uint64_t *place = map64_insert(&chunk->index, page, &is_new);
    if (!is_new)
        return &chunk->pages.items[*place];
    *place = next;
    struct used used = {
        .page = page, .size = size, .ip = access->ip, .order = (uint32_t)next, .mechanism = (uint8_t)access->mechanism};
    array_push(&chunk->pages, used);
    for (unsigned word = 0; word < use->words; word++)
        array_push(&chunk->cpus, 0);
    use->pages++;
    return &chunk->pages.items[next];
}

void page_use_add(struct page_use *use, const struct page_access *access)
{
    page_use_reach(use, access->time);
    struct chunk *chunk = chunk_of(use, access);
    struct used *used = page_of(use, chunk, access);
    used->reads += access->direction == DIRECTION_READ;
    used->writes += access->direction == DIRECTION_WRITE;
    used->unknown += access->direction != DIRECTION_READ && access->direction != DIRECTION_WRITE;
    if (used->mechanism == PAGE_FIRST_TOUCH)
        used->mechanism = (uint8_t)access->mechanism; /* what made it fault again says more */
    if (access->cpu >= 0 && (unsigned)access->cpu / 64 < use->words)
        chunk->cpus.items[used->order * use->words + (unsigned)access->cpu / 64] |= (uint64_t)1 << access->cpu % 64;
    if (chunk->pages.count >= use->options.chunk_pages) {
        use->totals.early++;
        for (size_t i = 0; i < use->chunks.count; i++)
            if (use->chunks.items[i] == chunk) {
                end_chunk(use, i, access->time);
                break;
            }
    } else if (use->pages >= use->pages_most) {
        use->totals.early += use->chunks.count;
        report_chunks(use, access->time);
    }
}

void page_use_written_over(struct page_use *use)
{
    if (!use->written)
        return;
    report(use, use->written, use->written_until);
    free_chunk(use->written);
    use->written = NULL;
}

void page_use_written(struct page_use *use, const struct page_written *written, uint64_t page)
{
    struct page_access access = {.addr = page, .cpu = -1, .mechanism = written->mechanism};
    if (use->written && (use->written->pid != written->pid || use->written->tid != written->tid ||
                         use->written->pages.count >= use->options.chunk_pages))
        page_use_written_over(use);
    if (!use->written) {
        use->written = mem_zalloc(sizeof *use->written);
        use->written->pid = written->pid;
        use->written->tid = written->tid;
        use->written->begin = written->begin;
        use->written_until = written->until;
    }
    size_t before = use->pages;
    page_of(use, use->written, &access)->writes++;
    use->pages = before; /* reported before long */
}

struct page_use_totals page_use_totals(const struct page_use *use)
{
    return use->totals;
}
