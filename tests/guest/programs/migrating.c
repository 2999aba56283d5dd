/* migrating.c - arrays that a migrating tool should move, or leave alone; run where there are four nodes.
 *     far          made on node 0, used from node 3
 *     follow       likewise, and half-way the thread moves on to node 1
 *     fight        one page, used by threads on nodes 1 and 2 that take turns
 *     bound        made on node 0 and bound there, used from node 3
 *     twins        shared memory that a child process has too, made on node 0, used from node 3
 *     huge         as far, in one huge page
 *     scattered    as far, in huge pages, and used here and there instead of in order
 *     halves       as scattered, and its second half is used by a thread on node 1
 *     mix          as scattered, and all of it is read by threads on nodes 1 and 3
 *     full         as far, while node 3 is filled up
 *     dies         as far; unmaps its array half-way, then kills itself
 *     execs        as far, then executes itself again as far
 *     stops        as far; stops itself half-way, until a child wakes it
 *     as UID COMMAND...   runs COMMAND as that user
 * With LINGER in the environment it goes on reading, once its sum is known, until the pages are where they should be,
 * at most for so many seconds; where they should stay, for just as long. With READY it makes that file when the array
 * is filled; with UNTIL it goes on writing until that file is there, and with THERE makes that one once 15 of 16 pages
 * are on node 3.
 * Prints a sum that depends on nothing but its arguments, then on which nodes the pages are. */
#include <errno.h>
#include <linux/mempolicy.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, HUGE = 2 << 20, NODES = 4, TURNS = 40 };

static size_t pages = 64;
static long rounds = 3000;
static long *array;
static size_t words;

static void need(int good, const char *what)
{
    if (!good) {
        printf("%s: %s\n", what, strerror(errno));
        exit(1);
    }
}

/* CPUs and nodes are the same in the guest. */
static void go_to(int node)
{
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(node, &cpus);
    need(sched_setaffinity(0, sizeof cpus, &cpus) == 0, "sched_setaffinity");
}

