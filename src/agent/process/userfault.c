#include "agent/process/userfault.h"

#include "agent/agent.h"
#include "agent/region/identity.h"
#include "agent/process/restrict.h"
#include "agent/region/thread_ring.h"
#include "base/sys.h"

#include <linux/userfaultfd.h>
#include <string.h>
#include <sys/ioctl.h>

enum { WAIT_NS = 20000000, WAITS = 25 };

static int make(void)
{
    struct uffdio_api api = {.api = UFFD_API, .features = WIRE_UFFD_FEATURES};
    /* A filter may kill who makes a system call that it does not know. */
    if (restrict_filters() > agent_region->config.filters)
        return -1;
    int fd = (int)sys_call(SYS_userfaultfd, WIRE_UFFD_FLAGS);
    if (fd >= 0 && sys_call(SYS_ioctl, fd, UFFDIO_API, &api) < 0) {
        sys_close(fd);
        fd = -1;
    }
    return fd;
}

/* Waits until `offer` is posted (`wanted`) or taken from its place (not `wanted`). */
static bool wait_while(uint64_t offer, bool wanted)
{
    struct wire_region *region = agent_region;
    for (unsigned waits = 0; waits < WAITS && atomic_load(&region->recording); waits++) {
        uint32_t word = atomic_load(&region->offer_word);
        uint64_t there = 0;
        if (wanted ? atomic_compare_exchange_strong(&region->offer, &there, offer)
                   : atomic_load(&region->offer) != offer)
            return true;
        sys_futex_wait(&region->offer_word, word, WAIT_NS);
    }
    return false;
}

void share_userfault(void)
{
    if (!(agent_region->config.flags & WIRE_SHARE_USERFAULT))
        return;
    int fd = make();
    uint64_t offer = (uint64_t)identity.pid << 32 | (fd < 0 ? WIRE_OFFER_NONE : (uint32_t)fd + 1);
    if (wait_while(offer, true)) {
        ring_wake_recorder();
        if (!wait_while(offer, false)) {
            uint64_t mine = offer; /* the recorder is no more: take it back, others wait behind it */
            atomic_compare_exchange_strong(&agent_region->offer, &mine, 0);
        }
    }
    if (fd >= 0)
        sys_close(fd);
}
