/* Whole functions of libc, libm and ours, carried out by the stepper from entry to return, against calling them. With LONG_BURSTS
 * by linked translation. */
#include "native_aarch64.h"

#include "isa/aarch64/access.h"
#include "agent/sampling/step.h"
#include "agent/sampling/aarch64/note_access.h"
#include "isa/aarch64/slots.h"
#include "isa/linked.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { STACK_BYTES = 1 << 20, BUFFER = 8192 };
static const uint64_t the_end = 0x123450000; /* where functions return to */

__thread struct agent_thread agent_self;
uint64_t agent_text_start, agent_text_end;
struct agent_range agent_thunks[AGENT_THUNKS];
_Atomic uint32_t agent_thunk_count;
static uint64_t accesses;

bool burst_access(struct agent_thread *self, const ucontext_t *context, const struct step_access *access)
{
    (void)self;
    (void)context;
    (void)access;
    accesses++;
    return true;
}

struct call {
    uint64_t x[8];
    double d[8];
};

static uint64_t steps;

#ifdef LONG_BURSTS
enum { ROUNDS = 60 }; /* each translates all again */
static struct linked *linked;

static bool consume(struct linked *run, const uint64_t *from, const uint64_t *to)
{
    for (; from < to; from += run->blocks[(uint32_t)*from].accesses + 1)
        accesses += run->blocks[(uint32_t)*from].accesses;
    return true;
}

static bool may_run(uint64_t pc)
{
    return pc != the_end;
}

static bool start(void)
{
    if (!linked && !(linked = native_linked()))
        return false;
    linked->consume = consume;
    linked->may_run = may_run;
    step_start();
    return true;
}

/* To the end, now logging and now counting. */
static void run(ucontext_t *context)
{
    linked_forget(linked);
    linked->mode = steps % 2 ? LINKED_COUNTS : LINKED_LOGS;
    linked->remaining = INT64_MAX / 2;
    native_running = linked;
    assert_true(linked_run(linked, NULL, context));
    native_running = NULL;
    if (linked->stopped != LINKED_ELSEWHERE)
        fail_msg("stopped %d at %lx: word %08x", linked->stopped, linked->pc, linked->stop_name);
    steps++;
}
#else
enum { ROUNDS = 300 };

static bool start(void)
{
    step_start();
    return slots_start();
}

static void run(ucontext_t *context)
{
    struct cpu cpu;
    assert_true(cpu_view(&cpu, step_note_access, &agent_self, context));
    while (*cpu.pc != the_end) {
        uint64_t pc = *cpu.pc, word;
        assert_int_equal(access_load4(pc, &word), 0);
        enum outcome outcome = cpu_execute(&cpu, (uint32_t)word);
        if (outcome > OUTCOME_JUMPED)
            fail_msg("outcome %d at %lx: word %08lx", outcome, pc, word);
        if (outcome == OUTCOME_NEXT)
            *cpu.pc = pc + 4;
        steps++;
    }
}
#endif

/* Steps through function(x0 ... x7, d0 ... d7); what it returns comes back in the same places. */
static void step_call(void *function, struct call *call)
{
    static char *stack;
    if (!stack)
        stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct machine machine;
    memset(&machine, 0, sizeof(machine));
    memcpy(machine.x, call->x, sizeof(call->x));
    for (int i = 0; i < 8; i++)
        memcpy(&machine.v[i], &call->d[i], 8);
    machine.sp = (uint64_t)stack + STACK_BYTES;
    machine.x[30] = the_end;
    machine.pc = (uint64_t)function;
    static ucontext_t context;
    machine_to_context(&machine, &context);
    run(&context);
    machine_from_context(&machine, &context);
    assert_int_equal(machine.sp, (uint64_t)stack + STACK_BYTES);
    memcpy(call->x, machine.x, sizeof(call->x));
    for (int i = 0; i < 8; i++)
        memcpy(&call->d[i], &machine.v[i], 8);
}

static uint64_t step_integer(void *function, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    struct call call = {.x = {a, b, c, d}};
    step_call(function, &call);
    return call.x[0];
}

static double step_double(void *function, double a, double b)
{
    struct call call = {.d = {a, b}};
    step_call(function, &call);
    return call.d[0];
}

