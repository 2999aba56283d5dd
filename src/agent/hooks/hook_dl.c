/* Loading and unloading of libraries by the program. Most is seen without these hooks (agent/process/modules.h); they only see
 * it sooner. */
#include "agent/region/attach.h"
#include "agent/place/place_hooks.h"
#include "agent/process/modules.h"
#include "agent/real.h"
#include "agent/region/hook_record.h"
#include "agent/self.h"

#include <dlfcn.h>
#include <string.h>

static void refresh(bool loading)
{
    int saved;
    if (place_wants.any)
        place_loaded();
    if (!attach_live())
        return;
    struct agent_thread *self = self_need();
    if (!record_begin(self, &saved))
        return;
    self->loading = loading;
    modules_refresh(self);
    self->loading = false;
    record_end(self, saved);
}

/* A bare name is searched for on the paths of the object that calls, and $ORIGIN is the caller's too: such a call must
 * reach the linker as the caller's own, by a jump. GCC makes one when it optimizes, clang when it is asked to. */
#if defined(__clang__)
#define BY_JUMP
#define AS_CALLER __attribute__((musttail))
#else
#define BY_JUMP __attribute__((optimize("O2")))
#define AS_CALLER
#endif

/* The linker will be reached by a jump, and load something that is to be found later. */
static void expect(void)
{
    agent_switch.modules = 1;
    if (place_wants.any)
        place_forget_calls();
}

static bool depends_on_caller(const char *file)
{
    return file && *file && (!strchr(file, '/') || strchr(file, '$'));
}

AGENT_EXPORT BY_JUMP void *dlopen(const char *file, int mode)
{
    real_need();
    if (depends_on_caller(file)) {
        expect();
        AS_CALLER return real.dlopen(file, mode);
    }
    void *handle = real.dlopen(file, mode);
    refresh(true);
    return handle;
}

AGENT_EXPORT BY_JUMP void *dlmopen(Lmid_t namespace, const char *file, int mode)
{
    real_need();
    if (depends_on_caller(file)) {
        expect();
        AS_CALLER return real.dlmopen(namespace, file, mode);
    }
    void *handle = real.dlmopen(namespace, file, mode);
    refresh(true);
    return handle;
}

AGENT_EXPORT int dlclose(void *handle)
{
    real_need();
    int result = real.dlclose(handle);
    refresh(false);
    return result;
}
