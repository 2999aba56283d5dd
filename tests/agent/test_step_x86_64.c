/* Stepping, on the processor itself: short stretches of assembler with known accesses. A stretch begins with ud2, whose handler
 * starts the burst behind it, and ends with pushf, which no burst may touch: what it pushes shows whether flags are as they were. */
#include "../skip.h"

#include "agent/sampling/step.h"
#include "agent/unwind/unwind.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>

/* What the rest of the agent would give. */
__thread struct agent_thread agent_self __attribute__((tls_model("initial-exec")));
uint64_t agent_text_start, agent_text_end;
struct agent_range agent_thunks[AGENT_THUNKS];
_Atomic uint32_t agent_thunk_count;

enum { MAX_SEEN = 64, TRAP_FLAG = 1 << 8 /* which nobody set */ };

static struct step_access seen[MAX_SEEN];
static volatile unsigned seen_count, enough, bursts_ended;
static uint64_t *volatile resume_at; /* where a fault of the program goes on, see test_own_fault */
static volatile uint64_t flags_at_fault;

/* Vector registers are the program's while the engine runs. */
__attribute__((target("general-regs-only"))) bool burst_access(struct agent_thread *self, const ucontext_t *context,
                                                               const struct step_access *access)
{
    (void)self, (void)context;
    if (seen_count < MAX_SEEN)
        seen[seen_count] = *access;
    seen_count++;
    return seen_count < enough;
}

static void begin(struct agent_thread *self, ucontext_t *context)
{
    self->sampler.bursting = true;
    self->sampler.steps = 0;
    self->sampler.remaining = enough;
    step_burst(self, context);
    self->sampler.bursting = false;
    bursts_ended++;
}

static void on_signal(int signal, siginfo_t *info, void *raw)
{
    ucontext_t *context = raw;
    if (signal == SIGILL) {
        context->uc_mcontext.gregs[REG_RIP] += 2;
        step_apart(&agent_self, info, context, begin);
    } else if (signal == SIGUSR1) { /* a handler of the program, in which a tick starts a burst of its own */
        __asm__ volatile("ud2\n nop\n nop\n pushfq\n pop %%rax" ::: "rax", "cc");
    } else if (!step_fault(&agent_self, context, signal)) {
        if (!resume_at)
            abort();
        flags_at_fault = (uint64_t)context->uc_mcontext.gregs[REG_EFL];
        context->uc_mcontext.gregs[REG_RIP] = (greg_t)resume_at;
    }
}

/* In the test itself: cmocka takes these signals right before it. */
static void prepare(void **state)
{
    (void)state;
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_NODEFER};
    static const int signals[] = {SIGILL, SIGSEGV, SIGBUS, SIGFPE, SIGUSR1};
    for (unsigned i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaction(signals[i], &action, NULL);
    step_thread_stop(&agent_self);
    memset(&agent_self, 0, sizeof agent_self);
    step_start();
    assert_true(step_thread_start(&agent_self));
    memset(seen, 0, sizeof seen);
    seen_count = bursts_ended = 0;
    enough = MAX_SEEN;
    resume_at = NULL;
}

static void expect(unsigned which, const void *addr, unsigned size, unsigned flags)
{
    assert_true(which < seen_count);
    assert_ptr_equal(seen[which].addr, addr);
    assert_int_equal(seen[which].size, size);
    assert_int_equal(seen[which].flags, flags);
}

static void expect_over(uint64_t flags)
{
    assert_false(flags & TRAP_FLAG);
    assert_int_equal(bursts_ended, 1);
}

static void test_loads_and_stores(void **state)
{
    prepare(state);
    static uint64_t data[8];
    memcpy(data, (uint64_t[8]){10, 20, 30}, sizeof data);
    uint64_t sum, flags;
    __asm__ volatile("ud2\n"
                     "mov (%[p]), %[sum]\n"
                     "add 8(%[p]), %[sum]\n"
                     "mov %[sum], 24(%[p])\n"
                     "incl 16(%[p])\n"
                     "lock incw 32(%[p])\n"
                     "lea 40(%[p]), %[sum]\n"
                     "movb $7, (%[sum])\n"
                     "pushfq\n"
                     "pop %[flags]\n"
                     : [sum] "=&r"(sum), [flags] "=&r"(flags)
                     : [p] "r"(data)
                     : "memory", "cc");
    expect_over(flags);
    assert_int_equal(seen_count, 6);
    expect(0, &data[0], 8, SAMPLE_READ);
    expect(1, &data[1], 8, SAMPLE_READ);
    expect(2, &data[3], 8, SAMPLE_WRITE);
    expect(3, &data[2], 4, SAMPLE_READ | SAMPLE_WRITE);
    expect(4, &data[4], 2, SAMPLE_READ | SAMPLE_WRITE | SAMPLE_LOCKED);
    expect(5, &data[5], 1, SAMPLE_WRITE);
    assert_int_equal(data[3], 30);
    assert_int_equal(data[2], 31);
    assert_int_equal(data[4], 1);
    assert_int_equal(data[5], 7);
}

