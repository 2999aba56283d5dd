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

enum {
    AREA_BYTES = 64 * PAGE_UNIT, /* of code, and of data */
    STREAM = 96,
    STREAMS = 10000,
    ASK_EACH = 20, /* streams between two of a known answer */
    WANT = 64,
    ENDS = EXECUTOR_REFUSED + 1,
    HEADER_AT =
        512, /* of vector state as ptrace gives it: which components there are; none, so all are as at a program's start */
    STATE_BYTES = 576,
    FLAGS = 0x202,
};

#define CODE 0x200000000000u
#define DATA 0x200010000000u

/* What is never carried out: it asks the kernel or another privileged thing for something, or hides what is accessed. */
static const struct {
    const char *name;
    uint8_t bytes[8], length;
} refused[] = {
    {"syscall", {0x0f, 0x05}, 2},
    {"int 0x80", {0xcd, 0x80}, 2},
    {"sysenter", {0x0f, 0x34}, 2},
    {"int3", {0xcc}, 1},
    {"int 3", {0xcd, 0x03}, 2},
    {"icebp", {0xf1}, 1},
    {"hlt", {0xf4}, 1},
    {"cli", {0xfa}, 1},
    {"in", {0xec}, 1},
    {"out", {0xee}, 1},
    {"outs", {0x6e}, 1},
    {"wrpkru", {0x0f, 0x01, 0xef}, 3},
    {"wrfsbase", {0xf3, 0x48, 0x0f, 0xae, 0xd0}, 5},
    {"wrgsbase", {0xf3, 0x48, 0x0f, 0xae, 0xd8}, 5},
    {"mov to ss", {0x8e, 0xd0}, 2},
    {"mov to fs", {0x8e, 0xe0}, 2},
    {"far return", {0x48, 0xcb}, 2},
    {"iret", {0x48, 0xcf}, 2},
    {"far jump", {0xff, 0x28}, 2},
    {"far call", {0xff, 0x18}, 2},
    {"sysret", {0x0f, 0x07}, 2},
    {"swapgs", {0x0f, 0x01, 0xf8}, 3},
    {"rsm", {0x0f, 0xaa}, 2},
    {"mov from cr0", {0x0f, 0x20, 0xc0}, 3},
    {"rdmsr", {0x0f, 0x32}, 2},
    {"xbegin", {0xc7, 0xf8, 0, 0, 0, 0}, 6},
    {"umwait", {0xf2, 0x0f, 0xae, 0xf0}, 4},
    {"monitor", {0x0f, 0x01, 0xc8}, 3},
    {"enqcmd", {0xf2, 0x0f, 0x38, 0xf8, 0x00}, 5},
    {"undefined", {0x0f, 0x0b}, 2},
};

/* What a stream is made of, besides those and random bytes. */
static const uint8_t pieces[][8] = {
    {2, 0x9c},                               /* pushf */
    {2, 0x9d},                               /* popf */
    {2, 0xc3},                               /* ret */
    {5, 0xc8, 0xff, 0xff, 0x1f},             /* enter, 31 levels deep */
    {2, 0xc9},                               /* leave */
    {3, 0xf3, 0xa4},                         /* rep movsb */
    {3, 0xf3, 0xaa},                         /* rep stosb */
    {3, 0xf2, 0xae},                         /* repne scasb */
    {2, 0xfd},                               /* std */
    {3, 0xff, 0xe0},                         /* jmp rax */
    {3, 0xff, 0xd1},                         /* call rcx */
    {3, 0xff, 0x22},                         /* jmp [rdx] */
    {3, 0x48, 0x94},                         /* xchg rsp, rax */
    {4, 0x48, 0x89, 0xcc},                   /* mov rsp, rcx */
    {5, 0x66, 0x0f, 0xf7, 0xc1},             /* maskmovdqu */
    {6, 0xf0, 0x48, 0x0f, 0xc7, 0x08},       /* lock cmpxchg16b [rax] */
    {4, 0x0f, 0xae, 0x00},                   /* fxsave [rax] */
    {4, 0x0f, 0xae, 0x0a},                   /* fxrstor [rdx] */
    {4, 0x0f, 0xae, 0x20},                   /* xsave [rax] */
    {4, 0x0f, 0xae, 0x2a},                   /* xrstor [rdx] */
    {4, 0x0f, 0xae, 0x3b},                   /* clflush [rbx] */
    {5, 0x48, 0x0f, 0xab, 0x00},             /* bts [rax], rax: far from rax */
    {3, 0xeb, 0xfe},                         /* a loop without an access */
    {3, 0xe2, 0xf0},                         /* loop, into what is before it */
    {5, 0x64, 0x48, 0x8b, 0x00},             /* mov rax, fs:[rax] */
    {4, 0x67, 0x88, 0x00},                   /* mov [eax], al */
    {4, 0x48, 0x89, 0x00},                   /* mov [rax], rax */
    {4, 0x48, 0x8b, 0x02},                   /* mov rax, [rdx] */
    {4, 0x48, 0x89, 0x1c},                   /* mov [..], rbx, with any address form */
    {4, 0x0f, 0x01, 0x00},                   /* sgdt [rax] */
    {3, 0x0f, 0xa2},                         /* cpuid */
    {4, 0x0f, 0xc7, 0xf0},                   /* rdrand */
    {4, 0x48, 0xf7, 0xf1},                   /* div rcx */
    {4, 0xc5, 0xf8, 0x77},                   /* vzeroupper */
    {7, 0xc4, 0xe2, 0xe9, 0x92, 0x04, 0x08}, /* vgatherdpd */
    {3, 0xdd, 0x00},                         /* fld [rax] */
    {3, 0xd9, 0x32},                         /* fnstenv [rdx] */
    {2, 0xd7},                               /* xlat */
};

