/* Memory of every kind that a plan can place, touched by one thread; then the kernel is asked where each page is. A line for each:
 * NAME and the pages on nodes 0 to 3, then for `split` the nodes in order of address.
 *
 *     placed FILE [OUTPUT]    FILE is mapped; the lines, and kernel.numa_balancing before them, go to the end of OUTPUT
 *     placed --threads        the nodes that its threads and those of a child run on
 *     placed --file FILE      all of FILE is mapped and read; the lines of its mappings in /proc/self/numa_maps
 *     placed --refused WORDS  runs a command whose memory policies the kernel refuses, as in a container, and asks in its place */
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* A site of its own: not inlined, and no jump in place of the call. */
#define SITE(name, call, ...)                                                                                          \
    static __attribute__((noinline, noclone, no_icf)) char *name(__VA_ARGS__)                                          \
    {                                                                                                                  \
        char *block = call;                                                                                            \
        __asm__ volatile("" : "+r"(block));                                                                            \
        return block;                                                                                                  \
    }
enum {
    PAGE = 4096,
    BIG = 4 << 20,
    SMALL = 100,
    SMALLS = 4000,
    NODES = 4,
    ASKED = BIG / PAGE,
    QUESTION = 198,
    ANSWER = 199
};

char in_bss[BIG];
char in_data[BIG] = {1};

struct question {
    int pid;
    unsigned count;
    void *pages[ASKED];
};

static void ask_kernel(const struct question *question, int *nodes)
{
    if (syscall(SYS_move_pages, question->pid, (unsigned long)question->count, question->pages, NULL, nodes, 0) < 0)
        memset(nodes, 0xff, question->count * sizeof *nodes);
}

/* Of an observer that may, when there is one. */
static void ask(const struct question *question, int *nodes)
{
    if (fcntl(QUESTION, F_GETFD) < 0) {
        ask_kernel(question, nodes);
        return;
    }
    size_t size = question->count * sizeof *nodes;
    if (write(QUESTION, question, sizeof *question) != sizeof *question || read(ANSWER, nodes, size) != (ssize_t)size)
        exit(3);
}

static void print_nodes(const char *name, void *const *pages, unsigned count)
{
    static struct question question;
    static int nodes[ASKED];
    unsigned on[NODES] = {0}, elsewhere = 0;
    question.pid = getpid();
    question.count = count;
    memcpy(question.pages, pages, count * sizeof *pages);
    ask(&question, nodes);
    for (unsigned i = 0; i < count; i++) {
        if (nodes[i] >= 0 && nodes[i] < NODES)
            on[nodes[i]]++;
        else
            elsewhere++;
    }
    printf("%s %u %u %u %u %u", name, on[0], on[1], on[2], on[3], elsewhere);
    for (unsigned i = 0; i < 16; i++)
        printf(" %d", nodes[i * count / 16]);
    putchar('\n');
}

/* Without its first and last page, which others may share. */
static void print_range(const char *name, char *start, size_t size)
{
    static void *pages[ASKED];
    unsigned count = 0;
    char *first = (char *)(((uintptr_t)start + PAGE - 1) & ~(uintptr_t)(PAGE - 1));
    for (char *page = first; page + PAGE <= start + size && count < ASKED; page += PAGE)
        pages[count++] = page;
    print_nodes(name, pages, count);
}

static void touch(char *start, size_t size)
{
    for (size_t at = 0; at < size; at += 64)
        ((volatile char *)start)[at] = (char)at;
}

SITE(bound_block, malloc(BIG), void)
SITE(spread_block, calloc(BIG, 1), void)
SITE(split_block, aligned_alloc(PAGE, BIG), void)
SITE(weighted_block, malloc(BIG), void)
SITE(grown_block, realloc(old, BIG), char *old)
SITE(small_block, malloc(SMALL), void)
SITE(local_block, malloc(SMALL), void)
SITE(helper, malloc(size), size_t size)
SITE(left_caller, helper(BIG), void)
SITE(right_caller, helper(BIG), void)
SITE(unplaced_block, malloc(BIG), void)
SITE(mapped_block, mmap(NULL, BIG, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), void)

static void *shared(int fd)
{
    if (fd < 0 || ftruncate(fd, BIG) < 0)
        return NULL;
    void *mapped = mmap(NULL, BIG, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return mapped == MAP_FAILED ? NULL : mapped;
}

static void show(const char *name, char *block)
{
    if (!block)
        exit(2);
    touch(block, BIG);
    print_range(name, block, BIG);
}

static void show_smalls(const char *name, char *(*allocate)(void))
{
    static void *blocks[SMALLS];
    static void *pages[ASKED];
    unsigned count = 0;
    for (unsigned i = 0; i < SMALLS; i++) {
        blocks[i] = allocate();
        memset(blocks[i], (int)i, SMALL);
        void *page = (void *)((uintptr_t)blocks[i] & ~(uintptr_t)(PAGE - 1));
        if (count == 0 || pages[count - 1] != page)
            count += count < ASKED ? (pages[count] = page, 1) : 0;
    }
    for (unsigned i = 0; i < SMALLS; i++) {
        for (unsigned k = 0; k < SMALL; k++)
            if (((unsigned char *)blocks[i])[k] != (unsigned char)i)
                exit(4);
        free(blocks[i]);
    }
    print_nodes(name, pages, count);
}

static __attribute__((noinline)) void *worker(void *name)
{
    unsigned cpu, node;
    syscall(SYS_getcpu, &cpu, &node, NULL);
    printf("%s %u\n", (char *)name, node);
    show_smalls("local", local_block);
    return NULL;
}

static __attribute__((noinline)) void *other_worker(void *name)
{
    char on_stack[1 << 20];
    unsigned cpu, node;
    touch(on_stack, sizeof on_stack);
    print_range("stack", on_stack, sizeof on_stack);
    syscall(SYS_getcpu, &cpu, &node, NULL);
    printf("%s %u\n", (char *)name, node);
    return NULL;
}

static void in_thread(void *(*routine)(void *), const char *name)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, routine, (void *)name) == 0)
        pthread_join(thread, NULL);
}