static void test_stack_and_calls(void **state)
{
    prepare(state);
    uint64_t flags, sp;
    /* below the red zone, which the compiler may use */
    __asm__ volatile("sub $256, %%rsp\n"
                     "mov %%rsp, %[sp]\n"
                     "ud2\n"
                     "push $5\n"
                     "call 1f\n"
                     "pop %%rax\n"
                     "jmp 2f\n"
                     "1: ret\n"
                     "2: pushfq\n"
                     "pop %[flags]\n"
                     "add $256, %%rsp\n"
                     : [flags] "=&r"(flags), [sp] "=&r"(sp)
                     :
                     : "rax", "memory", "cc");
    expect_over(flags);
    assert_int_equal(seen_count, 4);
    expect(0, (void *)(sp - 8), 8, SAMPLE_WRITE);
    expect(1, (void *)(sp - 16), 8, SAMPLE_WRITE);
    expect(2, (void *)(sp - 16), 8, SAMPLE_READ);
    expect(3, (void *)(sp - 8), 8, SAMPLE_READ);
}

static void test_strings(void **state)
{
    prepare(state);
    static char from[8] = "abc", to[8];
    char *source = from, *target = to;
    uint64_t count = 3, flags;
    __asm__ volatile("ud2\n"
                     "rep movsb\n"
                     "rep stosb\n" /* the counter is 0: nothing */
                     "pushfq\n"
                     "pop %[flags]\n"
                     : [flags] "=&r"(flags), "+S"(source), "+D"(target), "+c"(count)
                     :
                     : "memory", "cc");
    expect_over(flags);
    assert_int_equal(seen_count, 6);
    for (unsigned i = 0; i < 3; i++) {
        expect(2 * i, from + i, 1, SAMPLE_READ);
        expect(2 * i + 1, to + i, 1, SAMPLE_WRITE);
    }
    assert_string_equal(to, "abc");
}

static __thread uint64_t own;

static void test_thread_local(void **state)
{
    prepare(state);
    uint64_t flags;
    own = 41;
    __asm__ volatile("ud2\n"
                     "incq %%fs:own@tpoff\n"
                     "pushfq\n"
                     "pop %[flags]\n"
                     : [flags] "=&r"(flags)
                     :
                     : "memory", "cc");
    expect_over(flags);
    assert_int_equal(own, 42);
    assert_int_equal(seen_count, 1);
    expect(0, &own, 8, SAMPLE_READ | SAMPLE_WRITE);
}

static void test_gather(void **state)
{
    prepare(state);
    if (!__builtin_cpu_supports("avx2"))
        skip_test("the processor has no AVX2");
    static const uint32_t table[64] = {[3] = 33, [63] = 630, [9] = 99, [31] = 310, [0] = 1};
    static const int32_t indices[8] = {3, 63, 0, 9, 31, 3, 0, 63};
    static const int32_t mask[8] = {-1, -1, 0, -1, -1, 0, 0, -1};
    uint32_t result[8];
    uint64_t flags;
    __asm__ volatile("vmovdqu (%[indices]), %%ymm1\n"
                     "vmovdqu (%[mask]), %%ymm2\n"
                     "vpxor %%xmm0, %%xmm0, %%xmm0\n"
                     "ud2\n"
                     "vpgatherdd %%ymm2, (%[table], %%ymm1, 4), %%ymm0\n"
                     "pushfq\n"
                     "pop %[flags]\n"
                     "vmovdqu %%ymm0, (%[result])\n"
                     "vzeroupper\n"
                     : [flags] "=&r"(flags)
                     : [indices] "r"(indices), [mask] "r"(mask), [table] "r"(table), [result] "r"(result)
                     : "memory", "cc", "xmm0", "xmm1", "xmm2");
    expect_over(flags);
    static const unsigned hit[] = {3, 63, 9, 31, 63};
    assert_int_equal(seen_count, 5);
    for (unsigned i = 0; i < 5; i++)
        expect(i, &table[hit[i]], 4, SAMPLE_READ);
    assert_int_equal(result[1], 630);
    assert_int_equal(result[2], 0);
    assert_int_equal(result[4], 310);
}

static void test_system_call(void **state)
{
    prepare(state);
    uint64_t flags, result = SYS_getpid;
    static uint64_t cell;
    cell = 0;
    __asm__ volatile("ud2\n"
                     "incq %[cell]\n"
                     "syscall\n"
                     "incq %[cell]\n"
                     "pushfq\n"
                     "pop %[flags]\n"
                     : [flags] "=&r"(flags), "+a"(result), [cell] "+m"(cell)
                     :
                     : "rcx", "r11", "memory", "cc");
    expect_over(flags);
    assert_int_equal(result, getpid());
    assert_int_equal(cell, 2);
    assert_int_equal(seen_count, 1); /* over before the call */
}

