/* Long bursts on aarch64: sequences of instructions at random and small loops, once on the processor and once by linked
 * translation, from the same registers and memory: all must be equal afterwards, and the accesses those that the stepper reports. */
#include "../skip.h"
#include "groups_aarch64.h"
#include "native_aarch64.h"
#include "slots_aarch64.h"

#include "agent/sampling/aarch64/note_access.h"
#include "agent/sampling/step.h"
#include "isa/linked.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>

enum {
    SEQUENCES = 12000,
    LONGEST = 12,
    MOST = 1 << 17, /* accesses */
    WORD_BRK = 0xd4200000,
    ENOUGH = 1 << 20,
};

__thread struct agent_thread agent_self;
uint64_t agent_text_start, agent_text_end;
struct agent_range agent_thunks[AGENT_THUNKS];
_Atomic uint32_t agent_thunk_count;

struct list {
    unsigned count;
    struct step_access accesses[MOST];
};

static struct list by_stepper, by_linked;
static struct linked *linked;
static uint8_t after_native[ARENA_BYTES];

static bool add(struct list *list, const struct step_access *access)
{
    if (list->count < MOST)
        list->accesses[list->count++] = *access;
    return list->count < MOST;
}

bool burst_access(struct agent_thread *self, const ucontext_t *context, const struct step_access *access)
{
    (void)self, (void)context;
    return add(&by_stepper, access);
}

static bool consume(struct linked *run, const uint64_t *from, const uint64_t *to)
{
    while (from < to) {
        uint64_t head = *from++;
        const struct linked_block *block = &run->blocks[(uint32_t)head];
        const struct linked_site *sites = &run->sites[block->first_site];
        uint64_t made = head >> 32 ? (head >> 32) - 1 : block->accesses;
        for (uint64_t i = 0; i < made; i++)
            if (linked_address(run, &sites[i], from[i]))
                add(&by_linked, &(struct step_access){.addr = linked_address(run, &sites[i], from[i]),
                                                      .size = sites[i].size,
                                                      .flags = sites[i].flags});
        from += block->accesses;
    }
    return by_linked.count < MOST;
}

static bool may_run(uint64_t pc)
{
    return pc != 0;
}

static int set_up(void **unused)
{
    (void)unused;
    step_start();
    if (!arena_start() || !(linked = native_linked()))
        return -1;
    linked->consume = consume;
    linked->may_run = may_run;
    return slots_start_anywhere() ? 0 : -1;
}

static void run_linked(struct machine *machine, enum linked_mode mode)
{
    static ucontext_t context;
    machine_to_context(machine, &context);
    by_linked.count = 0;
    linked_forget(linked);
    linked->mode = mode;
    linked->remaining = ENOUGH;
    native_running = linked;
    bool ran = linked_run(linked, NULL, &context);
    native_running = NULL;
    assert_true(ran);
    machine_from_context(machine, &context);
}

/* Until it cannot go on; whether it ended before an access that was reported. */
static bool run_stepper(struct machine *machine)
{
    static ucontext_t context;
    struct cpu cpu;
    enum outcome outcome;
    machine_to_context(machine, &context);
    by_stepper.count = 0;
    unsigned before;
    assert_true(cpu_view(&cpu, step_note_access, &agent_self, &context));
    do {
        uint64_t pc = *cpu.pc, word;
        before = by_stepper.count;
        if (access_load4(pc, &word) != 0)
            break;
        outcome = cpu_execute(&cpu, (uint32_t)word);
        if (outcome == OUTCOME_NEXT)
            *cpu.pc = pc + 4;
    } while (outcome <= OUTCOME_JUMPED);
    machine_from_context(machine, &context);
    return by_stepper.count != before;
}

static bool same_access(const struct step_access *a, const struct step_access *b)
{
    return a->addr == b->addr && a->size == b->size && a->flags == b->flags;
}

