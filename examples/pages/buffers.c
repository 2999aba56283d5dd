/* What a mechanism that takes pages' rights away could break: system calls with large buffers in such memory, children
 * by fork with memory of their own and shared, exec, mappings that come and go while other threads write, shared memory
 * and files. Prints sums that are the same in every run. With --pressure=MIB it also has so much memory given back and
 * taken again. */
#include "../example.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BYTES = 4 << 20, PAGE = 4096, ROUNDS = 20 };

static uint64_t sum(const unsigned char *bytes, size_t count)
{
    uint64_t result = 0;
    for (size_t i = 0; i < count; i++)
        result = result * 31 + bytes[i];
    return result;
}

static unsigned char *map(int flags)
{
    unsigned char *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
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
        for (size_t i = 0; i < BYTES; i += 64)
            from[i] = (unsigned char)(i / 64 + round);
        rest();
        example_need(pwrite(file, from, BYTES, 0) == BYTES, "pwrite");
        rest();
        example_need(pread(file, to, BYTES, 0) == BYTES, "pread");
        struct iovec out = {from, 1 << 16}, in = {to, 1 << 16};
        example_need(writev(pair[0], &out, 1) == 1 << 16 && readv(pair[1], &in, 1) == 1 << 16, "writev");
        result += sum(to, BYTES);
    }
    close(file);
    close(pair[0]);
    close(pair[1]);
    munmap(from, BYTES);
    munmap(to, BYTES);
    return result;
}

static uint64_t children(void)
{
    unsigned char *own = map(MAP_PRIVATE), *shared = map(MAP_SHARED);
    memset(own, 7, BYTES);
    for (unsigned child = 0; child < 4; child++) {
        fflush(stdout);
        pid_t pid = fork();
        example_need(pid >= 0, "fork");
        if (pid == 0) {
            for (size_t i = child * PAGE; i < BYTES; i += 4 * PAGE) {
                own[i] = (unsigned char)child;
                shared[i] = (unsigned char)(own[i] + own[i + 1]);
            }
            rest();
            _exit(own[(child + 1) % 4 * PAGE] == 7 ? 0 : 1);
        }
        for (size_t i = 0; i < BYTES; i += PAGE)
            own[i + 1]++;
        int status;
        example_need(waitpid(pid, &status, 0) == pid && status == 0, "a child");
    }
    return sum(own, BYTES) + sum(shared, BYTES);
}

static unsigned char *stage;

static void *come_and_go(void *unused)
{
    (void)unused;
    for (unsigned round = 0; round < 400; round++) {
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
    for (unsigned round = 0; round < 200; round++)
        for (size_t i = first * PAGE; i < BYTES; i += 2 * PAGE)
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
    return sum(stage, BYTES);
}

static uint64_t pressure(size_t mib)
{
    uint64_t result = 0;
    for (unsigned round = 0; round < 3 && mib; round++) {
        unsigned char *memory =
            mmap(NULL, mib << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        example_need(memory != MAP_FAILED, "mmap");
        for (size_t i = 0; i < mib << 20; i += PAGE)
            memory[i] = (unsigned char)(i / PAGE);
        madvise(memory, mib << 20, MADV_PAGEOUT);
        for (size_t i = 0; i < mib << 20; i += PAGE)
            result += memory[i];
        munmap(memory, mib << 20);
    }
    return result;
}

int main(int argc, char **argv)
{
    if (example_flag(argc, argv, "again")) {
        printf("exec: %#lx\n", (unsigned long)children());
        return 0;
    }
    printf("system calls: %#lx\n", (unsigned long)system_calls());
    printf("children: %#lx\n", (unsigned long)children());
    printf("races: %#lx\n", (unsigned long)races());
    printf("pressure: %lu\n", (unsigned long)pressure((size_t)example_option(argc, argv, "pressure", 32)));
    fflush(stdout);
    execl("/proc/self/exe", argv[0], "--again", (char *)NULL);
    return 99;
}
