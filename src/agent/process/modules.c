#include "agent/process/modules.h"

#include "agent/custom/custom_calls.h"
#include "agent/region/thread_ring.h"
#include "agent/script/python.h"
#include "base/sys.h"
#include "agent/unwind/unwind.h"

#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

enum { SNAPSHOT_BYTES = 3 << 18, KNOWN_BYTES = 1 << 18 };

AGENT_HOT uint64_t agent_text_start, agent_text_end; /* written once by modules_setup */
struct agent_range agent_thunks[AGENT_THUNKS];       /* by custom_hook.c */
_Atomic uint32_t agent_thunk_count;
AGENT_HOT uint64_t modules_linker_start, modules_linker_size; /* likewise */

/* What the recorder knows. Guarded by `busy`; mapped on first use. */
struct known_module {
    uint64_t start, end, bias, path_hash;
};
static struct known_module *known;
static uint32_t known_count;
static uint64_t seen_adds, seen_subs;
static _Atomic uint32_t busy;

struct snapshot {
    uint64_t adds, subs;
    uint8_t *bytes; /* struct wire_module, one behind the other, as they will be sent */
    size_t filled;
    char *exe;
};

static uint64_t hash_text(const char *text)
{
    uint64_t hash = 14695981039346656037u;
    for (; *text; text++)
        hash = (hash ^ (uint8_t)*text) * 1099511628211u;
    return hash;
}

static void find_build_id(const struct dl_phdr_info *info, struct wire_module *module)
{
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_NOTE)
            continue;
        const uint8_t *at = (const uint8_t *)(info->dlpi_addr + segment->p_vaddr), *end = at + segment->p_memsz;
        size_t align = segment->p_align == 8 ? 8 : 4;
        while (at + sizeof(ElfW(Nhdr)) <= end) {
            const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)at;
            const uint8_t *name = at + sizeof *note;
            const uint8_t *id = name + ((note->n_namesz + align - 1) & ~(align - 1));
            if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && memcmp(name, "GNU", 4) == 0 &&
                id + note->n_descsz <= end) {
                uint32_t size = note->n_descsz < 20 ? note->n_descsz : 20;
                memcpy(module->build_id, id, size);
                module->head.value = size;
                return;
            }
            at = id + ((note->n_descsz + align - 1) & ~(align - 1));
        }
    }
}

static int add_module(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    struct snapshot *snapshot = data;
    snapshot->adds = info->dlpi_adds;
    snapshot->subs = info->dlpi_subs;
    struct wire_module module = {.bias = info->dlpi_addr, .start = UINT64_MAX};
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD)
            continue;
        uint64_t start = info->dlpi_addr + segment->p_vaddr, end = start + segment->p_memsz;
        module.start = start < module.start ? start : module.start;
        module.end = end > module.end ? end : module.end;
    }
    /* The kernel maps whole pages; 4 KB is the least. */
    module.start &= ~(uint64_t)(WIRE_PAGE - 1);
    module.end = (module.end + WIRE_PAGE - 1) & ~(uint64_t)(WIRE_PAGE - 1);
    if (module.start >= module.end)
        return 0;
    find_build_id(info, &module);
    const char *path = info->dlpi_name && *info->dlpi_name ? info->dlpi_name : snapshot->exe;
    size_t length = strnlen(path, WIRE_MAX_TEXT);
    uint32_t words = (uint32_t)(sizeof module + length + 8) / 8;
    if (snapshot->filled + words * 8 > SNAPSHOT_BYTES)
        return 1;
    module.head.type = WIRE_MODULE;
    module.head.words = (uint8_t)words;
    uint8_t *to = snapshot->bytes + snapshot->filled;
    memcpy(to, &module, sizeof module);
    memset((uint64_t *)to + words - 1, 0, 8);
    memcpy(to + sizeof module, path, length);
    snapshot->filled += words * 8;
    return 0;
}

static int read_generation(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    struct snapshot *snapshot = data;
    snapshot->adds = info->dlpi_adds;
    snapshot->subs = info->dlpi_subs;
    return 1;
}

static struct wire_module *module_at(const struct snapshot *snapshot, size_t at)
{
    return at < snapshot->filled ? (struct wire_module *)(snapshot->bytes + at) : NULL;
}

static bool same(const struct known_module *old, const struct wire_module *module)
{
    return old->start == module->start && old->end == module->end && old->bias == module->bias &&
           old->path_hash == hash_text(module->path);
}

static void send(struct agent_thread *self, const struct wire_module *module)
{
    struct wire_module *record = agent_reserve(self, module->head.words, LOSS_RING_FULL, true);
    if (!record)
        return;
    memcpy(record, module, module->head.words * 8u);
    record->head.cpu = agent_cpu();
    record->time = agent_time();
    agent_commit(self, module->head.words);
}