static __attribute__((noinline)) void *show_node(void *name)
{
    unsigned cpu, node;
    syscall(SYS_getcpu, &cpu, &node, NULL);
    printf("%s %u\n", (char *)name, node);
    return NULL;
}

static int show_threads(void)
{
    int status = 1;
    show_node("main");
    for (int i = 0; i < 4; i++)
        in_thread(show_node, "thread");
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        show_node("child");
        in_thread(show_node, "child-thread");
        exit(0);
    }
    return waitpid(child, &status, 0) == child && status == 0 ? 0 : 9;
}

static int show_file(const char *path)
{
    struct stat file;
    char line[4096];
    int fd = open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &file) < 0)
        return 10;
    char *mapped = mmap(NULL, (size_t)file.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (mapped == MAP_FAILED)
        return 11;
    for (off_t at = 0; at < file.st_size; at += PAGE)
        (void)((volatile char *)mapped)[at];
    FILE *maps = fopen("/proc/self/numa_maps", "r");
    if (!maps)
        return 12;
    while (fgets(line, sizeof line, maps))
        if (strstr(line, path))
            fputs(line, stdout);
    fclose(maps);
    return 0;
}

static void refuse_policies(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mbind, 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_set_mempolicy, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_get_mempolicy, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_move_pages, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1 /* EPERM */),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        exit(5);
}

static int observe(char **words)
{
    int asked[2], answered[2], status = 0;
    static struct question question;
    static int nodes[ASKED];
    if (pipe(asked) < 0 || pipe(answered) < 0)
        return 6;
    pid_t child = fork();
    if (child == 0) {
        dup2(asked[1], QUESTION);
        dup2(answered[0], ANSWER);
        close(asked[0]);
        close(asked[1]);
        close(answered[0]);
        close(answered[1]);
        refuse_policies();
        execvp(words[0], words);
        _exit(127);
    }
    close(asked[1]);
    close(answered[0]);
    for (size_t got = 0;;) {
        ssize_t more = read(asked[0], (char *)&question + got, sizeof question - got);
        if (more <= 0)
            break;
        if ((got += (size_t)more) < sizeof question)
            continue;
        got = 0;
        ask_kernel(&question, nodes);
        if (write(answered[1], nodes, question.count * sizeof *nodes) < 0)
            break;
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 7;
}

int main(int count, char **words)
{
    if (count > 2 && strcmp(words[1], "--refused") == 0)
        return observe(words + 2);
    if (count > 1 && strcmp(words[1], "--threads") == 0)
        return show_threads();
    if (count > 2 && strcmp(words[1], "--file") == 0)
        return show_file(words[2]);
    if (count > 2) {
        int mode = -1;
        FILE *balancing = fopen("/proc/sys/kernel/numa_balancing", "r");
        if (!balancing || fscanf(balancing, "%d", &mode) != 1 || !freopen(words[2], "a", stdout))
            return 8;
        printf("balancing %d\n", mode);
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    touch(in_bss, BIG);
    print_range("bss", in_bss, BIG);
    touch(in_data, BIG);
    print_range("data", in_data, BIG);
    show("bound", bound_block());
    show("spread", spread_block());
    show("split", split_block());
    show("weighted", weighted_block());
    show("grown", grown_block(malloc(10)));
    show("left", left_caller());
    show("right", right_caller());
    show("unplaced", unplaced_block());
    show("mapped", mapped_block());
    show_smalls("small", small_block);
    show_smalls("small-again", small_block);
    show("memfd", shared(memfd_create("buffers", 0)));
    int id = shmget(0x1234, BIG, IPC_CREAT | 0600);
    char *segment = id < 0 ? NULL : shmat(id, NULL, 0);
    shmctl(id, IPC_RMID, NULL);
    show("sysv", segment);
    int fd = open(words[1], O_RDONLY);
    char *file = mmap(NULL, BIG, PROT_READ, MAP_SHARED, fd, 0);
    unsigned sum = 0;
    for (size_t at = 0; at < BIG; at += 64)
        sum += (unsigned char)((volatile char *)file)[at];
    print_range("file", file, BIG);
    in_thread(worker, "worker");
    in_thread(worker, "worker");
    in_thread(other_worker, "other");
    printf("sum %u\n", sum);
    return 0;
}
