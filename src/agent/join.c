#include "agent/join.h"

#include "agent/sampling/armed.h"
#include "agent/region/attach.h"
#include "agent/process/modules.h"
#include "agent/region/thread_ring.h"
#include "agent/sampling/sampler.h"
#include "agent/self.h"
#include "agent/signals/signals.h"
#include "base/sys.h"
#include "agent/process/thread.h"

#include <sys/auxv.h>

enum join_result join_start(struct wire_region *region)
{
    modules_setup();
    if (getauxval(AT_ENTRY) - agent_text_start < agent_text_end - agent_text_start)
        return JOIN_STATIC;
    if (!thread_setup())
        return JOIN_NO_KEY;
    struct agent_thread *self = self_need();
    if (!self)
        return JOIN_REFUSED;
    if (!attach_join(region))
        return JOIN_TAKEN;
    int saved = errno;
    self->inside += AGENT_BUSY;
    bool good = sampler_join();
    self->inside -= AGENT_BUSY;
    errno = saved;
    return good ? JOIN_OK : JOIN_REFUSED;
}

bool join_is_armed(uint32_t tid)
{
    return armed_tick(tid) == agent_region->config.tick_ns;
}

int join_arm(uint32_t tid)
{
    if (join_is_armed(tid))
        return 0;
    if ((uint32_t)sys_call(SYS_gettid) != tid)
        return armed_call(tid, signals_tick()) < 0 ? -ESRCH : 1;
    struct agent_thread *self = self_need();
    if (!self)
        return -ENOMEM;
    self->inside += AGENT_BUSY;
    sampler_arm(self);
    self->inside -= AGENT_BUSY;
    return armed_tick(tid) ? 0 : 1;
}

void join_refresh(void)
{
    struct agent_thread *self = self_need();
    if (!self)
        return;
    self->inside += AGENT_CALLS_LIBC;
    if (thread_ready(self, true))
        modules_refresh(self);
    self->inside -= AGENT_CALLS_LIBC;
}

bool join_keep(void)
{
    return sampler_is_active() || sampler_rejoin();
}
