/* segv_barrier.c - a write barrier as garbage collectors build it: pages are made read-only, the program's own SIGSEGV
 * handler notes the page and opens it. Truth: each pass notes every page once, in the handler, with its address.
 * --unmapped=1: pages are taken away instead, and mapped by the handler. */
#include "../example.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

static char *heap;
static size_t page, pages;
static volatile long noted;
static bool unmapped;

static void note(int number, siginfo_t *info, void *context)
{
    char *addr = info->si_addr;
    (void)context;
    if (number != SIGSEGV || addr < heap || addr >= heap + pages * page)
        _exit(3);
    noted++;
    addr = heap + (size_t)(addr - heap) / page * page;
    if (!unmapped)
        mprotect(addr, page, PROT_READ | PROT_WRITE);
    else if (mmap(addr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != addr)
        _exit(4);
}

int main(int argc, char **argv)
{
    long rounds = example_option(argc, argv, "rounds", 1000);
    unmapped = example_option(argc, argv, "unmapped", 0);
    page = (size_t)sysconf(_SC_PAGESIZE);
    pages = 64;
    /* Pages that come and go are where the kernel puts nobody else's. */
    heap = mmap(unmapped ? (void *)(1ul << 30) : NULL, pages * page, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | (unmapped ? MAP_FIXED_NOREPLACE : 0), -1, 0);
    example_need(heap != MAP_FAILED, "mmap");
    struct sigaction action = {.sa_sigaction = note, .sa_flags = SA_SIGINFO};
    example_need(sigaction(SIGSEGV, &action, NULL) == 0, "sigaction");
    struct sigaction seen;
    example_need(sigaction(SIGSEGV, NULL, &seen) == 0 && seen.sa_sigaction == note, "reading the handler back");
    long total = 0;
    for (long round = 0; round < rounds; round++) {
        if (unmapped)
            munmap(heap, pages * page);
        else
            mprotect(heap, pages * page, PROT_READ);
        for (size_t i = 0; i < pages * page; i += 8) {
            *(volatile long *)(heap + i) = (long)i;
            total += *(volatile long *)(heap + i);
        }
    }
    printf("noted %ld total %ld\n", noted, total);
    return 0;
}
