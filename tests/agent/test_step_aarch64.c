/* Random instructions of every group, once on the processor and once by the stepper, from the same random registers and
 * memory: all must be equal afterwards. What the processor refuses, the stepper must refuse. */
#include "../skip.h"
#include "native_aarch64.h"

#include "agent/sampling/step.h"
#include "agent/sampling/aarch64/note_access.h"

#include "isa/aarch64/slots.c" /* to empty the table between groups: no program has that many words */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ARENA_BYTES = 65536 };

__thread struct agent_thread agent_self;
uint64_t agent_text_start, agent_text_end;
struct agent_range agent_thunks[AGENT_THUNKS];
_Atomic uint32_t agent_thunk_count;

static uint8_t *arena, pristine[ARENA_BYTES], after_native[ARENA_BYTES];
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

static uint64_t state = 0x123456789abcdef;

static uint64_t random64(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * 0x2545f4914f6cdd1d;
}

/* Values that matter: addresses in the arena, small offsets, extremes, anything. */
static uint64_t random_value(bool addresses)
{
    switch (random64() % (addresses ? 8 : 4)) {
    case 0:
        return random64() % 3 - 1;
    case 1:
        return random64();
    case 2:
        return (random64() % 64 - 32);
    case 3:
        return 1ull << random64() % 64;
    default:
        return (uint64_t)arena + ARENA_BYTES / 4 + random64() % (ARENA_BYTES / 2) / 16 * 16 +
               (random64() % 4 ? 0 : random64() % 16);
    }
}

static void random_machine(struct machine *machine, bool addresses)
{
    memset(machine, 0, sizeof(*machine));
    for (int i = 0; i < 31; i++)
        machine->x[i] = random_value(addresses);
    machine->sp = (uint64_t)arena + ARENA_BYTES / 2 + random64() % 1024 * 16;
    machine->pstate = (random64() & 0xf) << 28;
    for (int i = 0; i < 32; i++) {
        uint64_t *lanes = (uint64_t *)&machine->v[i];
        bool real = random64() & 1; /* floating-point numbers of ordinary size make more paths meet */
        for (int lane = 0; lane < 2; lane++) {
            double number = (double)(int64_t)random64() / (double)(1ull << random64() % 64);
            lanes[lane] = random_value(false);
            if (real)
                memcpy(&lanes[lane], &number, 8);
        }
    }
    machine->fpsr = random64() & 1 ? 0 : 0x0800001f & (uint32_t)random64();
    machine->fpcr = random64() & 3 ? 0 : (uint32_t)random64() & 0x03c00000;
}

static void set_fpcr(uint64_t value)
{
    __asm__ volatile("msr fpcr, %0" ::"r"(value));
}

static bool machines_equal(const struct machine *a, const struct machine *b)
{
    return !memcmp(a->x, b->x, sizeof(a->x)) && a->sp == b->sp && a->pc == b->pc && a->pstate == b->pstate &&
           !memcmp(a->v, b->v, sizeof(a->v)) && a->fpsr == b->fpsr;
}

