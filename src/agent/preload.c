/* The preloaded agent's first and last moments. */
#include "agent/region/attach.h"
#include "agent/environment.h"
#include "agent/place/place_hooks.h"
#include "agent/real.h"

#include <unistd.h>

int __cxa_atexit(void (*function)(void *), void *argument, void *library);

static void finish(void *unused)
{
    (void)unused;
    attach_finish();
}

static void look(void *unused)
{
    (void)unused;
    place_huge_look();
}

static __attribute__((constructor)) void begin(void)
{
    real_resolve();
    attach_look();
    environment_note(environ);
    place_begin();
    /* What is registered first is called last: the linker registers the destructors of all libraries after this. They
     * may still release what they hold. The name of a library is withheld, so that its end does not call this early. */
    if (agent_switch.live)
        __cxa_atexit(finish, NULL, NULL);
    if (place_wants.huge)
        __cxa_atexit(look, NULL, NULL);
    attach_begin_sampling();
}
