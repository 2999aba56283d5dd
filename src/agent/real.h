/* agent/real.h - the functions that the hooks stand in front of: libc's, or those of whichever allocator is loaded.
 *
 * The allocation family and the mappings may be called at any time: before they are known, each entry leads to a
 * function that finds them first, and what the finding itself allocates comes from a small arena (agent/arena.h). The
 * others are there after real_resolve(). */
#pragma once

#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>

struct real {
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void (*free)(void *);
    void *(*aligned_alloc)(size_t, size_t);
    int (*posix_memalign)(void **, size_t, size_t);
    void *(*memalign)(size_t, size_t);
    void *(*valloc)(size_t);
    void *(*pvalloc)(size_t);
    size_t (*malloc_usable_size)(void *);

    void *(*mmap)(void *, size_t, int, int, int, off_t);
    int (*munmap)(void *, size_t);
    void *(*mremap)(void *, size_t, size_t, int, void *);
    int (*brk)(void *);
    void *(*sbrk)(intptr_t);
    void *(*shmat)(int, const void *, int);
    int (*shmdt)(const void *);

    void *(*dlopen)(const char *, int);
    void *(*dlmopen)(long, const char *, int);
    int (*dlclose)(void *);

    int (*pthread_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    int (*pthread_setname_np)(pthread_t, const char *);
    int (*pthread_barrier_wait)(pthread_barrier_t *);
    long (*ptrace)(long, ...);
    long (*syscall)(long, long, long, long, long, long, long);
    int (*prctl)(int, unsigned long, unsigned long, unsigned long, unsigned long);
    pid_t (*fork)(void);
    pid_t (*wait4)(pid_t, int *, int, struct rusage *);
    int (*waitid)(idtype_t, id_t, siginfo_t *, int);
    pid_t (*fork_bare)(void); /* _Fork; NULL before glibc 2.34 */

    void (*siglongjmp)(void *, int);
    void (*longjmp_chk)(void *, int);
    int (*sigaction)(int, const struct sigaction *, struct sigaction *);
    sighandler_t (*signal)(int, sighandler_t);
    sighandler_t (*sysv_signal)(int, sighandler_t);
    sighandler_t (*sigset)(int, sighandler_t);
    int (*sigignore)(int);
    int (*siginterrupt)(int, int);
    int (*pthread_sigmask)(int, const sigset_t *, sigset_t *);
    int (*sigwaitinfo)(const sigset_t *, siginfo_t *);
    int (*sigtimedwait)(const sigset_t *, siginfo_t *, const struct timespec *);
    int (*signalfd)(int, const sigset_t *, int);

    int (*execve)(const char *, char *const[], char *const[]);
    int (*execvpe)(const char *, char *const[], char *const[]);
    int (*fexecve)(int, char *const[], char *const[]);
    int (*execveat)(int, const char *, char *const[], char *const[], int); /* NULL before glibc 2.34 */
    int (*posix_spawn)(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
                       char *const[], char *const[]);
    int (*posix_spawnp)(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
                        char *const[], char *const[]);
};

extern struct real real __attribute__((visibility("hidden")));

/* Finds them all. False when this thread is already at it: dlsym came back through a hook. */
bool real_resolve(void);

static inline void real_need(void)
{
    if (__builtin_expect(!real.sigaction, 0))
        real_resolve();
}

/* Whether the program's calls of malloc reach the hook: not so when the executable itself has a malloc. */
bool real_malloc_is_hooked(void);
