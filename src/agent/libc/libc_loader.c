/* agent/libc/libc_loader.c - see libc_loader.h. */
#include "agent/libc/libc_loader.h"
#include "agent/agent.h"
#include "agent/libc/libc_find.h"
#include "base/sys.h"

#include <link.h>
#include <stdatomic.h>

typedef int iterate(int (*visit)(struct dl_phdr_info *, size_t, void *), void *context);

enum {
    USERS = 32, /* threads at once; a further one is sent away */
    WAITS =
        20, /* for one of them: what takes longer is a thread that has left by a jump, or was not copied to this child */
    WAIT_NS = 100 * 1000000, /* each */
};

static AGENT_FORKED _Atomic uint32_t forks; /* that are under way, in whichever threads */
static _Atomic uint64_t
    users[USERS]; /* thread pointers; 0: nobody. A thread writes its own, who forks what was left behind */

static uint64_t own_thread(void)
{
    return (uint64_t)__builtin_thread_pointer();
}

/* In a visit within a visit, or in a handler that came during one. */
static bool is_user(void)
{
    for (unsigned i = 0; i < USERS; i++)
        if (atomic_load_explicit(&users[i], memory_order_relaxed) == own_thread())
            return true;
    return false;
}

static void leave(_Atomic uint64_t *user)
{
    atomic_store(user, 0);
    if (atomic_load(&forks))
        sys_futex_wake(user, false);
}

static _Atomic uint64_t *enter(void)
{
    for (unsigned i = 0; i < USERS; i++) {
        uint64_t nobody = 0;
        if (!atomic_compare_exchange_strong(&users[i], &nobody, own_thread()))
            continue;
        if (atomic_load(&forks) == 0)
            return &users[i];
        leave(&users[i]);
        return NULL;
    }
    return NULL;
}

__attribute__((visibility("hidden"))) int dl_iterate_phdr(int (*visit)(struct dl_phdr_info *, size_t, void *),
                                                          void *context)
{
    static _Atomic(iterate *) known; /* whichever thread comes first; two of them write the same */
    iterate *function = atomic_load_explicit(&known, memory_order_relaxed);
    if (!function) {
        function = libc_find("dl_iterate_phdr");
        atomic_store_explicit(&known, function, memory_order_relaxed);
    }
    if (is_user())
        return function(visit, context);
    _Atomic uint64_t *user = enter();
    if (!user)
        return -1;
    int result = function(visit, context);
    leave(user);
    return result;
}

void loader_fork_begin(void)
{
    atomic_fetch_add(&forks, 1);
    for (unsigned i = 0; i < USERS; i++) {
        uint64_t user = atomic_load(&users[i]);
        for (int waits = 0; user && user != own_thread() && atomic_load(&users[i]) == user; waits++) {
            if (waits == WAITS)
                atomic_compare_exchange_strong(&users[i], &user, 0);
            else
                sys_futex_wait(&users[i], (uint32_t)user, WAIT_NS);
        }
    }
}

void loader_fork_end(bool in_child)
{
    if (!in_child) {
        atomic_fetch_sub(&forks, 1);
        return;
    }
    atomic_store_explicit(&forks, 0, memory_order_relaxed);
    for (unsigned i = 0; i < USERS; i++)
        if (atomic_load_explicit(&users[i], memory_order_relaxed)) /* a store would copy the page */
            atomic_store_explicit(&users[i], 0, memory_order_relaxed);
}