static void make(int flags)
{
    size_t bytes = pages * PAGE;
    char *memory = mmap(NULL, bytes + HUGE, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
    need(memory != MAP_FAILED, "mmap");
    memory = (char *)(((unsigned long)memory + HUGE - 1) & ~(unsigned long)(HUGE - 1));
    array = (long *)memory;
    words = bytes / sizeof *array;
}

static void fill(void)
{
    go_to(0);
    for (size_t i = 0; i < words; i++)
        array[i] = (long)(i * 2654435761u);
}

/* One access for each page, times `rounds`, anywhere between two pages of the array. */
static long use_scattered(size_t from, size_t end)
{
    long total = 0;
    uint64_t state = from + 1;
    for (long i = 0; i < rounds * (long)pages; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        size_t at = (from + (state >> 20) % (end - from)) * (PAGE / sizeof *array) + (state >> 10) % 512;
        total += array[at] ^ i;
        array[at] = total;
    }
    return total;
}

static long read_scattered(size_t from, size_t end, long accesses)
{
    long total = 0;
    uint64_t state = from + end;
    for (long i = 0; i < accesses; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        total += array[(from + (state >> 20) % (end - from)) * (PAGE / sizeof *array) + (state >> 10) % 512];
    }
    return total;
}

/* Strides over lines, not words: emulation is slow, and a page is a page. */
static long use(long first, long last)
{
    long total = 0;
    for (long round = first; round < last; round++)
        for (size_t i = (size_t)round % 8; i < words; i += 8) {
            total += array[i] ^ round;
            array[i] = total;
        }
    return total;
}

static long read_only(long first, long last)
{
    long total = 0;
    for (long round = first; round < last; round++)
        for (size_t i = (size_t)round % 8; i < words; i += 8)
            total += ((volatile long *)array)[i] ^ round;
    return total;
}

static void count_range(size_t from, size_t end, unsigned *count)
{
    enum { ASKED = 512 };
    while (from < end) {
        void *list[ASKED];
        int status[ASKED];
        size_t asked = 0;
        for (; asked < ASKED && from < end; asked++)
            list[asked] = (char *)array + from++ * PAGE;
        need(syscall(SYS_move_pages, 0, asked, list, NULL, status, 0) == 0, "move_pages");
        for (size_t i = 0; i < asked; i++)
            count[status[i] >= 0 && status[i] < NODES ? status[i] : NODES]++;
    }
}

static void count_pages(unsigned *count)
{
    count_range(0, pages, count);
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

enum { STAY = -1 };

/* Reads on until all pages have been there for a second: five intervals. */
static void linger(int node)
{
    double start = seconds(), since = 0, most = getenv("LINGER") ? atof(getenv("LINGER")) : 0;
    while (seconds() - start < most) {
        unsigned count[NODES + 1] = {0};
        volatile long sum = read_only(0, 1 + 16000 / (long)pages);
        (void)sum;
        if (node == STAY)
            continue;
        count_pages(count);
        if (count[node] != pages)
            since = 0;
        else if (since == 0)
            since = seconds();
        else if (seconds() - since >= 1)
            return;
    }
}

/* Likewise of a part, which no other thread that lingers uses. */
static void linger_scattered(int node, size_t from, size_t end)
{
    double start = seconds(), since = 0, most = getenv("LINGER") ? atof(getenv("LINGER")) : 0;
    while (seconds() - start < most && (since == 0 || seconds() - since < 1)) {
        unsigned count[NODES + 1] = {0};
        volatile long sum = read_scattered(from, end, 100000);
        (void)sum;
        if (node == STAY)
            continue;
        count_range(from, end, count);
        since = count[node] < end - from ? 0 : since == 0 ? seconds() : since;
    }
}

static void report(void)
{
    unsigned count[NODES + 1] = {0};
    count_pages(count);
    printf("pages %u %u %u %u\n", count[0], count[1], count[2], count[3]);
}

/* --- threads --- */

struct worker {
    pthread_t thread;
    int node;
    long total;
};

static _Atomic long turn;

static void *fight(void *argument)
{
    struct worker *worker = argument;
    go_to(worker->node);
    for (long i = 0; i < TURNS; i++) {
        while (atomic_load(&turn) % 2 != worker->node % 2)
            sched_yield();
        worker->total += use(rounds / TURNS * i, rounds / TURNS * (i + 1));
        atomic_fetch_add(&turn, 1);
    }
    return NULL;
}

static void *use_half(void *argument)
{
    struct worker *worker = argument;
    go_to(worker->node);
    size_t from = worker->node == 1 ? pages / 2 : 0;
    worker->total = use_scattered(from, from + pages / 2);
    linger_scattered(worker->node, from, from + pages / 2);
    return NULL;
}

static void *read_all(void *argument)
{
    struct worker *worker = argument;
    go_to(worker->node);
    worker->total = read_scattered(0, pages, rounds * (long)pages);
    linger_scattered(STAY, 0, pages);
    return NULL;
}

static long run_threads(void *(*body)(void *), int first, int last)
{
    struct worker workers[NODES];
    long total = 0;
    for (int node = first; node <= last; node++) {
        workers[node] = (struct worker){.node = node};
        need(pthread_create(&workers[node].thread, NULL, body, &workers[node]) == 0, "pthread_create");
    }
    for (int node = first; node <= last; node++) {
        pthread_join(workers[node].thread, NULL);
        total += workers[node].total;
    }
    return total;
}

/* --- what else can happen --- */

static void bind_to_node_0(void)
{
    unsigned long nodes = 1;
    need(syscall(SYS_mbind, array, (unsigned long)(pages * PAGE), MPOL_BIND, &nodes, 8 * sizeof nodes, 0) == 0,
         "mbind");
}

/* A child that has touched the same pages and waits for the end of its parent. */
static pid_t twin(int *pipe_end)
{
    int ends[2], ready[2];
    char byte = 0;
    need(pipe(ends) == 0 && pipe(ready) == 0, "pipe");
    pid_t child = fork();
    need(child >= 0, "fork");
    if (child == 0) {
        close(ends[1]);
        volatile long sum = read_only(0, 1) + read_only(1, 2);
        (void)sum;
        byte = write(ready[1], &byte, 1) == 1;
        _exit(read(ends[0], &byte, 1) == 0 ? 0 : 1);
    }
    close(ends[0]);
    need(read(ready[0], &byte, 1) == 1, "read");
    *pipe_end = ends[1];
    return child;
}

/* Takes node 3's memory, in huge pages or small ones, until a piece comes from elsewhere. */
static void take_of_node_3(bool huge)
{
    unsigned long nodes = 1 << 3;
    for (unsigned i = 0; i < 1024; i++) {
        char *memory = mmap(NULL, 2 * HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        int status = -1;
        need(memory != MAP_FAILED, "mmap");
        memory = (char *)(((unsigned long)memory + HUGE - 1) & ~(unsigned long)(HUGE - 1));
        need(!huge || madvise(memory, HUGE, MADV_HUGEPAGE) == 0, "madvise");
        /* preferred: what does not fit comes from elsewhere and says that it is full */
        need(syscall(SYS_mbind, memory, (unsigned long)HUGE, MPOL_PREFERRED, &nodes, 8 * sizeof nodes, 0) == 0,
             "mbind");
        memset(memory, 1, HUGE);
        void *last = memory + HUGE - PAGE;
        need(syscall(SYS_move_pages, 0, 1ul, &last, NULL, &status, 0) == 0, "move_pages");
        if (status != 3)
            return;
    }
}

/* A fault for each small page takes long: they are for what huge ones leave. */
static void fill_node_3(void)
{
    take_of_node_3(true);
    take_of_node_3(false);
}

static void stop_for_a_while(void)
{
    pid_t parent = getpid(), child = fork();
    need(child >= 0, "fork");
    if (child == 0) {
        usleep(1500000);
        kill(parent, SIGCONT);
        _exit(0);
    }
    raise(SIGSTOP);
    waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "far";
    if (strcmp(how, "as") == 0 && argc > 3) {
        need(setgid((gid_t)atol(argv[2])) == 0 && setuid((uid_t)atol(argv[2])) == 0, "setuid");
        execv(argv[3], argv + 3);
        need(0, argv[3]);
    }
    if (argc > 2)
        rounds = atol(argv[2]);
    if (argc > 3)
        pages = (size_t)atol(argv[3]);
    long total = 0;
    if (strcmp(how, "fight") == 0)
        pages = 1;
    if (strcmp(how, "huge") == 0)
        pages = HUGE / PAGE;
    make(strcmp(how, "twins") == 0 ? MAP_SHARED : MAP_PRIVATE);
    bool scattered = strcmp(how, "scattered") == 0, halves = strcmp(how, "halves") == 0, mix = strcmp(how, "mix") == 0;
    if (strcmp(how, "huge") == 0 || scattered || halves || mix)
        need(madvise(array, pages * PAGE, MADV_HUGEPAGE) == 0, "madvise");
    if (strcmp(how, "bound") == 0)
        bind_to_node_0();
    fill();
    if (getenv("READY"))
        fclose(fopen(getenv("READY"), "w"));
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (strcmp(how, "fight") == 0) {
        total = run_threads(fight, 1, 2);
    } else if (scattered) {
        go_to(3);
        total = use_scattered(0, pages);
        linger_scattered(3, 0, pages);
    } else if (halves || mix) {
        struct worker workers[] = {{.node = 1}, {.node = 3}};
        for (int i = 0; i < 2; i++)
            need(pthread_create(&workers[i].thread, NULL, mix ? read_all : use_half, &workers[i]) == 0,
                 "pthread_create");
        for (int i = 0; i < 2; i++) {
            pthread_join(workers[i].thread, NULL);
            total += workers[i].total;
        }
    } else if (strcmp(how, "twins") == 0) {
        int end;
        pid_t child = twin(&end);
        go_to(3);
        total = use(0, rounds);
        linger(STAY);
        report();
        close(end);
        int status = -1;
        waitpid(child, &status, 0);
        need(status == 0, "the other process ended before it was to");
    } else {
        if (strcmp(how, "full") == 0)
            fill_node_3();
        go_to(3);
        total = use(0, rounds / 2);
        if (strcmp(how, "follow") == 0) {
            linger(3);
            go_to(1);
        }
        if (strcmp(how, "stops") == 0)
            stop_for_a_while();
        if (strcmp(how, "dies") == 0) {
            munmap(array, pages * PAGE);
            make(MAP_PRIVATE);
            fill();
            go_to(3);
            total = use(0, rounds / 4);
            printf("total %ld\n", total);
            raise(SIGKILL);
        }
        total += use(rounds / 2, rounds);
        if (strcmp(how, "bound") == 0 || strcmp(how, "full") == 0)
            linger(STAY);
        else
            linger(strcmp(how, "follow") == 0 ? 1 : 3);
    }
    while (getenv("UNTIL") && access(getenv("UNTIL"), F_OK) != 0) {
        unsigned count[NODES + 1] = {0};
        use(0, 100);
        count_pages(count);
        if (getenv("THERE") && count[3] >= pages - pages / 16)
            fclose(fopen(getenv("THERE"), "w"));
    }
    printf("total %ld\n", total);
    report();
    if (strcmp(how, "execs") == 0) {
        execv("/proc/self/exe",
              (char *[]){argv[0], "far", argc > 2 ? argv[2] : "3000", argc > 3 ? argv[3] : NULL, NULL});
        need(0, "execv");
    }
    return 0;
}
