/* fork and _Fork. The child finds out by itself that it is one (agent_switch); these only make it start at once, and
 * see it on kernels that cannot wipe a page. vfork and posix_spawn need nothing: their child runs on its parent's
 * thread, in its parent's memory, until it becomes another program. */
#include "agent/libc/libc_loader.h"
#include "agent/region/attach.h"
#include "agent/place/place_hooks.h"
#include "agent/process/assign.h"
#include "agent/real.h"

#include <unistd.h>

static void begin_child(void)
{
    attach_forked();
    if (attach_live())
        assign_go(assign_next());
    if (place_wants.threads)
        place_forked();
}

static pid_t fork_by(pid_t (*function)(void))
{
    loader_fork_begin();
    pid_t child = function();
    loader_fork_end(child == 0);
    if (child == 0)
        begin_child();
    return child;
}

AGENT_EXPORT pid_t fork(void)
{
    real_need();
    return fork_by(real.fork);
}

AGENT_EXPORT pid_t _Fork(void)
{
    real_need();
    return fork_by(real.fork_bare ? real.fork_bare : real.fork);
}
