/* test_executor_streams.c - an executor (executor/executor.h) given streams of instructions by a hostile program.
 *
 * It may end a burst, or end itself; it may not ask the kernel for anything of the program's, reach its own memory for the program, or
 * answer wrongly afterwards. The other process here is a child with code, data and memory where executors have their own. */
#include "capture/outside/executor_client.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#if defined(__x86_64__)
#include "streams_x86_64.h"
#elif defined(__aarch64__)
#include "streams_aarch64.h"
#endif

enum {
    AREA_BYTES = 64 * PAGE_UNIT, /* of code, and of data */
    STREAM = 96,
    ASK_EACH = 20, /* streams between two of a known answer */
    WANT = 64,
    ENDS = EXECUTOR_REFUSED + 1,
};

#define CODE 0x200000000000u
#define DATA 0x200010000000u

static uint64_t random_state = 88172645463325252u;
static pid_t other;
static uint8_t *code, *data;
static struct executor_client *client;
static struct rule_files *files;
static struct remote_rules *rules;
static unsigned ended;

char *__wrap_self_find(const char *relative);
char *__wrap_self_find(const char *relative)
{
    (void)relative;
    return strdup(EXECUTOR);
}

static uint64_t any(uint64_t below)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state % below;
}

static bool keeps_everywhere(void)
{
    const struct {
        uint64_t at;
        uint8_t *from;
        int rights;
    } shared[] = {{CODE, code, PROT_READ | PROT_EXEC}, {DATA, data, PROT_READ | PROT_WRITE}};
    for (unsigned i = 0; i < 2; i++)
        if (mremap(shared[i].from, AREA_BYTES, AREA_BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)shared[i].at) ==
                MAP_FAILED ||
            mprotect((void *)shared[i].at, AREA_BYTES, shared[i].rights) < 0)
            return false;
    return mmap((void *)EXECUTOR_WINDOW, EXECUTOR_WINDOW_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0) == (void *)EXECUTOR_WINDOW;
}

