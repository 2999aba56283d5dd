/* agent/place/place_objects.c - what is not from the heap: static objects, mappings, files, shared memory, threads. */
#include "agent/place/place_work.h"

#include "agent/process/file_name.h"
#include "agent/process/own_maps.h"
#include "base/sys.h"

#include <linux/mempolicy.h>
#include <stdatomic.h>
#include <sys/shm.h>

static bool glob(const char *pattern, const char *text)
{
    for (; *pattern; pattern++, text++) {
        if (*pattern == '*') {
            for (;; text++) {
                if (glob(pattern + 1, text))
                    return true;
                if (!*text)
                    return false;
            }
        }
        bool any = *pattern == '?';
        pattern += *pattern == '\\' && pattern[1]; /* the next letter is itself */
        if (!*text || (!any && *pattern != *text))
            return false;
    }
    return !*text;
}

static void place_range(struct place_entry *entry, uint64_t addr, uint64_t size, bool moves, enum place_touch how)
{
    bool by_touch;
    long cause;
    enum place_reason reason = place_pages(entry, addr, size, moves, how, -1, &by_touch, &cause);
    if (reason == PLACE_NONE_REASON)
        place_done(entry, size, by_touch);
    else
        place_failed(entry, reason, cause);
}

/* Static objects that were placed in this process already, by entry. Written where something was loaded. */
static _Atomic bool is_placed[PLACE_ENTRIES];

void place_objects_begin(void)
{
    struct place_entry *entries = place_entries(place_table);
    for (uint32_t i = 0; i < place_table->entry_count; i++) {
        struct place_entry *entry = &entries[i];
        if (entry->kind != PLACE_STATIC)
            continue;
        const struct place_range *ranges = place_range_list(place_table) + entry->frames[0].first;
        for (uint32_t k = 0; k < entry->frames[0].count; k++) {
            uint64_t low, high;
            if (place_where(&ranges[k], &low, &high) && !atomic_exchange(&is_placed[i], true))
                place_range(entry, low, high - low, true, PLACE_LOOKED_UP);
        }
    }
}

