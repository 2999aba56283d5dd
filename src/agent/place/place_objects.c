/* agent/place/place_objects.c - memory that is not from the heap: static objects, mappings, files, shared memory. */
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

void place_range(struct place_entry *entry, uint64_t addr, uint64_t size, bool moves, enum place_touch how)
{
    bool by_touch;
    long cause;
    enum place_reason reason = place_pages(entry, addr, size, moves, how, -1, &by_touch, &cause);
    if (reason == PLACE_NONE_REASON)
        place_done(entry, size, by_touch);
    else
        place_failed(entry, reason, cause);
}

void place_objects_loaded(const bool *fresh)
{
    struct place_entry *entries = place_entries(place_table);
    for (uint32_t i = 0; i < place_table->entry_count; i++) {
        struct place_entry *entry = &entries[i];
        if (entry->kind != PLACE_STATIC)
            continue;
        const struct place_range *ranges = place_range_list(place_table) + entry->frames[0].first;
        for (uint32_t k = 0; k < entry->frames[0].count; k++) {
            uint64_t low, high;
            if (fresh[ranges[k].module] && place_where(&ranges[k], &low, &high))
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
    uint64_t placed = 0;
    enum place_reason reason = place_file(entry, &(struct place_mapping){(uint64_t)addr, size, (uint64_t)offset, fd},
                                          &by_touch, &placed, &cause);
    if (reason != PLACE_NONE_REASON)
        place_failed(entry, reason, cause);
    if (!is_private && (reason == PLACE_NONE_REASON || (reason == PLACE_ELSEWHERE_REASON && placed)))
        place_done(entry, placed, by_touch);
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
