/* agent/place/place_pages.c - pages on nodes: by memory policies, or, where the kernel refuses those, by first touch. */
#include "agent/place/place_work.h"

#include "agent/process/own_maps.h"
#include "base/sys.h"

#include <linux/mempolicy.h>
#include <sys/sysinfo.h>

bool place_touches;

enum { STRIPE_PASSES = 16, MASK_BITS = PLACE_CPUS + 1 /* the kernel takes one bit less than it is given */ };

static void mask_of(const struct place_entry *entry, uint64_t *words)
{
    memset(words, 0, PLACE_WORDS * sizeof *words);
    for (uint32_t i = 0; i < entry->part_count; i++)
        words[entry->part_nodes[i] / 64] |= (uint64_t)1 << entry->part_nodes[i] % 64;
}

static long bind_range(int mode, const uint64_t *mask, uint64_t addr, uint64_t size, bool moves)
{
    return sys_call(SYS_mbind, addr, size, mode, mask, mask ? MASK_BITS : 0, moves ? MPOL_MF_MOVE | MPOL_MF_STRICT : 0);
}

static long prefer_range(int node, uint64_t addr, uint64_t size, bool moves)
{
    uint64_t mask[PLACE_WORDS] = {0};
    mask[node / 64] = (uint64_t)1 << node % 64;
    return bind_range(MPOL_PREFERRED, mask, addr, size, moves);
}

/* Calls `visit` for each stripe of a split or weighted range, in whole pages. -EIO: not all pages of a stripe could be moved. */
static long each_stripe(const struct place_entry *entry, uint64_t addr, uint64_t size,
                        long (*visit)(void *context, uint32_t part, uint64_t addr, uint64_t size), void *context)
{
    uint64_t sum = 0, pages = size / place_page, passed = 0;
    long partly = 0;
    for (uint32_t i = 0; i < entry->part_count; i++)
        sum += entry->part_weights[i];
    uint64_t passes = entry->policy == PLACE_SPLIT ? 1 : sum ? pages / sum : 0;
    passes = passes > STRIPE_PASSES ? STRIPE_PASSES : passes ? passes : 1;
    for (uint64_t pass = 0; pass < passes; pass++) {
        for (uint32_t i = 0; i < entry->part_count; i++) {
            uint64_t from = pages * passed / (sum * passes);
            passed += entry->part_weights[i];
            uint64_t to = pages * passed / (sum * passes);
            long result = to > from ? visit(context, i, addr + from * place_page, (to - from) * place_page) : 0;
            if (result == -EIO)
                partly = result;
            else if (result < 0)
                return result;
        }
    }
    return partly;
}

struct stripes {
    const struct place_entry *entry;
    bool moves;
    uint32_t part; /* when touching: the one whose turn it is, and how */
    enum place_touch how;
};

static long bind_stripe(void *context, uint32_t part, uint64_t addr, uint64_t size)
{
    const struct stripes *stripes = context;
    return prefer_range(stripes->entry->part_nodes[part], addr, size, stripes->moves);
}

enum { BATCH = 128 /* pages that the kernel is asked about at once */ };

/* The kernel moves only what is on none of the wanted nodes. Of so many pages, those of a node that has more than its part go to the nodes
 * that have less. */
static void spread_batch(const struct place_entry *entry, void **pages, unsigned long count)
{
    int nodes[BATCH], targets[BATCH], status[BATCH];
    unsigned most[PLACE_PARTS], part, surplus = 0;
    if (sys_call(SYS_move_pages, 0, count, pages, NULL, nodes, 0) < 0)
        return;
    for (part = 0; part < entry->part_count; part++)
        most[part] = (unsigned)(count + entry->part_count - 1) / entry->part_count;
    for (unsigned long i = 0; i < count; i++) {
        for (part = 0; part < entry->part_count && entry->part_nodes[part] != nodes[i]; part++)
            ;
        if (part < entry->part_count && most[part] > 0)
            most[part]--;
        else if (nodes[i] >= 0)
            pages[surplus++] = pages[i];
    }
    part = 0;
    for (unsigned i = 0; i < surplus; i++) {
        while (part + 1 < entry->part_count && most[part] == 0)
            part++;
        most[part] -= most[part] > 0;
        targets[i] = entry->part_nodes[part];
    }
    if (surplus)
        sys_call(SYS_move_pages, 0, (unsigned long)surplus, pages, targets, status, MPOL_MF_MOVE);
}

static void spread(const struct place_entry *entry, uint64_t addr, uint64_t size)
{
    void *pages[BATCH];
    for (uint64_t at = 0; at < size;) {
        unsigned long count = 0;
        for (; count < BATCH && at < size; at += place_page)
            pages[count++] = (void *)(addr + at);
        spread_batch(entry, pages, count);
    }
}