static struct place_entry *entry_named(enum place_kind kind, const char *name)
{
    struct place_entry *entries = place_entries(place_table);
    for (uint32_t i = 0; i < place_table->entry_count; i++)
        if (entries[i].kind == kind && glob(entries[i].name, name))
            return &entries[i];
    return NULL;
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* The name of shared memory that is a file: of /dev/shm, or of memfd_create. NULL: an ordinary file. */
static const char *shared_name(char *path)
{
    if (begins(path, "/dev/shm/"))
        return path + strlen("/dev/shm/");
    if (!begins(path, "/memfd:"))
        return NULL;
    static const char deleted[] = " (deleted)"; /* behind the name, which may have these words too */
    size_t length = strlen(path), end = strlen(deleted);
    if (length > end && strcmp(path + length - end, deleted) == 0)
        path[length - end] = '\0';
    return path + strlen("/memfd:");
}

static void place_mapped_file(void *addr, size_t size, int prot, int flags, int fd, off_t offset)
{
    struct file_name file;
    file_name_find(fd, true, &file);
    const char *shared = shared_name(file.path);
    struct place_entry *entry = shared         ? entry_named(PLACE_SHM, shared)
                                : file.path[0] ? entry_named(PLACE_FILE, file.path)
                                               : NULL;
    if (!entry)
        return;
    bool is_private = (flags & MAP_TYPE) == MAP_PRIVATE, by_touch;
    if (shared || is_private) /* of private ones, the pages that it writes: to touch one is to copy it */
        place_range(entry, (uint64_t)addr, size, false,
                    is_private || !(prot & PROT_WRITE) ? PLACE_UNTOUCHED : PLACE_BY_MADVISE);
    if (shared)
        return;
    long cause;
    enum place_reason reason =
        place_file(entry, &(struct place_mapping){(uint64_t)addr, size, (uint64_t)offset, fd}, &by_touch, &cause);
    if (reason != PLACE_NONE_REASON)
        place_failed(entry, reason, cause);
    else if (!is_private)
        place_done(entry, size, by_touch);
}

void place_mapped(void *addr, size_t size, int prot, int flags, int fd, off_t offset, const struct unwind_regs *caller)
{
    if (!(flags & MAP_ANONYMOUS)) {
        if (place_wants.files)
            place_mapped_file(addr, size, prot, flags, fd, offset);
        return;
    }
    struct place_entry *entry = place_wants.sites ? place_entry_of(caller) : NULL;
    if (entry)
        place_range(entry, (uint64_t)addr, size, false,
                    prot & PROT_WRITE && !(flags & MAP_NORESERVE) ? PLACE_WRITTEN : PLACE_UNTOUCHED);
}

static struct place_entry *segment_entry(int id)
{
    struct shmid_ds segment;
    char name[] = "sysv:0x00000000";
    if (!place_wants.files || sys_call(SYS_shmctl, id, IPC_STAT, &segment) != 0)
        return NULL;
    uint32_t key = (uint32_t)segment.shm_perm.__key;
    for (unsigned i = 0; i < 8; i++)
        name[strlen("sysv:0x") + i] = "0123456789abcdef"[key >> (28 - 4 * i) & 15];
    return entry_named(PLACE_SHM, name);
}

void place_segment(void *addr, size_t size, int id, bool read_only, const struct unwind_regs *caller)
{
    struct place_entry *entry = segment_entry(id);
    if (!entry && place_wants.sites)
        entry = place_entry_of(caller);
    if (entry)
        place_range(entry, (uint64_t)addr, size, false, read_only ? PLACE_UNTOUCHED : PLACE_WRITTEN);
}

/* The CPUs that the program was started on, once its first thread has been moved. Written before main. */
static uint64_t first_cpus[PLACE_WORDS];
static bool thread_cpus_changed;

static bool runs(const struct place_entry *entry, uint64_t routine)
{
    const struct place_range *ranges = place_range_list(place_table) + entry->frames[0].first;
    uint64_t low, high;
    for (uint32_t i = 0; entry->frame_count && i < entry->frames[0].count; i++)
        if (place_where(&ranges[i], &low, &high) && routine >= low && routine < high)
            return true;
    return false;
}

/* A place is the number of the entry and the ordinal in it. */
enum { ORDINAL_BITS = 22 };

/* Of this process alone: so the n-th thread of a program gets the n-th place in each of its runs. */
static _Atomic uint32_t threads_so_far[PLACE_ENTRIES];

/* The process's own number among all that follow the plan, with its process id before it: a fork's child takes the next one. */
static _Atomic uint64_t own_ordinal;

static uint32_t process_ordinal(void)
{
    uint64_t pid = (uint64_t)sys_call(SYS_getpid), known = atomic_load(&own_ordinal);
    if (known >> 32 != pid) {
        uint64_t mine = pid << 32 | atomic_fetch_add(&place_table->ordinals, 1);
        known = atomic_compare_exchange_strong(&own_ordinal, &known, mine) ? mine : known;
    }
    return (uint32_t)known;
}

static uint32_t take_ordinal(uint32_t index)
{
    uint32_t ordinal = place_entries(place_table)[index].policy == PLACE_TOGETHER
                           ? process_ordinal()
                           : atomic_fetch_add_explicit(&threads_so_far[index], 1, memory_order_relaxed);
    return (index + 1) << ORDINAL_BITS | (ordinal & ((1u << ORDINAL_BITS) - 1));
}

uint32_t place_thread_next(void *(*routine)(void *))
{
    struct place_entry *entries = place_entries(place_table);
    for (uint32_t i = 0; i < place_table->entry_count; i++)
        if (entries[i].kind == PLACE_THREAD &&
            (strcmp(entries[i].name, "*") == 0 || runs(&entries[i], (uint64_t)routine)))
            return take_ordinal(i);
    return 0;
}

/* What its creator and the thread itself have touched of its stack before it went to its node: the pages from here up to its descriptor,
 * in which its shallow frames stay. Where the kernel refuses it they stay where they are. */
static void bring_stack(void)
{
    enum { PAGES_MOST = 16 };
    uint64_t here = (uint64_t)__builtin_frame_address(0) & ~(place_page - 1);
    uint64_t descriptor = (uint64_t)__builtin_thread_pointer() & ~(place_page - 1);
    void *pages[PAGES_MOST];
    int nodes[PAGES_MOST], status[PAGES_MOST];
    unsigned cpu, node, count = 0;
    if (descriptor < here || descriptor - here >= PAGES_MOST * place_page ||
        sys_call(SYS_getcpu, &cpu, &node, NULL) < 0)
        return;
    for (uint64_t page = here; page <= descriptor; page += place_page, count++) {
        pages[count] = (void *)page;
        nodes[count] = (int)node;
    }
    sys_call(SYS_move_pages, 0, (unsigned long)count, pages, nodes, status, MPOL_MF_MOVE);
}

void place_thread_go(uint32_t place)
{
    if (place == 0) {
        if (thread_cpus_changed)
            sys_call(SYS_sched_setaffinity, 0, sizeof first_cpus, first_cpus);
        return;
    }
    struct place_entry *entry = &place_entries(place_table)[(place >> ORDINAL_BITS) - 1];
    const struct place_cpus *cpus = place_cpu_list(place_table) + entry->cpus_first;
    uint32_t all = 0, at = 0;
    for (uint32_t i = 0; i < entry->cpus_count; i++)
        all += cpus[i].repeat;
    uint32_t ordinal = all ? (place & ((1u << ORDINAL_BITS) - 1)) % all : 0;
    while (at + 1 < entry->cpus_count && ordinal >= cpus[at].repeat)
        ordinal -= cpus[at++].repeat;
    long result = sys_call(SYS_sched_setaffinity, 0, sizeof cpus[at].words, cpus[at].words);
    if (result < 0) {
        place_failed(entry, sys_restricted ? PLACE_RESTRICTED_REASON : PLACE_NO_THREAD_REASON, result);
        return;
    }
    place_done(entry, 0, false);
    bring_stack();
}

struct own_stack {
    uint64_t here; /* an address in it */
    uint64_t start, end;
    uint64_t guard_end; /* of the last mapping that nobody may touch */
    bool first;         /* the first thread's, which the kernel made */
};

static bool visit_stack(const struct maps_line *line, void *data)
{
    struct own_stack *stack = data;
    if (line->start <= stack->here && stack->here < line->end) {
        stack->start = line->start;
        stack->end = line->end;
        stack->first = strcmp(line->path, "[stack]") == 0;
        return true;
    }
    if (line->prot == 0)
        stack->guard_end = line->end;
    return false;
}

/* From its guard page up to the thread's descriptor: a mapping may go on behind that. One without a guard page is the program's own, and
 * may begin in the midst of other data. */
static void place_stack_for(struct place_entry *entry)
{
    struct own_stack stack = {.here = (uint64_t)__builtin_frame_address(0)};
    uint64_t thread = (uint64_t)__builtin_thread_pointer();
    bool found = maps_find(visit_stack, &stack);
    if (found && !stack.first && thread > stack.here && thread < stack.end)
        stack.end = thread;
    if (found && (stack.first || stack.guard_end == stack.start))
        place_range(entry, stack.start, stack.end - stack.start, true, PLACE_WRITTEN);
    else
        place_failed(entry, PLACE_NO_STACK_REASON, 0);
}

void place_stack(void *(*routine)(void *))
{
    struct place_entry *entries = place_entries(place_table);
    for (uint32_t i = 0; i < place_table->entry_count; i++) {
        const char *name = entries[i].name;
        if (entries[i].kind != PLACE_STACK ||
            !(strcmp(name, "*") == 0 || (routine ? runs(&entries[i], (uint64_t)routine) : strcmp(name, "main") == 0)))
            continue;
        place_stack_for(&entries[i]);
        return;
    }
}

void place_main_thread(void)
{
    struct place_entry *entries = place_entries(place_table);
    place_stack(NULL);
    for (uint32_t i = 0; i < place_table->entry_count; i++) {
        const char *name = entries[i].name;
        if (entries[i].kind != PLACE_THREAD || !(strcmp(name, "*") == 0 || strcmp(name, "main") == 0))
            continue;
        /* What its threads inherit and no entry is about gets these back. */
        thread_cpus_changed = sys_call(SYS_sched_getaffinity, 0, sizeof first_cpus, first_cpus) > 0;
        place_thread_go(take_ordinal(i));
        return;
    }
}

void place_forked(void)
{
    struct place_entry *entries = place_table ? place_entries(place_table) : NULL;
    for (uint32_t i = 0; entries && i < place_table->entry_count; i++)
        if (entries[i].kind == PLACE_THREAD && entries[i].policy == PLACE_TOGETHER && strcmp(entries[i].name, "*") == 0)
            place_thread_go(take_ordinal(i));
}