static void test_strings(void **unused)
{
    (void)unused;
    static char from[BUFFER], to[2][BUFFER];
    native_start();
    for (int round = 0; round < ROUNDS; round++) {
        size_t size = random64() % (round % 3 ? 300 : 5000), a = random64() % 64, b = random64() % 64;
        for (size_t i = 0; i < BUFFER; i++)
            from[i] = to[0][i] = to[1][i] = (char)(1 + random64() % 255);
        memcpy(to[0] + a, from + b, size);
        step_integer(memcpy, (uint64_t)to[1] + a, (uint64_t)from + b, size, 0);
        assert_memory_equal(to[0], to[1], BUFFER);
        memmove(to[0] + a, to[0] + b, size);
        step_integer(memmove, (uint64_t)to[1] + a, (uint64_t)to[1] + b, size, 0);
        assert_memory_equal(to[0], to[1], BUFFER);
        int value = round % 2 ? 0 : (int)random64() & 255;
        memset(to[0] + b, value, size);
        step_integer(memset, (uint64_t)to[1] + b, (uint64_t)value, size, 0);
        assert_memory_equal(to[0], to[1], BUFFER);
        from[b + size] = 0;
        assert_int_equal(step_integer(strlen, (uint64_t)from + b, 0, 0, 0), strlen(from + b));
        assert_int_equal(step_integer(memchr, (uint64_t)from, 7, size, 0), (uint64_t)memchr(from, 7, size));
        assert_int_equal((int)step_integer(strcmp, (uint64_t)from + b, (uint64_t)to[0], 0, 0) < 0,
                         strcmp(from + b, to[0]) < 0);
    }
}

static int compare_longs(const void *a, const void *b)
{
    long x = *(const long *)a, y = *(const long *)b;
    return (x > y) - (x < y);
}

static void test_sorting(void **unused)
{
    (void)unused;
    long a[100], b[100]; /* small: qsort then takes its room from the stack */
    native_start();
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 100; i++)
            a[i] = b[i] = (long)(random64() % 1000);
        qsort(a, 100, sizeof(long), compare_longs);
        step_integer(qsort, (uint64_t)b, 100, sizeof(long), (uint64_t)compare_longs);
        assert_memory_equal(a, b, sizeof(a));
    }
}

static void test_numbers(void **unused)
{
    (void)unused;
    native_start();
    char text[2][200];
    for (int round = 0; round < ROUNDS; round++) {
        double value = (double)(int64_t)random64() / (double)(1ull << random64() % 64);
        snprintf(text[0], sizeof(text[0]), "%.17g", value);
        struct call call = {.x = {(uint64_t)text[0], 0}};
        step_call(strtod, &call);
        assert_memory_equal(&call.d[0], &value, 8);
        int length =
            snprintf(text[0], sizeof(text[0]), "%d|%-10s|%x|%.9g|%12.4f", round, "text", 12345, value, value / 3);
        call = (struct call){.x = {(uint64_t)text[1], sizeof(text[1]), (uint64_t) "%d|%-10s|%x|%.9g|%12.4f",
                                   (uint64_t)round, (uint64_t) "text", 12345},
                             .d = {value, value / 3}};
        step_call(snprintf, &call);
        assert_int_equal((int)call.x[0], length);
        assert_string_equal(text[0], text[1]);
    }
}

static void test_mathematics(void **unused)
{
    (void)unused;
    static double (*const functions[])(double) = {sin, cos, exp, log, atan, sqrt, cbrt, tanh, floor, lgamma};
    native_start();
    for (int round = 0; round < ROUNDS; round++) {
        double value = (double)(int64_t)random64() / (double)(1ull << (random64() % 30 + 34));
        for (unsigned i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
            double native = functions[i](value), stepped = step_double((void *)functions[i], value, 0);
            assert_memory_equal(&native, &stepped, sizeof(double));
        }
        double native = pow(fabs(value), 1.7), stepped = step_double((void *)pow, fabs(value), 1.7);
        assert_memory_equal(&native, &stepped, sizeof(double));
    }
}

#define VECTORISED __attribute__((noinline, optimize("O3"), noclone))

VECTORISED static void blend(float *a, const float *b, float factor, int count)
{
    for (int i = 0; i < count; i++)
        a[i] = a[i] * factor + b[i] / (1 + a[i] * a[i]);
}