/* The accesses of both, as far as both went. */
static bool lists_equal(bool same_end, bool reported_last)
{
    unsigned least = by_linked.count < by_stepper.count ? by_linked.count : by_stepper.count;
    for (unsigned i = 0; i < least; i++)
        if (!same_access(&by_linked.accesses[i], &by_stepper.accesses[i])) {
            printf("# access %u: %lx %u %x, stepped %lx %u %x\n", i, by_linked.accesses[i].addr,
                   by_linked.accesses[i].size, by_linked.accesses[i].flags, by_stepper.accesses[i].addr,
                   by_stepper.accesses[i].size, by_stepper.accesses[i].flags);
            return false;
        }
    if (same_end && by_linked.count != by_stepper.count - reported_last) {
        printf("# %u accesses, stepped %u\n", by_linked.count, by_stepper.count);
        return false;
    }
    return true;
}

/* From `before` to a trap or fault, both ways. Where the burst ends early the processor goes on, as in a program. `*whole`: it
 * went to the end. */
static bool compare(const struct machine *before, bool *whole)
{
    struct machine native = *before, after = *before, stepped = *before;
    int signal = native_run(&native, 0);
    memcpy(after_native, arena, ARENA_BYTES);
    uint64_t end = 0;
    for (enum linked_mode mode = LINKED_LOGS; mode <= LINKED_COUNTS; mode++) {
        memcpy(arena, pristine, ARENA_BYTES);
        after = *before;
        run_linked(&after, mode);
        if (mode == LINKED_COUNTS && end != after.pc) {
            printf("# counting ended elsewhere: %lx, not %lx\n", after.pc, end);
            return false;
        }
        end = after.pc;
        *whole = linked->stopped == LINKED_INSTRUCTION && linked->stop_name == WORD_BRK;
        if (mode == LINKED_COUNTS && *whole && ENOUGH - linked->remaining != by_stepper.count && stepped.pc == end) {
            printf("# %ld counted, %u stepped\n", ENOUGH - linked->remaining, by_stepper.count);
            return false;
        }
        after.fpcr = native.fpcr;
        if (native_run(&after, 0) != signal || !machines_equal(&native, &after) ||
            memcmp(after_native, arena, ARENA_BYTES) != 0) {
            printf("# different, mode %d, stopped %d\n", (int)mode, (int)linked->stopped);
            print_difference(before, &native, &after);
            return false;
        }
        memcpy(arena, pristine, ARENA_BYTES);
        if (mode == LINKED_LOGS) {
            bool reported = run_stepper(&stepped);
            if (!lists_equal(stepped.pc == end, reported))
                return false;
        }
    }
    memcpy(arena, pristine, ARENA_BYTES);
    return true;
}

