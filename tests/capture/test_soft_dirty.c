/* test_soft_dirty.c - written pages by the kernel's marks, both ways to read them: by PAGEMAP_SCAN, and entry by entry as
 * before Linux 6.7, which is what a filter of system calls makes of any kernel. */
#include "capture/faults/armer.h"
#include "capture/faults/soft_dirty.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

enum { PAGES = 64, PAGE = 4096 };

struct seen {
    uint64_t start;
    unsigned present, written;
    bool wrong; /* a page that was not written */
};

static void see(void *context, uint32_t pid, const struct pagemap_range *range)
{
    struct seen *seen = context;
    (void)pid;
    for (uint64_t page = range->start; page < range->end; page += PAGE) {
        if (page - seen->start >= PAGES * PAGE)
            continue;
        seen->present++;
        if (range->categories & PAGEMAP_SOFT_DIRTY) {
            seen->written++;
            seen->wrong |= (page - seen->start) / PAGE % 2;
        }
    }
}

static int refuse_scan(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)_IOWR('f', 16, struct pagemap_request), 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOTTY),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* In a process of its own: its marks are taken away. Returns its exit status. */
static int try_it(bool scan)
{
    volatile char *memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct seen first = {.start = (uintptr_t)memory}, second = first;
    struct armer armer;
    if (memory == MAP_FAILED || (!scan && refuse_scan()))
        return 2;
    for (unsigned i = 0; i < PAGES; i++)
        memory[i * PAGE] = 1;
    soft_dirty_open(&armer);
    armer.arm(armer.context, (uint32_t)getpid(), UINT64_MAX, see, &first);
    for (unsigned i = 0; i < PAGES; i += 2)
        memory[i * PAGE] = 2;
    armer.arm(armer.context, (uint32_t)getpid(), UINT64_MAX, see, &second);
    armer.close(armer.context);
    if (first.present != PAGES || first.written != PAGES)
        return 3;
    if (second.present != PAGES || second.written != PAGES / 2)
        return 4;
    return second.wrong ? 5 : 0;
}

static void test_ways(void **state)
{
    (void)state;
    for (int scan = 0; scan < 2; scan++) {
        int status;
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            _exit(try_it(scan));
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
}

int main(void)
{
    if (!soft_dirty_works()) {
        puts("1..0 # SKIP this kernel marks no written pages");
        return 0;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ways)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