VECTORISED static uint64_t sum_bytes(const uint8_t *bytes, int count)
{
    uint64_t sum = 0;
    for (int i = 0; i < count; i++)
        sum += (uint64_t)bytes[i] * bytes[i];
    return sum;
}

VECTORISED static void swap_colours(uint8_t *pixels, int count)
{
    for (int i = 0; i < count; i++) {
        uint8_t red = pixels[3 * i];
        pixels[3 * i] = pixels[3 * i + 2];
        pixels[3 * i + 2] = (uint8_t)(red ^ pixels[3 * i + 1]);
    }
}

VECTORISED static uint64_t mix(const uint32_t *words, int count)
{
    uint32_t a = 0x67452301, b = 0xefcdab89, c = 0x98badcfe, d = 0x10325476;
    for (int i = 0; i < count; i++) {
        uint32_t f = ((b & c) | (~b & d)) + a + words[i] + 0xd76aa478;
        a = d;
        d = c;
        c = b;
        b += f << 7 | f >> 25;
    }
    return (uint64_t)(a ^ c) << 32 | (b + d);
}

VECTORISED static uint64_t count_atomically(uint64_t *counters, int count)
{
    uint64_t last = 0;
    for (int i = 0; i < count; i++) {
        last += __atomic_fetch_add(&counters[i % 4], (uint64_t)i, __ATOMIC_SEQ_CST);
        uint64_t expected = last;
        __atomic_compare_exchange_n(&counters[4], &expected, last + 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
        last ^=
            __atomic_exchange_n(&counters[5], last, __ATOMIC_RELEASE) + __atomic_load_n(&counters[0], __ATOMIC_ACQUIRE);
    }
    return last;
}

static long double scale(long double value)
{
    return value * 1.25L + 0.5L;
}

static double through_quad(double value)
{
    return (double)(scale(value) / scale(value + 1));
}

static void test_loops(void **unused)
{
    (void)unused;
    static float a[2][1000], b[1000];
    static uint8_t bytes[2][3000];
    static uint32_t words[1000];
    native_start();
    for (int round = 0; round < 50; round++) {
        int count = (int)(random64() % 1000);
        for (int i = 0; i < 1000; i++) {
            a[0][i] = a[1][i] = (float)(random64() % 1000) / 7;
            b[i] = (float)(random64() % 1000) / 3;
            words[i] = (uint32_t)random64();
        }
        for (int i = 0; i < 3000; i++)
            bytes[0][i] = bytes[1][i] = (uint8_t)random64();
        blend(a[0], b, 1.5f, count);
        float factor = 1.5f;
        struct call call = {.x = {(uint64_t)a[1], (uint64_t)b, (uint64_t)count}};
        memcpy(&call.d[0], &factor, sizeof(factor));
        step_call((void *)blend, &call);
        assert_memory_equal(a[0], a[1], sizeof(a[0]));
        assert_int_equal(step_integer((void *)sum_bytes, (uint64_t)bytes[1], (uint64_t)count, 0, 0),
                         sum_bytes(bytes[0], count));
        swap_colours(bytes[0], count);
        step_integer((void *)swap_colours, (uint64_t)bytes[1], (uint64_t)count, 0, 0);
        assert_memory_equal(bytes[0], bytes[1], sizeof(bytes[0]));
        assert_int_equal(step_integer((void *)mix, (uint64_t)words, (uint64_t)count, 0, 0), mix(words, count));
        double value = (double)random64() / 1e9, native = through_quad(value);
        double stepped = step_double((void *)through_quad, value, 0);
        assert_memory_equal(&native, &stepped, sizeof(double));
    }
    uint64_t counters[2][6] = {{0}};
    uint64_t native = count_atomically(counters[0], 500);
    assert_int_equal(step_integer((void *)count_atomically, (uint64_t)counters[1], 500, 0, 0), native);
    assert_memory_equal(counters[0], counters[1], sizeof(counters[0]));
}

static int set_up(void **unused)
{
    (void)unused;
    return start() ? 0 : -1;
}

static int tear_down(void **unused)
{
    (void)unused;
    printf("# %lu steps, %lu accesses\n", steps, accesses);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strings), cmocka_unit_test(test_sorting),     cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_loops),   cmocka_unit_test(test_mathematics),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
