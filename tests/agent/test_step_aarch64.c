/* Random instructions of every group, once on the processor and once by the stepper, from the same random registers and
 * memory: all must be equal afterwards. What the processor refuses, the stepper must refuse. */
#include "../skip.h"
#include "groups_aarch64.h"
#include "native_aarch64.h"
#include "slots_aarch64.h"

#include "agent/sampling/step.h"
#include "agent/sampling/aarch64/note_access.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

__thread struct agent_thread agent_self;
uint64_t agent_text_start, agent_text_end;
struct agent_range agent_thunks[AGENT_THUNKS];
_Atomic uint32_t agent_thunk_count;

static uint8_t after_native[ARENA_BYTES];
static unsigned accesses_reported;
static struct step_access last_access;

bool burst_access(struct agent_thread *self, const ucontext_t *context, const struct step_access *access)
{
    (void)self;
    (void)context;
    accesses_reported++;
    last_access = *access;
    return true;
}

static void set_fpcr(uint64_t value)
{
    __asm__ volatile("msr fpcr, %0" ::"r"(value));
}

/* One word both ways; false on a difference. `*accepted`: the stepper did it. */
static bool compare(uint32_t word, bool addresses, bool *accepted)
{
    struct machine before, native, stepped;
    static ucontext_t context;
    random_machine(&before, addresses);
    before.pc = native_code();

    machine_to_context(&before, &context);
    struct cpu cpu;
    assert_true(cpu_view(&cpu, step_note_access, &agent_self, &context));
    set_fpcr(before.fpcr);
    enum outcome outcome = cpu_execute(&cpu, word);
    set_fpcr(0);
    if (outcome == OUTCOME_NEXT)
        *cpu.pc += 4;
    machine_from_context(&stepped, &context);
    static uint8_t after_stepped[ARENA_BYTES];
    if (addresses) {
        memcpy(after_stepped, arena, ARENA_BYTES);
        memcpy(arena, pristine, ARENA_BYTES);
    }
    *accepted = outcome <= OUTCOME_JUMPED;
    if (!*accepted) {
        if (!machines_equal(&before, &stepped)) {
            printf("# %08x: refused, but registers changed\n", word);
            return false;
        }
        return true;
    }

    native = before;
    int signal = native_run(&native, word);
    if (addresses) {
        memcpy(after_native, arena, ARENA_BYTES);
        memcpy(arena, pristine, ARENA_BYTES);
    }
    bool jumped_away = outcome == OUTCOME_JUMPED && native.pc == stepped.pc;
    if (signal != SIGTRAP && !jumped_away) {
        printf("# %08x: the processor raised signal %d, the stepper went on\n", word, signal);
        return false;
    }
    if (!machines_equal(&native, &stepped) || (addresses && memcmp(after_native, after_stepped, ARENA_BYTES) != 0)) {
        printf("# %08x: different\n", word);
        print_difference(&before, &native, &stepped);
        return false;
    }
    return true;
}

static void run_group(const struct group *group)
{
    unsigned accepted_count = 0, failures = 0;
    native_start();
    for (unsigned i = 0; i < group->rounds && failures < 10; i++) {
        uint32_t word = ((uint32_t)random64() & ~group->mask) | group->bits;
        if ((word & 0xffffffe0) == 0xd53be040)
            continue; /* the counter runs on */
        bool accepted;
        if (i % (SLOT_COUNT / 2) == 0)
            memset(slots_writable, 0, sizeof(*slots_writable));
        if (!compare(word, group->addresses, &accepted))
            failures++;
        accepted_count += accepted;
    }
    printf("# %s: %u of %u stepped\n", group->name, accepted_count, group->rounds);
    assert_int_equal(failures, 0);
    assert_true(accepted_count >= group->least);
}

static void test_integer(void **unused)
{
    (void)unused;
    for (unsigned i = 0; i < sizeof(integer_groups) / sizeof(integer_groups[0]); i++)
        run_group(&integer_groups[i]);
}

static void test_branches(void **unused)
{
    (void)unused;
    for (unsigned i = 0; i < sizeof(branch_groups) / sizeof(branch_groups[0]); i++)
        run_group(&branch_groups[i]);
}

static void test_memory(void **unused)
{
    (void)unused;
    for (unsigned i = 0; i < sizeof(memory_groups) / sizeof(memory_groups[0]); i++)
        run_group(&memory_groups[i]);
}

static void test_vectors(void **unused)
{
    (void)unused;
    for (unsigned i = 0; i < sizeof(vector_groups) / sizeof(vector_groups[0]); i++)
        run_group(&vector_groups[i]);
}

