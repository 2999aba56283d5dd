/* What replaces a function's first instructions, and what becomes of them, on both processors. Expected bytes were
 * worked out by hand from the processors' manuals and looked at with a disassembler. */
#include "isa/relocate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static const uint64_t AT = 0x500000, THUNK = 0x400000, HOOK = 0x1122334455667788, ENTERED = 0x7766554433221100;

typedef bool relocate_fn(const struct relocate_job *job, struct relocate_result *result, enum wire_custom_refusal *why);

static struct relocate_result moved(relocate_fn *relocate, const void *code, size_t size)
{
    struct relocate_job job = {.code = code, .size = size, .at = AT, .thunk = THUNK, .hook = HOOK, .entered = ENTERED};
    struct relocate_result result;
    enum wire_custom_refusal why;
    if (!relocate(&job, &result, &why))
        fail_msg("refused: %s", custom_refusal_text(why));
    assert_true(result.thunk_size <= sizeof result.thunk);
    return result;
}

static void refused(relocate_fn *relocate, const void *code, size_t size, enum wire_custom_refusal expected)
{
    struct relocate_job job = {.code = code, .size = size, .at = AT, .thunk = THUNK, .hook = HOOK, .entered = ENTERED};
    struct relocate_result result;
    enum wire_custom_refusal why;
    assert_false(relocate(&job, &result, &why));
    assert_string_equal(custom_refusal_text(why), custom_refusal_text(expected));
}

/* x86-64 */

#define X86(...) ((const uint8_t[]){__VA_ARGS__}), sizeof((const uint8_t[]){__VA_ARGS__})

static int32_t number_at(const uint8_t *bytes)
{
    int32_t number;
    memcpy(&number, bytes, 4);
    return number;
}

static uint64_t literal_of(const struct relocate_result *result, uint32_t displacement)
{
    uint64_t value;
    memcpy(&value, result->thunk + displacement + 4 + number_at(result->thunk + displacement), 8);
    return value;
}

/* Head and tail of every thunk: push [hook], jmp [entered]; then `length` bytes of ours, then a jump to AT + `back`. */
static void check_x86(const struct relocate_result *result, const void *bytes, uint32_t length, uint32_t back)
{
    assert_memory_equal(result->thunk, ((const uint8_t[]){0xff, 0x35}), 2);
    assert_int_equal(literal_of(result, 2), HOOK);
    assert_memory_equal(result->thunk + 6, ((const uint8_t[]){0xff, 0x25}), 2);
    assert_int_equal(literal_of(result, 8), ENTERED);
    assert_int_equal(result->resume, 12);
    if (bytes)
        assert_memory_equal(result->thunk + 12, bytes, length);
    assert_int_equal(result->thunk[12 + length], 0xe9);
    assert_int_equal(THUNK + 12 + length + 5 + number_at(result->thunk + 13 + length), AT + back);
    assert_int_equal(result->patch[0], 0xe9);
    assert_int_equal(result->patch_size, 5);
    assert_int_equal((int64_t)AT + result->patch_offset + 5 + number_at(result->patch + 1), THUNK);
}

static void test_x86_plain(void **state)
{
    (void)state;
    /* push rbp; mov rbp, rsp; push rbx; ret */
    struct relocate_result result = moved(relocate_x86_64, X86(0x55, 0x48, 0x89, 0xe5, 0x53, 0xc3));
    check_x86(&result, (const uint8_t[]){0x55, 0x48, 0x89, 0xe5, 0x53}, 5, 5);
    assert_int_equal(result.patch_offset, 0);
    assert_false(result.one_step);
    /* sub rsp, 0x128; ret: one instruction of seven bytes, which a jump replaces in one step */
    result = moved(relocate_x86_64, X86(0x48, 0x81, 0xec, 0x28, 0x01, 0, 0, 0xc3));
    check_x86(&result, (const uint8_t[]){0x48, 0x81, 0xec, 0x28, 0x01, 0, 0}, 7, 7);
    assert_true(result.one_step);
    /* add ebx, eax ends in the byte of a ret and is none */
    result = moved(relocate_x86_64, X86(0x01, 0xc3, 0x01, 0xc3, 0x01, 0xc3, 0xc3));
    check_x86(&result, (const uint8_t[]){0x01, 0xc3, 0x01, 0xc3, 0x01, 0xc3}, 6, 6);
}