static const struct group forward_groups[] = {
    {"b, bl", 0x7fffffff, 0x14000000, false, 0, 0},         {"b.cond", 0xfffffff0, 0x54000000, false, 0, 0},
    {"cbz", 0x7effffe0, 0x34000000, false, 0, 0},           {"tbz", 0x7e07ffe0, 0x36000000, false, 0, 0},
    {"hint", 0xfffff01f, 0xd503201f, false, 0, 0},          {"barrier", 0xfffff01f, 0xd503301f, false, 0, 0},
    {"mrs nzcv", 0xffffffe0, 0xd53b4200, false, 0, 0},      {"msr nzcv", 0xffffffe0, 0xd51b4200, false, 0, 0},
    {"mrs tpidr_el0", 0xffffffe0, 0xd53bd040, false, 0, 0},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static uint32_t random_word(void)
{
    const struct group *group;
    unsigned kind = (unsigned)(random64() % 8);
    if (kind < 4)
        group = &memory_groups[random64() % COUNT(memory_groups)];
    else if (kind < 6)
        group = &integer_groups[random64() % COUNT(integer_groups)];
    else if (kind < 7)
        group = &vector_groups[random64() % COUNT(vector_groups)];
    else
        group = &forward_groups[random64() % COUNT(forward_groups)];
    uint32_t word = ((uint32_t)random64() & ~group->mask) | group->bits;
    if (kind == 7 && word >> 24 != 0xd5) /* on to one of the next */
        return word | (1 + (uint32_t)random64() % 3) << ((word & 0x7c000000) == 0x14000000 ? 0 : 5);
    if ((word & 0xffffffe0) == 0xd50b7420) /* DC ZVA: where it faults, QEMU's user emulation reports another place */
        return random_word();
    unsigned often = (unsigned)(random64() % 8); /* registers that translated code has its own use for */
    if (often < 2)
        word = (word & ~0x3e0u) | 18 << 5;
    else if (often < 5)
        word = (word & ~(31u << 16)) | (uint32_t)(random64() % 3) << 16;
    else if (often < 6)
        word = (word & ~31u) | (uint32_t)(random64() % 3);
    return word;
}

static void test_random(void **unused)
{
    (void)unused;
    unsigned failures = 0, wholes = 0, accesses = 0;
    native_start();
    for (unsigned i = 0; i < SEQUENCES && failures < 5; i++) {
        uint32_t words[LONGEST];
        unsigned count = 1 + (unsigned)(random64() % (i % 2 ? LONGEST : 3));
        for (unsigned j = 0; j < count; j++)
            words[j] = random_word();
        struct machine before;
        random_machine(&before, true);
        before.pc = native_put(words, count);
        bool whole = false;
        if (i % (SLOT_COUNT / LONGEST / 2) == 0)
            memset(slots_writable, 0, sizeof(*slots_writable));
        if (!compare(&before, &whole)) {
            failures++;
            printf("# sequence %u:", i);
            for (unsigned j = 0; j < count; j++)
                printf(" %08x", words[j]);
            printf("\n");
        }
        wholes += whole;
        accesses += by_stepper.count;
    }
    printf("# %u sequences to their end, %u accesses\n", wholes, accesses);
    assert_int_equal(failures, 0);
    assert_true(wholes > SEQUENCES / 10 && accesses > SEQUENCES / 4);
}

/* Each begins with x0 in the arena and ends at a brk. */
__asm__(".arch armv8.3-a+lse\n"
        ".text\n"
        ".globl code_triad, code_calls, code_signed, code_pairs, code_atomic, code_fault, code_crowded, code_refused\n"
        "code_triad:\n" /* a loop of one block, which counting unrolls */
        "  mov x1, x0\n  add x2, x0, #8192\n  mov w3, #1001\n"
        "1: ldr q0, [x1], #16\n  ldp d2, d3, [x2, #16]\n  fadd v0.2d, v0.2d, v0.2d\n  str q0, [x2], #16\n"
        "  sub w3, w3, #1\n  and x1, x1, #-2049\n  and x2, x2, #-2049\n  cbnz w3, 1b\n"
        "  brk #0\n"
        "code_calls:\n" /* by name and by register, x18 and x30 among them, and tables of the linker */
        "  mov w19, #50\n  mov x20, x0\n  adr x18, 4f\n"
        "1: bl 3f\n  blr x18\n  adr x30, 4f\n  blr x30\n  adr x17, 4f\n  adr x30, 2f\n  br x17\n"
        "2: stp x18, x30, [sp, #-16]!\n  mov x18, #3\n"
        "5: ldr x3, [x20, x18, lsl #3]\n  sub x18, x18, #1\n  cbnz x18, 5b\n"
        "  ldp x18, x30, [sp], #16\n  adr x16, 6f\n  br x16\n"
        "6: sub w19, w19, #1\n  tbz w19, #31, 1b\n  brk #0\n"
        "3: str x30, [sp, #-16]!\n  bl 4f\n  ldr x30, [sp], #16\n  ret\n"
        "4: ldr x4, [x20], #8\n  ldr x5, 7f\n  ldr q6, 7f\n  ldrsw x7, 7f\n  adrp x8, 7f\n  ret\n"
        "  .p2align 4\n"
        "7: .quad 0x8123456789abcdef, 5\n"
        "code_signed:\n" /* hints, on older processors; but for the return, which those do not have */
        "  mov w19, #9\n"
        "1: bl 2f\n  sub w19, w19, #1\n  cbnz w19, 1b\n  brk #0\n"
        "2: hint #25\n  stp x29, x30, [sp, #-16]!\n  ldp x29, x30, [sp], #16\n  hint #29\n  ret\n"
        "code_pairs:\n" /* exclusive loads and stores */
        "  mov w19, #300\n"
        "1: ldxr x3, [x0]\n  add x3, x3, #7\n  stxr w4, x3, [x0]\n  cbnz w4, 1b\n"
        "2: ldaxr w5, [x0]\n  and w6, w5, #3\n  cmp w6, #1\n  b.eq 3f\n  mov x18, #8\n  stlxr w7, w18, [x0]\n  cbnz "
        "w7, 2b\n"
        "3: ldxp x8, x9, [x0]\n  tbnz w8, #2, 4f\n  stxp w10, x9, x8, [x0]\n  cbnz w10, 3b\n"
        "4: ldaxrb w11, [x0, #0]\n  cbz w11, 5f\n  stxrb w12, w11, [x0]\n"
        "5: clrex\n  sub w19, w19, #1\n  cbnz w19, 1b\n  brk #0\n"
        "code_atomic:\n"
        "  mov w19, #100\n  mov x18, #3\n"
        "1: ldadd x18, x3, [x0]\n  mov x4, x3\n  casal x4, x19, [x0]\n  swp w5, w18, [x0]\n  mov x6, #0\n  mov x7, #0\n"
        "  casp x6, x7, x20, x21, [x0]\n  ldar x8, [x0]\n  stlr w8, [x0]\n"
        "  ld2 {v3.4s, v4.4s}, [x0]\n  st1 {v3.8h}, [x0]\n  ld3 {v3.b, v4.b, v5.b}[3], [x0]\n"
        "  mov x9, x0\n  st4 {v3.2d, v4.2d, v5.2d, v6.2d}, [x9], #64\n  add x9, x9, #77\n  dc zva, x9\n  prfm "
        "pldl1keep, [x18]\n"
        "  sub w19, w19, #1\n  cbnz w19, 1b\n  brk #0\n"
        "code_refused:\n"
        "  ldr x3, [x0]\n  casp x6, x7, x18, x19, [x0]\n  ldr x3, [x0]\n  brk #0\n"
        "code_fault:\n" /* in the middle of a block of a loop, with x18 in use */
        "  mov x18, x0\n"
        "1: ldr x3, [x0]\n  add x18, x18, #4096\n  str x3, [x18, #8]!\n  ldr x4, [x0, #16]\n  b 1b\n"
        "code_crowded:\n" /* no register is free */
        "  add x1, x0, x0\n  ldr x2, [x0]\n  ldp x3, x4, [x0, #16]\n  ldp x5, x6, [x0, #32]\n  ldp x7, x8, [x0, #48]\n"
        "  ldp x9, x10, [x0]\n  ldp x11, x12, [x0]\n  ldp x13, x14, [x0]\n  ldp x15, x16, [x0]\n  ldp x17, x18, [x0]\n"
        "  ldp x19, x20, [x0]\n  ldp x21, x22, [x0]\n  ldp x23, x24, [x0]\n  ldp x25, x26, [x0]\n  ldp x27, x28, [x0]\n"
        "  ldp x29, x30, [x0]\n  stp x29, x18, [x0, #64]\n  add x18, x18, x30\n  madd x18, x18, x18, x17\n  stp x18, "
        "x30, [x0, #80]\n"
        "  brk #0\n");
extern const char code_triad[], code_calls[], code_signed[], code_pairs[], code_atomic[], code_fault[], code_crowded[],
    code_refused[];

/* Runs in bursts as short as may be, one way and the other, to where both cannot go on. */
static void run_slices(struct machine *machine)
{
    static ucontext_t context;
    machine_to_context(machine, &context);
    native_running = linked;
    do {
        linked_forget(linked);
        linked->mode = LINKED_COUNTS;
        linked->remaining = (int64_t)(random64() % 100);
        assert_true(linked_run(linked, NULL, &context));
    } while (linked->stopped == LINKED_ENOUGH);
    native_running = NULL;
    machine_from_context(machine, &context);
}

static void compare_code(const char *code, unsigned accesses, enum linked_stop stop)
{
    struct machine before, native, after;
    native_start();
    memcpy(arena, pristine, ARENA_BYTES);
    random_machine(&before, true);
    before.x[0] = (uint64_t)arena + ARENA_BYTES / 2;
    before.pc = (uint64_t)code;
    bool whole;
    assert_true(compare(&before, &whole));
    assert_int_equal(linked->stopped, stop);
    native = after = before;
    native_run(&native, 0);
    memcpy(after_native, arena, ARENA_BYTES);
    memcpy(arena, pristine, ARENA_BYTES);
    run_slices(&after);
    assert_int_equal(linked->stopped, stop);
    native_run(&after, 0);
    assert_true(machines_equal(&native, &after));
    assert_memory_equal(arena, after_native, ARENA_BYTES);
    memcpy(arena, pristine, ARENA_BYTES);
    run_linked(&before, LINKED_LOGS);
    assert_int_equal(by_linked.count, accesses);
    memcpy(arena, pristine, ARENA_BYTES);
}

static void test_loop(void **unused)
{
    (void)unused;
    compare_code(code_triad, 3 * 1001, LINKED_INSTRUCTION);
}

static void test_calls(void **unused)
{
    (void)unused;
    compare_code(code_calls, 51 * (2 + 4 * 4 + 2 + 3), LINKED_INSTRUCTION);
}

static void test_signed(void **unused)
{
    (void)unused;
    compare_code(code_signed, 9 * 2, LINKED_INSTRUCTION);
}

/* One access for a pair, whether its store is come to or not. */
static void test_pairs(void **unused)
{
    (void)unused;
    compare_code(code_pairs, 300 * 4, LINKED_INSTRUCTION);
    unsigned locked = 0;
    for (unsigned i = 0; i < by_linked.count; i++)
        locked += by_linked.accesses[i].flags == (SAMPLE_READ | SAMPLE_WRITE | SAMPLE_LOCKED);
    assert_int_equal(locked, by_linked.count);
}

static void test_crowded(void **unused)
{
    (void)unused;
    compare_code(code_crowded, 17, LINKED_INSTRUCTION);
}

static void test_atomic(void **unused)
{
    (void)unused;
    bool has = getauxval(AT_HWCAP) & HWCAP_ATOMICS; /* else its first instruction is for the program to fail at */
    compare_code(code_atomic, has ? 100 * 11 : 0, has ? LINKED_INSTRUCTION : LINKED_FAULT);
}

/* What is not understood runs by itself: here a pair of registers of which one is x18. */
static void test_refused(void **unused)
{
    (void)unused;
    compare_code(code_refused, 1, LINKED_INSTRUCTION);
    assert_int_equal(linked->stop_next, (uint64_t)code_refused + 8);
}

static void test_fault(void **unused)
{
    (void)unused;
    compare_code(code_fault, 7 * 3 + 1, LINKED_FAULT);
}

/* SVE, by vectors of any length: a triad by predicates, whose last iteration has no element in its second half; a copy of registers
 * and predicates to the stack; elements that widen, structures, what is repeated; and SETFFR, which ends the burst. */
__asm__(
    ".arch armv8.2-a+sve\n"
    ".globl code_scalable, code_structures\n"
    "code_scalable:\n"
    "  mov x3, #1003\n  mov x4, #0\n  add x1, x0, #8192\n  add x2, x0, #4096\n  fmov z3.d, #3.0\n  cntd x5\n"
    "  whilelo p0.d, x4, x3\n"
    "1: ld1d {z0.d}, p0/z, [x1, x4, lsl #3]\n  ld1d {z1.d}, p0/z, [x2, x4, lsl #3]\n  fmla z0.d, p0/m, z1.d, z3.d\n"
    "  add x6, x4, x5\n  whilelo p1.d, x6, x3\n  st1d {z0.d}, p0, [x0, x4, lsl #3]\n"
    "  add x18, x0, x4, lsl #3\n  ld1d {z2.d}, p1/z, [x18, #1, mul vl]\n  st1d {z2.d}, p1, [x18, #1, mul vl]\n"
    "  incd x4, all, mul #2\n  whilelo p0.d, x4, x3\n  b.first 1b\n"
    "  brk #0\n"
    "code_structures:\n"
    "  ptrue p0.b\n  ptrue p1.s, vl3\n  mov x18, #8\n  mov x7, x0\n  mov w19, #20\n"
    "1: ld2w {z0.s, z1.s}, p1/z, [x0, x18, lsl #2]\n  st3b {z0.b, z1.b, z2.b}, p0, [x7, #3, mul vl]\n"
    "  ld1sb {z4.d}, p0/z, [x0, #-2, mul vl]\n  st1h {z4.s}, p0, [x7, x18, lsl #1]\n  ld1rqw {z5.s}, p0/z, [x0, #-32]\n"
    "  ld1rd {z6.d}, p0/z, [x0, #8]\n  ldr x3, [x18]\n" /* 8 is no address */
    "  sub w19, w19, #1\n  cbnz w19, 1b\n  brk #0\n"
    ".globl code_spills\n"
    "code_spills:\n"
    "  mov w19, #300\n  ptrue p3.s\n  mov v3.16b, v3.16b\n  mov v4.16b, v4.16b\n  mov v6.16b, v6.16b\n"
    "1: addvl sp, sp, #-3\n  str z3, [sp]\n  str z4, [sp, #2, mul vl]\n  str p3, [sp, #8, mul vl]\n  ldr z5, [sp, #2, "
    "mul vl]\n"
    "  ldr p4, [sp, #8, mul vl]\n  add z6.s, z5.s, z6.s\n  eor p5.b, p4/z, p3.b, p4.b\n  ptest p3, p5.b\n  cset w3, "
    "eq\n"
    "  ldnt1w {z7.s}, p4/z, [x0]\n  stnt1w {z6.s}, p3, [x0, x3, lsl #2]\n  st2d {z6.d, z7.d}, p3, [x0, x3, lsl #3]\n  "
    "umaxv s9, p4, z6.s\n  lastb w1, p4, z6.s\n  incd x2\n"
    "  addvl sp, sp, #3\n  sub w19, w19, #1\n  cbnz w19, 1b\n"
    "  setffr\n  brk #0\n");
extern const char code_scalable[], code_structures[], code_spills[];

static void test_scalable_code(void **unused)
{
    (void)unused;
    if (!(getauxval(AT_HWCAP) & HWCAP_SVE))
        skip_test("the processor has no SVE");
    const uint64_t from = (uint64_t)arena + ARENA_BYTES / 2, length = (uint64_t)prctl(PR_SVE_GET_VL) & 0xffff;
    unsigned doubles = (unsigned)length / 8, passes = (1003 + 2 * doubles - 1) / (2 * doubles);
    bool odd = (1003 + doubles - 1) / doubles % 2; /* the second half of the last iteration has no element */
    compare_code(code_scalable, 5 * passes - 2 * odd, LINKED_INSTRUCTION);
    for (unsigned i = 0; i < by_linked.count; i++) {
        const uint64_t at[] = {8192, 4096, 0, length, length};
        assert_int_equal(by_linked.accesses[i].addr, from + at[i % 5] + i / 5 * 2 * length);
        assert_int_equal(by_linked.accesses[i].size, length);
    }
    compare_code(code_structures, 6, LINKED_FAULT);
    const struct step_access wanted[] = {
        {from + 32, (uint16_t)(2 * length), SAMPLE_READ},
        {from + 3 * length, (uint16_t)(3 * length), SAMPLE_WRITE},
        {from - length / 4, (uint16_t)(length / 8), SAMPLE_READ},
        {from + 16, (uint16_t)(length / 2), SAMPLE_WRITE},
        {from - 32, 16, SAMPLE_READ},
        {from + 8, 8, SAMPLE_READ},
    };
    for (unsigned i = 0; i < COUNT(wanted); i++)
        assert_true(same_access(&by_linked.accesses[i], &wanted[i]));
    compare_code(code_spills, 300 * 8, LINKED_INSTRUCTION);
    assert_int_equal(linked->stop_name, 0x252c9000);
}

/* Writing a V register clears the rest of the SVE register that holds it, and nothing else does. */
static void test_scalable(void **unused)
{
    (void)unused;
    static const uint32_t words[] = {
        0x4f00e423, /* movi v3.16b, #1 */
        0x3dc00005, /* ldr q5, [x0] */
        0x4c408008, /* ld2 {v8.16b, v9.16b}, [x0] */
        0x3d80000a, /* str q10, [x0] */
        0x2519f000, /* rdffr p0.b: not in a burst */
    };
    if (!(getauxval(AT_HWCAP) & HWCAP_SVE))
        skip_test("the processor has no SVE");
    unsigned length = (unsigned)prctl(PR_SVE_GET_VL) & 0xffff;
    static ucontext_t context;
    struct machine machine;
    native_start();
    random_machine(&machine, false);
    machine.x[0] = (uint64_t)arena;
    machine.pc = native_put(words, COUNT(words));
    machine_to_context(&machine, &context);
    uint8_t *record = ((struct sigcontext *)&context.uc_mcontext)->__reserved + sizeof(struct fpsimd_context);
    struct sve_context *sve = (struct sve_context *)record;
    unsigned quads = length / 16;
    memset(record, 0, SVE_SIG_CONTEXT_SIZE(quads) + sizeof(struct _aarch64_ctx));
    sve->head = (struct _aarch64_ctx){.magic = SVE_MAGIC, .size = SVE_SIG_CONTEXT_SIZE(quads)};
    sve->vl = (uint16_t)length;
    for (unsigned z = 0; z < 32; z++) {
        memset(record + SVE_SIG_ZREG_OFFSET(quads, z), 0xee, length);
        memcpy(record + SVE_SIG_ZREG_OFFSET(quads, z), &machine.v[z], 16);
    }
    linked_forget(linked);
    linked->mode = LINKED_LOGS;
    by_linked.count = 0;
    assert_true(linked_run(linked, NULL, &context));
    assert_int_equal(linked->pc, machine.pc + 4 * (COUNT(words) - 1));
    assert_int_equal(by_linked.count, 3);
    for (unsigned z = 0; z < 32; z++) {
        bool written = z == 3 || z == 5 || z == 8 || z == 9;
        const uint8_t *image = record + SVE_SIG_ZREG_OFFSET(quads, z);
        for (unsigned byte = 16; byte < length; byte++)
            assert_int_equal(image[byte], written ? 0 : 0xee);
        if (!written)
            assert_memory_equal(image, &machine.v[z], 16);
    }
    struct machine after;
    machine_from_context(&after, &context);
    for (unsigned z = 0; z < 32; z++)
        assert_memory_equal(record + SVE_SIG_ZREG_OFFSET(quads, z), &after.v[z], 16);
    memcpy(arena, pristine, ARENA_BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scalable), cmocka_unit_test(test_scalable_code), cmocka_unit_test(test_random),
        cmocka_unit_test(test_loop),     cmocka_unit_test(test_calls),         cmocka_unit_test(test_signed),
        cmocka_unit_test(test_pairs),    cmocka_unit_test(test_atomic),        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_fault),    cmocka_unit_test(test_crowded),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