/* Writing a V register clears the rest of the SVE register that holds it; the frame has that in another record. */
static void test_scalable(void **unused)
{
    (void)unused;
    enum { VL = 32, VQ = VL / 16 };
    static const struct {
        uint32_t word;
        int written, also;
    } cases[] = {
        {0x4f00e423, 3, 3},   /* movi v3.16b, #1 */
        {0x3dc00005, 5, 5},   /* ldr q5, [x0] */
        {0xad401c06, 6, 7},   /* ldp q6, q7, [x0] */
        {0x4c408008, 8, 9},   /* ld2 {v8.16b, v9.16b}, [x0] */
        {0x1e602020, -1, -1}, /* fcmp d1, d0 */
        {0x0e013c20, -1, -1}, /* umov w0, v1.b[0] */
        {0x9e670022, 2, 2},   /* fmov d2, x1 */
        {0x3d800005, -1, -1}, /* str q5, [x0] */
    };
    native_start();
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct machine machine;
        static ucontext_t context;
        random_machine(&machine, false);
        machine.fpcr = 0;
        machine.x[0] = (uint64_t)arena;
        machine_to_context(&machine, &context);
        uint8_t *record = ((struct sigcontext *)&context.uc_mcontext)->__reserved + sizeof(struct fpsimd_context);
        struct sve_context *sve = (struct sve_context *)record;
        sve->head = (struct _aarch64_ctx){.magic = SVE_MAGIC, .size = SVE_SIG_CONTEXT_SIZE(VQ)};
        sve->vl = VL;
        memset(record + SVE_SIG_ZREGS_OFFSET, 0xee, 32 * VL);
        struct cpu cpu;
        assert_true(cpu_view(&cpu, step_note_access, &agent_self, &context));
        assert_int_equal(cpu_execute(&cpu, cases[i].word), OUTCOME_NEXT);
        for (int z = 0; z < 32; z++)
            for (int byte = 16; byte < VL; byte++)
                assert_int_equal(record[SVE_SIG_ZREG_OFFSET(VQ, z) + byte],
                                 z == cases[i].written || z == cases[i].also ? 0 : 0xee);
        sve->flags = SVE_SIG_FLAG_SM;
        assert_false(cpu_view(&cpu, step_note_access, &agent_self, &context));
    }
    memcpy(arena, pristine, ARENA_BYTES);
}

static int set_up(void **unused)
{
    (void)unused;
    step_start();
    return arena_start() && slots_start_anywhere() ? 0 : -1;
}

extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

/* The kernel must see a thread in its restartable sequence: nothing is stored to the area that announces one. */
static void test_sequences(void **unused)
{
    (void)unused;
    static ucontext_t context;
    struct cpu cpu;
    uint64_t thread;
    if (!&__rseq_size || !__rseq_size)
        skip_test("the C library registers no restartable sequences");
    __asm__("mrs %0, tpidr_el0" : "=r"(thread));
    assert_true(cpu_view(&cpu, step_note_access, &agent_self, &context));
    cpu.x[0] = thread + (uint64_t)__rseq_offset + 8;
    cpu.x[1] = 77;
    assert_int_equal(cpu_execute(&cpu, 0xf9000001), OUTCOME_UNKNOWN); /* str x1, [x0] */
    assert_int_equal(cpu_execute(&cpu, 0xf9400002), OUTCOME_NEXT);    /* ldr x2, [x0] */
    cpu.x[0] = (uint64_t)arena;
    assert_int_equal(cpu_execute(&cpu, 0xf9000001), OUTCOME_NEXT);
}

/* Another process's return address, signed with its keys and with none of ours: the signature goes away, and what is signed here stays. */
static void test_signatures_of_others(void **unused)
{
    (void)unused;
    enum { PACIASP = 0xd503233f, AUTIASP = 0xd50323bf, RETAB = 0xd65f0fff };
    static ucontext_t context;
    struct cpu cpu;
    const uint64_t plain = 0x123456789abc, other = plain | 0x0055000000000000;
    if (!(cpu_features & HWCAP_PACA))
        skip_test("this processor signs no pointers");
    assert_true(cpu_view(&cpu, step_note_access, &agent_self, &context));
    *cpu.sp = (uint64_t)arena;
    cpu.x[30] = other;
    assert_true(cpu_execute(&cpu, AUTIASP) != OUTCOME_NEXT ||
                cpu.x[30] != plain); /* one's own keys say that it is wrong */
    cpu.foreign = true;
    cpu.x[30] = other;
    assert_int_equal(cpu_execute(&cpu, AUTIASP), OUTCOME_NEXT);
    assert_int_equal(cpu.x[30], plain);
    assert_int_equal(cpu_execute(&cpu, PACIASP), OUTCOME_NEXT);
    assert_int_equal(cpu.x[30], plain);
    cpu.x[30] = other;
    assert_int_equal(cpu_execute(&cpu, RETAB), OUTCOME_JUMPED);
    assert_int_equal(*cpu.pc, plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_signatures_of_others),
        cmocka_unit_test(test_integer),
        cmocka_unit_test(test_branches),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_scalable),
        cmocka_unit_test(test_sequences),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