/* ENDBR64 is where indirect calls must land: it stays, if there is room behind it. */
static void test_x86_endbr(void **state)
{
    (void)state;
    struct relocate_result result =
        moved(relocate_x86_64, X86(0xf3, 0x0f, 0x1e, 0xfa, 0x41, 0x57, 0x41, 0x56, 0x41, 0x55, 0xc3));
    check_x86(&result, (const uint8_t[]){0x41, 0x57, 0x41, 0x56, 0x41, 0x55}, 6, 10);
    assert_int_equal(result.patch_offset, 4);
    result = moved(relocate_x86_64, X86(0xf3, 0x0f, 0x1e, 0xfa, 0x31, 0xc0, 0xc3)); /* xor eax, eax; ret */
    check_x86(&result, (const uint8_t[]){0xf3, 0x0f, 0x1e, 0xfa, 0x31, 0xc0}, 6, 6);
    assert_int_equal(result.patch_offset, 0);
}

static void test_x86_relative(void **state)
{
    (void)state;
    /* mov rax, [rip + 0x100]: the same place from elsewhere; so with an immediate behind the displacement */
    struct relocate_result result = moved(relocate_x86_64, X86(0x48, 0x8b, 0x05, 0x00, 0x01, 0, 0, 0xc3));
    check_x86(&result, NULL, 7, 7);
    assert_int_equal(THUNK + 12 + 7 + number_at(result.thunk + 15), AT + 7 + 0x100);
    result = moved(relocate_x86_64, X86(0x83, 0x3d, 0xf0, 0xff, 0xff, 0xff, 0x09, 0xc3)); /* cmp dword [rip - 16], 9 */
    check_x86(&result, NULL, 7, 7);
    assert_int_equal(THUNK + 12 + 7 + number_at(result.thunk + 14), AT + 7 - 16);
    assert_int_equal(result.thunk[18], 9);
    /* lea rdi, [rip + 0]: accesses nothing, and is relative all the same */
    result = moved(relocate_x86_64, X86(0x48, 0x8d, 0x3d, 0, 0, 0, 0, 0xc3));
    assert_int_equal(THUNK + 12 + 7 + number_at(result.thunk + 15), AT + 7);
}

static void test_x86_branches(void **state)
{
    (void)state;
    /* test rdi, rdi; je +0x10; ... */
    struct relocate_result result = moved(relocate_x86_64, X86(0x48, 0x85, 0xff, 0x74, 0x10, 0x90, 0x90, 0xc3));
    check_x86(&result, NULL, 9, 5);
    assert_memory_equal(result.thunk + 12, ((const uint8_t[]){0x48, 0x85, 0xff, 0x0f, 0x84}), 5);
    assert_int_equal(THUNK + 12 + 9 + number_at(result.thunk + 17), AT + 5 + 0x10);
    /* jne with a long distance */
    result = moved(relocate_x86_64, X86(0x0f, 0x85, 0x00, 0x02, 0, 0, 0xc3));
    check_x86(&result, NULL, 6, 6);
    assert_int_equal(THUNK + 12 + 6 + number_at(result.thunk + 14), AT + 6 + 0x200);
    /* jmp rel32: a function that is but a jump */
    result = moved(relocate_x86_64, X86(0xe9, 0x00, 0x10, 0, 0));
    check_x86(&result, NULL, 5, 5);
    assert_int_equal(THUNK + 12 + 5 + number_at(result.thunk + 13), AT + 5 + 0x1000);
    /* call rel32: comes back to the original code */
    result = moved(relocate_x86_64, X86(0xe8, 0x00, 0x10, 0, 0, 0xc3));
    check_x86(&result, NULL, 11, 5);
    assert_memory_equal(result.thunk + 12, ((const uint8_t[]){0xff, 0x35}), 2);
    assert_int_equal(literal_of(&result, 14), AT + 5);
    assert_int_equal(result.thunk[18], 0xe9);
    assert_int_equal(THUNK + 12 + 11 + number_at(result.thunk + 19), AT + 5 + 0x1000);
}

