/* agent/place/place_threads.c - threads on the CPUs that a plan wants, and their stacks.
 *
 * The program's own request wins: a thread whose CPUs are not those of its creator has had them from the program (pthread attributes). What
 * threads and programs inherit of a pinned one they get back where no entry is about them. */
#include "agent/place/place_work.h"

#include "agent/process/own_maps.h"
#include "base/sys.h"

#include <linux/mempolicy.h>
#include <stdatomic.h>

/* The CPUs of who started the program: what no entry is about has these. Written before main. */
static uint64_t first_cpus[PLACE_WORDS];

static bool cpus_now(uint64_t *words)
{
    memset(words, 0, sizeof first_cpus);
    return sys_call(SYS_sched_getaffinity, 0, sizeof first_cpus, words) > 0;
}

static long cpus_set(const uint64_t *words)
{
    return sys_call(SYS_sched_setaffinity, 0, sizeof first_cpus, words);
}

/* A set that the plan pins threads to: what others inherit from those. A program that pins itself to just such a set is taken for one. */
static bool is_of_plan(const uint64_t *words)
{
    const struct place_entry *entries = place_entries(place_table);
    for (uint32_t i = 0; i < place_table->entry_count; i++) {
        const struct place_cpus *cpus = place_cpu_list(place_table) + entries[i].cpus_first;
        for (uint32_t k = 0; entries[i].kind == PLACE_THREAD && k < entries[i].cpus_count; k++)
            if (memcmp(words, cpus[k].words, sizeof cpus[k].words) == 0)
                return true;
    }
    return false;
}

/* Sets that differ have others, as good as surely; never 0. */
static uint64_t cpus_key(const uint64_t *words)
{
    uint64_t key = 1;
    for (unsigned i = 0; i < PLACE_WORDS; i++)
        key = (key ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15) + 1;
    return key | 1;
}

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

struct place_thread place_thread_next(void *(*routine)(void *))
{
    struct place_entry *entries = place_entries(place_table);
    uint64_t now[PLACE_WORDS];
    struct place_thread thread = {.cpus = cpus_now(now) ? cpus_key(now) : 0};
    for (uint32_t i = 0; i < place_table->entry_count && thread.place == 0; i++)
        if (entries[i].kind == PLACE_THREAD &&
            (strcmp(entries[i].name, "*") == 0 || runs(&entries[i], (uint64_t)routine)))
            thread.place = take_ordinal(i);
    return thread;
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

static void go(uint32_t place)
{
    struct place_entry *entry = &place_entries(place_table)[(place >> ORDINAL_BITS) - 1];
    const struct place_cpus *cpus = place_cpu_list(place_table) + entry->cpus_first;
    uint32_t all = 0, at = 0;
    for (uint32_t i = 0; i < entry->cpus_count; i++)
        all += cpus[i].repeat;
    uint32_t ordinal = all ? (place & ((1u << ORDINAL_BITS) - 1)) % all : 0;
    while (at + 1 < entry->cpus_count && ordinal >= cpus[at].repeat)
        ordinal -= cpus[at++].repeat;
    long result = cpus_set(cpus[at].words);
    if (result < 0) {
        place_failed(entry, sys_restricted ? PLACE_RESTRICTED_REASON : PLACE_NO_THREAD_REASON, result);
        return;
    }
    place_done(entry, 0, false);
    bring_stack();
}

void place_thread_go(struct place_thread thread)
{
    uint64_t now[PLACE_WORDS];
    bool known = cpus_now(now), own = known && thread.cpus && thread.cpus != cpus_key(now);
    if (thread.place && !own)
        go(thread.place);
    else if (thread.place)
        place_failed(&place_entries(place_table)[(thread.place >> ORDINAL_BITS) - 1], PLACE_OWN_CPUS_REASON, 0);
    else if (known && !own && is_of_plan(now))
        cpus_set(first_cpus);
}

struct place_held place_exec_begin(void)
{
    struct place_held held = {0};
    held.any = cpus_now(held.cpus) && is_of_plan(held.cpus) && cpus_set(first_cpus) >= 0;
    return held;
}

void place_exec_failed(const struct place_held *held)
{
    if (held->any)
        cpus_set(held->cpus);
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
    uint64_t now[PLACE_WORDS];
    bool inherited = cpus_now(now) && is_of_plan(now);
    memcpy(first_cpus, inherited ? place_table->cpus : now, sizeof first_cpus);
    place_stack(NULL);
    for (uint32_t i = 0; i < place_table->entry_count; i++) {
        const char *name = entries[i].name;
        if (entries[i].kind != PLACE_THREAD || !(strcmp(name, "*") == 0 || strcmp(name, "main") == 0))
            continue;
        go(take_ordinal(i));
        return;
    }
    if (inherited)
        cpus_set(first_cpus);
}

void place_forked(void)
{
    struct place_entry *entries = place_table ? place_entries(place_table) : NULL;
    for (uint32_t i = 0; entries && i < place_table->entry_count; i++)
        if (entries[i].kind == PLACE_THREAD && entries[i].policy == PLACE_TOGETHER && strcmp(entries[i].name, "*") == 0)
            go(take_ordinal(i));
}
