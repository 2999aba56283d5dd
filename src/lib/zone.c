#include "lib/zone.h"

#include <dirent.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <hwloc.h>
#include <libelf.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* In the order in which they are released: what uses others comes first. */
enum kind { NOTHING, DEBUG_INFO, ELF_FILE, TOPOLOGY, STREAM, FOLDER, DESCRIPTOR, MEMORY, KINDS };

struct entry {
    uintptr_t what; /* a pointer, or a descriptor */
    uintptr_t kind;
};

struct zone {
    struct entry *entries;
    size_t capacity, count; /* a power of two; never more than half full */
};

/* Not one that is made when first used: that needs memory. */
static __thread struct zone *current __attribute__((tls_model("initial-exec")));

/* The function that the linker calls `name`, and the one that it leads its callers to. */
#define led(type, name, ...)                                                                                           \
    type __real_##name(__VA_ARGS__);                                                                                   \
    type __wrap_##name(__VA_ARGS__)

led(void *, malloc, size_t size);
led(void *, calloc, size_t count, size_t size);
led(void *, realloc, void *old, size_t size);
led(void *, aligned_alloc, size_t alignment, size_t size);
led(void, free, void *memory);
led(int, open64, const char *path, int flags, ...);
led(int, close, int fd);
led(FILE *, fopen64, const char *path, const char *mode);
led(FILE *, fdopen, int fd, const char *mode);
led(int, fclose, FILE *stream);
led(DIR *, opendir, const char *path);
led(int, closedir, DIR *folder);
led(Elf *, elf_begin, int fd, Elf_Cmd cmd, Elf *reference);
led(int, elf_end, Elf *elf);
led(Dwarf *, dwarf_begin_elf, Elf *elf, Dwarf_Cmd cmd, Elf_Scn *group);
led(int, dwarf_end, Dwarf *dwarf);
led(int, hwloc_topology_init, hwloc_topology_t *topology);
led(void, hwloc_topology_destroy, hwloc_topology_t topology);

