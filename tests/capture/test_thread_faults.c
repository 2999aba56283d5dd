/* test_thread_faults.c - page faults of this very process, by the kernel: each page of a new mapping faults when it is touched first. */
#include "../skip.h"

#include "capture/faults/thread_faults.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

enum { PAGE = 4096, PAGES = 64 };

struct seen {
    uint64_t from;
    uint64_t pages; /* a bit for each */
    uint64_t others;
    uint32_t pid;
};

static void see(void *context, const struct event *event)
{
    struct seen *seen = context;
    if (event->kind != EVENT_SAMPLE || event->pid != seen->pid || event->sample.source != SOURCE_FAULTS)
        seen->others++;
    else if (event->sample.addr - seen->from < (uint64_t)PAGES * PAGE)
        seen->pages |= (uint64_t)1 << (event->sample.addr - seen->from) / PAGE;
}

static void touch_half(char *pages, int half)
{
    for (int i = half; i < PAGES; i += 2)
        ((volatile char *)pages)[i * PAGE] = 1;
}

static void each_new_page_is_a_sample(void **state)
{
    (void)state;
    char *pages = mmap(NULL, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(pages, MAP_FAILED);
    madvise(pages, (size_t)PAGES * PAGE, MADV_NOHUGEPAGE);
    struct seen seen = {.from = (uintptr_t)pages, .pid = (uint32_t)getpid()};
    struct sink sink = {.tap = see, .tap_context = &seen};
    struct sources sources = {0};
    struct source_level level;
    struct error err = {0};
    struct thread_faults *faults = thread_faults_new(seen.pid, 0.02, &sink);
    int code = sources_open(&sources, thread_faults_source(faults), &err);
    if (code > 0)
        skip_test("%s", sources.refusals[FROM_FAULTS].text);
    assert_int_equal(code, 0);
    assert_true(*thread_faults_means(faults)->sees);
    assert_int_equal(sources_watch(&sources, UINT32_MAX >> 1, &err), 0); /* nobody: it has exited already */
    assert_int_equal(sources_watch(&sources, (uint32_t)gettid(), &err), 0);
    touch_half(pages, 0);
    sources_drain(&sources, UINT64_MAX, &level);
    assert_true(seen.pages == 0x5555555555555555);
    assert_true(sources_cost_ns(&sources) >= PAGES / 2 * 1000);
    touch_half(pages, 1);
    sources_finish(&sources);
    assert_true(seen.pages == UINT64_MAX);
    assert_int_equal(seen.others, 0);
    assert_true(sink.counts[EVENT_SAMPLE] >= PAGES);
    assert_int_equal(sink.lost[LOSS_PERF], 0);
    sources_unwatch(&sources, (uint32_t)gettid());
    sources_close(&sources);
    munmap(pages, (size_t)PAGES * PAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_new_page_is_a_sample)};
    return cmocka_run_group_tests_name("thread_faults", tests, NULL, NULL);
}
