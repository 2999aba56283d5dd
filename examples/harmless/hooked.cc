/* hooked.cc - an allocator of its own, used in every way that hooks could get wrong. Right: it prints the same with and
 * without hooks, and ends with status 0. What is allocated at a line with the comment "site: NAME" is counted:
 * "count NAME N" says how often.
 *     --alloc-fn own_alloc:size=1 --alloc-fn own_format:size=text --alloc-fn own_zero:count=1,size=2
 *     --alloc-fn own_tail:size=1 --alloc-fn own_many:size=7 --alloc-fn own_throw:size=1
 *     --alloc-fn own_store:out=2,ok=0,size=1 --alloc-fn own_resize:old=1,size=2 --alloc-fn own_jump:size=1
 *     --alloc-fn own_exit:size=1 --alloc-fn own_look:size=1 --alloc-fn plugin_alloc:size=1 --free-fn own_free:ptr=1 */
#include <csetjmp>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <execinfo.h>
#include <initializer_list>
#include <new>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#define STATIC static __attribute__((noinline, noclone))
/* Not static, not inlined, and with the name that it has here. */
#define PUBLIC extern "C" __attribute__((noinline, noclone))

static void need(bool condition, const char *what)
{
    if (condition)
        return;
    printf("wrong: %s\n", what);
    fflush(stdout);
    _exit(99);
}

static void count(const char *name, long times)
{
    printf("count %s %ld\n", name, times);
}

extern "C" {
static void *own_alloc(size_t size) __attribute__((noinline, noclone, used));
static void *own_alloc(size_t size)
{
    void *block = malloc(size + 16);
    return block ? memset(block, 7, size) : NULL;
}

static void own_free(void *block) __attribute__((noinline, noclone, used));
static void own_free(void *block)
{
    free(block);
}
}

/* Ends in a jump to malloc. */
PUBLIC void *own_tail(size_t size)
{
    return malloc(size);
}

PUBLIC void *own_zero(size_t times, size_t size)
{
    void *block = own_alloc(times * size);
    return memset(block, 0, times * size);
}

/* Arguments in registers of both kinds and on the stack. */
PUBLIC char *own_format(const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    char *copy = (char *)own_alloc(strlen(text) + 1);
    return strcpy(copy, text);
}

PUBLIC void *own_many(double x, long a, long b, long c, long d, long e, long f, size_t size, long g, double y)
{
    need(x == 1.5 && a == 1 && b == 2 && c == 3 && d == 4 && e == 5 && f == 6 && g == 8 && y == 2.5, "arguments");
    return malloc(size);
}

PUBLIC void *own_throw(long size)
{
    if (size < 0)
        throw size;
    return malloc((size_t)size);
}

PUBLIC int own_store(size_t size, void **place)
{
    if (size == 0)
        return -1;
    *place = malloc(size);
    return 0;
}

PUBLIC void *own_resize(void *block, size_t size)
{
    return realloc(block, size);
}

static jmp_buf back;

PUBLIC void *own_jump(size_t size)
{
    if (size == 0)
        longjmp(back, 1);
    return malloc(size);
}

/* Something on the stack whose destructor notes that it ran. */
struct tracked {
    long *ended;
    ~tracked()
    {
        ++*ended;
    }
};

STATIC void throwing(long *ended)
{
    tracked guard = {ended};
    void *block = own_throw(-5);
    free(block);
}

STATIC void exceptions(long rounds)
{
    long caught = 0, ended = 0;
    for (long i = 0; i < rounds; i++) {
        try {
            throwing(&ended);
        } catch (long value) {
            caught += value == -5;
        }
        own_free(own_throw(40)); /* site: after_throw */
    }
    need(caught == rounds && ended == rounds, "exceptions");
    count("after_throw", rounds);
}

/* Leaves by longjmp from deep down, then allocates from deeper and from further out. */
STATIC void jump_from(int depth)
{
    char room[256];
    memset(room, depth, sizeof room);
    if (depth)
        jump_from(depth - 1);
    else
        own_jump(0);
    __asm__ volatile("" ::"r"(room) : "memory");
}

STATIC void alloc_from(int depth)
{
    char room[256];
    memset(room, depth, sizeof room);
    if (depth)
        alloc_from(depth - 1);
    else
        own_free(own_alloc(24)); /* site: after_jump */
    __asm__ volatile("" ::"r"(room) : "memory");
}

STATIC void jumps(long rounds)
{
    for (volatile long i = 0; i < rounds; i++) {
        if (setjmp(back) == 0)
            jump_from(4);
        alloc_from(8);
        alloc_from(1);
    }
    count("after_jump", 2 * rounds);
}

static volatile long handled;

static void handler(int)
{
    own_free(own_alloc(32)); /* site: handler */
    handled = handled + 1;
}

