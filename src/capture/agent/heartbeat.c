#include "capture/agent/heartbeat.h"

#include "base/clock.h"
#include "base/mem.h"
#include "capture/agent/region_make.h"
#include "capture/side_thread.h"

#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BEAT_MS = 50 };

/* Whether any buffer fills up. A buffer whose program has ended would say so for ever. */
static bool look(struct heartbeat *heartbeat)
{
    bool filling = false;
    for (nfds_t i = 1; i < heartbeat->count; i++) {
        struct pollfd *watched = &heartbeat->watched[i];
        filling |= watched->revents & POLLIN;
        if (watched->revents & (POLLHUP | POLLERR | POLLNVAL))
            watched->fd = -1;
    }
    return filling;
}

/* Registers region->recorder_tid with the kernel, in place of this thread's list of libc's robust mutexes, of which it has none. The
 * list is in private memory: only the word that the kernel marks is shared, at a distance from the node. */
static void mark_when_killed(struct heartbeat *heartbeat)
{
    struct robust_list_head *head = &heartbeat->robust;
    head->list.next = &heartbeat->node;
    heartbeat->node.next = &head->list;
    head->futex_offset = (char *)&heartbeat->region->recorder_tid - (char *)&heartbeat->node;
    head->list_op_pending = NULL;
    if (syscall(SYS_set_robust_list, head, sizeof *head) == 0)
        atomic_store(&heartbeat->region->recorder_tid, (uint32_t)syscall(SYS_gettid));
}

/* The end of this thread alone is no news. */
static void forget_mark(struct heartbeat *heartbeat)
{
    heartbeat->robust.list.next = &heartbeat->robust.list;
    atomic_signal_fence(memory_order_seq_cst);
}

static void *beat(void *argument)
{
    struct heartbeat *heartbeat = argument;
    mark_when_killed(heartbeat);
    do {
        atomic_store_explicit(&heartbeat->region->heartbeat_ns, clock_now_ns(), memory_order_relaxed);
        int found = poll(heartbeat->watched, heartbeat->count, BEAT_MS);
        if (found > 0 && look(heartbeat))
            capture_region_wake(heartbeat->region);
        else if (found < 0)
            usleep(BEAT_MS * 1000);
    } while (!heartbeat->watched[0].revents);
    forget_mark(heartbeat);
    return NULL;
}

bool heartbeat_start(struct heartbeat *heartbeat, struct wire_region *region, const int *fds, unsigned count)
{
    *heartbeat = (struct heartbeat){.region = region, .count = count + 1};
    int stop = eventfd(0, EFD_CLOEXEC);
    if (stop < 0)
        return false;
    heartbeat->watched = mem_zalloc(heartbeat->count * sizeof *heartbeat->watched);
    for (nfds_t i = 0; i < heartbeat->count; i++)
        heartbeat->watched[i] = (struct pollfd){.fd = i ? fds[i - 1] : stop, .events = POLLIN};
    heartbeat->running = side_thread_start(&heartbeat->thread, beat, heartbeat);
    if (!heartbeat->running) {
        close(stop);
        free(heartbeat->watched);
    }
    return heartbeat->running;
}

void heartbeat_stop(struct heartbeat *heartbeat)
{
    if (!heartbeat->running)
        return;
    eventfd_write(heartbeat->watched[0].fd, 1);
    pthread_join(heartbeat->thread, NULL);
    close(heartbeat->watched[0].fd);
    free(heartbeat->watched);
    heartbeat->running = false;
}