static int start(void **state)
{
    (void)state;
    int ends[2];
    char byte = 0;
    code = mmap(NULL, AREA_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    data = mmap(NULL, AREA_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (code == MAP_FAILED || data == MAP_FAILED || pipe(ends) < 0)
        return -1;
    other = fork();
    if (other == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (!keeps_everywhere())
            _exit(1);
        for (size_t i = 0; i < AREA_BYTES; i += PAGE_UNIT) /* present here too */
            byte = *(volatile char *)(CODE + i) + *(volatile char *)(DATA + i);
        memset((void *)EXECUTOR_WINDOW, 0x90, EXECUTOR_WINDOW_BYTES); /* that go nowhere */
        if (write(ends[1], &byte, 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    close(ends[1]);
    if (read(ends[0], &byte, 1) != 1)
        return -1;
    files = rule_files_new(1 << 20);
    rules = remote_rules_new((uint32_t)other, files);
    remote_rules_look(rules);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    executor_stop(client);
    remote_rules_free(rules);
    rule_files_free(files);
    kill(other, SIGKILL);
    return waitpid(other, NULL, 0) == other ? 0 : -1;
}

/* A job with everything zero but the place of its code and what it wants. */
static struct executor_job *job_at(uint64_t pc)
{
    struct error err = {0};
    if (!client)
        client = executor_start((uint32_t)other, &err);
    assert_non_null(client);
    struct executor_job *job = executor_job(client);
    memset(job->general, 0, sizeof job->general);
    memset(job->state, 0, sizeof job->state);
    memset(job->copy_of, 0, sizeof job->copy_of);
    set_vectors(job);
    job->state_bytes = STATE_BYTES;
    job->general[EXECUTOR_SP] = DATA + AREA_BYTES / 2;
    job->pc = pc;
    job->flags = FLAGS;
    job->bases[0] = DATA;
    job->bases[1] = 0;
    job->skip = 0;
    job->want = WANT;
    job->python_state = 0;
    job->asks = (uint32_t)any(32);
    job->code_number = remote_rules_number(rules);
    return job;
}

static bool run(void)
{
    if (executor_run(client, rules))
        return true;
    siginfo_t how = {0};
    waitid(P_ALL, 0, &how, WEXITED | WNOHANG | WNOWAIT);
    print_message("# an executor ended: code %d, status %d\n", how.si_code, how.si_status);
    assert_false(how.si_code != CLD_EXITED && how.si_status == SIGSYS); /* it asked the kernel for something */
    executor_stop(client);
    client = NULL;
    ended++;
    return false;
}

/* Between two loads. */
static void put(const uint8_t *bytes, size_t length)
{
    memset(code, 0xcc, 64);
    memcpy(code, before, sizeof before);
    memcpy(code + sizeof before, bytes, length);
    memcpy(code + sizeof before + length, behind, sizeof behind);
}

static void what_asks_for_more_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        put(refused[i].bytes, refused[i].length);
        struct executor_job *job = job_at(CODE);
        job->general[0] = job->general[2] = DATA + PAGE_UNIT;
        assert_true(run());
        if (job->count != 1 || job->accesses[0].addr != DATA + PAGE_UNIT ||
            (job->end != EXECUTOR_INSTRUCTION && job->end != EXECUTOR_FAULT))
            fail_msg("%s: %u accesses, end %u", refused[i].name, job->count, job->end);
    }
    put(refused[0].bytes, 0);
    struct executor_job *job = job_at(CODE);
    job->general[0] = DATA + PAGE_UNIT;
    assert_true(run());
    assert_int_equal(job->count, 2);
    assert_int_equal(ended, 0);
}

/* A loop whose 64 accesses are known; its code is translated again. */
static void ask_what_is_known(void)
{
    memcpy(code + 40 * PAGE_UNIT, loop, sizeof loop);
    struct executor_job *job = job_at(CODE + 40 * PAGE_UNIT);
    job->general[0] = DATA + PAGE_UNIT;
    assert_true(run());
    assert_int_equal(job->end, EXECUTOR_ENOUGH);
    assert_int_equal(job->count, WANT);
    for (unsigned i = 0; i < WANT; i++)
        assert_int_equal(job->accesses[i].addr, DATA + PAGE_UNIT + 16 * ((i + 1) / 2) + (i & 1 ? 8 : 0));
}

static uint64_t any_place(void)
{
    switch (any(16)) {
    case 0:
        return CODE + any(AREA_BYTES);
    case 1:
        return EXECUTOR_WINDOW + any(EXECUTOR_WINDOW_BYTES); /* its engine, its job, its time */
    case 2:
        return EXECUTOR_WINDOW - any(64);
    case 3:
        return any(4096);
    case 4:
        return -any(4096);
    case 5:
        return any(UINT64_MAX);
    default:
        return DATA + any(AREA_BYTES);
    }
}

static void put_stream(uint8_t *to)
{
    for (unsigned i = 0; i < STREAM;) {
        unsigned kind = (unsigned)any(KINDS), length = CODE_STEP + (unsigned)any(6) / CODE_STEP * CODE_STEP;
        uint8_t bytes[8];
        for (unsigned k = 0; k < sizeof bytes; k++)
            bytes[k] = (uint8_t)any(256);
        if (kind == 0) {
            const uint8_t *piece = refused[any(sizeof refused / sizeof *refused)].bytes;
            memcpy(bytes, piece, sizeof bytes);
        } else if (kind > 3) {
            const uint8_t *piece = pieces[any(sizeof pieces / sizeof *pieces)];
            length = piece[0] - 1u;
            memcpy(bytes, piece + 1, length);
        }
        for (unsigned k = 0; k < length && i < STREAM; k++)
            to[i++] = bytes[k];
    }
}

static void streams_of_anything_do_no_harm(void **state)
{
    (void)state;
    const char *asked = getenv("STREAMS");
    unsigned noted = 0, ends[ENDS] = {0}, streams = asked ? (unsigned)atoi(asked) : 10000;
    for (unsigned i = 0; i < streams; i++) {
        uint8_t *to = code + any(32) * PAGE_UNIT + any(2 * STREAM) / CODE_STEP * CODE_STEP;
        put_stream(to);
        for (unsigned k = 0; k < 64; k++)
            ((uint64_t *)(void *)data)[any(AREA_BYTES / 8)] = any_place();
        uint64_t sum = 0, after = 0;
        for (unsigned k = 0; k < AREA_BYTES / 8; k++)
            sum += ((uint64_t *)(void *)data)[k];
        struct executor_job *job = job_at(CODE + (uint64_t)(to - code));
        for (unsigned k = 0; k < EXECUTOR_GENERAL; k++)
            job->general[k] = any_place();
        job->flags = any(8) ? FLAGS : any(1ull << ANY_FLAGS);
        job->bases[0] = any(4) ? DATA : any_place() & ((1ull << 47) - 1);
        job->skip = (uint32_t)any(SKIP_BELOW);
        if (run()) {
            assert_in_range(job->end, 0, ENDS - 1);
            assert_in_range(job->count, 0, job->want);
            noted += job->count;
            ends[job->end]++;
            for (unsigned k = 0; k + 1 < job->count; k++) /* the last one may be what could not be read */
                assert_true(job->accesses[k].addr - EXECUTOR_WINDOW >= EXECUTOR_WINDOW_BYTES);
        }
        for (unsigned k = 0; k < AREA_BYTES / 8; k++)
            after += ((uint64_t *)(void *)data)[k];
        assert_int_equal(sum, after);
        if (i % ASK_EACH == 0)
            ask_what_is_known();
    }
    print_message("# %u accesses; ends: enough %u, instruction %u, unreadable %u, code %u, fault %u, steps %u, refused "
                  "%u; %u executors ended\n",
                  noted, ends[0], ends[1], ends[2], ends[3], ends[4], ends[5], ends[6], ended);
    assert_true(noted > streams);
    for (unsigned k = 0; k < ENDS; k++)
        assert_true(ends[k] > 0);
    assert_int_equal(waitpid(other, NULL, WNOHANG), 0);
}

/* Code without rules: frame pointers lead through frames, as far as each return address is behind a call. */
static void callers_are_found_by_frame_pointers(void **state)
{
    (void)state;
    enum { CALLERS = 5, FIRST = AREA_BYTES / 16, FRAME = 6 };
    uint64_t *words = (uint64_t *)(void *)data;
    for (unsigned broken = 0; broken <= CALLERS; broken++) {
        memset(data, 0, AREA_BYTES);
        memcpy(code + 40 * PAGE_UNIT, loop, sizeof loop);
        for (unsigned i = 0; i < CALLERS; i++) {
            words[FIRST + 2 + i * FRAME] = DATA + 8 * (FIRST + 2 + (i + 1) * FRAME);
            words[FIRST + 3 + i * FRAME] = CODE + 50 * PAGE_UNIT + 64 * (i + 1);
            memset(code + 50 * PAGE_UNIT + 64 * i, 0, 64);
            if (i + 1 != broken)
                memcpy(code + 50 * PAGE_UNIT + 64 * (i + 1) - sizeof call, call, sizeof call);
        }
        struct executor_job *job = job_at(CODE + 40 * PAGE_UNIT);
        job->general[0] = DATA + PAGE_UNIT;
        job->general[EXECUTOR_SP] = DATA + 8 * FIRST;
        job->general[FP] = DATA + 8 * (FIRST + 2);
        job->asks = 32;
        assert_true(run());
        assert_int_equal(job->count, WANT);
        assert_int_equal(job->native.count, 1);
        const struct executor_callers *callers = &job->native.items[0];
        assert_int_equal(callers->depth, broken ? broken - 1 : CALLERS);
        assert_true(callers->cut); /* nothing says that the last one is the outermost */
        for (unsigned i = 0; i < callers->depth; i++)
            assert_int_equal(callers->frames[i], CODE + 50 * PAGE_UNIT + 64 * (i + 1));
        for (unsigned i = 0; i < WANT; i++)
            assert_int_equal(job->native.of[i], 1);
    }
}

static const struct python_layout layouts[] = {
    {.native_id = 160,
     .frame_holder = 56,
     .current_frame = 8,
     .code = 32,
     .previous = 48,
     .instruction = 56,
     .entry = 68},
    {.native_id = 144, .frame_holder = 56, .code = 0, .previous = 8, .instruction = 56, .owner = 70},
    {.native_id = 8, .current_frame = 16, .code = 0, .previous = 8, .instruction = 56, .owner = 70},
};

/* The known loop for a thread of Python whose state and frames are anything. */
static void frames_of_anything_do_no_harm(void **state)
{
    (void)state;
    unsigned walked = 0, deepest = 0;
    for (unsigned i = 0; i < 3000; i++) {
        for (unsigned k = 0; k < AREA_BYTES / 8; k++)
            ((uint64_t *)(void *)data)[k] = any_place() & ~(any(4) ? 7ull : 0);
        memcpy(code + 40 * PAGE_UNIT, loop, sizeof loop);
        struct executor_job *job = job_at(CODE + 40 * PAGE_UNIT);
        job->general[0] = DATA + PAGE_UNIT;
        job->python = layouts[any(sizeof layouts / sizeof *layouts)];
        job->python_state = any(8) ? DATA + (any(AREA_BYTES) & ~7ull) : any_place();
        uint64_t number = job->python_state + job->python.native_id - DATA;
        memcpy(&job->python_tid, data + (number < AREA_BYTES - 8 ? number : 0), sizeof job->python_tid);
        memset(job->chains.of, 0, sizeof job->chains.of);
        job->chains.count = 0;
        assert_true(run());
        assert_int_equal(job->end, EXECUTOR_ENOUGH);
        for (unsigned k = 0; k < WANT; k++) {
            assert_int_equal(job->accesses[k].addr, DATA + PAGE_UNIT + 16 * ((k + 1) / 2) + (k & 1 ? 8 : 0));
            assert_in_range(job->chains.of[k], 0, job->chains.count);
        }
        assert_in_range(job->chains.count, 0, EXECUTOR_CHAINS);
        for (unsigned k = 0; k < job->chains.count; k++) {
            assert_in_range(job->chains.items[k].depth, 0, PYTHON_FRAMES);
            walked += job->chains.items[k].depth > 0;
            deepest = job->chains.items[k].depth > deepest ? job->chains.items[k].depth : deepest;
        }
    }
    print_message("# %u chains, the deepest of %u frames\n", walked, deepest);
    assert_true(walked > 300 && deepest > 4);
}

/* State, holder and a frame that is its own caller. */
static void frames_without_end(void **state)
{
    (void)state;
    enum { STATE = 0, HOLDER = 64, FRAME = 128 };
    uint64_t *words = (uint64_t *)(void *)data;
    memset(data, 0, AREA_BYTES);
    memcpy(code + 40 * PAGE_UNIT, loop, sizeof loop);
    struct executor_job *job = job_at(CODE + 40 * PAGE_UNIT);
    job->general[0] = DATA + PAGE_UNIT;
    job->python = layouts[0];
    words[STATE + 160 / 8] = job->python_tid = 7;
    words[STATE + 56 / 8] = DATA + HOLDER * 8;
    words[HOLDER + 8 / 8] = words[FRAME + 48 / 8] = DATA + FRAME * 8;
    words[FRAME + 32 / 8] = DATA + 8;
    words[FRAME + 56 / 8] = 99;
    job->python_state = DATA + STATE * 8;
    assert_true(run());
    assert_int_equal(job->end, EXECUTOR_ENOUGH);
    assert_int_equal(job->chains.count, 1);
    assert_int_equal(job->chains.items[0].depth, PYTHON_FRAMES);
    assert_int_equal(job->chains.items[0].frames[0].instruction, 99);
    for (unsigned k = 0; k < WANT; k++)
        assert_int_equal(job->chains.of[k], 1);
    words[HOLDER + 8 / 8] = EXECUTOR_WINDOW + 4096; /* its own memory is not the program's */
    job = job_at(CODE + 40 * PAGE_UNIT);
    job->general[0] = DATA + PAGE_UNIT;
    job->python_state = DATA + STATE * 8;
    assert_true(run());
    assert_int_equal(job->chains.items[0].depth, 0);
    words[STATE + 160 / 8] = 8; /* another thread's by now */
    job = job_at(CODE + 40 * PAGE_UNIT);
    job->general[0] = DATA + PAGE_UNIT;
    job->python_state = DATA + STATE * 8;
    assert_true(run());
    assert_int_equal(job->python_state, 0);
    assert_int_equal(job->chains.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_asks_for_more_is_refused),
        cmocka_unit_test(streams_of_anything_do_no_harm),
        cmocka_unit_test(callers_are_found_by_frame_pointers),
        cmocka_unit_test(frames_of_anything_do_no_harm),
        cmocka_unit_test(frames_without_end),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