static long set_policy(const struct place_entry *entry, uint64_t addr, uint64_t size, bool moves, int node)
{
    long result;
    uint64_t mask[PLACE_WORDS];
    struct stripes stripes = {.entry = entry, .moves = moves};
    mask_of(entry, mask);
    switch (entry->policy) {
    case PLACE_BIND:
        return bind_range(MPOL_BIND, mask, addr, size, moves);
    case PLACE_PREFERRED:
        return prefer_range(entry->part_nodes[0], addr, size, moves);
    case PLACE_INTERLEAVE:
        result = bind_range(MPOL_INTERLEAVE, mask, addr, size, moves);
        if (moves && (result >= 0 || result == -EIO))
            spread(entry, addr, size);
        return result;
    case PLACE_LOCAL:
        return node < 0 ? bind_range(MPOL_LOCAL, NULL, addr, size, false) : prefer_range(node, addr, size, moves);
    default:
        return each_stripe(entry, addr, size, bind_stripe, &stripes);
    }
}

/* Content stays what it is, whoever else uses the page. */
static long touch_range(uint64_t addr, uint64_t size, uint64_t step, enum place_touch how)
{
    uint64_t part = step == place_page ? size : place_page;
    long result = 0;
    if (how == PLACE_BY_MADVISE)
        for (uint64_t at = 0; result == 0 && at < size; at += part < step ? step : part)
            result = sys_call(SYS_madvise, addr + at, part, 23 /* MADV_POPULATE_WRITE, of Linux 5.14 */);
    else
        for (uint64_t at = 0; at < size; at += step)
            __atomic_fetch_or((volatile char *)(addr + at), 0, __ATOMIC_RELAXED);
    return result;
}

static long touch_stripe(void *context, uint32_t part, uint64_t addr, uint64_t size)
{
    const struct stripes *stripes = context;
    return part == stripes->part ? touch_range(addr, size, place_page, stripes->how) : 0;
}

struct writable {
    uint64_t low, high, bytes;
};

static bool visit_writable(const struct maps_line *line, void *data)
{
    struct writable *range = data;
    uint64_t from = line->start > range->low ? line->start : range->low;
    uint64_t to = line->end < range->high ? line->end : range->high;
    range->bytes += line->prot & PROT_WRITE && to > from ? to - from : 0;
    return line->start >= range->high;
}

static bool is_writable(uint64_t addr, uint64_t size)
{
    struct writable range = {addr, addr + size, 0};
    maps_find(visit_writable, &range);
    return range.bytes == size;
}

/* Moves the calling thread to a node's CPUs. */
static enum place_reason go_to(int node, long *cause)
{
    const struct place_cpus *cpus = place_cpu_list(place_table);
    for (uint32_t i = 0; i < place_table->node_count; i++) {
        if (cpus[i].node != (uint32_t)node)
            continue;
        *cause = sys_call(SYS_sched_setaffinity, 0, sizeof cpus[i].words, cpus[i].words);
        return *cause < 0 ? PLACE_REFUSED_REASON : PLACE_NONE_REASON;
    }
    return PLACE_NO_CPUS_REASON;
}

/* Of the whole machine: what is free, and what of the page cache would be dropped for it. */
static uint64_t available_memory(void)
{
    static const char label[] = "\nMemAvailable:";
    char text[1024] = "";
    int fd = sys_open_read("/proc/meminfo");
    if (fd >= 0) {
        sys_read(fd, text, sizeof text - 1);
        sys_close(fd);
    }
    const char *at = strstr(text, label);
    if (at) {
        uint64_t kilobytes = 0;
        for (at += strlen(label); *at == ' '; at++)
            ;
        for (; *at >= '0' && *at <= '9'; at++)
            kilobytes = kilobytes * 10 + (uint64_t)(*at - '0');
        return kilobytes << 10;
    }
    struct sysinfo info;
    return sys_call(SYS_sysinfo, &info) == 0 ? info.freeram * (uint64_t)info.mem_unit : 0;
}