static uint64_t random_state = 88172645463325252u;
static pid_t other;
static uint8_t *code, *data;
static struct executor_client *client;
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
    return read(ends[0], &byte, 1) == 1 ? 0 : -1;
}

static int stop(void **state)
{
    (void)state;
    executor_stop(client);
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
    job->state[24] = 0x80, job->state[25] = 0x1f; /* mxcsr */
    job->state_bytes = STATE_BYTES;
    job->general[4] = DATA + AREA_BYTES / 2;
    job->pc = pc;
    job->flags = FLAGS;
    job->fs_base = DATA;
    job->gs_base = 0;
    job->skip = 0;
    job->want = WANT;
    return job;
}

static bool run(void)
{
    if (executor_run(client))
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

/* mov rbx, [rax], the instruction, mov rcx, [rax + 8] */
static void put(const uint8_t *bytes, size_t length)
{
    static const uint8_t first[] = {0x48, 0x8b, 0x18}, second[] = {0x48, 0x8b, 0x48, 0x08};
    memset(code, 0xcc, 64);
    memcpy(code, first, sizeof first);
    memcpy(code + sizeof first, bytes, length);
    memcpy(code + sizeof first + length, second, sizeof second);
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
    static const uint8_t loop[] = {0x48, 0x8b, 0x18, 0x48, 0x83, 0xc0, 0x10, 0x48, 0x89, 0x58, 0x08, 0xeb, 0xf3};
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
        unsigned kind = (unsigned)any(16), length = 1 + (unsigned)any(6);
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
    unsigned noted = 0, ends[ENDS] = {0};
    for (unsigned i = 0; i < STREAMS; i++) {
        uint8_t *to = code + any(32) * PAGE_UNIT + any(2 * STREAM);
        put_stream(to);
        for (unsigned k = 0; k < 64; k++)
            ((uint64_t *)(void *)data)[any(AREA_BYTES / 8)] = any_place();
        uint64_t sum = 0, after = 0;
        for (unsigned k = 0; k < AREA_BYTES / 8; k++)
            sum += ((uint64_t *)(void *)data)[k];
        struct executor_job *job = job_at(CODE + (uint64_t)(to - code));
        for (unsigned k = 0; k < 16; k++)
            job->general[k] = any_place();
        job->flags = any(8) ? FLAGS : any(1 << 22);
        job->fs_base = any(4) ? DATA : any_place() & ((1ull << 47) - 1);
        job->skip = (uint32_t)any(WANT);
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
    assert_true(noted > STREAMS);
    for (unsigned k = 0; k < ENDS; k++)
        assert_true(ends[k] > 0);
    assert_int_equal(waitpid(other, NULL, WNOHANG), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_asks_for_more_is_refused),
        cmocka_unit_test(streams_of_anything_do_no_harm),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