static size_t home(const struct zone *zone, uintptr_t what)
{
    return (size_t)((uint64_t)what * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (zone->capacity - 1);
}

static void put(struct zone *zone, struct entry entry)
{
    size_t slot = home(zone, entry.what);
    while (zone->entries[slot].kind)
        slot = (slot + 1) & (zone->capacity - 1);
    zone->entries[slot] = entry;
}

static bool grow(struct zone *zone)
{
    struct zone larger = {.capacity = zone->capacity ? zone->capacity * 2 : 256, .count = zone->count};
    larger.entries = __real_calloc(larger.capacity, sizeof *larger.entries);
    if (!larger.entries)
        return false;
    for (size_t i = 0; i < zone->capacity; i++)
        if (zone->entries[i].kind)
            put(&larger, zone->entries[i]);
    __real_free(zone->entries);
    *zone = larger;
    return true;
}

/* Whether one more can be noted; before it is acquired. */
static bool has_room(void)
{
    return !current || 2 * (current->count + 1) <= current->capacity || grow(current);
}

static void note(uintptr_t what, enum kind kind)
{
    if (!current)
        return;
    put(current, (struct entry){what, kind});
    current->count++;
}

static void *noted(void *what, enum kind kind)
{
    if (what)
        note((uintptr_t)what, kind);
    return what;
}

static void leave(uintptr_t what, enum kind kind)
{
    struct zone *zone = current;
    if (!zone || zone->count == 0)
        return;
    size_t mask = zone->capacity - 1, slot = home(zone, what);
    while (zone->entries[slot].kind && (zone->entries[slot].what != what || zone->entries[slot].kind != kind))
        slot = (slot + 1) & mask;
    if (!zone->entries[slot].kind)
        return;
    zone->count--;
    /* What follows moves up, so that no search ends at the hole. */
    for (size_t next = (slot + 1) & mask; zone->entries[next].kind; next = (next + 1) & mask) {
        if (((next - home(zone, zone->entries[next].what)) & mask) < ((next - slot) & mask))
            continue;
        zone->entries[slot] = zone->entries[next];
        slot = next;
    }
    zone->entries[slot] = (struct entry){0};
}

struct zone *zone_new(void)
{
    return __real_calloc(1, sizeof(struct zone));
}

struct zone *zone_enter(struct zone *zone)
{
    struct zone *before = current;
    current = zone;
    return before;
}

void zone_forget(struct zone *zone)
{
    if (!zone)
        return;
    __real_free(zone->entries);
    __real_free(zone);
}

static void release(struct entry entry)
{
    switch ((enum kind)entry.kind) {
    case DEBUG_INFO:
        __real_dwarf_end((Dwarf *)entry.what);
        break;
    case ELF_FILE:
        __real_elf_end((Elf *)entry.what);
        break;
    case TOPOLOGY:
        __real_hwloc_topology_destroy((hwloc_topology_t)entry.what);
        break;
    case STREAM:
        __real_fclose((FILE *)entry.what);
        break;
    case FOLDER:
        __real_closedir((DIR *)entry.what);
        break;
    case DESCRIPTOR:
        __real_close((int)entry.what);
        break;
    case MEMORY:
        __real_free((void *)entry.what);
        break;
    default:
        break;
    }
}

void zone_release(struct zone *zone)
{
    for (enum kind kind = NOTHING + 1; zone && kind < KINDS; kind++)
        for (size_t i = 0; i < zone->capacity; i++)
            if (zone->entries[i].kind == kind)
                release(zone->entries[i]);
    zone_forget(zone);
}

void zone_call_begin(struct zone_call *call, struct zone *zone, bool *failed)
{
    call->failed = failed;
    call->before = zone_enter(zone);
    mem_rescue_push(&call->rescue);
}

void zone_call_end(struct zone_call *call)
{
    mem_rescue_pop(&call->rescue);
    zone_enter(call->before);
}

bool zone_call_failed(struct zone_call *call)
{
    *call->failed = true;
    return true;
}

int zone_no_memory(nlens_error *err)
{
    if (err)
        *err = (nlens_error){-ENOMEM, "there is not enough memory"};
    return -ENOMEM;
}

/* ---- What the linker leads here ---------------------------------------------------------------------------------- */

void *__wrap_malloc(size_t size)
{
    return has_room() ? noted(__real_malloc(size), MEMORY) : NULL;
}

void *__wrap_calloc(size_t count, size_t size)
{
    return has_room() ? noted(__real_calloc(count, size), MEMORY) : NULL;
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return has_room() ? noted(__real_aligned_alloc(alignment, size), MEMORY) : NULL;
}

void *__wrap_realloc(void *old, size_t size)
{
    if (!has_room())
        return NULL;
    uintptr_t before = (uintptr_t)old;
    void *memory = __real_realloc(old, size);
    if (before && (memory || size == 0))
        leave(before, MEMORY);
    return noted(memory, MEMORY);
}

void __wrap_free(void *memory)
{
    if (memory)
        leave((uintptr_t)memory, MEMORY);
    __real_free(memory);
}

int __wrap_open64(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    if (!has_room()) {
        errno = ENOMEM;
        return -1;
    }
    int fd = __real_open64(path, flags, mode);
    if (fd >= 0)
        note((uintptr_t)fd, DESCRIPTOR);
    return fd;
}

int __wrap_close(int fd)
{
    leave((uintptr_t)fd, DESCRIPTOR);
    return __real_close(fd);
}

FILE *__wrap_fopen64(const char *path, const char *mode)
{
    return has_room() ? noted(__real_fopen64(path, mode), STREAM) : NULL;
}

/* From then on the descriptor is the stream's. */
FILE *__wrap_fdopen(int fd, const char *mode)
{
    FILE *stream = has_room() ? noted(__real_fdopen(fd, mode), STREAM) : NULL;
    if (stream)
        leave((uintptr_t)fd, DESCRIPTOR);
    return stream;
}

int __wrap_fclose(FILE *stream)
{
    leave((uintptr_t)stream, STREAM);
    return __real_fclose(stream);
}

DIR *__wrap_opendir(const char *path)
{
    return has_room() ? noted(__real_opendir(path), FOLDER) : NULL;
}

int __wrap_closedir(DIR *folder)
{
    leave((uintptr_t)folder, FOLDER);
    return __real_closedir(folder);
}

Elf *__wrap_elf_begin(int fd, Elf_Cmd cmd, Elf *reference)
{
    return has_room() ? noted(__real_elf_begin(fd, cmd, reference), ELF_FILE) : NULL;
}

int __wrap_elf_end(Elf *elf)
{
    leave((uintptr_t)elf, ELF_FILE);
    return __real_elf_end(elf);
}

Dwarf *__wrap_dwarf_begin_elf(Elf *elf, Dwarf_Cmd cmd, Elf_Scn *group)
{
    return has_room() ? noted(__real_dwarf_begin_elf(elf, cmd, group), DEBUG_INFO) : NULL;
}

int __wrap_dwarf_end(Dwarf *dwarf)
{
    leave((uintptr_t)dwarf, DEBUG_INFO);
    return __real_dwarf_end(dwarf);
}

int __wrap_hwloc_topology_init(hwloc_topology_t *topology)
{
    int code = has_room() ? __real_hwloc_topology_init(topology) : -1;
    if (code == 0)
        note((uintptr_t)*topology, TOPOLOGY);
    return code;
}

void __wrap_hwloc_topology_destroy(hwloc_topology_t topology)
{
    leave((uintptr_t)topology, TOPOLOGY);
    __real_hwloc_topology_destroy(topology);
}
