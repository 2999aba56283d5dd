/* A program that does one thing of each kind and says what it did; test_agent.c runs it under the agent. */
#include "target.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <threads.h>

void *library_block(void); /* target_library.c */

static _Thread_local void *volatile sink;

static void *keep(void *block)
{
    sink = block;
    return sink;
}

static int heap(void)
{
    errno = 77;
    void *a = keep(malloc(100));
    MUST(errno == 77);
    say_alloc(ALLOC_MALLOC, a, 100);
    void *b = keep(calloc(10, 12));
    say_alloc(ALLOC_CALLOC, b, 120);
    say_free(ALLOC_REALLOC, a);
    a = keep(realloc(a, 5000));
    say_alloc(ALLOC_REALLOC, a, 5000);
    MUST(errno == 77);
    /* It fails and the block lives on. */
    size_t usable = malloc_usable_size(a);
    say_free(ALLOC_REALLOC, a);
    MUST(realloc(a, (size_t)PTRDIFF_MAX - 4096) == NULL && errno == ENOMEM);
    say_alloc(ALLOC_REALLOC, a, usable);
    errno = 77;
    say_free(ALLOC_REALLOCARRAY, b);
    b = keep(reallocarray(b, 20, 30));
    say_alloc(ALLOC_REALLOCARRAY, b, 600);
    volatile size_t half = SIZE_MAX / 2; /* or compilers that see what reallocarray is warn */
    MUST(reallocarray(b, half, 3) == NULL && errno == ENOMEM);
    errno = 77;
    void *c = keep(aligned_alloc(64, 640));
    say_alloc(ALLOC_ALIGNED_ALLOC, c, 640);
    void *d = NULL;
    MUST(posix_memalign(&d, 128, 300) == 0 && errno == 77);
    say_alloc(ALLOC_POSIX_MEMALIGN, keep(d), 300);
    MUST(posix_memalign(&d, 3, 300) == EINVAL && errno == 77);
    void *e = keep(memalign(256, 400));
    say_alloc(ALLOC_MEMALIGN, e, 400);
    void *f = keep(valloc(500));
    say_alloc(ALLOC_VALLOC, f, 500);
    void *g = keep(pvalloc(600));
    say_alloc(ALLOC_PVALLOC, g, 600);
    void *h = keep(malloc(0));
    say_alloc(ALLOC_MALLOC, h, 0);
    void *i = keep(realloc(NULL, 33));
    say_alloc(ALLOC_REALLOC, i, 33);
    say_free(ALLOC_REALLOC, i);
    MUST(realloc(i, 0) == NULL); /* glibc: a release */
    MUST(malloc((size_t)PTRDIFF_MAX) == NULL && errno == ENOMEM);
    errno = 77;
    void *const blocks[] = {a, b, c, d, e, f, g, h};
    for (unsigned k = 0; k < sizeof blocks / sizeof *blocks; k++) {
        say_free(ALLOC_FREE, blocks[k]);
        free(blocks[k]);
    }
    free(NULL);
    MUST(errno == 77);
    return 0;
}

