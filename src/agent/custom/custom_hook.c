/* agent/custom/custom_hook.c - finds the functions that the user named in a module and changes their entries.
 *
 * Thunks of one module are together in fresh pages near it, written first and made executable then; only after that
 * is an entry changed, in one write. Written once, thunks stay for ever: a thread may be in one at any time. */
#include "agent/custom/custom_calls.h"

#include "agent/region/attach.h"
#include "agent/custom/custom_arch.h"
#include "agent/custom/custom_symbols.h"
#include "agent/process/own_maps.h"
#include "agent/process/modules.h"
#include "isa/relocate.h"

#include <string.h>
#include <sys/stat.h>

enum { HOOKS = 1024, FOUND = 64, COMPARED = 32, THUNK_PAGES = 65536 };

/* Changed by one thread at a time (custom_calls.h); read by every call of a hooked function. */
static struct custom_hook hooks[HOOKS];
static uint32_t hook_count;
static enum { NOT_STARTED, STARTED, REFUSED } state;

struct found {
    uint64_t addr, size; /* in the file's addresses */
    uint32_t number;     /* in the user's list */
    bool indirect;
};

struct search {
    struct found items[FOUND];
    uint32_t count;
};

static void refuse(uint32_t number, enum wire_custom_refusal why)
{
    atomic_fetch_add_explicit(&wire_custom_at(agent_region, number)->refused[why], 1, memory_order_relaxed);
}

static void succeed(uint32_t number)
{
    atomic_fetch_add_explicit(&wire_custom_at(agent_region, number)->hooked, 1, memory_order_relaxed);
}

/* Up to an "@VERSION" that some symbol tables have. */
static bool is_named(const char *symbol, const char *name)
{
    size_t length = strnlen(name, WIRE_CUSTOM_NAME);
    return strncmp(symbol, name, length) == 0 && (symbol[length] == '\0' || symbol[length] == '@');
}

static void see_symbol(void *context, const struct custom_symbol *symbol)
{
    struct search *search = context;
    for (uint32_t i = 0; i < agent_region->config.custom_count; i++) {
        if (!is_named(symbol->name, wire_custom_at(agent_region, i)->name))
            continue;
        for (uint32_t other = 0; other < search->count; other++)
            if (search->items[other].addr == symbol->addr && search->items[other].number == i)
                return;
        if (search->count == FOUND) {
            refuse(i, CUSTOM_NO_ROOM);
            return;
        }
        search->items[search->count++] =
            (struct found){.addr = symbol->addr, .size = symbol->size, .number = i, .indirect = symbol->indirect};
        return;
    }
}

/* A gap for the thunks: the nearest below the module, at the gap's upper end, or the nearest above, at its lower end. Not
 * where the stack grows down or the heap up. */
struct gap_search {
    uint64_t start, end; /* the module */
    uint64_t last_end;   /* of the map before */
    bool last_grows;     /* that is the heap */
    uint64_t below, above;
};

static bool see_gap(const struct maps_line *line, void *data)
{
    struct gap_search *search = data;
    uint64_t mask = ~(uint64_t)(THUNK_PAGES - 1);
    uint64_t low = (search->last_end + THUNK_PAGES - 1) & mask, high = line->start & mask;
    bool grows = search->last_grows || strcmp(line->path, "[stack]") == 0;
    search->last_end = line->end;
    search->last_grows = strcmp(line->path, "[heap]") == 0;
    if (low == 0)
        low = THUNK_PAGES; /* nobody may map the first page */
    if (grows || high < low || high - low < THUNK_PAGES)
        return false;
    if (line->start <= search->start) {
        if (search->end - (high - THUNK_PAGES) < CUSTOM_REACH)
            search->below = high - THUNK_PAGES;
        return false;
    }
    if (low + THUNK_PAGES - search->start < CUSTOM_REACH)
        search->above = low;
    return true;
}