static enum place_reason touch(const struct place_entry *entry, uint64_t addr, uint64_t size, enum place_touch how,
                               long *cause)
{
    uint64_t before[PLACE_WORDS] = {0};
    if (how == PLACE_UNTOUCHED || (how == PLACE_LOOKED_UP && !is_writable(addr, size)))
        return PLACE_READ_ONLY_REASON;
    if (size > available_memory() / 2)
        return PLACE_TOO_LARGE_REASON;
    if ((*cause = sys_call(SYS_sched_getaffinity, 0, sizeof before, before)) < 0)
        return PLACE_REFUSED_REASON;
    enum place_reason reason = PLACE_NONE_REASON;
    uint32_t parts = entry->policy == PLACE_PREFERRED || entry->policy == PLACE_BIND ? 1 : entry->part_count;
    for (uint32_t i = 0; i < parts && reason == PLACE_NONE_REASON; i++) {
        struct stripes stripes = {entry, false, i, how};
        reason = go_to(entry->part_nodes[i], cause);
        if (reason != PLACE_NONE_REASON)
            break;
        if (entry->policy == PLACE_SPLIT || entry->policy == PLACE_WEIGHTED)
            *cause = each_stripe(entry, addr, size, touch_stripe, &stripes);
        else if (addr + i * place_page < addr + size)
            *cause = touch_range(addr + i * place_page, size - i * place_page, parts * place_page, how);
        if (*cause < 0)
            reason = *cause == -EFAULT ? PLACE_NO_FILE_REASON : PLACE_FAILED_REASON;
    }
    sys_call(SYS_sched_setaffinity, 0, sizeof before, before);
    return reason;
}

enum place_reason place_pages(struct place_entry *entry, uint64_t addr, uint64_t size, bool moves, enum place_touch how,
                              int node, bool *by_touch, long *cause)
{
    uint64_t low = (addr + place_page - 1) & ~(place_page - 1), high = (addr + size) & ~(place_page - 1);
    *by_touch = false;
    *cause = 0;
    if (high <= low)
        return PLACE_SMALL_REASON;
    if (sys_restricted)
        return PLACE_RESTRICTED_REASON;
    if (entry->huge == PLACE_SMALL)
        sys_call(SYS_madvise, low, high - low, MADV_NOHUGEPAGE);
    if (entry->huge == PLACE_HUGE && sys_call(SYS_madvise, low, high - low, MADV_HUGEPAGE) == 0)
        place_huge_asked(entry, low, high);
    *cause = set_policy(entry, low, high - low, moves, node);
    if (*cause >= 0)
        return PLACE_NONE_REASON;
    if (!place_refused(*cause))
        return PLACE_FAILED_REASON;
    *by_touch = place_touches = true;
    if (entry->policy == PLACE_LOCAL)
        return PLACE_NONE_REASON; /* whoever uses it first touches it */
    return touch(entry, low, high - low, how, cause);
}

enum { READ_STEP = 1 << 16 };

static void read_in(int fd, uint64_t offset, uint64_t size)
{
    static char nowhere[READ_STEP]; /* what is read is not looked at, and any thread may overwrite it */
    for (uint64_t at = 0; at < size; at += READ_STEP)
        if (sys_call(SYS_pread64, fd, nowhere, READ_STEP, offset + at) <= 0)
            return;
}

static bool is_cached(uint64_t addr, uint64_t size)
{
    unsigned char pages[1024];
    uint64_t step = sizeof pages * place_page;
    for (uint64_t at = 0; at < size; at += step) {
        uint64_t part = size - at < step ? size - at : step;
        if (sys_call(SYS_mincore, addr + at, part, pages) < 0)
            return true;
        for (uint64_t i = 0; i < (part + place_page - 1) / place_page; i++)
            if (pages[i] & 1)
                return true;
    }
    return false;
}

static enum place_reason read_on_node(const struct place_entry *entry, const struct place_mapping *mapping, long *cause)
{
    uint64_t before[PLACE_WORDS] = {0};
    if (entry->part_count > 1)
        return PLACE_SEVERAL_REASON;
    if (is_cached(mapping->addr, mapping->size))
        return PLACE_CACHED_REASON;
    if ((*cause = sys_call(SYS_sched_getaffinity, 0, sizeof before, before)) < 0)
        return PLACE_REFUSED_REASON;
    enum place_reason reason = entry->part_count ? go_to(entry->part_nodes[0], cause) : PLACE_NONE_REASON;
    if (reason != PLACE_NONE_REASON)
        return reason;
    read_in(mapping->fd, mapping->offset, mapping->size);
    sys_call(SYS_sched_setaffinity, 0, sizeof before, before);
    return PLACE_NONE_REASON;
}

struct found { /* of a mapping's pages that are in memory */
    struct place_entry *entry;
    uint64_t right, elsewhere;
};

static bool is_wanted(const struct place_entry *entry, int node)
{
    for (uint32_t i = 0; i < entry->part_count; i++)
        if (entry->part_nodes[i] == node)
            return true;
    return false;
}