static void print_difference(const struct machine *before, const struct machine *native, const struct machine *stepped)
{
    for (int i = 0; i < 31; i++)
        if (native->x[i] != stepped->x[i])
            printf("# x%d was %lx, native %lx, stepped %lx\n", i, before->x[i], native->x[i], stepped->x[i]);
    for (int i = 0; i < 32; i++)
        if (native->v[i] != stepped->v[i])
            printf("# v%d native %016lx%016lx, stepped %016lx%016lx\n", i, (uint64_t)(native->v[i] >> 64),
                   (uint64_t)native->v[i], (uint64_t)(stepped->v[i] >> 64), (uint64_t)stepped->v[i]);
    printf("# sp %lx %lx pc %lx %lx pstate %lx %lx fpsr %x %x fpcr %x\n", native->sp, stepped->sp, native->pc,
           stepped->pc, native->pstate, stepped->pstate, native->fpsr, stepped->fpsr, before->fpcr);
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

/* `bits` are fixed where `mask` is set. */
struct group {
    const char *name;
    uint32_t mask, bits;
    bool addresses;
    unsigned rounds, least; /* how many must have been accepted */
};

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
    static const struct group groups[] = {
        {"adr", 0x1f000000, 0x10000000, false, 2000, 2000},
        {"add, sub immediate", 0x1f800000, 0x11000000, false, 10000, 10000},
        {"logical immediate", 0x1f800000, 0x12000000, false, 20000, 5000},
        {"move wide", 0x1f800000, 0x12800000, false, 5000, 1000},
        {"bitfield", 0x1f800000, 0x13000000, false, 20000, 2000},
        {"extract", 0x1f800000, 0x13800000, false, 20000, 500},
        {"immediate, all", 0x1c000000, 0x10000000, false, 20000, 5000},
        {"logical shifted", 0x1f000000, 0x0a000000, false, 20000, 10000},
        {"add, sub register", 0x1f000000, 0x0b000000, false, 20000, 5000},
        {"adc", 0x1fe0fc00, 0x1a000000, false, 5000, 4000},
        {"conditional compare", 0x1fe00000, 0x1a400000, false, 10000, 500},
        {"conditional select", 0x1fe00000, 0x1a800000, false, 10000, 1000},
        {"two sources", 0x7fe0c000, 0x1ac00000, false, 20000, 1000},
        {"one source", 0x7fffe000, 0x5ac00000, false, 20000, 1000},
        {"three sources", 0x1f000000, 0x1b000000, false, 20000, 1000},
        {"register, all", 0x0e000000, 0x0a000000, false, 40000, 5000},
    };
    for (unsigned i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
        run_group(&groups[i]);
}

static void test_branches(void **unused)
{
    (void)unused;
    static const struct group groups[] = {
        {"b, bl", 0x7c000000, 0x14000000, false, 2000, 2000},
        {"b.cond", 0xff000010, 0x54000000, false, 2000, 2000},
        {"cbz", 0x7e000000, 0x34000000, false, 2000, 2000},
        {"tbz", 0x7e000000, 0x36000000, false, 2000, 2000},
        {"br", 0xff9ffc1f, 0xd61f0000, false, 2000, 100},
        {"hint", 0xfffff01f, 0xd503201f, false, 1000, 10},
        {"barrier", 0xfffff01f, 0xd503301f, false, 1000, 10},
        {"mrs", 0xfff00000, 0xd5300000, false, 20000, 0},
        {"mrs nzcv, fpcr, fpsr", 0xfff9f8c0, 0xd5394000, false, 5000, 10},
        {"msr nzcv", 0xffffffe0, 0xd51b4200, false, 500, 500},
    };
    for (unsigned i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
        run_group(&groups[i]);
}

static void test_memory(void **unused)
{
    (void)unused;
    static const struct group groups[] = {
        {"unsigned offset", 0x3b000000, 0x39000000, true, 20000, 2000},
        {"unscaled, indexed", 0x3b200000, 0x38000000, true, 20000, 2000},
        {"register offset", 0x3b200c00, 0x38200800, true, 20000, 1000},
        {"pairs", 0x3a000000, 0x28000000, true, 20000, 2000},
        {"literal", 0x3b000000, 0x18000000, true, 5000, 1},
        {"ordered", 0x3fbffc00, 0x089ffc00, true, 5000, 500},
        {"compare and swap", 0x3fa07c00, 0x08a07c00, true, 20000, 200},
        {"compare and swap pair", 0xbfa07c00, 0x08207c00, true, 20000, 100},
        {"unscaled ordered", 0x3f200c00, 0x19000000, true, 20000, 200},
        {"atomic", 0x3f200c00, 0x38200000, true, 20000, 200},
        {"ldapr", 0x3ffffc00, 0x38bfc000, true, 5000, 100},
        {"structures", 0xbf200000, 0x0c000000, true, 20000, 200},
        {"structures, no offset", 0xbfbf0000, 0x0c000000, true, 20000, 200},
        {"single structures", 0xbf000000, 0x0d000000, true, 20000, 200},
        {"single structures, no offset", 0xbf9f0000, 0x0d000000, true, 20000, 200},
        {"dc zva", 0xffffffe0, 0xd50b7420, true, 500, 100},
        {"memory, all", 0x0a000000, 0x08000000, true, 60000, 2000},
    };
    for (unsigned i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
        run_group(&groups[i]);
}

static void test_vectors(void **unused)
{
    (void)unused;
    static const struct group groups[] = {
        {"copy", 0x9fe08400, 0x0e000400, false, 5000, 500},
        {"integer conversions", 0x7f20fc00, 0x1e200000, false, 10000, 500},
        {"fixed conversions", 0x7f200000, 0x1e000000, false, 10000, 500},
        {"compare", 0xff20fc07, 0x1e202000, false, 3000, 500},
        {"conditional compare", 0xff200c00, 0x1e200400, false, 3000, 500},
        {"scalar", 0x7e000000, 0x1e000000, false, 20000, 1000},
        {"three same", 0x9f200400, 0x0e200400, false, 20000, 2000},
        {"two misc", 0x9f3e0c00, 0x0e200800, false, 20000, 1000},
        {"by element", 0x9f000400, 0x0f000000, false, 20000, 1000},
        {"shift immediate", 0x9f800400, 0x0f000400, false, 20000, 1000},
        {"all", 0x0e000000, 0x0e000000, false, 20000, 1000},
    };
    for (unsigned i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
        run_group(&groups[i]);
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
    /* room without access on both sides: what misses the arena faults */
    char *space = mmap(NULL, ARENA_BYTES + (16 << 20), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    arena = (uint8_t *)space + (8 << 20);
    if (space == MAP_FAILED || mprotect(arena, ARENA_BYTES, PROT_READ | PROT_WRITE) != 0 || !step_start(false) ||
        !slots_start())
        return -1;
    for (unsigned i = 0; i < ARENA_BYTES; i++)
        pristine[i] = (uint8_t)random64();
    memcpy(arena, pristine, ARENA_BYTES);
    return 0;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integer), cmocka_unit_test(test_branches), cmocka_unit_test(test_memory),
        cmocka_unit_test(test_vectors), cmocka_unit_test(test_scalable), cmocka_unit_test(test_sequences),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