static int maps(void)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *a = mmap(NULL, 8 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    say_map(MAP_KIND_ANONYMOUS, a, 8 * page);
    say_unmap(a, 8 * page);
    char *b = mremap(a, 8 * page, 64 * page, MREMAP_MAYMOVE);
    say_map(MAP_KIND_ANONYMOUS, b, 64 * page);
    /* A fixed map in the middle ends what is there. */
    say_unmap(b + page, page);
    MUST(mmap(b + page, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == b + page);
    say_map(MAP_KIND_ANONYMOUS, b + page, page);
    char *c = mmap64(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    say_map(MAP_KIND_SHARED, c, page);
    int fd = open("/proc/self/exe", O_RDONLY);
    char *d = mmap(NULL, page, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    say_map(MAP_KIND_FILE, d, page);
    /* Moved, it is still that file. */
    say_unmap(d, page);
    d = mremap(d, page, 2 * page, MREMAP_MAYMOVE);
    say_map(MAP_KIND_FILE, d, 2 * page);
    say_unmap(d, 2 * page);
    MUST(mremap(d, 2 * page, (size_t)1 << 60, MREMAP_MAYMOVE) == MAP_FAILED);
    say_map(MAP_KIND_FILE, d, 2 * page);
    MUST(mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED && errno == EINVAL);
    int id = shmget(IPC_PRIVATE, 3 * page, IPC_CREAT | 0600);
    if (id >= 0) {
        char *e = shmat(id, NULL, 0);
        shmctl(id, IPC_RMID, NULL);
        say_map(MAP_KIND_SHARED, e, 3 * page);
        say_unmap(e, 3 * page);
        MUST(shmdt(e) == 0);
    }
    char *f = sbrk((intptr_t)(2 * page));
    say_map(MAP_KIND_BRK, f, 2 * page);
    MUST(brk(f + 3 * page) == 0);
    say_map(MAP_KIND_BRK, f + 2 * page, page);
    say_unmap(f + page, 2 * page);
    MUST(brk(f + page) == 0 && sbrk(0) == f + page);
    say_unmap(b, 64 * page);
    MUST(munmap(b, 64 * page) == 0);
    MUST(munmap((void *)1, page) == -1 && errno == EINVAL);
    MUST(munmap((void *)-4096ul, 4000) == -1 && errno == EINVAL);
    MUST(munmap(a, 0) == -1 && errno == EINVAL);
    return 0;
}

static void *in_thread(void *argument)
{
    void *block = keep(malloc(1000 + (size_t)argument));
    say_alloc(ALLOC_MALLOC, block, 1000 + (size_t)argument);
    if ((size_t)argument % 3 == 1)
        pthread_exit(block);
    return block;
}

static pthread_key_t late_key;

/* Runs among the thread's last steps, pass after pass. */
static void late(void *round)
{
    void *block = keep(malloc(2000 + (size_t)round));
    say_alloc(ALLOC_MALLOC, block, 2000 + (size_t)round);
    say_free(ALLOC_FREE, block);
    free(block);
    if ((size_t)round < 3)
        pthread_setspecific(late_key, (void *)((size_t)round + 1));
}

static void *with_late_steps(void *argument)
{
    pthread_setspecific(late_key, (void *)1);
    pthread_setname_np(pthread_self(), "late-steps");
    return argument;
}

static void *named_by_others(void *argument)
{
    pthread_barrier_wait(argument);
    pthread_barrier_wait(argument);
    prctl(PR_SET_NAME, "self-named", 0, 0, 0);
    return NULL;
}

static void *cancelled(void *argument)
{
    keep(malloc(64));
    pthread_barrier_wait(argument);
    for (;;)
        pause();
}

static int unknown_thread(void *argument)
{
    in_thread(argument);
    return 5;
}

static int thread_many(void)
{
    enum { ROUNDS = 5, THREADS = 8 };
    for (unsigned round = 0; round < ROUNDS; round++) {
        pthread_t threads[THREADS];
        for (size_t i = 0; i < THREADS; i++)
            MUST(pthread_create(&threads[i], NULL, in_thread, (void *)i) == 0);
        for (size_t i = 0; i < THREADS; i++) {
            void *block;
            pthread_join(threads[i], &block);
            say_free(ALLOC_FREE, block);
            free(block);
        }
    }
    pthread_t thread;
    pthread_key_create(&late_key, late);
    MUST(pthread_create(&thread, NULL, with_late_steps, (void *)42) == 0);
    void *result;
    pthread_join(thread, &result);
    MUST(result == (void *)42);
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, 2);
    MUST(pthread_create(&thread, NULL, named_by_others, &barrier) == 0);
    pthread_barrier_wait(&barrier);
    MUST(pthread_setname_np(thread, "other-named") == 0);
    MUST(pthread_setname_np(thread, "much too long for a name") == ERANGE);
    pthread_barrier_wait(&barrier);
    pthread_join(thread, NULL);
    MUST(pthread_create(&thread, NULL, cancelled, &barrier) == 0);
    pthread_barrier_wait(&barrier);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    MUST(result == PTHREAD_CANCELED);
    /* Not through pthread_create that anyone could see. */
    thrd_t other;
    int got;
    MUST(thrd_create(&other, unknown_thread, (void *)8) == thrd_success);
    MUST(thrd_join(other, &got) == thrd_success && got == 5);
    say("threads %d\n", ROUNDS * THREADS + 4);
    return 0;
}

static void *lives_on(void *argument)
{
    (void)argument;
    keep(malloc(31));
    for (;;)
        pause();
}

/* More threads at once than there are rings. */
static int thread_crowd(void)
{
    enum { THREADS = 40 };
    pthread_t threads[THREADS];
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, THREADS + 1);
    for (size_t i = 0; i < THREADS; i++)
        MUST(pthread_create(&threads[i], NULL, named_by_others, &barrier) == 0);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_create(&threads[0], NULL, lives_on, NULL);
    return 0;
}

static void child_work(const char *how)
{
    say("child %d %d %s\n", WHO, how);
    void *block = keep(malloc(4321));
    say_alloc(ALLOC_MALLOC, block, 4321);
    say_free(ALLOC_FREE, block);
    free(block);
    _exit(0);
}

static void wait_for(pid_t child)
{
    int status = -1;
    MUST(waitpid(child, &status, 0) == child && status == 0);
}

static void *fork_in_thread(void *argument)
{
    (void)argument;
    pid_t child = fork();
    if (child == 0)
        child_work("thread");
    wait_for(child);
    return NULL;
}

/* Allocates in the child before fork returns there. */
static void at_fork(void)
{
    void *block = keep(malloc(777));
    say_alloc(ALLOC_MALLOC, block, 777);
    say_free(ALLOC_FREE, block);
    free(block);
}

static int forks(void)
{
    pthread_atfork(NULL, NULL, at_fork);
    void *mine = keep(malloc(1234));
    say_alloc(ALLOC_MALLOC, mine, 1234);
    pid_t child = fork();
    if (child == 0) {
        pid_t grandchild = fork();
        if (grandchild == 0)
            child_work("grandchild");
        wait_for(grandchild);
        /* The parent's block is the child's too. */
        say_free(ALLOC_FREE, mine);
        free(mine);
        child_work("fork");
    }
    wait_for(child);
    child = _Fork();
    if (child == 0)
        child_work("_Fork");
    wait_for(child);
    child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (child == 0)
        child_work("clone");
    wait_for(child);
    pthread_t thread;
    pthread_create(&thread, NULL, fork_in_thread, NULL);
    pthread_join(thread, NULL);
    say_free(ALLOC_FREE, mine);
    free(mine);
    say("children 5\n");
    return 0;
}

static volatile bool storm_over;

static void *allocate_on(void *argument)
{
    while (!storm_over) {
        void *blocks[16];
        for (unsigned i = 0; i < 16; i++)
            blocks[i] = keep(malloc(i * 50 + 1));
        for (unsigned i = 0; i < 16; i++)
            free(blocks[i]);
    }
    return argument;
}

/* Forks while other threads allocate, name themselves, load libraries. */
static int fork_storm(void)
{
    pthread_t threads[3];
    for (unsigned i = 0; i < 3; i++)
        MUST(pthread_create(&threads[i], NULL, allocate_on, NULL) == 0);
    for (unsigned i = 0; i < 20; i++) {
        pid_t child = fork();
        if (child == 0) {
            pthread_t one;
            storm_over = true;
            MUST(pthread_create(&one, NULL, allocate_on, NULL) == 0);
            pthread_join(one, NULL);
            child_work("storm");
        }
        wait_for(child);
    }
    storm_over = true;
    for (unsigned i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

static int execs(const char *self)
{
    char *const arguments[] = {(char *)self, "child", NULL};
    pid_t child = vfork();
    if (child == 0) {
        execv(self, arguments);
        _exit(1);
    }
    wait_for(child);
    MUST(posix_spawn(&child, self, NULL, NULL, arguments, environ) == 0);
    wait_for(child);
    char *const nothing[] = {NULL};
    for (unsigned way = 0; way < 5; way++) {
        child = fork();
        if (child == 0) {
            MUST(execv("/nonexistent", arguments) == -1 && errno == ENOENT);
            MUST(execlp("no such program", "x", NULL) == -1 && errno == ENOENT);
            way == 0   ? execv(self, arguments)
            : way == 1 ? execl(self, self, "child", NULL)
            : way == 2 ? execlp(self, self, "child", NULL)
            : way == 3 ? execle(self, self, "child", NULL, environ)
                       : execve(self, arguments, nothing); /* nobody can follow this one */
            _exit(1);
        }
        wait_for(child);
    }
    return 0;
}

static int waits(void)
{
    sigset_t all;
    siginfo_t info;
    int got;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    struct timespec none = {0}, short_while = {.tv_nsec = 5000000};
    /* Long enough on the processor for ticks to come and stay pending. */
    for (volatile unsigned i = 0; i < 1000000; i++)
        ;
    MUST(sigtimedwait(&all, &info, &none) == -1 && errno == EAGAIN);
    MUST(sigtimedwait(&all, NULL, &short_while) == -1 && errno == EAGAIN);
    raise(SIGUSR1);
    MUST(sigtimedwait(&all, &info, &short_while) == SIGUSR1 && info.si_signo == SIGUSR1);
    raise(SIGUSR2);
    MUST(sigwaitinfo(&all, &info) == SIGUSR2 && info.si_pid == getpid());
    raise(SIGUSR1);
    errno = 77;
    MUST(sigwait(&all, &got) == 0 && got == SIGUSR1 && errno == 77);
    int fd = signalfd(-1, &all, SFD_NONBLOCK | SFD_CLOEXEC);
    struct signalfd_siginfo read_info;
    MUST(fd >= 0);
    for (volatile unsigned i = 0; i < 1000000; i++)
        ;
    MUST(read(fd, &read_info, sizeof read_info) == -1 && errno == EAGAIN);
    raise(SIGUSR1);
    MUST(read(fd, &read_info, sizeof read_info) == sizeof read_info && read_info.ssi_signo == SIGUSR1);
    return 0;
}

static int environment(void)
{
    const char *preload = getenv("LD_PRELOAD"), *region = getenv("NUMALENS_REGION");
    say("environment %s %s\n", preload ? preload : "-", region ? "region" : "-");
    return 0;
}

static int closed(void)
{
    for (int fd = 3; fd < 4096; fd++)
        MUST(close(fd) == -1 && errno == EBADF); /* the agent left none open */
    close(0);
    return heap();
}

/* A long row of records. */
static int flood(void)
{
    for (unsigned i = 0; i < 20000; i++)
        free(keep(malloc(i % 100 + 1)));
    return 0;
}

static int plugin(void)
{
    void *first = dlopen("libtarget_plugin.so", RTLD_NOW); /* on the path of this program only */
    MUST(first);
    void *(*block)(size_t) = (void *(*)(size_t))dlsym(first, "plugin_block");
    MUST(block);
    void *got = keep(block(876));
    say_alloc(ALLOC_MALLOC, got, 876);
    say_free(ALLOC_FREE, got);
    free(got);
    MUST(dlclose(first) == 0);
    /* Brings the C++ library along, and keeps it to itself. */
    void *second = dlopen("libtarget_plugin_cxx.so", RTLD_NOW | RTLD_LOCAL);
    MUST(second);
    int (*exercise)(void) = (int (*)(void))dlsym(second, "plugin_exercise");
    MUST(exercise && exercise() == 0);
    MUST(dlclose(second) == 0);
    return 0;
}

static int signals(void)
{
    struct sigaction action = {.sa_handler = SIG_IGN}, old;
    MUST(sigaction(SIGUSR1, &action, NULL) == 0 && sigaction(SIGUSR1, NULL, &old) == 0 && old.sa_handler == SIG_IGN);
    MUST(signal(SIGUSR1, SIG_DFL) == SIG_IGN && signal(SIGUSR1, SIG_IGN) == SIG_DFL);
    MUST(sigset(SIGUSR2, SIG_HOLD) == SIG_DFL && sigset(SIGUSR2, SIG_IGN) == SIG_HOLD);
    MUST(sigignore(SIGUSR1) == 0 && siginterrupt(SIGUSR1, 1) == 0);
    MUST(sysv_signal(SIGUSR1, SIG_DFL) == SIG_IGN);
    MUST(signal(-1, SIG_DFL) == SIG_ERR && errno == EINVAL);
    MUST(sigaction(12345, &action, NULL) == -1 && errno == EINVAL);
    return 0;
}

/* What the program writes to errno while it is stepped is what it reads. */
static int keeps_errno(void)
{
    for (volatile int i = 1; i < 200000; i++) {
        errno = i;
        MUST(errno == i);
    }
    return 0;
}

static int quick(const char *how)
{
    void *block = keep(malloc(99));
    say_alloc(ALLOC_MALLOC, block, 99);
    if (strcmp(how, "_exit") == 0)
        _exit(3);
    if (strcmp(how, "abort") == 0)
        abort();
    if (strcmp(how, "kill") == 0)
        kill(getpid(), SIGKILL);
    quick_exit(3);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "library") == 0) {
        say_alloc(ALLOC_MALLOC, library_block(), 555);
        say_free(ALLOC_FREE, library_block()); /* by its destructor */
        return 0;
    }
    if (strcmp(what, "child") == 0) {
        say("child %d %d exec\n", WHO);
        return environment();
    }
    return strcmp(what, "heap") == 0          ? heap()
           : strcmp(what, "maps") == 0        ? maps()
           : strcmp(what, "threads") == 0     ? thread_many()
           : strcmp(what, "crowd") == 0       ? thread_crowd()
           : strcmp(what, "forks") == 0       ? forks()
           : strcmp(what, "storm") == 0       ? fork_storm()
           : strcmp(what, "execs") == 0       ? execs(argv[0])
           : strcmp(what, "environment") == 0 ? environment()
           : strcmp(what, "closed") == 0      ? closed()
           : strcmp(what, "flood") == 0       ? flood()
           : strcmp(what, "plugin") == 0      ? plugin()
           : strcmp(what, "signals") == 0     ? signals()
           : strcmp(what, "waits") == 0       ? waits()
           : strcmp(what, "errno") == 0       ? keeps_errno()
           : strcmp(what, "quick") == 0       ? quick(argv[2])
                                              : 97;
}