/* Counts pages by whether they are on node `wanted`, or with a negative one on any of the entry's. What the kernel does not say is not
 * counted. */
static void count_pages(struct found *found, uint64_t addr, uint64_t size, int wanted)
{
    void *pages[BATCH];
    int nodes[BATCH];
    for (uint64_t at = 0; at < size;) {
        unsigned long count = 0;
        for (; count < BATCH && at < size; at += place_page, count++) {
            pages[count] = (void *)(addr + at);
            nodes[count] = -1;
        }
        if (sys_call(SYS_move_pages, 0, count, pages, NULL, nodes, 0) < 0)
            return;
        for (unsigned long i = 0; i < count; i++) {
            bool right = wanted < 0 ? is_wanted(found->entry, nodes[i]) : nodes[i] == wanted;
            found->right += right;
            found->elsewhere += nodes[i] >= 0 && !right;
        }
    }
}

static long count_stripe(void *context, uint32_t part, uint64_t addr, uint64_t size)
{
    struct found *found = context;
    count_pages(found, addr, size, found->entry->part_nodes[part]);
    return 0;
}

/* The kernel takes pages of other nodes where the wanted ones are full, and says nothing. */
static enum place_reason judge_pages(struct place_entry *entry, uint64_t addr, uint64_t size, uint64_t *placed)
{
    struct found found = {.entry = entry};
    if (entry->policy == PLACE_SPLIT || entry->policy == PLACE_WEIGHTED)
        each_stripe(entry, addr, size, count_stripe, &found);
    else
        count_pages(&found, addr, size, -1);
    *placed = found.elsewhere ? found.right * place_page : size;
    atomic_fetch_add_explicit(&entry->pages, found.right + found.elsewhere, memory_order_relaxed);
    atomic_fetch_add_explicit(&entry->elsewhere, found.elsewhere, memory_order_relaxed);
    return found.elsewhere ? PLACE_ELSEWHERE_REASON : PLACE_NONE_REASON;
}

/* The page cache takes pages by the policy of the thread that reads. What it had already and cannot drop (others have it mapped, it is
 * not written yet, it is a file of memory) is moved once it is mapped here too. */
enum place_reason place_file(struct place_entry *entry, const struct place_mapping *mapping, bool *by_touch,
                             uint64_t *placed, long *cause)
{
    *placed = mapping->size;
    uint64_t mask[PLACE_WORDS], old_mask[PLACE_WORDS] = {0};
    int old_mode = 0;
    *by_touch = false;
    *cause = 0;
    sys_call(SYS_fdatasync, mapping->fd); /* what is not written yet is not dropped */
    sys_call(SYS_fadvise64, mapping->fd, mapping->offset, mapping->size, 4 /* POSIX_FADV_DONTNEED */);
    if (mapping->size > available_memory())
        return PLACE_NO_MEMORY_REASON;
    mask_of(entry, mask);
    /* Not bound: where these nodes are full the kernel would end the program, for what it needs itself meanwhile. */
    bool among = entry->policy == PLACE_INTERLEAVE || entry->policy == PLACE_BIND;
    int mode = among ? MPOL_INTERLEAVE : entry->policy == PLACE_LOCAL ? MPOL_LOCAL : MPOL_PREFERRED;
    *cause = sys_call(SYS_get_mempolicy, &old_mode, old_mask, MASK_BITS, NULL, 0);
    if (*cause >= 0)
        *cause =
            sys_call(SYS_set_mempolicy, mode, mode == MPOL_LOCAL ? NULL : mask, mode == MPOL_LOCAL ? 0 : MASK_BITS);
    *by_touch = *cause < 0;
    if (*by_touch)
        return read_on_node(entry, mapping, cause);
    read_in(mapping->fd, mapping->offset, mapping->size);
    bool plain = old_mode == MPOL_DEFAULT || old_mode == MPOL_LOCAL;
    sys_call(SYS_set_mempolicy, old_mode, plain ? NULL : old_mask, plain ? 0 : MASK_BITS);
    if (mode == MPOL_LOCAL)
        return PLACE_NONE_REASON;
    sys_call(SYS_madvise, mapping->addr, mapping->size, 22 /* MADV_POPULATE_READ, of Linux 5.14 */);
    *cause = entry->policy == PLACE_BIND ? bind_range(mode, mask, mapping->addr, mapping->size, true)
                                         : set_policy(entry, mapping->addr, mapping->size, true, -1);
    if (*cause < 0 && *cause != -EIO) /* that: not all were moved */
        return PLACE_FAILED_REASON;
    *cause = 0;
    return judge_pages(entry, mapping->addr, mapping->size, placed);
}
