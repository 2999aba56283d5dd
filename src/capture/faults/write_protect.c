/* The descriptor must be made by the process whose memory it watches. Its agent makes one, passes it and closes its
 * own: nothing stays in the program, and when this recorder ends, the kernel lifts the protection. Asynchronous means
 * that the kernel lifts the protection of a page by itself at the first write: nobody waits for anybody, system calls
 * that write into such memory work as always. */
#include "base/bisect.h"
#include "capture/faults/armer.h"

#include "base/array.h"
#include "base/map64.h"
#include "base/mem.h"
#include "capture/process/proc.h"

#include <linux/futex.h>
#include <linux/userfaultfd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { RANGES = 4096 };

struct span {
    uint64_t start, end;
    bool stale; /* something new was mapped there since */
};

struct guarded {
    uint32_t pid;
    int uffd, pagemap;
    uint64_t since;              /* when the descriptor was passed */
    uint64_t cursor;             /* where the next pass goes on */
    array_of(struct span) spans; /* registered, as maps showed them */
};

struct write_protect {
    struct wire_region *region;
    bool readable;       /* also what may only be read */
    struct map64 by_pid; /* to struct guarded * */
    struct pagemap_range *found;
    uint64_t without;
    uint64_t unknown; /* an offer in the name of a process that nobody knew when it was first seen */
};

static struct guarded *find(const struct write_protect *protect, uint32_t pid)
{
    uint64_t *place = map64_find(&protect->by_pid, pid);
    return place ? (struct guarded *)(uintptr_t)*place : NULL;
}

static void free_guarded(struct guarded *guarded)
{
    close(guarded->uffd);
    if (guarded->pagemap >= 0)
        close(guarded->pagemap);
    array_free(&guarded->spans);
    free(guarded);
}

static void forget(void *context, uint32_t pid, uint64_t time)
{
    struct write_protect *protect = context;
    struct guarded *guarded = find(protect, pid);
    if (!guarded || guarded->since > time)
        return; /* passed by the program that runs now: its agent was faster than the kernel's news */
    map64_remove(&protect->by_pid, pid);
    free_guarded(guarded);
}

static void close_protect(void *context)
{
    struct write_protect *protect = context;
    map64_each (&protect->by_pid, i)
        free_guarded((struct guarded *)(uintptr_t)protect->by_pid.values[i]);
    map64_free(&protect->by_pid);
    free(protect->found);
    free(protect);
}

static int copy_descriptor(int process, int there)
{
    char path[64], what[64] = "";
    int here = (int)syscall(SYS_pidfd_getfd, process, there, 0);
    if (here < 0)
        return -1;
    snprintf(path, sizeof path, "/proc/self/fd/%d", here);
    if (readlink(path, what, sizeof what - 1) < 0 || strcmp(what, "anon_inode:[userfaultfd]") != 0) {
        close(here);
        return -1;
    }
    return here;
}