static void *pages_near(uint64_t start, uint64_t end)
{
    struct gap_search search = {.start = start, .end = end};
    maps_find(see_gap, &search);
    const uint64_t places[] = {search.below, search.above};
    uint32_t count = atomic_load_explicit(&agent_thunk_count, memory_order_relaxed);
    for (unsigned i = 0; i < 2; i++) {
        if (!places[i] || count == AGENT_THUNKS)
            continue;
        long at = sys_call(SYS_mmap, places[i], THUNK_PAGES, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0L);
        if (at == (long)places[i]) {
            agent_thunks[count] = (struct agent_range){places[i], THUNK_PAGES};
            atomic_store_explicit(&agent_thunk_count, count + 1, memory_order_release);
            return (void *)at;
        }
        if (at > 0)
            sys_unmap((void *)at, THUNK_PAGES); /* a kernel before 4.17 took it for a hint */
    }
    return NULL;
}

static bool is_alone(void)
{
    struct stat tasks; /* a folder has one link for each folder in it, and two of its own */
    return sys_call(SYS_newfstatat, AT_FDCWD, "/proc/self/task", &tasks, 0) == 0 && tasks.st_nlink == 3;
}

/* One write, which no other code of this thread can come between; and pages stay executable all the time. */
static bool write_by_kernel(uint64_t at, const void *bytes, size_t size)
{
    int fd = (int)sys_call(SYS_openat, AT_FDCWD, "/proc/self/mem", O_RDWR | O_CLOEXEC, 0);
    if (fd < 0)
        return false;
    bool written = sys_call(SYS_pwrite64, fd, bytes, size, at) == (long)size;
    sys_close(fd);
    return written;
}

