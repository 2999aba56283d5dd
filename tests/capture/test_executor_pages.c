/* test_executor_pages.c - copies of another process's pages: what is in memory there, but nothing of a device. */
#include "executor/pages.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define THERE 0x100000000000u /* three pages, the last one never touched */

static void open_as(pid_t pid, const char *name, int wanted)
{
    char path[48];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    int file = open(path, O_RDONLY);
    assert_true(file >= 0);
    assert_int_equal(dup2(file, wanted), wanted);
    if (file != wanted)
        close(file);
}

static pid_t start(void)
{
    int ends[2];
    char byte = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        char *at = mmap((void *)THERE, 3 * PAGE_UNIT, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (at != (char *)THERE)
            _exit(1);
        madvise(at, 3 * PAGE_UNIT, MADV_NOHUGEPAGE);
        strcpy(at, "first");
        strcpy(at + PAGE_UNIT, "second");
        if (write(ends[1], &byte, 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    assert_int_equal(read(ends[0], &byte, 1), 1);
    close(ends[0]);
    close(ends[1]);
    open_as(pid, "mem", EXECUTOR_MEM);
    open_as(pid, "pagemap", EXECUTOR_PAGEMAP);
    return pid;
}

static void devices_are_not_read(void **state)
{
    (void)state;
    const struct executor_setup setup = {.page_bytes = PAGE_UNIT};
    struct executor_job *job = aligned_alloc(_Alignof(struct executor_job), sizeof *job);
    pid_t pid = start();
    memset(job, 0, sizeof *job);
    pages_begin(job, &setup);
    assert_true(pages_have(THERE, 2 * PAGE_UNIT));
    assert_string_equal((const char *)THERE, "first");
    assert_string_equal((const char *)THERE + PAGE_UNIT, "second");
    assert_false(pages_have(THERE + 2 * PAGE_UNIT, 1));
    job->devices[3] = (struct executor_range){THERE + PAGE_UNIT, THERE + 2 * PAGE_UNIT};
    pages_begin(job, &setup);
    assert_true(pages_have(THERE, PAGE_UNIT));
    assert_false(pages_have(THERE + PAGE_UNIT, 1));
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    free(job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(devices_are_not_read)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
