/* Mappings that the program makes itself: mmap, munmap, mremap, brk, sbrk, and System V shared memory. What libc maps
 * for its own ends (malloc's memory, thread stacks) does not come this way. */
#undef _FILE_OFFSET_BITS /* it would make mmap another name of mmap64; both are defined here */
#include "agent/region/attach.h"
#include "agent/place/place_hooks.h"
#include "agent/process/file_name.h"
#include "agent/process/own_maps.h"
#include "agent/process/modules.h"
#include "agent/real.h"
#include "agent/region/hook_record.h"
#include "agent/sampling/sampler.h"
#include "agent/self.h"
#include "agent/unwind/stack.h"
#include "base/sys.h"

#include <stdarg.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/shm.h>

#define USER_SPACE_END ((uint64_t)1 << 56) /* with five levels of page tables, the most there are */

/* A file or shared memory was mapped: then mremap has to ask what it moves. Any thread sets it. */
static bool has_files;

static enum map_kind kind_of(int flags, const char *path)
{
    if (flags & (MAP_STACK | MAP_GROWSDOWN))
        return MAP_KIND_STACK;
    if (flags & MAP_ANONYMOUS)
        return (flags & MAP_TYPE) == MAP_PRIVATE ? MAP_KIND_ANONYMOUS : MAP_KIND_SHARED;
    return strncmp(path, "/memfd:", 7) == 0 ? MAP_KIND_SHARED : MAP_KIND_FILE;
}

/* What file is mapped. Memory of a device may not like to be read: then the sampler measures no latencies. */
static void look_at_file(int fd, struct file_name *name)
{
    struct agent_thread *self = self_need();
    bool heap = attach_heap(), notice = attach_is_sampling() && !agent_device_mapped;
    name->path[0] = '\0';
    if (attach_is_restricted() || !(heap || notice)) {
        agent_device_mapped |= notice && attach_is_restricted();
        return;
    }
    uint64_t began = heap ? ring_time() : 0;
    file_name_find(fd, heap, name);
    if (notice && name->device)
        agent_device_mapped = true;
    if (heap && self)
        record_rare_work(self, began);
}

static void report_map(const struct record_map *map, const struct unwind_regs *caller)
{
    struct agent_thread *self = self_need();
    int saved;
    if (modules_is_agent(caller->pc) || !record_begin(self, &saved))
        return;
    record_map(self, map, stack_number(self, caller, true, true));
    record_end(self, saved);
}

static void report_unmap(const void *addr, size_t size)
{
    struct agent_thread *self = self_need();
    int saved;
    if (!record_begin(self, &saved))
        return;
    record_unmap(self, (uint64_t)addr, size);
    record_end(self, saved);
}

static inline void *map(void *addr, size_t size, int prot, int flags, int fd, off_t offset,
                        const struct unwind_regs *caller)
{
    struct file_name file;
    if (!(flags & MAP_ANONYMOUS))
        look_at_file(fd, &file);
    const char *path = flags & MAP_ANONYMOUS ? "" : file.path;
    if (!attach_heap()) {
        void *mapped = real.mmap(addr, size, prot, flags, fd, offset);
        if (place_wants.any && mapped != MAP_FAILED)
            place_mapped(mapped, size, prot, flags, fd, offset, caller);
        return mapped;
    }
    /* A fixed map ends the maps in its range. */
    if (flags & MAP_FIXED)
        report_unmap(addr, size);
    void *mapped = real.mmap(addr, size, prot, flags, fd, offset);
    if (mapped == MAP_FAILED)
        return mapped;
    if (place_wants.any)
        place_mapped(mapped, size, prot, flags, fd, offset, caller);
    if (kind_of(flags, path) != MAP_KIND_ANONYMOUS)
        has_files = true;
    struct record_map sent = {.addr = (uint64_t)mapped,
                              .size = size,
                              .offset = flags & MAP_ANONYMOUS ? 0 : (uint64_t)offset,
                              .prot = (uint32_t)prot,
                              .flags = (uint32_t)flags,
                              .kind = kind_of(flags, path),
                              .path = path};
    report_map(&sent, caller);
    return mapped;
}

AGENT_EXPORT void *mmap(void *addr, size_t size, int prot, int flags, int fd, off_t offset)
{
    struct unwind_regs regs = UNWIND_CALLER_REGS();
    return map(addr, size, prot, flags, fd, offset, &regs);
}

AGENT_EXPORT void *mmap64(void *addr, size_t size, int prot, int flags, int fd, off64_t offset)
{
    struct unwind_regs regs = UNWIND_CALLER_REGS();
    return map(addr, size, prot, flags, fd, offset, &regs);
}

/* What the kernel refuses before it looks. It must be known beforehand: once the memory is unmapped, another thread may map and
 * report it before this one can. */
static bool may_unmap(const void *addr, size_t size)
{
    uint64_t start = (uint64_t)addr, end;
    return start % getauxval(AT_PAGESZ) == 0 && size != 0 && !__builtin_add_overflow(start, size, &end) &&
           end <= USER_SPACE_END;
}

AGENT_EXPORT int munmap(void *addr, size_t size)
{
    if (attach_heap() && may_unmap(addr, size))
        report_unmap(addr, size);
    if (place_wants.huge)
        place_huge_going(addr, size);
    return real.munmap(addr, size);
}

