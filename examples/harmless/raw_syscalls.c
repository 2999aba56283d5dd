/* raw_syscalls.c - system calls made past libc, on heap buffers, from many threads: read, write, writev, futex, pread.
 * Truth: no call fails with anything but what the program provokes; all bytes arrive. */
#include "../example.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 20000 };

static long raw(long number, long a, long b, long c, long d)
{
    return syscall(number, a, b, c, d, 0, 0);
}

static void *work(void *argument)
{
    int *ends = malloc(2 * sizeof *ends);
    char *out = malloc(4096), *in = malloc(4096);
    struct iovec *parts = malloc(3 * sizeof *parts);
    uint32_t *word = malloc(sizeof *word);
    struct timespec *now = malloc(sizeof *now);
    example_need(ends && out && in && parts && word && now, "malloc");
    example_need(raw(SYS_pipe2, (long)ends, O_CLOEXEC, 0, 0) == 0, "pipe2");
    unsigned long sum = 0;
    *word = 5;
    for (int round = 0; round < ROUNDS; round++) {
        memset(out, round & 0xff, 4096);
        example_need(raw(SYS_write, ends[1], (long)out, 1000, 0) == 1000, "write");
        for (int i = 0; i < 3; i++)
            parts[i] = (struct iovec){.iov_base = out + 100 * i, .iov_len = 100};
        example_need(raw(SYS_writev, ends[1], (long)parts, 3, 0) == 300, "writev");
        long got = 0;
        while (got < 1300) {
            long n = raw(SYS_read, ends[0], (long)(in + got), 1300 - got, 0);
            example_need(n > 0, "read");
            got += n;
        }
        for (int i = 0; i < 1300; i++)
            sum += ((volatile unsigned char *)in)[i];
        example_need(raw(SYS_futex, (long)word, FUTEX_WAIT_PRIVATE, 4, 0) == -1 && errno == EAGAIN, "futex wait");
        example_need(raw(SYS_futex, (long)word, FUTEX_WAKE_PRIVATE, 1, 0) == 0, "futex wake");
        example_need(raw(SYS_clock_gettime, CLOCK_MONOTONIC, (long)now, 0, 0) == 0 && now->tv_sec >= 0,
                     "clock_gettime");
        if (round % 64 == 0) {
            out = realloc(out, 4096 + (size_t)round);
            example_need(out, "realloc");
        }
    }
    close(ends[0]);
    close(ends[1]);
    free(ends);
    free(out);
    free(in);
    free(parts);
    free(word);
    free(now);
    *(unsigned long *)argument = sum;
    return NULL;
}

int main(void)
{
    unsigned long *sums = calloc(THREADS, sizeof *sums);
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        threads[i] = example_thread(work, &sums[i]);
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        printf("sum %lu\n", sums[i]);
    }
    free(sums);
    return 0;
}