static void test_enough(void **state)
{
    prepare(state);
    static uint64_t cell;
    cell = 0;
    uint64_t flags;
    enough = 3;
    __asm__ volatile("ud2\n"
                     "incq %[cell]\n"
                     "incq %[cell]\n"
                     "incq %[cell]\n"
                     "incq %[cell]\n"
                     "pushfq\n"
                     "pop %[flags]\n"
                     : [flags] "=&r"(flags), [cell] "+m"(cell)
                     :
                     : "memory", "cc");
    expect_over(flags);
    assert_int_equal(seen_count, 3);
    assert_int_equal(cell, 4);
}

static void test_limit(void **state)
{
    prepare(state);
    uint64_t flags, rounds = 100000;
    __asm__ volatile("ud2\n"
                     "1: dec %[rounds]\n"
                     "jnz 1b\n"
                     "pushfq\n"
                     "pop %[flags]\n"
                     : [flags] "=&r"(flags), [rounds] "+r"(rounds)
                     :
                     : "memory", "cc");
    expect_over(flags);
    assert_int_equal(seen_count, 0);
    assert_in_range(agent_self.sampler.steps, 10, 10000);
}

static void test_own_fault(void **state)
{
    prepare(state);
    uint64_t flags, cell = 1;
    __asm__ volatile("lea 1f(%%rip), %%rax\n"
                     "mov %%rax, %[resume]\n"
                     "xor %%eax, %%eax\n"
                     "ud2\n"
                     "incq %[cell]\n"
                     "mov (%%rax), %%rax\n"
                     "1: pushfq\n"
                     "pop %[flags]\n"
                     : [flags] "=&r"(flags), [cell] "+m"(cell), [resume] "=m"(resume_at)
                     :
                     : "rax", "memory", "cc");
    assert_int_equal(seen_count, 2);
    expect(1, NULL, 8, SAMPLE_READ);
    assert_false(flags_at_fault & TRAP_FLAG);
    assert_false(flags & TRAP_FLAG);
    assert_false(agent_self.sampler.bursting);
}

static void test_burst_in_handler(void **state)
{
    prepare(state);
    assert_int_equal(raise(SIGUSR1), 0);
    assert_int_equal(bursts_ended, 1);
}

static void test_end_of_page(void **state)
{
    prepare(state);
    long page = sysconf(_SC_PAGESIZE);
    uint8_t *code =
        mmap(NULL, 2 * (size_t)page, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(code, MAP_FAILED);
    assert_int_equal(mprotect(code + page, (size_t)page, PROT_NONE), 0);
    static const uint8_t function[] = {0x0f, 0x0b, 0x48, 0x8b, 0x07, 0xc3}; /* ud2; mov (%rdi),%rax; ret */
    memcpy(code + page - sizeof function, function, sizeof function);
    uint64_t cell = 77;
    enough = 2;
    uint64_t (*call)(uint64_t *);
    void *entry = code + page - sizeof function;
    memcpy(&call, &entry, sizeof call);
    assert_int_equal(call(&cell), 77);
    assert_int_equal(seen_count, 2);
    expect(0, &cell, 8, SAMPLE_READ);
    munmap(code, 2 * (size_t)page);
}

static void test_probe(void **state)
{
    prepare(state);
    long page = sysconf(_SC_PAGESIZE);
    uint8_t *map = mmap(NULL, 2 * (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(map, MAP_FAILED);
    assert_int_equal(mprotect(map + page, (size_t)page, PROT_NONE), 0);
    uint32_t ticks = UINT32_MAX;
    memset(map, 1, (size_t)page);
    assert_true(step_probe((uint64_t)map + 100, &ticks));
    assert_true(ticks < UINT32_MAX);
    assert_false(step_probe((uint64_t)map + (uint64_t)page + 100, &ticks));
    assert_false(step_probe(0, &ticks));
    assert_false(step_probe(0x8000000000000000u, &ticks)); /* not even an address */
    munmap(map, 2 * (size_t)page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loads_and_stores), cmocka_unit_test(test_stack_and_calls),
        cmocka_unit_test(test_strings),          cmocka_unit_test(test_thread_local),
        cmocka_unit_test(test_gather),           cmocka_unit_test(test_system_call),
        cmocka_unit_test(test_enough),           cmocka_unit_test(test_limit),
        cmocka_unit_test(test_own_fault),        cmocka_unit_test(test_burst_in_handler),
        cmocka_unit_test(test_end_of_page),      cmocka_unit_test(test_probe),
    };
    return cmocka_run_group_tests_name("step_x86_64", tests, NULL, NULL);
}