struct moved_map {
    struct record_map sent;
    char path[FILE_NAME_BYTES];
};

static bool holds_map(const struct maps_line *line, void *data)
{
    struct moved_map *moved = data;
    if (moved->sent.addr < line->start || moved->sent.addr >= line->end)
        return false;
    size_t length = strnlen(line->path, sizeof moved->path - 1);
    memcpy(moved->path, line->path, length);
    moved->sent.offset = line->offset + (moved->sent.addr - line->start);
    moved->sent.prot = line->prot;
    moved->sent.flags = line->shared ? MAP_SHARED : MAP_PRIVATE;
    if (!length || line->path[0] == '[')
        moved->sent.flags |= MAP_ANONYMOUS;
    return true;
}

AGENT_EXPORT void *mremap(void *addr, size_t old_size, size_t size, int flags, ...)
{
    struct unwind_regs regs = UNWIND_CALLER_REGS();
    void *to = NULL;
    if (flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)) {
        va_list arguments;
        va_start(arguments, flags);
        to = va_arg(arguments, void *);
        va_end(arguments);
    }
    if (!attach_heap())
        return real.mremap(addr, old_size, size, flags, to);
    struct moved_map moved = {.sent = {.addr = (uint64_t)addr,
                                       .size = old_size,
                                       .prot = PROT_READ | PROT_WRITE,
                                       .flags = MAP_PRIVATE | MAP_ANONYMOUS}};
    moved.sent.path = moved.path;
    if (has_files && !attach_is_restricted())
        maps_find(holds_map, &moved);
    moved.sent.kind = kind_of((int)moved.sent.flags, moved.path);
    bool stays = old_size == 0 || flags & MREMAP_DONTUNMAP;
    if (!stays)
        report_unmap(addr, old_size);
    if (flags & MREMAP_FIXED)
        report_unmap(to, size);
    void *result = real.mremap(addr, old_size, size, flags, to);
    if (result != MAP_FAILED) {
        moved.sent.addr = (uint64_t)result;
        moved.sent.size = size;
    }
    if (result != MAP_FAILED || !stays)
        report_map(&moved.sent, &regs);
    return result;
}

/* The heap's end went from `old` to `now`. */
static void report_brk(uint64_t old, uint64_t now, const struct unwind_regs *caller)
{
    if (now > old) {
        struct record_map sent = {.addr = old,
                                  .size = now - old,
                                  .prot = PROT_READ | PROT_WRITE,
                                  .flags = MAP_PRIVATE | MAP_ANONYMOUS,
                                  .kind = MAP_KIND_BRK,
                                  .path = ""};
        report_map(&sent, caller);
    }
}

AGENT_EXPORT int brk(void *end)
{
    struct unwind_regs regs = UNWIND_CALLER_REGS();
    real_need();
    if (!attach_heap())
        return real.brk(end);
    uint64_t old = (uint64_t)sys_call(SYS_brk, 0L);
    if ((uint64_t)end < old)
        report_unmap(end, old - (uint64_t)end);
    int result = real.brk(end);
    if (result == 0)
        report_brk(old, (uint64_t)end, &regs);
    return result;
}

AGENT_EXPORT void *sbrk(intptr_t change)
{
    struct unwind_regs regs = UNWIND_CALLER_REGS();
    real_need();
    if (change == 0 || !attach_heap())
        return real.sbrk(change);
    uint64_t old = (uint64_t)sys_call(SYS_brk, 0L);
    if (change < 0)
        report_unmap((void *)(old + (uint64_t)change), (size_t)-change);
    void *result = real.sbrk(change);
    if (change > 0 && result != (void *)-1)
        report_brk((uint64_t)result, (uint64_t)result + (uint64_t)change, &regs);
    return result;
}

static size_t segment_size(int id)
{
    struct shmid_ds segment;
    return sys_call(SYS_shmctl, id, IPC_STAT, &segment) == 0 ? segment.shm_segsz : 0;
}

AGENT_EXPORT void *shmat(int id, const void *addr, int flags)
{
    struct unwind_regs regs = UNWIND_CALLER_REGS();
    real_need();
    void *mapped = real.shmat(id, addr, flags);
    if (mapped != (void *)-1 && place_wants.any)
        place_segment(mapped, segment_size(id), id, flags & SHM_RDONLY, &regs);
    if (mapped == (void *)-1 || !attach_heap())
        return mapped;
    has_files = true;
    struct record_map sent = {.addr = (uint64_t)mapped,
                              .size = segment_size(id),
                              .prot = flags & SHM_RDONLY ? PROT_READ : PROT_READ | PROT_WRITE,
                              .flags = MAP_SHARED,
                              .kind = MAP_KIND_SHARED,
                              .path = ""};
    if (sent.size)
        report_map(&sent, &regs);
    return mapped;
}

static bool ends_segment(const struct maps_line *line, void *data)
{
    struct record_map *sent = data;
    if (line->start != sent->addr)
        return false;
    sent->size = line->end - line->start;
    return true;
}

AGENT_EXPORT int shmdt(const void *addr)
{
    real_need();
    struct record_map sent = {.addr = (uint64_t)addr};
    if (attach_heap() && !attach_is_restricted() && maps_find(ends_segment, &sent))
        report_unmap(addr, sent.size);
    return real.shmdt(addr);
}