/* All bytes in one store, for which eight aligned ones are read and written. */
static bool write_in_one_step(uint64_t at, const void *bytes, size_t size)
{
    uint64_t place = at & ~(uint64_t)7, page = at & ~(uint64_t)(WIRE_PAGE - 1), word;
    if (at + size > place + 8)
        return false;
    if (sys_call(SYS_mprotect, page, (size_t)WIRE_PAGE, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
        return false;
    memcpy(&word, (const void *)place, 8);
    memcpy((uint8_t *)&word + (at - place), bytes, size);
    atomic_store((_Atomic uint64_t *)place, word);
    sys_call(SYS_mprotect, page, (size_t)WIRE_PAGE, PROT_READ | PROT_EXEC);
    return true;
}

static bool write_code(uint64_t at, const void *bytes, size_t size, bool alone)
{
    /* The kernel copies four aligned bytes at once, but not five. */
    bool written = (alone || size <= 4) && write_by_kernel(at, bytes, size);
    if (!written)
        written = write_in_one_step(at, bytes, size);
    if (written)
        __builtin___clear_cache((char *)at, (char *)at + size);
    return written && memcmp((const void *)at, bytes, size) == 0;
}

static const struct custom_hook *hook_at(uint64_t at)
{
    for (uint32_t i = 0; i < hook_count; i++)
        if (hooks[i].at == at)
            return &hooks[i];
    return NULL;
}

static void fill_hook(struct custom_hook *hook, uint32_t number, uint64_t at, uint64_t resume)
{
    const struct wire_custom *spec = wire_custom_at(agent_region, number);
    *hook = (struct custom_hook){.resume = resume,
                                 .at = at,
                                 .number = (uint8_t)number,
                                 .role = spec->role,
                                 .size = spec->size,
                                 .count = spec->count,
                                 .out = spec->out,
                                 .when = spec->when,
                                 .pool = spec->pool,
                                 .parent = spec->parent,
                                 .pointer = spec->pointer,
                                 .is_text = spec->is_text};
    /* The region is the target's to change: an argument's number is used as an index. */
    uint8_t *numbers[] = {&hook->size, &hook->count, &hook->out, &hook->pool, &hook->parent, &hook->pointer};
    for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (*numbers[i] > WIRE_CUSTOM_ARGUMENTS)
            *numbers[i] = 0;
}

struct batch {
    const struct custom_file *file;
    uint64_t bias;
    uint8_t *pages;
    uint32_t used; /* bytes of the pages */
    struct {
        struct custom_hook *hook;
        uint64_t at;
        uint32_t size;
        bool one_step;
        uint8_t bytes[RELOCATE_PATCH];
    } patches[FOUND];
    uint32_t count;
};

/* Makes the thunk; false with the reason when the function is to be left alone. */
static bool prepare(struct batch *batch, const struct found *found, enum wire_custom_refusal *why)
{
    uint64_t at = found->addr + batch->bias;
    const uint8_t *code = custom_file_code(batch->file, found->addr, found->size);
    size_t compared = found->size < COMPARED ? found->size : COMPARED;
    *why = CUSTOM_INDIRECT;
    if (found->indirect)
        return false;
    *why = CUSTOM_TOO_SHORT;
    if (found->size == 0)
        return false;
    *why = CUSTOM_CODE_DIFFERS;
    if (!code || memcmp((const void *)at, code, compared) != 0)
        return false;
    *why = CUSTOM_NO_ROOM;
    if (hook_count == HOOKS || batch->used + RELOCATE_THUNK > THUNK_PAGES)
        return false;
    struct relocate_job job = {.code = code,
                               .size = found->size,
                               .at = at,
                               .thunk = (uint64_t)batch->pages + batch->used,
                               .hook = (uint64_t)&hooks[hook_count],
                               .entered = (uint64_t)custom_entered};
    struct relocate_result result;
    if (!custom_arch_relocate(&job, &result, why))
        return false;
    memcpy(batch->pages + batch->used, result.thunk, result.thunk_size);
    batch->used += RELOCATE_THUNK;
    fill_hook(&hooks[hook_count], found->number, at, job.thunk + result.resume);
    batch->patches[batch->count].hook = &hooks[hook_count++];
    batch->patches[batch->count].at = at + result.patch_offset;
    batch->patches[batch->count].size = result.patch_size;
    batch->patches[batch->count].one_step = result.one_step;
    memcpy(batch->patches[batch->count++].bytes, result.patch, sizeof result.patch);
    return true;
}

static void hook_all(struct batch *batch, const struct search *search, bool fresh)
{
    enum wire_custom_refusal why;
    for (uint32_t i = 0; i < search->count; i++) {
        const struct found *found = &search->items[i];
        if (hook_at(found->addr + batch->bias))
            succeed(found->number); /* another name for the same function */
        else if (!prepare(batch, found, &why))
            refuse(found->number, why);
    }
    __builtin___clear_cache((char *)batch->pages, (char *)batch->pages + batch->used);
    bool executable = sys_call(SYS_mprotect, batch->pages, (size_t)THUNK_PAGES, PROT_READ | PROT_EXEC) == 0;
    bool alone = fresh || is_alone();
    for (uint32_t i = 0; i < batch->count; i++) {
        struct custom_hook *hook = batch->patches[i].hook;
        why = !alone && !batch->patches[i].one_step ? CUSTOM_THREADS_RUN : CUSTOM_NOT_WRITABLE;
        if (why == CUSTOM_NOT_WRITABLE && executable &&
            write_code(batch->patches[i].at, batch->patches[i].bytes, batch->patches[i].size, alone)) {
            succeed(hook->number);
        } else {
            refuse(hook->number, why);
            hook->at = 0;
        }
    }
}

static void search_module(const char *path, uint64_t start, uint64_t end, uint64_t bias, bool fresh)
{
    struct custom_file file;
    if (!custom_file_open(&file, path))
        return;
    struct search search = {.count = 0};
    custom_file_each(&file, see_symbol, &search);
    if (search.count) {
        struct batch batch = {.file = &file, .bias = bias};
        batch.pages = state == STARTED ? pages_near(start, end) : NULL;
        for (uint32_t i = 0; !batch.pages && i < search.count; i++)
            refuse(search.items[i].number, state == STARTED ? CUSTOM_NO_ROOM : CUSTOM_SHADOW_STACK);
        if (batch.pages)
            hook_all(&batch, &search, fresh);
    }
    custom_file_close(&file);
}

void custom_module_added(const char *path, uint64_t start, uint64_t end, uint64_t bias, bool fresh)
{
    if (agent_region->config.custom_count == 0 || attach_is_restricted() || path[0] != '/' ||
        agent_text_start - start < end - start)
        return;
    if (state == NOT_STARTED)
        state = custom_start() ? STARTED : REFUSED;
    search_module(path, start, end, bias, fresh);
}

void custom_module_unloaded(uint64_t start, uint64_t end)
{
    for (uint32_t i = 0; i < hook_count; i++)
        if (hooks[i].at - start < end - start)
            hooks[i].at = 0;
}
