/* nodes.c - arrays on chosen nodes, read by a thread on node 0.
 * Truth: of the reads, `far` (node 1) gets half, `near` (node 0) and `spread` (a quarter of it on each of four nodes) get
 * a quarter each. So `far` is all remote, `near` not at all, `spread` to three quarters; eleven sixteenths of all.
 * Prints where the kernel says that the pages are, and the sum. */
#include <errno.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 256, WORDS = PAGES * PAGE / sizeof(long) };

static void need(int good, const char *what)
{
    if (!good) {
        printf("%s: %s\n", what, strerror(errno));
        exit(1);
    }
}

/* Lays the array on the nodes of the mask and touches it. */
static void lay(long *array, int policy, unsigned long nodes)
{
    need(syscall(SYS_mbind, array, (unsigned long)PAGES * PAGE, policy, &nodes, 8 * sizeof nodes, 0) == 0, "mbind");
    for (size_t i = 0; i < WORDS; i++)
        array[i] = (long)i;
}

static void report(const char *name, long *array)
{
    void *pages[PAGES];
    int status[PAGES];
    unsigned count[8] = {0};
    for (size_t i = 0; i < PAGES; i++)
        pages[i] = (char *)array + i * PAGE;
    need(syscall(SYS_move_pages, 0, (unsigned long)PAGES, pages, NULL, status, 0) == 0, "move_pages");
    for (size_t i = 0; i < PAGES; i++)
        count[status[i] & 7]++;
    printf("%s %u %u %u %u\n", name, count[0], count[1], count[2], count[3]);
}

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : 400;
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(0, &cpus);
    need(sched_setaffinity(0, sizeof cpus, &cpus) == 0, "sched_setaffinity");
    long *far = aligned_alloc(PAGE, PAGES * PAGE);    /* site: far */
    long *near = aligned_alloc(PAGE, PAGES * PAGE);   /* site: near */
    long *spread = aligned_alloc(PAGE, PAGES * PAGE); /* site: spread */
    need(far && near && spread, "aligned_alloc");
    lay(far, MPOL_BIND, 1 << 1);
    lay(near, MPOL_BIND, 1 << 0);
    lay(spread, MPOL_INTERLEAVE, 15);
    report("far", far);
    report("near", near);
    report("spread", spread);
    long total = 0;
    volatile long *f = far, *n = near, *s = spread;
    for (long round = 0; round < rounds; round++)
        for (size_t i = 0; i < WORDS; i++)
            total += f[i] + n[i] + f[WORDS - 1 - i] + s[i];
    printf("total %ld\n", total);
    return 0;
}
