/* agent/libc/libc_calls.c - what only libc can do, under its own names and for the agent alone: each goes to libc's function by
 * address (libc_find.h). */
#include "agent/libc/libc_find.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/auxv.h>
#include <time.h>

int __cxa_atexit(void (*function)(void *), void *argument, void *library);
void __cxa_finalize(void *library);
unsigned long __getauxval(unsigned long type);

#define OWN __attribute__((visibility("hidden")))

static struct {
    int (*cxa_atexit)(void (*)(void *), void *, void *);
    int *(*errno_location)(void);
    int (*sigrtmin)(void);
    int (*sigrtmax)(void);
    int (*clock_gettime)(clockid_t, struct timespec *);
    int (*dl_find_object)(void *, struct dl_find_object *);
    int (*dladdr1)(const void *, Dl_info *, void **, int);
    char *(*dlerror)(void);
    void *(*dlsym)(void *, const char *);
    unsigned long (*getauxval)(unsigned long);
    int (*pthread_key_create)(pthread_key_t *, void (*)(void *));
    int (*pthread_key_delete)(pthread_key_t);
    pthread_t (*pthread_self)(void);
    int (*pthread_setspecific)(pthread_key_t, const void *);
    int (*sched_getcpu)(void);
} libc;

static atomic_bool is_found; /* written by whichever thread comes first; two of them write the same */

static __attribute__((noinline)) void find_all(void)
{
#define FIND(field, name) libc.field = libc_find(name)
    FIND(cxa_atexit, "__cxa_atexit");
    FIND(errno_location, "__errno_location");
    FIND(sigrtmin, "__libc_current_sigrtmin");
    FIND(sigrtmax, "__libc_current_sigrtmax");
    FIND(clock_gettime, "clock_gettime");
    FIND(dl_find_object, "_dl_find_object");
    FIND(dladdr1, "dladdr1");
    FIND(dlerror, "dlerror");
    FIND(dlsym, "dlsym");
    FIND(getauxval, "getauxval");
    FIND(pthread_key_create, "pthread_key_create");
    FIND(pthread_key_delete, "pthread_key_delete");
    FIND(pthread_self, "pthread_self");
    FIND(pthread_setspecific, "pthread_setspecific");
    FIND(sched_getcpu, "sched_getcpu");
    atomic_store_explicit(&is_found, true, memory_order_release);
}

#define LIBC (__builtin_expect(atomic_load_explicit(&is_found, memory_order_acquire), 1) ? (void)0 : find_all(), &libc)

OWN int __cxa_atexit(void (*function)(void *), void *argument, void *library)
{
    return LIBC->cxa_atexit(function, argument, library);
}

/* The compiler's own end of a library calls it; the agent registers nothing under its name. */
OWN void __cxa_finalize(void *library)
{
    (void)library;
}

OWN int *__errno_location(void)
{
    return LIBC->errno_location();
}

OWN int __libc_current_sigrtmin(void)
{
    return LIBC->sigrtmin();
}

OWN int __libc_current_sigrtmax(void)
{
    return LIBC->sigrtmax();
}

OWN int clock_gettime(clockid_t clock, struct timespec *now)
{
    return LIBC->clock_gettime(clock, now);
}

/* Of glibc 2.35 and later; before it, nothing is found. */
OWN int _dl_find_object(void *address, struct dl_find_object *result)
{
    return LIBC->dl_find_object ? LIBC->dl_find_object(address, result) : -1;
}

OWN int dladdr1(const void *address, Dl_info *info, void **extra, int flags)
{
    return LIBC->dladdr1(address, info, extra, flags);
}

OWN char *dlerror(void)
{
    return LIBC->dlerror();
}

/* RTLD_NEXT is behind its caller, and that is the agent still: no tail call, which would leave the place to the caller's. */
OWN void *dlsym(void *handle, const char *name)
{
    void *found = LIBC->dlsym(handle, name);
    __asm__ volatile("" : "+r"(found));
    return found;
}

OWN unsigned long getauxval(unsigned long type)
{
    return LIBC->getauxval(type);
}

/* What the compiler's atomics of aarch64 ask for. */
OWN unsigned long __getauxval(unsigned long type)
{
    return getauxval(type);
}

OWN int pthread_key_create(pthread_key_t *key, void (*destroy)(void *))
{
    return LIBC->pthread_key_create(key, destroy);
}

OWN int pthread_key_delete(pthread_key_t key)
{
    return LIBC->pthread_key_delete(key);
}

OWN pthread_t pthread_self(void)
{
    return LIBC->pthread_self();
}

OWN int pthread_setspecific(pthread_key_t key, const void *value)
{
    return LIBC->pthread_setspecific(key, value);
}

OWN int sched_getcpu(void)
{
    return LIBC->sched_getcpu();
}
