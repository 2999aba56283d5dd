/* agent/unwind/unwind_modules.c - see agent/unwind/unwind_modules.h. */
#include "agent/unwind/unwind_modules.h"
#include "agent/agent.h"
#include "isa/unwind/unwind_cfi.h"
#include "base/sys.h"
#include "base/bisect.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

AGENT_HOT _Atomic uint32_t unwind_generation;

/* Written by the builder, read by every thread and handler. */
static _Atomic(struct unwind_modules *) current;

/* How many readers hold a table, whichever. */
static _Atomic uint32_t readers;

/* The builder's process, 0 when nobody builds. A fork's child that finds another process here was forked in the middle
 * of a build by a thread that it does not have. */
static _Atomic uint32_t builder;
static struct unwind_modules *retired; /* the builder's */

const struct unwind_modules *unwind_modules_get(void)
{
    atomic_fetch_add(&readers, 1);
    return atomic_load(&current);
}

void unwind_modules_put(void)
{
    atomic_fetch_sub(&readers, 1);
}

const struct unwind_module *unwind_module_at(const struct unwind_modules *modules, uint64_t address)
{
    if (!modules)
        return NULL;
    size_t low = bisect(modules->count, i, modules->items[i].start <= address);
    return low > 0 && address < modules->items[low - 1].end ? &modules->items[low - 1] : NULL;
}

/* glibc 2.35 and later know without a lock what is loaded now. The table may lag behind: a library that was unloaded
 * has no .eh_frame to look at, and another one may be in its place. */
#ifdef DLFO_STRUCT_HAS_EH_DBASE
#pragma weak _dl_find_object

bool unwind_module_can_ask(void)
{
    static _Atomic int answer; /* 0: not asked yet. Whichever thread asks first writes it; all get the same */
    struct dl_find_object found;
    int known = atomic_load_explicit(&answer, memory_order_relaxed);
    if (!known) {
        known = _dl_find_object && _dl_find_object((void *)unwind_module_can_ask, &found) == 0 ? 1 : -1;
        atomic_store_explicit(&answer, known, memory_order_relaxed);
    }
    return known > 0;
}

bool unwind_module_is_loaded(const struct unwind_module *module)
{
    struct dl_find_object found;
    if (!module->index || module->is_vdso || !unwind_module_can_ask())
        return true;
    return _dl_find_object((void *)module->start, &found) == 0 && found.dlfo_eh_frame == module->index;
}
#else
bool unwind_module_can_ask(void)
{
    return false;
}

bool unwind_module_is_loaded(const struct unwind_module *module)
{
    (void)module;
    return true;
}
#endif

static struct unwind_modules *table_map(uint32_t capacity)
{
    size_t bytes = sizeof(struct unwind_modules) + capacity * sizeof(struct unwind_module);
    struct unwind_modules *table = sys_pages(bytes);
    if (table)
        table->bytes = bytes;
    return table;
}

static void table_unmap(struct unwind_modules *table)
{
    if (table)
        sys_unmap(table, table->bytes);
}

struct filling {
    struct unwind_modules *table; /* NULL: only count */
    uint32_t capacity, wanted;
    uint64_t vdso;
};

/* The readable segment that holds `address`. */
static bool segment_of(const struct dl_phdr_info *info, uint64_t address, uint64_t *low, uint64_t *high)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uint64_t start = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_LOAD && segment->p_flags & PF_R && address - start < segment->p_memsz) {
            *low = start;
            *high = start + segment->p_memsz;
            return true;
        }
    }
    return false;
}

static void find_index(const struct dl_phdr_info *info, uint64_t hdr, struct unwind_module *module)
{
    uint64_t low, high, eh_frame;
    struct unwind_module found = *module;
    if (hdr && segment_of(info, hdr, &low, &high) &&
        unwind_cfi_index(&found, (const uint8_t *)hdr, high - hdr, &eh_frame) &&
        segment_of(info, eh_frame, &found.low, &found.high))
        *module = found;
}

static int add_module(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    struct filling *filling = data;
    uint64_t hdr = 0;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME)
            hdr = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X) || segment->p_memsz == 0)
            continue;
        filling->wanted++;
        struct unwind_modules *table = filling->table;
        if (!table || table->count == filling->capacity)
            continue;
        uint64_t start = info->dlpi_addr + segment->p_vaddr;
        struct unwind_module module = {.start = start, .end = start + segment->p_memsz};
        module.is_readable = segment->p_flags & PF_R;
        module.is_vdso = filling->vdso && filling->vdso - start < segment->p_memsz;
        module.name = info->dlpi_name && *info->dlpi_name ? info->dlpi_name : "/proc/self/exe";
        find_index(info, hdr, &module);
        uint32_t at = table->count++;
        for (; at > 0 && table->items[at - 1].start > start; at--)
            table->items[at] = table->items[at - 1];
        table->items[at] = module;
    }
    return 0;
}

/* `*table` is NULL when there is no memory. */
static int read_modules(struct unwind_modules **table)
{
    struct filling filling = {.vdso = getauxval(AT_SYSINFO_EHDR)};
    *table = NULL;
    for (;;) {
        filling.wanted = 0;
        bool refused = dl_iterate_phdr(add_module, &filling) < 0;
        if (!refused && filling.table && filling.wanted <= filling.capacity) {
            *table = filling.table;
            return 0;
        }
        table_unmap(filling.table);
        if (refused)
            return -EAGAIN;
        filling.capacity = filling.wanted + 8;
        filling.table = table_map(filling.capacity);
        if (!filling.table)
            return 0;
    }
}

static bool same_module(const struct unwind_module *a, const struct unwind_module *b)
{
    return a->start == b->start && a->end == b->end && a->index == b->index && a->index_count == b->index_count;
}

static bool all_in(const struct unwind_modules *some, const struct unwind_modules *table)
{
    for (uint32_t i = 0; some && i < some->count; i++) {
        const struct unwind_module *other = unwind_module_at(table, some->items[i].start);
        if (!other || !same_module(&some->items[i], other))
            return false;
    }
    return true;
}

/* One builder at a time. A second one waits for the first, so that its own library is known when it goes on; but not
 * for ever, should it have interrupted the first. */
static bool builder_enter(void)
{
    uint32_t self = (uint32_t)sys_call_asked(SYS_getpid);
    for (int tries = 0; tries < 10000; tries++) {
        uint32_t other = 0;
        if (atomic_compare_exchange_strong(&builder, &other, self))
            return true;
        if (other != self && atomic_compare_exchange_strong(&builder, &other, self)) {
            atomic_store(&readers, 0);
            return true;
        }
        sys_call(SYS_sched_yield);
    }
    return false;
}

int unwind_modules_build(bool *removed)
{
    *removed = false;
    if (!builder_enter())
        return 0;
    struct unwind_modules *old = atomic_load(&current), *table;
    int code = read_modules(&table);
    bool changed = table && (!old || !all_in(old, table) || !all_in(table, old));
    if (changed) {
        *removed = !all_in(old, table);
        atomic_store(&current, table);
        atomic_fetch_add(&unwind_generation, 1);
        if (old) {
            old->older = retired;
            retired = old;
        }
    } else {
        table_unmap(table);
    }
    /* Whoever comes after this look takes the new table. */
    if (atomic_load(&readers) == 0) {
        while (retired) {
            struct unwind_modules *next = retired->older;
            table_unmap(retired);
            retired = next;
        }
    }
    atomic_store(&builder, 0);
    return code < 0 ? code : changed;
}
