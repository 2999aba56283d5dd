/* test_remote_python.c - names of frames in a process with an interpreter of Python: this one, which has the symbols and the memory of one. What
 * does not fit gives no name, whatever it is, and a page that is not in memory is not brought in. */
#include "capture/outside/remote_python.h"
#include "python_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>

enum { MOST = 100 };
#define PC 0x1234u

static struct remote_python *python;
static struct executor_job job;
static unsigned names;
static char last_name[PYTHON_NAME], last_file[PYTHON_FILE];
static uint32_t last_line;

static void make(void)
{
    python_memory_make();
    job.chains.count = 1;
    job.chains.of[0] = 1;
    job.chains.items[0].depth = 1;
    job.chains.items[0].frames[0] = (struct executor_frame){place(CODE), place(CODE) + 184 + 2, 1};
}

static void take_name(void *context, const struct event *event)
{
    (void)context;
    if (event->kind != EVENT_RUNTIME_CODE)
        return;
    names++;
    snprintf(last_name, sizeof last_name, "%s", event->code.name);
    snprintf(last_file, sizeof last_file, "%s", event->code.file);
    last_line = event->code.line;
}

static struct sink sink = {.tap = take_name};

static unsigned chain(uint64_t frames[static PYTHON_FRAMES + 1], uint64_t pc)
{
    const struct capture_process process = {.pid = (uint32_t)getpid(), .start = 1};
    const struct outside_thread thread = {0};
    struct executor_chains answered = job.chains;
    remote_python_ask(python, &thread, &job);
    job.chains = answered;
    const struct native_chain native = {.frames = {pc}, .depth = 1, .cut = true};
    return remote_python_chain(python, &sink, &process, &job, 0, &native, frames, PYTHON_FRAMES + 1);
}

static int start(void **state)
{
    (void)state;
    make();
    python = remote_python_new((uint32_t)getpid(), MOST);
    remote_python_find(python);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    remote_python_free(python);
    return 0;
}

static void a_frame_has_its_name_once(void **state)
{
    (void)state;
    uint64_t frames[PYTHON_FRAMES + 1];
    struct outside_thread thread = {.tid = (uint32_t)syscall(SYS_gettid)};
    make();
    remote_python_thread(python, &thread);
    assert_int_equal(thread.python_state, place(THREAD));
    remote_python_ask(python, &thread, &job);
    assert_int_equal(job.python_state, place(THREAD));
    make();
    assert_int_equal(chain(frames, PC), 2);
    assert_int_equal(frames[0], PC);
    assert_int_equal(frames[1] >> 62, 1);
    assert_string_equal(last_name, "World.step");
    assert_string_equal(last_file, "/srv/world.py");
    assert_int_equal(last_line, 11);
    assert_int_equal(chain(frames, (uint64_t)_PyEval_EvalFrameDefault), 1); /* in the place of what interprets it */
    assert_int_equal(frames[0] >> 62, 1);
    assert_int_equal(names, 1);
    job.chains.items[0].frames[0].instruction -= 2;
    assert_int_equal(chain(frames, PC), 2);
    assert_int_equal(names, 2);
    assert_int_equal(last_line, 10);
}

static void a_state_that_is_no_more_is_looked_for_again(void **state)
{
    (void)state;
    struct outside_thread thread = {.tid = (uint32_t)syscall(SYS_gettid)};
    make();
    remote_python_thread(python, &thread);
    remote_python_ask(python, &thread, &job);
    job.python_state = 0; /* the executor's answer */
    remote_python_answered(&thread, &job);
    assert_int_equal(thread.python_state, 0);
    remote_python_thread(python, &thread);
    assert_int_equal(thread.python_state, 0); /* later */
    remote_python_thread(python, &thread);
    assert_int_equal(thread.python_state, place(THREAD));
    memory[THREAD + 8 / 8] = place(THREAD); /* a list without end */
    memory[THREAD + 160 / 8]++;
    struct outside_thread other = {.tid = thread.tid};
    remote_python_thread(python, &other);
    assert_int_equal(other.python_state, 0);
}

static void any_memory_gives_no_more_than_no_name(void **state)
{
    (void)state;
    static const uint64_t wild[] = {0,       1,         8, UINT64_MAX, UINT64_MAX - 79, 1ull << 63, 0x7ffffffffff8,
                                    1 << 20, 1ull << 40};
    uint64_t frames[PYTHON_FRAMES + 1];
    for (unsigned at = 0; at < WORDS; at++)
        for (unsigned i = 0; i < sizeof wild / sizeof *wild; i++) {
            struct outside_thread thread = {.tid = (uint32_t)syscall(SYS_gettid)};
            make();
            memory[at] = wild[i];
            remote_python_thread(python, &thread);
            assert_in_range(chain(frames, PC), 1, 2);
            assert_int_equal(frames[0], PC);
        }
    for (unsigned i = 0; i < sizeof wild / sizeof *wild; i++) {
        make();
        job.chains.items[0].frames[0].code = wild[i];
        assert_int_equal(chain(frames, PC), 1);
        make();
        job.chains.items[0].depth = (uint32_t)wild[i];
        assert_in_range(chain(frames, PC), 1, PYTHON_FRAMES + 1);
        make();
        job.chains.count = (uint32_t)wild[i];
        job.chains.of[0] = (uint8_t)wild[i];
        assert_in_range(chain(frames, PC), 1, 2);
    }
    for (unsigned i = 0; i < 2 * MOST; i++) {
        make();
        memory[CODE + 72 / 8] = 1000 + i; /* other lines */
        assert_in_range(chain(frames, PC), 1, 2);
    }
    assert_in_range(names, 1, 2 * MOST);
    assert_true(sink.lost[LOSS_MEMORY] > 0); /* more names than it may keep */
}

static void a_page_that_is_not_in_memory_stays_there(void **state)
{
    (void)state;
    uint64_t frames[PYTHON_FRAMES + 1];
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char there = 1;
    void *new = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(new != MAP_FAILED);
    make();
    job.chains.items[0].frames[0].code = (uint64_t) new;
    assert_int_equal(chain(frames, PC), 1);
    assert_int_equal(mincore(new, page, &there), 0);
    assert_int_equal(there & 1, 0);
    munmap(new, page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_has_its_name_once),
        cmocka_unit_test(a_state_that_is_no_more_is_looked_for_again),
        cmocka_unit_test(a_page_that_is_not_in_memory_stays_there),
        cmocka_unit_test(any_memory_gives_no_more_than_no_name),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
