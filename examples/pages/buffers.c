/* What a mechanism that takes pages' rights away could break: system calls with large buffers in such memory, children
 * by fork with memory of their own and shared, exec, mappings that come and go while other threads write, shared memory
 * and files. Prints sums that are the same in every run. It also has --pressure=MIB (32) of memory given back and taken
 * again; everything else is pieces of --kib=KIB (4096). */
#include "../example.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, ROUNDS = 20 };

static size_t bytes; /* of each piece of memory: --kib */

static uint64_t sum(const unsigned char *from, size_t count)
{
    uint64_t result = 0;
    for (size_t i = 0; i < count; i++)
        result = result * 31 + from[i];
    return result;
}

static unsigned char *map(int flags)
{
    unsigned char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
    example_need(memory != MAP_FAILED, "mmap");
    return memory;
}

static void rest(void)
{
    nanosleep(&(struct timespec){0, 7000000}, NULL); /* for intervals to pass: what follows meets armed pages */
}

/* The kernel writes and reads buffers that are armed. */
static uint64_t system_calls(void)
{
    unsigned char *from = map(MAP_PRIVATE), *to = map(MAP_PRIVATE);
    uint64_t result = 0;
    int file = memfd_create("buffers", 0), pair[2];
    example_need(file >= 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0, "memfd_create");
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < bytes; i += 64)
            from[i] = (unsigned char)(i / 64 + round);
        rest();
        example_need(pwrite(file, from, bytes, 0) == (ssize_t)bytes, "pwrite");
        rest();
        example_need(pread(file, to, bytes, 0) == (ssize_t)bytes, "pread");
        struct iovec out = {from, 1 << 16}, in = {to, 1 << 16};
        example_need(writev(pair[0], &out, 1) == 1 << 16 && readv(pair[1], &in, 1) == 1 << 16, "writev");
        result += sum(to, bytes);
    }
    close(file);
    close(pair[0]);
    close(pair[1]);
    munmap(from, bytes);
    munmap(to, bytes);
    return result;
}

static uint64_t children(void)
{
    unsigned char *own = map(MAP_PRIVATE), *shared = map(MAP_SHARED);
    memset(own, 7, bytes);
    for (unsigned child = 0; child < 4; child++) {
        fflush(stdout);
        pid_t pid = fork();
        example_need(pid >= 0, "fork");
        if (pid == 0) {
            for (size_t i = child * PAGE; i < bytes; i += 4 * PAGE) {
                own[i] = (unsigned char)child;
                shared[i] = (unsigned char)(own[i] + own[i + 1]);
            }
            rest();
            _exit(own[(child + 1) % 4 * PAGE] == 7 ? 0 : 1);
        }
        for (size_t i = 0; i < bytes; i += PAGE)
            own[i + 1]++;
        int status;
        example_need(waitpid(pid, &status, 0) == pid && status == 0, "a child");
    }
    return sum(own, bytes) + sum(shared, bytes);
}

static unsigned char *stage;

static void *come_and_go(void *unused)
{
    (void)unused;
    for (unsigned round = 0; round < bytes >> 13; round++) {
        unsigned char *memory = mmap(NULL, 64 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        example_need(memory != MAP_FAILED, "mmap");
        for (size_t i = 0; i < 64 * PAGE; i += PAGE)
            memory[i] = (unsigned char)round;
        unsigned char *moved = mremap(memory, 64 * PAGE, 128 * PAGE, MREMAP_MAYMOVE);
        example_need(moved != MAP_FAILED, "mremap");
        example_need(moved[63 * PAGE] == (unsigned char)round && moved[64 * PAGE] == 0, "moved memory");
        madvise(moved, 32 * PAGE, MADV_DONTNEED);
        example_need(moved[0] == 0 && moved[32 * PAGE] == (unsigned char)round, "memory given back");
        mprotect(moved, PAGE, PROT_READ);
        munmap(moved, 128 * PAGE);
    }
    return NULL;
}

static void *write_on(void *argument)
{
    size_t first = (size_t)(uintptr_t)argument;
    for (unsigned round = 0; round < bytes >> 14; round++)
        for (size_t i = first * PAGE; i < bytes; i += 2 * PAGE)
            stage[i]++;
    return NULL;
}

static uint64_t races(void)
{
    stage = map(MAP_PRIVATE);
    pthread_t threads[4] = {example_thread(come_and_go, NULL), example_thread(come_and_go, NULL),
                            example_thread(write_on, (void *)0), example_thread(write_on, (void *)1)};
    for (unsigned i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    return sum(stage, bytes);
}

/* Memory is taken from the program and must come back as it was: anonymous memory where there is swap, a file's always. */
static uint64_t press(unsigned char *memory, size_t size)
{
    uint64_t result = 0;
    for (size_t i = 0; i < size; i += PAGE)
        memory[i] = (unsigned char)(i / PAGE);
    msync(memory, size, MS_SYNC); /* what is not on disk cannot go */
    madvise(memory, size, MADV_PAGEOUT);
    for (size_t i = 0; i < size; i += PAGE)
        result += memory[i];
    munmap(memory, size);
    return result;
}

static uint64_t pressure(size_t mib)
{
    uint64_t result = 0;
    char path[] = "./pressure-XXXXXX";
    int file = mib ? mkstemp(path) : -1;
    example_need(mib == 0 || (file >= 0 && unlink(path) == 0 && ftruncate(file, (off_t)mib << 20) == 0), "mkstemp");
    for (unsigned round = 0; round < 4 && mib; round++) {
        int flags = round % 2 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
        unsigned char *memory = mmap(NULL, mib << 20, PROT_READ | PROT_WRITE, flags, round % 2 ? file : -1, 0);
        example_need(memory != MAP_FAILED, "mmap");
        result += press(memory, mib << 20);
    }
    if (mib)
        close(file);
    return result;
}

int main(int argc, char **argv)
{
    char kib[32];
    bytes = (size_t)example_option(argc, argv, "kib", 4096) << 10;
    snprintf(kib, sizeof kib, "--kib=%zu", bytes >> 10);
    if (example_flag(argc, argv, "again")) {
        printf("exec: %#lx\n", (unsigned long)children());
        return 0;
    }
    printf("system calls: %#lx\n", (unsigned long)system_calls());
    printf("children: %#lx\n", (unsigned long)children());
    printf("races: %#lx\n", (unsigned long)races());
    printf("pressure: %lu\n", (unsigned long)pressure((size_t)example_option(argc, argv, "pressure", 32)));
    fflush(stdout);
    execl("/proc/self/exe", argv[0], "--again", kib, (char *)NULL);
    return 99;
}
