/* Each slot of the table is written by the thread that has claimed it, and read by the handler in any thread. */
#include "symbols/cut_file.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/mman.h>

enum { FILES_MOST = 4096 }; /* open at a time: far more than any job has binaries */

static struct mapped {
    _Atomic bool claimed, cut;
    _Atomic uintptr_t start, end;
} files[FILES_MOST];
static uintptr_t page_bytes; /* before the handler is set */

static void take(int number, siginfo_t *info, void *context)
{
    (void)context;
    uintptr_t addr = (uintptr_t)info->si_addr;
    int before = errno;
    for (unsigned i = 0; info->si_code == BUS_ADRERR && i < FILES_MOST; i++) {
        if (addr < atomic_load(&files[i].start) || addr >= atomic_load(&files[i].end))
            continue;
        void *page = (void *)(addr & ~(page_bytes - 1));
        if (mmap(page, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != page)
            break;
        atomic_store(&files[i].cut, true);
        errno = before;
        return;
    }
    signal(number, SIG_DFL); /* the same read, once more */
}

void cut_file_survive(void)
{
    page_bytes = getauxval(AT_PAGESZ);
    struct sigaction action = {.sa_sigaction = take, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigaction(SIGBUS, &action, NULL);
}

/* While it is being mapped, that may be anywhere. */
int cut_file_watch(void)
{
    for (int i = 0; i < FILES_MOST; i++) {
        bool no = false;
        if (!atomic_compare_exchange_strong(&files[i].claimed, &no, true))
            continue;
        atomic_store(&files[i].cut, false);
        atomic_store(&files[i].start, 0);
        atomic_store(&files[i].end, UINTPTR_MAX);
        return i;
    }
    return -1;
}

void cut_file_mapped(int number, const void *start, size_t bytes)
{
    if (number < 0)
        return;
    atomic_store(&files[number].start, (uintptr_t)start);
    atomic_store(&files[number].end, start ? (uintptr_t)start + bytes : 0);
}

void cut_file_forget(int number)
{
    if (number < 0)
        return;
    atomic_store(&files[number].end, 0);
    atomic_store(&files[number].claimed, false);
}

bool cut_file_was_cut(int number)
{
    return number >= 0 && atomic_load(&files[number].cut);
}
