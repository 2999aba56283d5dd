/* agent/place/place_match.c - the plan, and which of its entries a call is about.
 *
 * A call from outside the code that entries are about costs two comparisons, one from inside a look into a table by its return address. */
#include "agent/place/place_work.h"

#include "agent/agent.h"
#include "agent/environment.h"
#include "agent/process/restrict.h"
#include "base/sys.h"

#include <link.h>
#include <sys/auxv.h>
#include <sys/stat.h>

struct place_table *place_table;
AGENT_HOT struct place_wants place_wants;
uint64_t place_page;

_Atomic uint64_t place_calls[PLACE_CALLS];
AGENT_HOT _Atomic uint64_t place_sites_start, place_sites_size;

/* Where each of the plan's binaries is loaded: its bias and LOADED, or 0. Written under the loader's lock, as are the next. */
enum { LOADED = 1 };
static _Atomic uint64_t modules[PLACE_MODULES];
static _Atomic uint64_t loads; /* of the dynamic linker, when that was looked at */

static char own_name[PLACE_NAME]; /* of the program, without folders */
static uint64_t main_stack_high;

static const char *without_folders(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int note_module(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    uint64_t *seen = context;
    const char *name = *info->dlpi_name ? without_folders(info->dlpi_name) : own_name;
    char linked[PLACE_NAME];
    const char *file = sys_readlink(info->dlpi_name, linked, sizeof linked) ? without_folders(linked) : name;
    for (uint32_t i = 0; i < place_table->module_count; i++) {
        if (strncmp(place_table->modules[i], name, PLACE_NAME) != 0 &&
            strncmp(place_table->modules[i], file, PLACE_NAME) != 0)
            continue;
        seen[i] = info->dlpi_addr | LOADED;
    }
    return 0;
}

static void set_sites(uint64_t start, uint64_t size)
{
    atomic_store_explicit(&place_sites_size, UINT64_MAX, memory_order_relaxed);
    atomic_store_explicit(&place_sites_start, start, memory_order_seq_cst);
    atomic_store_explicit(&place_sites_size, size, memory_order_seq_cst);
}

/* The return addresses of all innermost frames, from the first to the last; any at all while a binary is still to come, of static objects
 * too: what loads it may call its constructors before it is looked at, or never let us look. */
static void find_sites(void)
{
    bool all = false;
    uint64_t low = UINT64_MAX, high = 0, from, to;
    for (uint32_t i = 0; i < place_table->entry_count; i++) {
        const struct place_entry *entry = &place_entries(place_table)[i];
        const struct place_range *ranges = place_range_list(place_table) + entry->frames[0].first;
        bool looks = entry->frame_count && (entry->kind == PLACE_SITE || entry->kind == PLACE_STATIC);
        for (uint32_t k = 0; looks && k < entry->frames[0].count; k++) {
            if (!place_where(&ranges[k], &from, &to)) {
                all = true;
            } else if (entry->kind == PLACE_SITE) {
                low = from + 1 < low ? from + 1 : low;
                high = to + 1 > high ? to + 1 : high;
            }
        }
    }
    if (all)
        set_sites(0, UINT64_MAX);
    else
        set_sites(high > low ? low : 0, high > low ? high - low : 0);
}

void place_forget_calls(void)
{
    for (unsigned i = 0; i < PLACE_CALLS; i++)
        atomic_store_explicit(&place_calls[i], 0, memory_order_relaxed);
}

/* If anything was loaded or unloaded since, all is looked at again. For the first object: the loader's lock is held, so that nothing is
 * unloaded while it is placed, and one thread is here at a time. */
static int look(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    (void)context;
    uint64_t now = info->dlpi_adds + info->dlpi_subs, seen[PLACE_MODULES] = {0};
    bool fresh[PLACE_MODULES] = {false};
    if (now == atomic_load_explicit(&loads, memory_order_acquire))
        return 1;
    dl_iterate_phdr(note_module, seen);
    for (uint32_t i = 0; i < place_table->module_count; i++) {
        uint64_t before = atomic_exchange_explicit(&modules[i], seen[i], memory_order_release);
        fresh[i] = seen[i] && seen[i] != before;
    }
    find_sites();
    /* Who has matched a call before that and notes it only now sees that it must not (place_entry_of). */
    atomic_store_explicit(&loads, now, memory_order_release);
    atomic_thread_fence(memory_order_seq_cst);
    place_forget_calls();
    place_objects_loaded(fresh);
    return 1;
}

static int has_changed(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    *(bool *)context = info->dlpi_adds + info->dlpi_subs != atomic_load_explicit(&loads, memory_order_acquire);
    return 1;
}

/* False while a fork is under way (libc/libc_loader.h): what is loaded is not known. */
static bool look_again(void)
{
    bool changed = false;
    if (dl_iterate_phdr(has_changed, &changed) < 0)
        return false;
    /* First, and without the loader's lock: another thread that is at it waits for that. */
    return !changed || (unwind_modules_changed() == 0 && dl_iterate_phdr(look, NULL) >= 0);
}

bool place_where(const struct place_range *range, uint64_t *low, uint64_t *high)
{
    uint64_t module = atomic_load_explicit(&modules[range->module], memory_order_acquire);
    *low = module - LOADED + range->low;
    *high = module - LOADED + range->high;
    return module != 0;
}

/* Of a return address: the call before it is in the range. */
static bool frame_holds(const struct place_ranges *frame, uint64_t pc)
{
    const struct place_range *ranges = place_range_list(place_table) + frame->first;
    uint64_t low, high;
    for (uint32_t i = 0; i < frame->count; i++)
        if (place_where(&ranges[i], &low, &high) && pc - 1 >= low && pc - 1 < high)
            return true;
    return false;
}

/* The first entry from `from` on whose innermost frame it is. */
static uint32_t entry_at(uint64_t pc, uint32_t from)
{
    const struct place_entry *entries = place_entries(place_table);
    for (uint32_t i = from; i < place_table->entry_count; i++)
        if (entries[i].kind == PLACE_SITE && frame_holds(&entries[i].frames[0], pc))
            return i;
    return PLACE_NOTHING;
}

/* A thread's descriptor is above its stack; the main thread's stack ends below its environment. 0: on a stack of the program's own. */
static uint64_t stack_end(uint64_t sp)
{
    uint64_t within = (uint64_t)64 << 20, thread = (uint64_t)__builtin_thread_pointer();
    if (main_stack_high - sp < within)
        return main_stack_high;
    return thread - sp < within ? thread : 0;
}

static __attribute__((noinline)) struct place_entry *match_chains(uint32_t index, const struct unwind_regs *caller)
{
    struct place_entry *entries = place_entries(place_table);
    uint64_t frames[PLACE_FRAMES];
    unsigned known = 0;
    bool walked = false, cut = false;
    for (; index != PLACE_NOTHING; index = entry_at(caller->pc, index + 1)) {
        struct place_entry *entry = &entries[index];
        if (entry->frame_count > 1 && !walked) {
            uint64_t high = stack_end(caller->sp);
            known = high ? unwind_walk(caller, high, true, frames, PLACE_FRAMES, &cut) : 1;
            walked = true;
        }
        uint32_t same = 1;
        while (same < entry->frame_count && same < known && frame_holds(&entry->frames[same], frames[same]))
            same++;
        if (same == entry->frame_count)
            return entry;
        if (same == known && (cut || known == 1))
            place_failed(entry, PLACE_CHAIN_REASON, 0);
    }
    return NULL;
}

struct place_entry *place_entry_of(const struct unwind_regs *caller)
{
    uint64_t pc = caller->pc;
    _Atomic uint64_t *known = place_call(pc);
    uint64_t word = atomic_load_explicit(known, memory_order_relaxed);
    if (__builtin_expect(word >> 16 != (pc & 0xffffffffffff), 0)) {
        bool looked =
            word != 0 || look_again(); /* else two calls take turns in one place, and the other one has looked */
        uint64_t before = atomic_load_explicit(&loads, memory_order_acquire);
        word = pc << 16 | entry_at(pc, 0);
        atomic_store_explicit(known, word, memory_order_relaxed);
        atomic_thread_fence(memory_order_seq_cst);
        if (!looked || before != atomic_load_explicit(&loads, memory_order_relaxed))
            atomic_store_explicit(known, 0, memory_order_relaxed);
    }
    uint32_t index = word & 0xffff;
    return __builtin_expect(index == PLACE_NOTHING, 1) ? NULL : match_chains(index, caller);
}

static bool table_fits(const struct place_table *table, uint64_t bytes)
{
    uint64_t entries = (uint64_t)table->entry_count * sizeof(struct place_entry);
    uint64_t ranges = (uint64_t)table->range_count * sizeof(struct place_range);
    uint64_t cpus = (uint64_t)table->cpus_count * sizeof(struct place_cpus);
    return table->magic == PLACE_MAGIC && table->bytes == bytes && table->entry_count <= PLACE_ENTRIES &&
           table->module_count <= PLACE_MODULES && table->entries_at + entries <= bytes &&
           table->ranges_at + ranges <= bytes && table->cpus_at + cpus <= bytes && table->node_count &&
           table->node_count <= table->cpus_count;
}

/* Nothing in it points outside it, and there is something to match and to divide by. */
static bool entries_fit(struct place_table *table)
{
    for (uint32_t i = 0; i < table->range_count; i++)
        if (place_range_list(table)[i].module >= table->module_count)
            return false;
    for (uint32_t i = 0; i < table->entry_count; i++) {
        const struct place_entry *entry = &place_entries(table)[i];
        bool ranges = entry->kind == PLACE_SITE || entry->kind == PLACE_STATIC;
        bool stripes = entry->policy == PLACE_SPLIT || entry->policy == PLACE_WEIGHTED;
        uint64_t weights = 0;
        bool fits = entry->frame_count <= PLACE_FRAMES && entry->part_count <= PLACE_PARTS &&
                    (entry->frame_count || !ranges) &&
                    (uint64_t)entry->cpus_first + entry->cpus_count <= table->cpus_count &&
                    (entry->kind != PLACE_THREAD || entry->cpus_count) && entry->name[PLACE_NAME - 1] == '\0';
        for (uint32_t k = 0; fits && k < entry->frame_count; k++)
            fits = (uint64_t)entry->frames[k].first + entry->frames[k].count <= table->range_count;
        for (uint32_t k = 0; fits && k < entry->part_count; k++) {
            fits = entry->part_nodes[k] < PLACE_CPUS;
            weights += entry->part_weights[k];
        }
        if (!fits || (stripes && entry->part_count && !weights))
            return false;
    }
    return true;
}

static struct place_table *map_table(const char *path)
{
    struct stat file;
    struct place_table *table = NULL;
    int fd = (int)sys_call(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0);
    if (fd < 0)
        return NULL;
    if (sys_call(SYS_fstat, fd, &file) == 0 && file.st_size >= (off_t)sizeof *table) {
        long mapped = sys_call(SYS_mmap, NULL, file.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0L);
        table = mapped < 0 && mapped > -4096 ? NULL : (struct place_table *)mapped;
        if (table && !(table_fits(table, (uint64_t)file.st_size) && entries_fit(table))) {
            sys_unmap(table, (size_t)file.st_size);
            table = NULL;
        }
    }
    sys_close(fd);
    return table;
}

void place_loaded(void)
{
    if (place_table && !look_again())
        place_forget_calls();
}

/* A program that was started by one that has restricted itself may not survive our system calls either. */
static bool is_restricted(struct place_table *table)
{
    if (!restrict_beyond(table->filters))
        return false;
    for (uint32_t i = 0; i < table->entry_count; i++)
        place_failed(&place_entries(table)[i], PLACE_RESTRICTED_REASON, 0);
    return true;
}

void place_begin(void)
{
    const char *path = environ ? environment_value(environ, PLACE_ENVIRONMENT) : NULL;
    char own_path[1024];
    struct place_table *table = path ? map_table(path) : NULL;
    if (!table || is_restricted(table))
        return;
    struct place_wants wants = {.any = true};
    bool statics = false;
    for (uint32_t i = 0; i < table->entry_count; i++) {
        uint8_t kind = place_entries(table)[i].kind;
        wants.sites |= kind == PLACE_SITE;
        statics |= kind == PLACE_STATIC;
        wants.huge |= place_entries(table)[i].huge == PLACE_HUGE;
        wants.files |= kind == PLACE_FILE || kind == PLACE_SHM;
        wants.threads |= kind == PLACE_THREAD || kind == PLACE_STACK;
    }
    place_page = getauxval(AT_PAGESZ);
    sys_readlink("/proc/self/exe", own_path, sizeof own_path);
    const char *name = without_folders(own_path);
    memcpy(own_name, name, strnlen(name, sizeof own_name - 1));
    main_stack_high = (uint64_t)environ;
    place_table = table;
    atomic_fetch_add_explicit(&table->processes, 1, memory_order_relaxed);
    look_again();
    /* Static objects of libraries: a call of malloc shows that one was loaded (place_forget_calls). */
    wants.sites = (wants.sites && place_heap_begin()) || statics;
    place_wants = wants;
    if (wants.threads)
        place_main_thread();
}
