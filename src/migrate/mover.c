#include "migrate/mover.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>

const char *move_failure_text(enum move_failure why)
{
    static const char *const texts[MOVE_FAILURES] = {
        [FAILED_ABSENT] = "not in memory",    [FAILED_SHARED] = "used by several processes",
        [FAILED_BUSY] = "busy in the kernel", [FAILED_NO_MEMORY] = "no memory on the node",
        [FAILED_REFUSED] = "refused",         [FAILED_OTHER] = "not movable",
    };
    return texts[why];
}

const char *move_failure_name(enum move_failure why)
{
    static const char *const names[MOVE_FAILURES] = {"absent", "shared", "busy", "no_memory", "refused", "other"};
    return names[why];
}

static enum move_failure failure_of(int code)
{
    switch (-code) {
    case ENOENT:
    case EFAULT:
    case ESRCH:
        return FAILED_ABSENT;
    case EACCES:
        return FAILED_SHARED;
    case EBUSY:
    case EAGAIN:
        return FAILED_BUSY;
    case ENOMEM:
        return FAILED_NO_MEMORY;
    case EPERM:
        return FAILED_REFUSED;
    default:
        return FAILED_OTHER;
    }
}

static void judge(struct moved *moved, struct plan_move *move, int32_t answer, struct history *history,
                  uint64_t interval)
{
    if (answer == (int32_t)move->to) {
        moved->pages++;
        moved->bytes += move->bytes;
        history_moved(history, move->pid, move->page, interval);
        return;
    }
    enum move_failure why = answer < 0 ? failure_of(answer) : FAILED_BUSY;
    moved->failed[why]++;
    if (why == FAILED_NO_MEMORY)
        moved->no_memory_on[move->to / 64] |= (uint64_t)1 << move->to % 64;
    history_failed(history, move->pid, move->page, interval);
    move->to = move->from;
}

void mover_run(struct moved *moved, struct plan *plan, const struct memory *memory, struct history *history,
               uint64_t interval)
{
    uint64_t *pages = mem_alloc((plan->count + 1) * sizeof *pages);
    uint32_t *nodes = mem_alloc((plan->count + 1) * sizeof *nodes);
    int32_t *answers = mem_alloc((plan->count + 1) * sizeof *answers);
    for (size_t i = 0; i < plan->count; i++) {
        pages[i] = plan->items[i].page;
        nodes[i] = plan->items[i].to;
    }
    for (size_t first = 0, end; first < plan->count; first = end) {
        uint32_t pid = plan->items[first].pid;
        for (end = first; end < plan->count && plan->items[end].pid == pid;)
            end++;
        struct error err = {0};
        if (memory->move(memory->context, pid, pages + first, nodes + first, end - first, answers + first, &err) < 0 &&
            !moved->failure.code)
            moved->failure = err;
        for (size_t i = first; i < end; i++)
            judge(moved, &plan->items[i], answers[i], history, interval);
    }
    free(pages);
    free(nodes);
    free(answers);
}
