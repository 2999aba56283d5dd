/* Reads and writes reported from instructions of both processors. */
#include "isa/direction.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static void expect_a64(uint32_t code, enum direction wanted)
{
    uint8_t bytes[4];
    memcpy(bytes, &code, sizeof bytes);
    if (direction_aarch64(bytes, 4) != wanted)
        fail_msg("%08x: got %d, wanted %d", code, direction_aarch64(bytes, 4), wanted);
}

static void test_aarch64(void **state)
{
    (void)state;
    expect_a64(0xf9400000, DIRECTION_READ);    /* ldr x0, [x0] */
    expect_a64(0xf9000000, DIRECTION_WRITE);   /* str x0, [x0] */
    expect_a64(0x39400021, DIRECTION_READ);    /* ldrb w1, [x1] */
    expect_a64(0x39000021, DIRECTION_WRITE);   /* strb w1, [x1] */
    expect_a64(0xb9800000, DIRECTION_READ);    /* ldrsw x0, [x0] */
    expect_a64(0xf8408400, DIRECTION_READ);    /* ldr x0, [x0], #8 */
    expect_a64(0xf8008400, DIRECTION_WRITE);   /* str x0, [x0], #8 */
    expect_a64(0xf8616800, DIRECTION_READ);    /* ldr x0, [x0, x1] */
    expect_a64(0xf8216800, DIRECTION_WRITE);   /* str x0, [x0, x1] */
    expect_a64(0xa9400400, DIRECTION_READ);    /* ldp x0, x1, [x0] */
    expect_a64(0xa9000400, DIRECTION_WRITE);   /* stp x0, x1, [x0] */
    expect_a64(0xad400400, DIRECTION_READ);    /* ldp q0, q1, [x0] */
    expect_a64(0xad000400, DIRECTION_WRITE);   /* stp q0, q1, [x0] */
    expect_a64(0x3dc00000, DIRECTION_READ);    /* ldr q0, [x0] */
    expect_a64(0x3d800000, DIRECTION_WRITE);   /* str q0, [x0] */
    expect_a64(0x4c407000, DIRECTION_READ);    /* ld1 {v0.16b}, [x0] */
    expect_a64(0x4c007000, DIRECTION_WRITE);   /* st1 {v0.16b}, [x0] */
    expect_a64(0x58000040, DIRECTION_READ);    /* ldr x0, literal */
    expect_a64(0xc85f7c00, DIRECTION_READ);    /* ldxr x0, [x0] */
    expect_a64(0xc8017c00, DIRECTION_WRITE);   /* stxr w1, x0, [x0] */
    expect_a64(0xc8dffc00, DIRECTION_READ);    /* ldar x0, [x0] */
    expect_a64(0xc89ffc00, DIRECTION_WRITE);   /* stlr x0, [x0] */
    expect_a64(0xc8a17c02, DIRECTION_WRITE);   /* cas x1, x2, [x0] */
    expect_a64(0x48207c02, DIRECTION_WRITE);   /* casp x0, x1, x2, x3, [x0] */
    expect_a64(0xf8210002, DIRECTION_WRITE);   /* ldadd x1, x2, [x0] */
    expect_a64(0xf8218002, DIRECTION_WRITE);   /* swp x1, x2, [x0] */
    expect_a64(0xf8bfc001, DIRECTION_READ);    /* ldapr x1, [x0] */
    expect_a64(0xd50b7420, DIRECTION_WRITE);   /* dc zva, x0 */
    expect_a64(0xf9800000, DIRECTION_UNKNOWN); /* prfm pldl1keep, [x0] */
    expect_a64(0x8b010000, DIRECTION_UNKNOWN); /* add x0, x0, x1 */
    expect_a64(0xd503201f, DIRECTION_UNKNOWN); /* nop */
}

static enum direction x86(const char *bytes, size_t count)
{
    return direction_x86_64((const uint8_t *)bytes, count);
}

static void test_x86_64(void **state)
{
    (void)state;
    assert_int_equal(x86("\x48\x8b\x00", 3), DIRECTION_READ);          /* mov (%rax),%rax */
    assert_int_equal(x86("\x48\x89\x00", 3), DIRECTION_WRITE);         /* mov %rax,(%rax) */
    assert_int_equal(x86("\x83\x00\x01", 3), DIRECTION_WRITE);         /* addl $1,(%rax) */
    assert_int_equal(x86("\xf0\x48\x0f\xb1\x0f", 5), DIRECTION_WRITE); /* lock cmpxchg %rcx,(%rdi) */
    assert_int_equal(x86("\xf3\xaa", 2), DIRECTION_WRITE);             /* rep stos */
    assert_int_equal(x86("\xf3\xa4", 2), DIRECTION_EITHER);            /* rep movsb */
    assert_int_equal(x86("\xa6", 1), DIRECTION_READ);                  /* cmpsb */
    assert_int_equal(x86("\x48\x01\xc0", 3), DIRECTION_UNKNOWN);       /* add %rax,%rax */
    assert_int_equal(x86("\x48", 1), DIRECTION_UNKNOWN);               /* cut */
}

static void test_both_places(void **state)
{
    (void)state;
    struct direction_registers registers = {.source = 0x10000, .destination = 0x20000, .stack = 0x30000};
    const uint8_t moves[] = {0xf3, 0xa4}, push[] = {0xff, 0x30}; /* rep movsb; push (%rax) */
    assert_int_equal(direction_pick(moves, 2, &registers, 0x10000), DIRECTION_READ);
    assert_int_equal(direction_pick(moves, 2, &registers, 0x20000), DIRECTION_WRITE);
    assert_int_equal(direction_pick(moves, 2, &registers, 0x20020), DIRECTION_WRITE);
    assert_int_equal(direction_pick(push, 2, &registers, 0x30000 - 8), DIRECTION_WRITE);
    assert_int_equal(direction_pick(push, 2, &registers, 0x555000), DIRECTION_READ);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_aarch64),
        cmocka_unit_test(test_x86_64),
        cmocka_unit_test(test_both_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