static void send_unloaded(struct agent_thread *self, const struct known_module *old)
{
    uint64_t words[sizeof(struct wire_module) / 8 + 1] = {0};
    struct wire_module *module = (struct wire_module *)words;
    module->head.type = WIRE_MODULE_UNLOADED;
    module->head.words = sizeof words / 8;
    module->bias = old->bias;
    module->start = old->start;
    module->end = old->end;
    send(self, module);
}

static void forget(struct agent_thread *self, const struct known_module *old)
{
    send_unloaded(self, old);
    custom_module_unloaded(old->start, old->end);
}

/* Reports the difference between what is known and what is loaded. */
static void report_difference(struct agent_thread *self, const struct snapshot *snapshot)
{
    const struct wire_module *module;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < known_count; i++) {
        bool loaded = false;
        for (size_t at = 0; !loaded && (module = module_at(snapshot, at)); at += module->head.words * 8u)
            loaded = same(&known[i], module);
        if (loaded)
            known[kept++] = known[i];
        else
            forget(self, &known[i]);
    }
    known_count = kept;
    for (size_t at = 0; (module = module_at(snapshot, at)); at += module->head.words * 8u) {
        bool is_known = false;
        for (uint32_t i = 0; !is_known && i < kept; i++)
            is_known = same(&known[i], module);
        if (is_known || known_count == KNOWN_BYTES / sizeof *known)
            continue;
        known[known_count++] = (struct known_module){
            .start = module->start, .end = module->end, .bias = module->bias, .path_hash = hash_text(module->path)};
        send(self, module);
        custom_module_added(module->path, module->start, module->end, module->bias, self->loading);
        python_module_added(module->path, module->bias);
    }
}

/* Kept for the next one: to unmap it would cost each process more than the page or two that are touched. */
static _Atomic(uint8_t *) spare;

static uint8_t *snapshot_take(void)
{
    uint8_t *bytes = atomic_exchange(&spare, NULL);
    return bytes ? bytes : sys_pages(SNAPSHOT_BYTES);
}

static void snapshot_give_back(uint8_t *bytes)
{
    uint8_t *other = atomic_exchange(&spare, bytes);
    if (other)
        sys_unmap(other, SNAPSHOT_BYTES);
}

void modules_refresh(struct agent_thread *self)
{
    agent_switch.modules = 0;
    struct snapshot snapshot = {0};
    if (dl_iterate_phdr(read_generation, &snapshot) < 0) {
        agent_switch.modules = 1; /* a fork is under way: later */
        return;
    }
    if (snapshot.adds == seen_adds && snapshot.subs == seen_subs)
        return;
    char exe[WIRE_MAX_TEXT];
    sys_readlink("/proc/self/exe", exe, sizeof exe);
    snapshot.exe = exe;
    snapshot.bytes = snapshot_take();
    if (!snapshot.bytes)
        return;
    /* The linker's lock is held during this and not beyond: ours is never taken inside or around it. */
    if (dl_iterate_phdr(add_module, &snapshot) < 0 || atomic_exchange_explicit(&busy, 1, memory_order_acquire)) {
        agent_switch.modules = 1; /* a fork is under way, or another thread is at it: later */
    } else {
        if (!known)
            known = sys_pages(KNOWN_BYTES);
        /* Snapshots of two threads may arrive in the wrong order: an older one has nothing new to report. */
        if (known && snapshot.adds + snapshot.subs > seen_adds + seen_subs) {
            report_difference(self, &snapshot);
            if (unwind_modules_changed() < 0) {
                agent_switch.modules = 1;
            } else {
                seen_adds = snapshot.adds;
                seen_subs = snapshot.subs;
            }
        }
        atomic_store_explicit(&busy, 0, memory_order_release);
    }
    snapshot_give_back(snapshot.bytes);
}

void modules_forked(void)
{
    if (atomic_load_explicit(&busy, memory_order_relaxed)) /* a store would copy the page */
        atomic_store_explicit(&busy, 0, memory_order_relaxed);
}

static int find_code(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    (void)data;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
            continue;
        uint64_t start = info->dlpi_addr + segment->p_vaddr, end = start + segment->p_memsz;
        if ((uint64_t)modules_setup - start < end - start) {
            agent_text_start = start;
            agent_text_end = end;
        }
        if (info->dlpi_addr == getauxval(AT_BASE)) {
            modules_linker_start = start;
            modules_linker_size = end - start;
        }
    }
    return 0;
}

void modules_setup(void)
{
    dl_iterate_phdr(find_code, NULL);
}