static void test_x86_refused(void **state)
{
    (void)state;
    refused(relocate_x86_64, X86(0x31, 0xc0, 0xc3), CUSTOM_TOO_SHORT);                     /* xor eax, eax; ret */
    refused(relocate_x86_64, X86(0x31, 0xc0, 0xc3, 0x90, 0x90, 0x90), CUSTOM_TOO_SHORT);   /* what is behind it? */
    refused(relocate_x86_64, X86(0xeb, 0x10, 0x90, 0x90, 0x90), CUSTOM_TOO_SHORT);         /* jmp */
    refused(relocate_x86_64, X86(0xff, 0xe0, 0x90, 0x90, 0x90), CUSTOM_TOO_SHORT);         /* jmp rax */
    refused(relocate_x86_64, X86(0x0f, 0x05, 0x90, 0x90, 0x90, 0xc3), CUSTOM_NOT_MOVABLE); /* syscall */
    refused(relocate_x86_64, X86(0xe3, 0x10, 0x90, 0x90, 0x90, 0xc3), CUSTOM_NOT_MOVABLE); /* jrcxz */
    refused(relocate_x86_64, X86(0xff, 0xd0, 0x90, 0x90, 0x90, 0xc3), CUSTOM_NOT_MOVABLE); /* call rax */
    refused(relocate_x86_64, X86(0x06, 0x90, 0x90, 0x90, 0x90, 0xc3), CUSTOM_NOT_MOVABLE); /* no instruction */
    /* dec edi; l: nop nop nop; jne l: a loop whose head is among the first bytes */
    refused(relocate_x86_64, X86(0xff, 0xcf, 0x90, 0x90, 0x90, 0x75, 0xfb, 0xc3), CUSTOM_BRANCH_INSIDE);
    /* the same behind a syscall, which the decoder does not look through; and with a long distance */
    refused(relocate_x86_64, X86(0xff, 0xcf, 0x90, 0x90, 0x90, 0x0f, 0x05, 0x75, 0xf9, 0xc3), CUSTOM_BRANCH_INSIDE);
    refused(relocate_x86_64, X86(0xff, 0xcf, 0x90, 0x90, 0x90, 0x0f, 0x85, 0xf7, 0xff, 0xff, 0xff, 0xc3),
            CUSTOM_BRANCH_INSIDE);
    /* A loop to the very entry is a call like any other. */
    struct relocate_result result = moved(relocate_x86_64, X86(0xff, 0xcf, 0x90, 0x90, 0x90, 0x75, 0xf9, 0xc3));
    check_x86(&result, NULL, 5, 5);
}

static void test_x86_far(void **state)
{
    (void)state;
    static const uint8_t code[] = {0x48, 0x8b, 0x05, 0x00, 0x00, 0x00, 0x80, 0xc3}; /* 2 GiB before rip */
    struct relocate_job job = {.code = code, .size = sizeof code, .at = 0x100000000, .thunk = 0x140000000};
    struct relocate_result result;
    enum wire_custom_refusal why;
    assert_false(relocate_x86_64(&job, &result, &why));
    assert_int_equal(why, CUSTOM_NOT_MOVABLE);
    job.thunk = 0x200000000;
    assert_false(relocate_x86_64(&job, &result, &why));
    assert_int_equal(why, CUSTOM_NO_ROOM);
}

/* aarch64 */

#define ARM(...) ((const uint32_t[]){__VA_ARGS__}), sizeof((const uint32_t[]){__VA_ARGS__})

#define RET     0xd65f03c0
#define NOP     0xd503201f
#define PACIASP 0xd503233f
#define AUTIASP 0xd50323bf
#define PACIBSP 0xd503237f
#define AUTIBSP 0xd50323ff
#define BTI_C   0xd503245f
#define STP     0xa9bf7bfd /* stp x29, x30, [sp, #-16]! */

static uint32_t word(const struct relocate_result *result, uint32_t index)
{
    uint32_t value;
    memcpy(&value, result->thunk + index * 4, 4);
    return value;
}

