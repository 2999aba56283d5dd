#include "agent/process/own_process.h"

#include "agent/region/identity.h"
#include "agent/process/own_maps.h"
#include "agent/region/hook_record.h"
#include "base/sys.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>

enum { OWE_NOTHING, OWE_IMAGE, OWE_FORK };
AGENT_FORKED static _Atomic uint32_t owed;

void process_owe(bool forked)
{
    atomic_store_explicit(&owed, forked ? OWE_FORK : OWE_IMAGE, memory_order_relaxed);
}

/* Path and command, each with its NUL, as they were when the program began: a fork has its parent's, and asking /proc would cost it
 * more than all else here. Written once, by the thread that reports the program. */
static char texts[WIRE_MAX_TEXT];
static size_t texts_length;

static void read_texts(void)
{
    size_t length = sys_readlink("/proc/self/exe", texts, sizeof texts / 2) + 1;
    int fd = sys_open_read("/proc/self/cmdline");
    size_t begin = length;
    if (fd >= 0) {
        long got;
        while ((got = sys_read(fd, texts + length, sizeof texts - 1 - length)) > 0)
            length += (size_t)got;
        sys_close(fd);
    }
    /* Each argument ends with a NUL. */
    while (length > begin && !texts[length - 1])
        length--;
    for (size_t i = begin; i < length; i++) {
        if (!texts[i])
            texts[i] = ' ';
    }
    texts[length++] = '\0';
    texts_length = length;
}

void process_report(struct agent_thread *self)
{
    uint32_t owing = atomic_exchange_explicit(&owed, OWE_NOTHING, memory_order_relaxed);
    if (owing == OWE_NOTHING)
        return;
    if (!texts_length)
        read_texts();
    size_t length = texts_length;
    uint32_t words = (uint32_t)(sizeof(struct wire_process) + length + 7) / 8;
    struct wire_process *record = agent_reserve(self, words, LOSS_RING_FULL, true);
    if (!record)
        return;
    record->head =
        (struct wire_head){.type = WIRE_PROCESS, .words = (uint8_t)words, .cpu = agent_cpu(), .value = identity.parent};
    record->time = agent_time();
    record->forked = owing == OWE_FORK;
    record->local = identity.foreign ? self->pid : 0;
    memset((uint64_t *)record + words - 1, 0, 8);
    memcpy(record->texts, texts, length);
    agent_commit(self, words);
}

enum { OTHER_MAPS = 32, OTHER_NAME = 16 };

struct main_maps {
    struct record_map heap, stack; /* size 0 when not seen */
    uint64_t last_end;             /* of the map before */
    unsigned other_count;          /* memory that the linker and the kernel put there: no hook reports it */
    struct {
        uint64_t start, end;
        char name[OTHER_NAME]; /* "[vvar]", or "" */
    } others[OTHER_MAPS];
};

static void see_other(const struct maps_line *line, struct main_maps *found)
{
    if ((line->path[0] && line->path[0] != '[') || found->other_count == OTHER_MAPS)
        return;
    size_t length = strnlen(line->path, OTHER_NAME - 1);
    found->others[found->other_count].start = line->start;
    found->others[found->other_count].end = line->end;
    memcpy(found->others[found->other_count].name, line->path, length);
    found->other_count++;
}

static bool see_map(const struct maps_line *line, void *data)
{
    struct main_maps *found = data;
    struct record_map map = {.addr = line->start,
                             .size = line->end - line->start,
                             .prot = line->prot,
                             .flags = MAP_PRIVATE | MAP_ANONYMOUS,
                             .path = ""};
    if (strcmp(line->path, "[heap]") == 0) {
        map.kind = MAP_KIND_BRK;
        found->heap = map;
    } else if (strcmp(line->path, "[stack]") == 0) {
        /* It may grow down to its limit, but not into the mapping below. */
        struct rlimit limit = {0};
        uint64_t low = line->start;
        if (sys_call(SYS_prlimit64, 0, RLIMIT_STACK, NULL, &limit) == 0)
            low = limit.rlim_cur < line->end ? line->end - limit.rlim_cur : 0;
        if (low < found->last_end)
            low = found->last_end;
        if (low > line->start)
            low = line->start;
        map.addr = low;
        map.size = line->end - low;
        map.kind = MAP_KIND_STACK;
        found->stack = map;
    } else {
        see_other(line, found);
    }
    found->last_end = line->end;
    return false;
}

static void report_maps(struct agent_thread *self, const struct main_maps *found)
{
    if (found->heap.size)
        record_map(self, &found->heap, 0);
    if (found->stack.size)
        record_map(self, &found->stack, 0);
}

void process_report_main(struct agent_thread *self)
{
    struct main_maps found = {0};
    maps_find(see_map, &found);
    self->stack_asked = true;
    self->stack_low = found.stack.addr;
    self->stack_high = found.stack.addr + found.stack.size;
    thread_report(self, 0, agent_time());
    report_maps(self, &found);
}

void process_report_maps(struct agent_thread *self)
{
    struct main_maps found = {0};
    maps_find(see_map, &found);
    report_maps(self, &found);
}