uint32_t write_protect_pass(struct armer *armer, uint64_t now, write_protect_knows *knows, void *context)
{
    struct write_protect *protect = armer->context;
    uint64_t offer = atomic_load_explicit(&protect->region->offer, memory_order_acquire);
    if (!offer)
        return 0;
    uint32_t pid = (uint32_t)(offer >> 32), there = (uint32_t)offer;
    /* Held before it is looked for in the tree: the number cannot pass to another process unnoticed. */
    int process = (int)syscall(SYS_pidfd_open, pid, 0);
    bool known = process >= 0 && knows(context, pid), again = protect->unknown == offer;
    protect->unknown = process >= 0 && !known && !again ? offer : 0;
    int uffd = known && there != WIRE_OFFER_NONE ? copy_descriptor(process, (int)there - 1) : -1;
    if (process >= 0)
        close(process);
    if (protect->unknown)
        return 0; /* the kernel's news of it may come with the next draining */
    atomic_store_explicit(&protect->region->offer, 0, memory_order_release);
    atomic_fetch_add(&protect->region->offer_word, 1);
    syscall(SYS_futex, &protect->region->offer_word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
    protect->without += uffd < 0;
    if (uffd < 0)
        return 0;
    forget(protect, pid, UINT64_MAX);
    struct guarded *guarded = mem_zalloc(sizeof *guarded);
    *guarded = (struct guarded){.pid = pid, .uffd = uffd, .pagemap = pagemap_open(pid), .since = now};
    *map64_insert(&protect->by_pid, pid, NULL) = (uintptr_t)guarded;
    return pid;
}

/* Devices and rings shared with the kernel are left alone, and so is what the agent itself shares with us. Files that are
 * only read cannot be protected from anything, but the kernel maps one page of a registered file at a time, not
 * sixteen. */
static bool wanted(const struct write_protect *protect, const struct proc_map *map)
{
    const char *path = map->path;
    if (!(map->prot & PROT_WRITE))
        return protect->readable && path[0] == '/' && map->prot == PROT_READ && map->flags == MAP_PRIVATE;
    if (path[0] == '[')
        return strcmp(path, "[heap]") == 0 || strcmp(path, PROC_GO_HEAP) == 0 || strncmp(path, "[stack", 6) == 0 ||
               strncmp(path, "[anon", 5) == 0;
    if (strncmp(path, "/dev/", 5) == 0)
        return strncmp(path, "/dev/shm/", 9) == 0 || strncmp(path, "/dev/zero", 9) == 0;
    return strncmp(path, "anon_inode:", 11) != 0 && strncmp(path, "/memfd:numalens", 15) != 0;
}

/* The first span that ends behind `addr`. */
static size_t span_at(const struct guarded *guarded, uint64_t addr)
{
    size_t low = bisect(guarded->spans.count, i, guarded->spans.items[i].end <= addr);
    return low;
}

static bool registered(const struct guarded *guarded, uint64_t start, uint64_t end)
{
    size_t at = span_at(guarded, start);
    return at < guarded->spans.count && !guarded->spans.items[at].stale && guarded->spans.items[at].start <= start &&
           guarded->spans.items[at].end >= end;
}

void write_protect_fresh(struct armer *armer, uint32_t pid, uint64_t addr, uint64_t size)
{
    struct guarded *guarded = find(armer->context, pid);
    if (!guarded || addr + size < addr)
        return;
    for (size_t i = span_at(guarded, addr); i < guarded->spans.count && guarded->spans.items[i].start < addr + size;
         i++)
        guarded->spans.items[i].stale = true;
}

/* Mappings come and go: those that are new are registered. The program's own userfaultfd keeps what is its own. */
static void register_memory(const struct write_protect *protect, struct guarded *guarded)
{
    struct proc_maps maps = proc_maps_of(guarded->pid);
    struct guarded fresh = {0};
    for (struct proc_map map; proc_maps_next(&maps, &map);) {
        struct uffdio_register request = {.range = {map.start, map.end - map.start}, .mode = UFFDIO_REGISTER_MODE_WP};
        if (wanted(protect, &map) &&
            (registered(guarded, map.start, map.end) || ioctl(guarded->uffd, UFFDIO_REGISTER, &request) == 0))
            array_push(&fresh.spans, (struct span){map.start, map.end, false});
    }
    array_free(&guarded->spans);
    memcpy(&guarded->spans, &fresh.spans, sizeof fresh.spans);
}

static uint64_t arm(void *context, uint32_t pid, uint64_t most, armer_found *found, void *finder)
{
    struct write_protect *protect = context;
    struct guarded *guarded = find(protect, pid);
    uint64_t armed = 0, begin;
    if (!guarded || guarded->pagemap < 0)
        return 0;
    register_memory(protect, guarded);
    begin = guarded->cursor;
    for (bool wrapped = false; armed < most;) {
        uint64_t last = wrapped ? begin : pagemap_end();
        struct pagemap_request request = {.flags = PAGEMAP_PROTECT,
                                          .start = guarded->cursor,
                                          .end = last,
                                          .max_pages = most - armed,
                                          .category_mask = PAGEMAP_TRACKED | PAGEMAP_WRITTEN,
                                          .category_anyof_mask = PAGEMAP_PRESENT | PAGEMAP_SWAPPED,
                                          .return_mask = PAGEMAP_WRITTEN | PAGEMAP_ZERO | PAGEMAP_HUGE};
        int count = last > guarded->cursor ? pagemap_scan(guarded->pagemap, &request, protect->found, RANGES) : 0;
        if (count < 0)
            break; /* the process has ended */
        for (int i = 0; i < count; i++) {
            armed += (protect->found[i].end - protect->found[i].start) / pagemap_page();
            found(finder, pid, &protect->found[i]);
        }
        if (last > guarded->cursor && request.walk_end <= guarded->cursor)
            break; /* never seen; it would go on for ever */
        guarded->cursor = last > guarded->cursor ? request.walk_end : last;
        if (guarded->cursor < last)
            continue;
        if (wrapped || begin == 0) {
            guarded->cursor = wrapped ? begin : 0;
            break;
        }
        wrapped = true;
        guarded->cursor = 0;
    }
    return armed;
}

static void nothing(void *context, uint64_t most)
{
    (void)context, (void)most;
}

uint64_t write_protect_without(const struct armer *armer)
{
    return ((const struct write_protect *)armer->context)->without;
}

void write_protect_open(struct armer *armer, struct wire_region *region, bool readable)
{
    struct write_protect *protect = mem_zalloc(sizeof *protect);
    protect->region = region;
    protect->readable = readable;
    protect->found = mem_alloc(RANGES * sizeof *protect->found);
    *armer = (struct armer){protect, PAGE_UFFD_WP, arm, nothing, forget, close_protect};
}
