/* The burst engine of x86-64 on the processor itself: what running elsewhere could get wrong. As in test_step_x86_64.c a
 * stretch begins with ud2, whose handler starts the burst behind it, and ends with pushf, which ends the burst. With
 * LONG_BURSTS the same by linked translation, which must see the same accesses and leave the same behind. */
#include "../skip.h"

#include "agent/sampling/step.h"
#include "isa/linked.h"
#include "isa/x86_64/engine.h"
#include "isa/x86_64/frame.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

/* What the rest of the agent would give. */
__thread struct agent_thread agent_self __attribute__((tls_model("initial-exec")));
uint64_t agent_text_start, agent_text_end;
struct agent_range agent_thunks[AGENT_THUNKS];
_Atomic uint32_t agent_thunk_count;

extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

enum { MAX_SEEN = 64 };

static struct step_access seen[MAX_SEEN];
static volatile unsigned seen_count, bursts;
static volatile int fault_signal;
static volatile uint64_t fault_rip, fault_rsi, resume_at;

/* Vector registers are the program's while the engine runs. */
__attribute__((target("general-regs-only"))) bool burst_access(struct agent_thread *self, const ucontext_t *context,
                                                               const struct step_access *access)
{
    (void)self, (void)context;
    if (seen_count < MAX_SEEN)
        seen[seen_count] = *access;
    return ++seen_count < MAX_SEEN;
}

/* A string instruction is one access for each element, or in a long burst for each line. Instructions are not counted there. */
#ifdef LONG_BURSTS
#define BY_LONG(by_long, by_short) (by_long)
#define ANNOUNCE                   "movq $0, %%fs:8(%[area])\n"
static struct linked *linked;

__attribute__((target("general-regs-only"))) static void see(uint64_t addr, const struct linked_site *site)
{
    if (seen_count < MAX_SEEN)
        seen[seen_count] = (struct step_access){.addr = addr, .size = site->size, .flags = site->flags};
    seen_count++;
}

__attribute__((target("general-regs-only"))) static bool consume(struct linked *run, const uint64_t *from,
                                                                 const uint64_t *to)
{
    while (from < to) {
        uint64_t head = *from++;
        if ((uint32_t)head == LINKED_BLOCKS) {
            see(from[1], &run->sites[head >> 32]);
            from += 2;
            continue;
        }
        const struct linked_block *block = &run->blocks[(uint32_t)head];
        const struct linked_site *sites = &run->sites[block->first_site];
        uint64_t made = head >> 32 ? (head >> 32) - 1 : block->accesses;
        for (uint64_t i = 0; i < made; i++)
            see(linked_address(run, &sites[i], from[i]), &sites[i]);
        from += block->accesses;
    }
    return true;
}

__attribute__((target("general-regs-only"))) static bool may_run(uint64_t pc)
{
    return !agent_owns_code(pc);
}

/* As agent/sampling/long_steps.c has it; this one logs to `seen`. */
static bool fault(ucontext_t *context, int signal)
{
    return step_fault(&agent_self, context, signal) || (linked && linked_fault(linked, context));
}

static void begin(struct agent_thread *self, ucontext_t *context)
{
    linked_forget(linked);
    assert_true(linked_run(linked, self->sampler.step_stack, context));
    bursts++;
}
#else
#define BY_LONG(by_long, by_short) (by_short)
#define ANNOUNCE                   "movq $0, 8(%[area])\n"
static bool fault(ucontext_t *context, int signal)
{
    return step_fault(&agent_self, context, signal);
}

static void begin(struct agent_thread *self, ucontext_t *context)
{
    self->sampler.steps = 0;
    self->sampler.remaining = MAX_SEEN;
    step_burst(self, context);
    bursts++;
}
#endif

static void on_signal(int signal, siginfo_t *info, void *raw)
{
    ucontext_t *context = raw;
    greg_t *general = context->uc_mcontext.gregs;
    if (signal == SIGILL) {
        general[REG_RIP] += 2;
        step_apart(&agent_self, info, context, begin);
    } else if (!fault(context, signal)) {
        if (!resume_at)
            abort();
        fault_signal = signal;
        fault_rip = (uint64_t)general[REG_RIP];
        fault_rsi = (uint64_t)general[REG_RSI];
        general[REG_RIP] = (greg_t)resume_at;
    }
}