STATIC void signals(long rounds)
{
    signal(SIGUSR1, handler);
    for (long i = 0; i < rounds; i++)
        raise(SIGUSR1);
    need(handled == rounds, "signals");
    count("handler", rounds);
}

/* A caller in the same file may know what a static function leaves alone, and keep its values there. */
STATIC long registers(long rounds)
{
    long a = rounds, b = 1, c = 2, d = 3, e = 5, f = 7, g = 11, h = 13;
    double x = 0.5, y = 1.25, z = 3;
    for (long i = 0; i < rounds; i++) {
        char *block = (char *)own_alloc(16); /* site: registers */
        a += b ^ block[3], b += c, c ^= d + i, d += e, e ^= f, f += g, g ^= h, h += a;
        x += y, y = y * 0.75 + z, z += 0.125;
        own_free(block);
    }
    count("registers", rounds);
    return (a ^ b ^ c ^ d ^ e ^ f ^ g ^ h) + (long)(x + y + z);
}

static void *work(void *rounds)
{
    for (long i = 0; i < (long)rounds; i++)
        own_free(own_alloc(48)); /* site: threads */
    return NULL;
}

/* pthread_exit unwinds the stack, through whatever is on it. */
PUBLIC void *own_exit(size_t size)
{
    if (size == 0)
        pthread_exit(NULL);
    return malloc(size);
}

static void *leave(void *ended)
{
    tracked guard = {(long *)ended};
    return own_exit(0);
}

STATIC void threads(long rounds)
{
    pthread_t all[4], last;
    for (int i = 0; i < 4; i++)
        need(pthread_create(&all[i], NULL, work, (void *)rounds) == 0, "pthread_create");
    for (int i = 0; i < 4; i++)
        pthread_join(all[i], NULL);
    long ended = 0;
    need(pthread_create(&last, NULL, leave, &ended) == 0, "pthread_create");
    pthread_join(last, NULL);
    need(ended == 1, "pthread_exit");
    count("threads", 4 * rounds);
}

STATIC void forks(void)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        own_free(own_alloc(56)); /* site: child */
        _exit(0);
    }
    int status;
    need(waitpid(child, &status, 0) == child && status == 0, "fork");
    count("child", 1);
}

STATIC void plugin(const char *path, long rounds)
{
    if (!path)
        return;
    for (int again = 0; again < 2; again++) {
        void *library = dlopen(path, RTLD_NOW);
        need(library, "dlopen");
        void *(*alloc)(size_t) = (void *(*)(size_t))dlsym(library, "plugin_alloc");
        need(alloc, "dlsym");
        for (long i = 0; i < rounds; i++)
            own_free(alloc(72)); /* site: plugin */
        dlclose(library);
    }
    count("plugin", 2 * rounds);
}

/* Whoever walks the stack inside a hooked function sees its callers. */
static int depth_seen;

PUBLIC void *own_look(size_t size)
{
    void *frames[64];
    depth_seen = backtrace(frames, 64);
    return malloc(size);
}

STATIC void chains(long rounds)
{
    void *frames[64];
    int depth = backtrace(frames, 64);
    for (long i = 0; i < rounds; i++) {
        own_free(own_look(8));
        need(depth_seen == depth + 1 || depth_seen == depth + 2, "backtrace"); /* + 2: with the agent's own */
    }
}

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : 1000;
    for (long i = 0; i < rounds; i++) {
        char *text = own_format("%d %s %g %ld %c %g %g %g %g %g %g %g %g %g %d %d %d", 1, "two", 3.0, 4l, '5', 6., 7.,
                                8., 9., 10., 11., 12., 13., 14., 15, 16, 17); /* site: format */
        need(strcmp(text, "1 two 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17") == 0, text);
        own_free(text);
        char *zero = (char *)own_zero(5, 20); /* site: zero */
        need(zero[0] == 0 && zero[99] == 0, "own_zero");
        own_free(zero);
        own_free(own_tail(33));                                /* site: tail */
        own_free(own_many(1.5, 1, 2, 3, 4, 5, 6, 64, 8, 2.5)); /* site: many */
        void *place = NULL;
        need(own_store(0, &place) == -1 && own_store(80, &place) == 0, "own_store"); /* site: store */
        place = own_resize(place, 160);                                              /* site: resize */
        own_free(place);
    }
    for (const char *name : {"format", "zero", "tail", "many", "store", "resize"})
        count(name, rounds);
    exceptions(rounds);
    jumps(rounds);
    signals(rounds);
    printf("registers %ld\n", registers(rounds));
    threads(rounds);
    forks();
    chains(rounds);
    plugin(argc > 2 ? argv[2] : NULL, rounds);
    return 0;
}