static uint64_t branch_target(uint64_t from, uint32_t branch)
{
    assert_int_equal(branch & 0xfc000000, 0x14000000);
    return from + (uint64_t)((int64_t)((uint64_t)branch << 38) >> 38) * 4;
}

/* What `LDR x, literal` at a word of the thunk loads. */
static uint64_t loaded(const struct relocate_result *result, uint32_t index, unsigned reg)
{
    uint64_t value;
    assert_int_equal(word(result, index) & 0xff00001f, 0x58000000 | reg);
    uint32_t at = index * 4 + (word(result, index) >> 5 & 0x7ffff) * 4;
    assert_int_equal(at % 8, 0);
    assert_true(at + 8 <= result->thunk_size);
    memcpy(&value, result->thunk + at, 8);
    return value;
}

/* ldr x17, hook; ldr x16, entered; br x16. `first` is the word where that begins; returns the word of the moved code. */
static uint32_t check_arm(const struct relocate_result *result, uint32_t first)
{
    assert_int_equal(loaded(result, first, 17), HOOK);
    assert_int_equal(loaded(result, first + 1, 16), ENTERED);
    assert_int_equal(word(result, first + 2), 0xd61f0200);
    assert_int_equal(result->resume, (first + 3) * 4);
    uint32_t patch;
    memcpy(&patch, result->patch, 4);
    assert_int_equal(result->patch_size, 4);
    assert_int_equal(branch_target(AT + result->patch_offset, patch), THUNK);
    assert_true(result->one_step);
    return first + 3;
}

static void comes_back(const struct relocate_result *result, uint32_t index, uint64_t to)
{
    assert_int_equal(branch_target(THUNK + index * 4, word(result, index)), to);
}

static void test_arm_plain(void **state)
{
    (void)state;
    struct relocate_result result = moved(relocate_aarch64, ARM(STP, RET));
    uint32_t at = check_arm(&result, 0);
    assert_int_equal(word(&result, at), STP);
    comes_back(&result, at + 1, AT + 4);
    result = moved(relocate_aarch64, ARM(RET));
    assert_int_equal(word(&result, check_arm(&result, 0)), RET);
}

static void test_arm_landing_pads(void **state)
{
    (void)state;
    struct relocate_result result = moved(relocate_aarch64, ARM(BTI_C, STP, RET));
    assert_int_equal(result.patch_offset, 4);
    uint32_t at = check_arm(&result, 0);
    assert_int_equal(word(&result, at), STP);
    comes_back(&result, at + 1, AT + 8);
    /* The link register is signed by then: taken back for the hook, and signed again */
    result = moved(relocate_aarch64, ARM(PACIASP, STP, RET));
    assert_int_equal(result.patch_offset, 4);
    assert_int_equal(word(&result, 0), AUTIASP);
    at = check_arm(&result, 1);
    assert_int_equal(word(&result, at), PACIASP);
    assert_int_equal(word(&result, at + 1), STP);
    result = moved(relocate_aarch64, ARM(PACIBSP, STP, RET));
    assert_int_equal(word(&result, 0), AUTIBSP);
    assert_int_equal(word(&result, check_arm(&result, 1)), PACIBSP);
    refused(relocate_aarch64, ARM(BTI_C), CUSTOM_TOO_SHORT);
    refused(relocate_aarch64, "", 0, CUSTOM_TOO_SHORT);
}

static void test_arm_addresses(void **state)
{
    (void)state;
    struct relocate_result result = moved(relocate_aarch64, ARM(0x10000101, RET)); /* adr x1, +32 */
    uint32_t at = check_arm(&result, 0);
    assert_int_equal(loaded(&result, at, 1), AT + 32);
    comes_back(&result, at + 1, AT + 4);
    result = moved(relocate_aarch64, ARM(0xb0fffff3, RET)); /* adrp x19, -3 pages + ... */
    at = check_arm(&result, 0);
    assert_int_equal(loaded(&result, at, 19), AT - 3 * 4096);
    comes_back(&result, at + 1, AT + 4);
}