static void prepare(void)
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_NODEFER};
    static const int signals[] = {SIGILL, SIGSEGV, SIGBUS, SIGFPE};
    for (unsigned i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaction(signals[i], &action, NULL);
    step_start();
    assert_true(step_thread_start(&agent_self));
    assert_non_null(agent_self.sampler.step_stack);
#ifdef LONG_BURSTS
    if (!linked) {
        void *reserved = mmap(NULL, linked_bytes(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        assert_true(reserved != MAP_FAILED);
        assert_non_null(linked = linked_make(reserved));
        linked->consume = consume;
        linked->may_run = may_run;
        linked->mode = LINKED_LOGS;
    }
#endif
    seen_count = bursts = 0;
    fault_signal = 0;
    resume_at = 0;
}

static uint64_t cells[8];
static void (*volatile routine)(void);
static volatile unsigned routine_calls;
static void count_call(void)
{
    routine_calls++;
}

/* Every register that an operand relative to rip could get as its base is in use somewhere here. */
static void test_rip_relative(void **state)
{
    (void)state;
    prepare();
    uint64_t rsi, rdi, rbx, address, narrow;
    memset(cells, 0, sizeof cells);
    cells[0] = 5;
    __asm__ volatile("mov $11, %%rsi\n mov $12, %%rdi\n mov $0x1300, %%rbx\n"
                     "ud2\n"
                     "add cells(%%rip), %%rsi\n"
                     "add cells(%%rip), %%rdi\n"
                     "mov %%bh, cells+8(%%rip)\n"
                     "addl $7, cells+16(%%rip)\n"
                     "addw $0x101, 16+cells(%%rip)\n"
                     "mov %%rsi, cells+24(%%rip)\n"
                     "push cells(%%rip)\n"
                     "pop cells+32(%%rip)\n"
                     "lea cells(%%rip), %[address]\n"
                     "lea cells(%%rip), %k[narrow]\n"
                     "lock xadd %%rdi, cells+40(%%rip)\n"
                     "pushfq\n pop %%rax\n"
                     : "=&S"(rsi), "=&D"(rdi), "=&b"(rbx), [address] "=&r"(address), [narrow] "=&r"(narrow)
                     :
                     : "rax", "memory", "cc");
    assert_int_equal(rsi, 16);
    assert_int_equal(rdi, 0);
    assert_int_equal(rbx, 0x1300);
    assert_int_equal(cells[1], 0x13);
    assert_int_equal(cells[2], 0x108);
    assert_int_equal(cells[3], 16);
    assert_int_equal(cells[4], 5);
    assert_int_equal(cells[5], 17);
    assert_ptr_equal((void *)address, cells);
    assert_int_equal(narrow, (uint32_t)(uint64_t)cells);
    assert_int_equal(seen_count, 11);
    assert_int_equal(bursts, 1);
    assert_ptr_equal((void *)seen[0].addr, cells);
    assert_ptr_equal((void *)seen[10].addr, cells + 5);
}

static void test_rip_relative_vectors(void **state)
{
    (void)state;
    prepare();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi2"))
        skip_test("the processor has no AVX2 or BMI2");
    uint64_t rsi = 0xf0, rdi = 0x1234;
    for (unsigned i = 0; i < 8; i++)
        cells[i] = i + 1;
    __asm__ volatile("ud2\n"
                     "vmovdqu cells(%%rip), %%ymm9\n"        /* two-byte VEX */
                     "vpermq $0x1b, cells(%%rip), %%ymm10\n" /* three-byte VEX */
                     "vpaddq cells(%%rip), %%ymm9, %%ymm9\n" /* with a second register */
                     "pext cells(%%rip), %%rdi, %%rsi\n"     /* both candidates in use: rbx */
                     "vpaddq %%ymm10, %%ymm9, %%ymm9\n"
                     "vmovdqu %%ymm9, cells+32(%%rip)\n"
                     "pushfq\n pop %%rax\n"
                     : "+&S"(rsi), "+&D"(rdi)
                     :
                     : "rax", "memory", "cc", "xmm9", "xmm10");
    assert_int_equal(cells[4], 2 + 4);
    assert_int_equal(cells[5], 4 + 3);
    assert_int_equal(cells[6], 6 + 2);
    assert_int_equal(cells[7], 8 + 1);
    assert_int_equal(rsi, 0);
    assert_int_equal(rdi, 0x1234);
    assert_int_equal(seen_count, 5);
}

static void test_calls(void **state)
{
    (void)state;
    prepare();
    routine = count_call;
    routine_calls = 0;
    uint64_t before, after;
    __asm__ volatile("mov %%rsp, %[before]\n sub $256, %%rsp\n and $-16, %%rsp\n"
                     "ud2\n"
                     "call *routine(%%rip)\n"
                     "lea routine(%%rip), %%rax\n"
                     "call *(%%rax)\n"
                     "mov routine(%%rip), %%rax\n"
                     "call *%%rax\n"
                     "mov %[before], %%rsp\n mov %%rsp, %[after]\n"
                     "sub $256, %%rsp\n pushfq\n pop %%rax\n add $256, %%rsp\n"
                     : [before] "=&r"(before), [after] "=&r"(after)
                     :
                     : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc");
    assert_int_equal(before, after);
    assert_int_equal(routine_calls, 3);
    assert_int_equal(bursts, 1);
    assert_true(BY_LONG(seen_count >= 12, agent_self.sampler.steps > 15));
}

/* A division error in the middle of a block comes at the program's own place, with its own registers. */
static void test_division_error(void **state)
{
    (void)state;
    prepare();
    uint64_t place, resume;
    __asm__ volatile("lea 2f(%%rip), %[resume]\n mov %[resume], %[to]\n lea 1f(%%rip), %[place]\n"
                     "xor %%ecx, %%ecx\n mov $41, %%esi\n"
                     "ud2\n"
                     "add cells(%%rip), %%rcx\n sub cells(%%rip), %%rcx\n"
                     "inc %%rsi\n"
                     "1: div %%rcx\n"
                     "inc %%rsi\n"
                     "2: pushfq\n pop %%rax\n"
                     : [place] "=&r"(place), [resume] "=&r"(resume), [to] "=m"(resume_at)
                     :
                     : "rax", "rcx", "rdx", "rsi", "memory", "cc");
    assert_int_equal(fault_signal, SIGFPE);
    assert_int_equal(fault_rip, place);
    assert_int_equal(fault_rsi, 42);
    assert_int_equal(bursts, 1);
    assert_int_equal(seen_count, 2);
}

/* A fault with an operand relative to rip: its register is the program's again. */
static void test_fault_with_scratch(void **state)
{
    (void)state;
    prepare();
    uint64_t place, resume;
    __asm__ volatile("lea 2f(%%rip), %[resume]\n mov %[resume], %[to]\n lea 1f(%%rip), %[place]\n"
                     "mov $77, %%esi\n"
                     "ud2\n"
                     "nop\n"
                     "1: mov 0x40000000(%%rip), %%rax\n" /* nothing is there */
                     "2: pushfq\n pop %%rax\n"
                     : [place] "=&r"(place), [resume] "=&r"(resume), [to] "=m"(resume_at)
                     :
                     : "rax", "rsi", "memory", "cc");
    assert_int_equal(fault_signal, SIGSEGV);
    assert_int_equal(fault_rip, place);
    assert_int_equal(fault_rsi, 77);
}

/* The address that the x87 unit remembers is the program's. */
static void test_x87_address(void **state)
{
    frame_learn();
    if (frame_is_emulated())
        skip_test("emulated: the processor itself has another address there");
    (void)state;
    prepare();
    struct {
        uint32_t control, status, tag, ip;
        uint32_t rest[3];
    } environment;
    uint64_t place;
    __asm__ volatile("lea 1f(%%rip), %[place]\n"
                     "ud2\n"
                     "fld1\n"
                     "1: fldpi\n"
                     "nop\n"
                     "fnstenv %[environment]\n" /* no burst may run it */
                     "fninit\n"
                     "pushfq\n pop %%rax\n"
                     : [place] "=&r"(place), [environment] "=m"(environment)
                     :
                     : "rax", "memory", "cc", "st", "st(1)");
    assert_int_equal(bursts, 1);
    assert_int_equal(agent_self.sampler.steps, BY_LONG(0, 3));
    if (environment.ip != 0) /* some processors keep it for errors only */
        assert_int_equal(environment.ip, (uint32_t)place);
}

/* A restartable sequence is never begun in a burst. */
static void test_restartable_sequence(void **state)
{
    (void)state;
    prepare();
    if (!&__rseq_size || !__rseq_size)
        skip_test("the C library registers no restartable sequences");
    uint64_t area = (uint64_t)__rseq_offset + (uint64_t)BY_LONG(NULL, __builtin_thread_pointer());
    __asm__ volatile("ud2\n"
                     "mov (%[cell]), %%rax\n" ANNOUNCE "mov (%[cell]), %%rax\n"
                     "pushfq\n pop %%rax\n"
                     :
                     : [area] "r"(area), [cell] "r"(cells)
                     : "rax", "memory", "cc");
    assert_int_equal(bursts, 1);
    assert_int_equal(seen_count, 1);
}

/* Code that changes is seen to have changed, in one burst and between two. */
static void test_changed_code(void **state)
{
    (void)state;
    uint8_t *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(code, MAP_FAILED);
    static const uint8_t function[] = {0x0f, 0x0b, 0xb8, 1,    0,
                                       0,    0,    0x9c, 0x5a, 0xc3}; /* ud2; mov $1, %eax; pushfq ... */
    memcpy(code, function, sizeof function);
    int (*call)(void);
    memcpy(&call, &code, sizeof call);
    for (int i = 0; i < 20; i++) {
        prepare();
        code[3] = (uint8_t)i;
        assert_int_equal(call(), i);
        assert_int_equal(bursts, 1);
    }
    munmap(code, 4096);
}

static void test_repeated_compares(void **state)
{
    (void)state;
    prepare();
    static const char left[] = "abcdef", right[] = "abcxef";
    const char *one = left, *other = right;
    uint64_t count = 6;
    uint8_t below;
    __asm__ volatile("ud2\n repe cmpsb\n setb %[below]\n pushfq\n pop %%rax\n"
                     : "+S"(one), "+D"(other), "+c"(count), [below] "=&q"(below)
                     :
                     : "rax", "memory", "cc");
    assert_int_equal(count, 2);
    assert_int_equal(below, 1);
    assert_int_equal(seen_count, BY_LONG(2, 8));
    prepare();
    const char *at = left;
    count = 7;
    __asm__ volatile("ud2\n repne scasb\n pushfq\n pop %%rdx\n"
                     : "+D"(at), "+c"(count)
                     : "a"('d')
                     : "rdx", "memory", "cc");
    assert_ptr_equal(at, left + 4);
    assert_int_equal(seen_count, BY_LONG(1, 4));
}

/* The child has none of its parent's slots and gets its own. */
static void test_fork(void **state)
{
    (void)state;
    prepare();
    pid_t child = fork();
    if (child == 0) {
        step_forget(&agent_self);
        if (!step_thread_start(&agent_self) || !agent_self.sampler.step_stack)
            _exit(1);
        __asm__ volatile("ud2\n incq cells(%%rip)\n pushfq\n pop %%rax\n" ::: "rax", "memory", "cc");
        _exit(bursts == 1 && seen_count == 1 ? 0 : 2);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static bool is_mapped(const uint8_t *at)
{
    unsigned char resident;
    return mincore((void *)at, 4096, &resident) == 0;
}

/* A thread's engine is small; the next thread gets it, and of many that end together some are given back to the system. */
static void test_memory(void **state)
{
    (void)state;
    prepare();
    assert_true(sizeof(struct engine) + ENGINE_CODE <= 170 << 10);
    struct engine *engines[ENGINES_KEPT + 4], *own = agent_self.sampler.step_stack;
    unsigned mapped = 0, taken_again = 0;
    step_thread_stop(&agent_self);
    assert_true(is_mapped(own->code));
    for (unsigned i = 0; i < ENGINES_KEPT + 4; i++) {
        assert_non_null(engines[i] = engine_take());
        taken_again += engines[i] == own;
    }
    assert_int_equal(taken_again, 1);
    const uint8_t *codes[ENGINES_KEPT + 4];
    for (unsigned i = 0; i < ENGINES_KEPT + 4; i++)
        codes[i] = engines[i]->code;
    for (unsigned i = 0; i < ENGINES_KEPT + 4; i++)
        engine_give_back(engines[i]);
    for (unsigned i = 0; i < ENGINES_KEPT + 4; i++)
        mapped += is_mapped(codes[i]);
    assert_int_equal(mapped, ENGINES_KEPT);
    assert_null(agent_self.sampler.step_stack);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rip_relative),
        cmocka_unit_test(test_rip_relative_vectors),
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_division_error),
        cmocka_unit_test(test_fault_with_scratch),
        cmocka_unit_test(test_x87_address),
        cmocka_unit_test(test_restartable_sequence),
        cmocka_unit_test(test_changed_code),
        cmocka_unit_test(test_repeated_compares),
        cmocka_unit_test(test_fork),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests_name("engine_x86_64", tests, NULL, NULL);
}