static void test_arm_literals(void **state)
{
    (void)state;
    static const struct {
        uint32_t word, becomes;
    } loads[] = {
        {0x58000083, 0xf9400223}, /* ldr x3, +16  -> ldr x3, [x17] */
        {0x18000083, 0xb9400223}, /* ldr w3 */
        {0x98000083, 0xb9800223}, /* ldrsw x3 */
        {0x1c000083, 0xbd400223}, /* ldr s3 */
        {0x5c000083, 0xfd400223}, /* ldr d3 */
        {0x9c000083, 0x3dc00223}, /* ldr q3 */
    };
    for (unsigned i = 0; i < sizeof loads / sizeof *loads; i++) {
        struct relocate_result result = moved(relocate_aarch64, ARM(loads[i].word, RET));
        uint32_t at = check_arm(&result, 0);
        assert_int_equal(loaded(&result, at, 17), AT + 16);
        assert_int_equal(word(&result, at + 1), loads[i].becomes);
        comes_back(&result, at + 2, AT + 4);
    }
    struct relocate_result result = moved(relocate_aarch64, ARM(0xd8000080, RET)); /* prfm */
    assert_int_equal(word(&result, check_arm(&result, 0)), NOP);
}

static void test_arm_branches(void **state)
{
    (void)state;
    struct relocate_result result = moved(relocate_aarch64, ARM(0x14000010)); /* b +64 */
    uint32_t at = check_arm(&result, 0);
    comes_back(&result, at, AT + 64);
    result = moved(relocate_aarch64, ARM(0x97fffff0, RET)); /* bl -64 */
    at = check_arm(&result, 0);
    assert_int_equal(loaded(&result, at, 30), AT + 4);
    comes_back(&result, at + 1, AT - 64);
    static const struct {
        uint32_t word, becomes;
    } conditional[] = {
        {0x54000200, 0x54000040}, /* b.eq +64 -> b.eq +8 */
        {0xb4000200, 0xb4000040}, /* cbz x0 */
        {0x35000201, 0x35000041}, /* cbnz w1 */
        {0x36180202, 0x36180042}, /* tbz w2, #3 */
        {0xb7f80203, 0xb7f80043}, /* tbnz x3, #63 */
    };
    for (unsigned i = 0; i < sizeof conditional / sizeof *conditional; i++) {
        result = moved(relocate_aarch64, ARM(conditional[i].word, RET));
        at = check_arm(&result, 0);
        assert_int_equal(word(&result, at), conditional[i].becomes);
        comes_back(&result, at + 1, AT + 4);
        comes_back(&result, at + 2, AT + 64);
    }
}

static void test_arm_refused(void **state)
{
    (void)state;
    refused(relocate_aarch64, ARM(0xd63f0000, RET), CUSTOM_NOT_MOVABLE); /* blr x0 */
    static const uint32_t code[] = {STP, RET};
    struct relocate_job job = {.code = (const uint8_t *)code, .size = sizeof code, .at = AT, .thunk = AT + (256 << 20)};
    struct relocate_result result;
    enum wire_custom_refusal why;
    assert_false(relocate_aarch64(&job, &result, &why));
    assert_int_equal(why, CUSTOM_NO_ROOM);
    /* The thunk is near enough, what the instruction branches to is not. */
    static const uint32_t far[] = {0x15800000, RET}; /* b +100663296 */
    job = (struct relocate_job){.code = (const uint8_t *)far, .size = sizeof far, .at = 96 << 20, .thunk = 16 << 20};
    assert_false(relocate_aarch64(&job, &result, &why));
    assert_int_equal(why, CUSTOM_NOT_MOVABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_x86_plain),     cmocka_unit_test(test_x86_endbr),
        cmocka_unit_test(test_x86_relative),  cmocka_unit_test(test_x86_branches),
        cmocka_unit_test(test_x86_refused),   cmocka_unit_test(test_x86_far),
        cmocka_unit_test(test_arm_plain),     cmocka_unit_test(test_arm_landing_pads),
        cmocka_unit_test(test_arm_addresses), cmocka_unit_test(test_arm_literals),
        cmocka_unit_test(test_arm_branches),  cmocka_unit_test(test_arm_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
