/* The decoder of x86-64 instructions: chosen cases by hand, then a corpus that a disassembler has judged. */
#include "x86_64/decode_text.h"

#include "isa/x86_64/decode.h"
#include "wire/event.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const char *corpus_path;

static void expect(const char *hex, const char *wanted)
{
    uint8_t bytes[16];
    char text[256];
    decode_text(bytes, decode_hex(hex, bytes, sizeof bytes), text, sizeof text);
    if (strcmp(text, wanted))
        fail_msg("%s: got \"%s\", wanted \"%s\"", hex, text, wanted);
}

static void test_plain_moves(void **state)
{
    (void)state;
    expect("488b442408", "5 r8[rsp+8]");   /* mov 8(%rsp),%rax */
    expect("8904b7", "3 w4[rdi+rsi*4]");   /* mov %eax,(%rdi,%rsi,4) */
    expect("66897c24fe", "5 w2[rsp-2]");   /* mov %di,-2(%rsp) */
    expect("0fb60c07", "4 r1[rdi+rax*1]"); /* movzbl (%rdi,%rax),%ecx */
    expect("4863048f", "4 r4[rdi+rcx*4]"); /* movslq (%rdi,%rcx,4),%rax */
    expect("4489e0", "3");                 /* mov %r12d,%eax */
    expect("48b88877665544332211", "10");  /* movabs $,%rax */
    expect("48a18877665544332211", "10 r8[1234605616436508552]");
    expect("67488b00", "4 r8[rax:32]"); /* mov (%eax),%rax */
}

static void test_addresses(void **state)
{
    (void)state;
    expect("488b0510000000", "7 r8[rip+16]");
    expect("c7050a00000001000000", "10 w4[rip+10]"); /* the immediate is behind the displacement */
    expect("803d0a00000001", "7 r1[rip+10]");
    expect("64488b042528000000", "9 r8[fs:40]"); /* stack protector */
    expect("65488b0425f8ffffff", "9 r8[gs:-8]");
    expect("644c8b20", "4 r8[fs:rax]");
    expect("4b8b04e5f0ffffff", "8 r8[r12*8-16]"); /* r12 may be an index, rsp may not */
    expect("488b0424", "4 r8[rsp]");
    expect("498b4500", "4 r8[r13]");
    expect("498b0424", "4 r8[r12]");
}

static void test_read_and_write(void **state)
{
    (void)state;
    expect("480107", "3 rw8[rdi]");      /* add %rax,(%rdi) */
    expect("480307", "3 r8[rdi]");       /* add (%rdi),%rax */
    expect("483907", "3 r8[rdi]");       /* cmp %rax,(%rdi) */
    expect("830700", "3 rw4[rdi]");      /* addl $0,(%rdi) */
    expect("833f00", "3 r4[rdi]");       /* cmpl $0,(%rdi) */
    expect("f60701", "3 r1[rdi]");       /* testb $1,(%rdi) */
    expect("f71f", "2 rw4[rdi]");        /* negl (%rdi) */
    expect("48ff07", "3 rw8[rdi]");      /* incq (%rdi) */
    expect("0f9407", "3 w1[rdi]");       /* sete (%rdi) */
    expect("0f4507", "3 r4[rdi]");       /* cmovne (%rdi),%eax */
    expect("f0480fc107", "5 lrw8[rdi]"); /* lock xadd */
    expect("f0830c2400", "5 lrw4[rsp]"); /* lock orl $0,(%rsp) */
    expect("8707", "2 lrw4[rdi]");       /* xchg locks by itself */
    expect("f0480fc70f", "5 lrw16[rdi]");
    expect("0fba2f03", "4 rw4[rdi]"); /* btsl $3,(%rdi) */
    expect("0fab07", "end");          /* bts %eax,(%rdi): anywhere */
    expect("0fabc8", "3");
}

static void test_stack(void **state)
{
    (void)state;
    expect("55", "1 w8[rsp-8]");
    expect("4157", "2 w8[rsp-8]");
    expect("6650", "2 w2[rsp-2]");
    expect("6810000000", "5 w8[rsp-8]");
    expect("5d", "1 r8[rsp]");
    expect("e800000000", "5 w8[rsp-8]");
    expect("666648e800000000", "8 w8[rsp-8]"); /* the way to __tls_get_addr */
    expect("66e800000000", "end");
    expect("c3", "1 r8[rsp]");
    expect("f3c3", "2 r8[rsp]");
    expect("c21000", "3 r8[rsp]");
    expect("c9", "1 r8[rbp]");
    expect("c8100000", "4 w8[rsp-8]");
    expect("c8100001", "end");
    expect("ff742410", "4 r8[rsp+16] w8[rsp-8]"); /* push 16(%rsp) */
    expect("8f442408", "4 r8[rsp] w8[rsp+16]");   /* pop 8(%rsp): the address counts from after the pop */
    expect("8f07", "2 r8[rsp] w8[rdi]");
    expect("ff1510000000", "6 r8[rip+16] w8[rsp-8]");
    expect("ff2510000000", "6 r8[rip+16]");
    expect("f2ff2510000000", "7 r8[rip+16]"); /* bnd jmp */
    expect("3effe0", "3");                    /* notrack jmp *%rax */
}

static void test_strings(void **state)
{
    (void)state;
    expect("a4", "1 r1[rsi] w1[rdi]");
    expect("f348a5", "3 r8[rsi] w8[rdi] rep");
    expect("f3aa", "2 w1[rdi] rep");
    expect("f3a6", "2 r1[rsi] r1[rdi] rep");
    expect("f2ae", "2 r1[rdi] rep");
    expect("ad", "1 r4[rsi]");
    expect("64a4", "2 r1[fs:rsi] w1[rdi]"); /* a prefix moves the source only */
    expect("d7", "1 r1[rbx+al]");
}

static void test_without_access(void **state)
{
    (void)state;
    expect("488d4408f8", "5");       /* lea */
    expect("0f1f840000000000", "8"); /* nop */
    expect("66660f1f440000", "7");
    expect("0f1808", "3"); /* prefetch */
    expect("0f0d08", "3");
    expect("0fae38", "3"); /* clflush */
    expect("660fae30", "4");
    expect("f30f1efa", "4"); /* endbr64 */
    expect("f390", "2");
    expect("0faef0", "3"); /* mfence */
    expect("0fa2", "2");
    expect("90", "1");
    expect("7410", "2");
    expect("0f8410000000", "6");
}

static void test_refused(void **state)
{
    static const char *const refused[] = {
        "0f05",         "0f34",   "cd80",         "cc",         "f1",       "48cf",   "9c",       "9d",
        "c7f800000000", "8ed0",   "8ed8",         "0fa1",       "f4",       "0f0b",   "0f01d5",   "c6f8",
        "ee",           "6c",     "fa",           "cb",         "ff2f",     "ff1f",   "8f2878c0", "d507ff",
        "06",           "0f3009", "62f47c08ff00", "0f1a00",     "0ff7c1",   "0fff00", "0fb9c0",   "0f0e",
        "0f0f00",       "0f00",   "0f20c0",       "c4e27b4b00", "f0488b07", "f04889", "f090",
    };
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        expect(refused[i], "end");
    /* Too few bytes: never a guess. */
    static const char whole[] = "48c7842400010000ffffffff";
    expect(whole, "12 w8[rsp+256]");
    for (size_t length = 0; length < sizeof whole - 1; length += 2) {
        char part[sizeof whole];
        memcpy(part, whole, length);
        part[length] = '\0';
        expect(part, "end");
    }
    expect("66666666666666666666666666666690", "end"); /* longer than 15 */
}

static void test_floating_point(void **state)
{
    (void)state;
    expect("db6c2410", "4 r10[rsp+16]"); /* fldt */
    expect("db3c24", "3 w10[rsp]");
    expect("dd00", "2 r8[rax]");
    expect("d95c24fc", "4 w4[rsp-4]");
    expect("d93c24", "3 w2[rsp]");
    expect("0fae00", "3 w512[rax]");
    expect("480fc72424", "5 w576[rsp]"); /* xsavec: what is always written */
    expect("0fae1424", "4 r4[rsp]");
    expect("d9c0", "2");
}

static void test_vectors(void **state)
{
    (void)state;
    expect("0f1007", "3 r16[rdi]");
    expect("f30f1007", "4 r4[rdi]");
    expect("f20f1107", "4 w8[rdi]");
    expect("660f6f07", "4 r16[rdi]");
    expect("0f6f07", "3 r8[rdi]");
    expect("660fd607", "4 w8[rdi]");
    expect("f20f5a07", "4 r8[rdi]");
    expect("0f5a07", "3 r8[rdi]"); /* cvtps2pd: two floats */
    expect("660f3a14070f", "6 w1[rdi]");
    expect("c5fe6f4e20", "5 r32[rsi+32]");
    expect("c5f877", "3"); /* vzeroupper */
    expect("c4e27d1807", "5 r4[rdi]");
    expect("c4e3fd0007aa", "6 r32[rdi]");
    expect("c4e2f1f507", "end");
    expect("c4e2f0f507", "5 r8[rdi]");
    expect("c4e27d8c07", "5 r32[rdi]"); /* masked: reported as if whole */
    expect("c4e27d8e07", "5 w32[rdi]");
    expect("c5f0ae17", "4 r4[rdi]");
    expect("66c5fe6f4e20", "end"); /* no prefixes before VEX */
}

static void test_evex(void **state)
{
    (void)state;
    expect("62f1fe486f4601", "7 r64[rsi+64]"); /* disp8 counts vectors */
    expect("62f1fe286f4601", "7 r32[rsi+32]");
    expect("62f17c585846ff", "7 r4[rsi-4]"); /* one element, broadcast */
    expect("62f1fd585846ff", "7 r8[rsi-8]");
    expect("62f17e08104601", "7 r4[rsi+4]");         /* scalar */
    expect("62f27d488a4601", "7 w64[rsi+4]");        /* vcompressps: disp8 counts elements */
    expect("62f27d48634601", "7 w64[rsi+1]");        /* vpcompressb */
    expect("62f27e48334601", "7 w32[rsi+32]");       /* vpmovdw: half of it is written */
    expect("62f1fe486f8601000000", "10 r64[rsi+1]"); /* disp32 counts bytes */
    expect("62f17f186f06", "end");                   /* no broadcast there */
}

static void test_gathers(void **state)
{
    (void)state;
    expect("c4e26d920488", "6 r4*8[rax+v1*4:4]");         /* vgatherdps %ymm2,(%rax,%ymm1,4),%ymm0 */
    expect("c4e269930488", "6 r4*2[rax+v1*4:8]");         /* vgatherqps with xmm */
    expect("c4e2ed9004c8", "6 r8*4[rax+v1*8:4]");         /* vpgatherdq */
    expect("62f27d49a20488", "7 w4*16[rax+v1*4:4]");      /* vscatterdps %zmm0,(%rax,%zmm1,4){k1} */
    expect("62b2fd419144e802", "8 r8*8[rax+v29*8:8+16]"); /* vpgatherqq, disp8 counts elements */
    expect("62f27d48a20488", "end");                      /* without a mask */
}

static void test_addresses_of_registers(void **state)
{
    (void)state;
    struct decode_registers registers = {.rip = 0x401000, .fs_base = 0x7000, .has_fs = true};
    for (unsigned i = 0; i < 16; i++)
        registers.general[i] = 0x100000000u * (i + 1) + i;
    struct decoded decoded;
    struct decode_access accesses[DECODE_MAX_ACCESSES];

    assert_true(decode_instruction((const uint8_t *)"\x48\x8b\x05\x10\x00\x00\x00", 7, &decoded));
    assert_int_equal(decode_accesses(&decoded, &registers, accesses), 1);
    assert_int_equal(accesses[0].addr, 0x401000 + 7 + 16);
    assert_int_equal(accesses[0].size, 8);
    assert_int_equal(accesses[0].flags, SAMPLE_READ);

    assert_true(decode_instruction((const uint8_t *)"\x64\x8b\x04\x25\xfc\xff\xff\xff", 8, &decoded));
    assert_int_equal(decode_accesses(&decoded, &registers, accesses), 1);
    assert_int_equal(accesses[0].addr, 0x7000 - 4);

    assert_true(decode_instruction((const uint8_t *)"\x65\x8b\x00", 3, &decoded));
    assert_int_equal(decode_accesses(&decoded, &registers, accesses), -1); /* GS is not known */

    assert_true(decode_instruction((const uint8_t *)"\x67\x8b\x44\x4f\xff", 5, &decoded)); /* -1(%edi,%ecx,2) */
    assert_int_equal(decode_accesses(&decoded, &registers, accesses), 1);
    assert_int_equal(accesses[0].addr, 7 + 2 - 1);

    assert_true(decode_instruction((const uint8_t *)"\xff\x74\x24\x10", 4, &decoded));
    assert_int_equal(decode_accesses(&decoded, &registers, accesses), 2);
    assert_int_equal(accesses[0].addr, registers.general[DECODE_RSP] + 16);
    assert_int_equal(accesses[1].addr, registers.general[DECODE_RSP] - 8);
    assert_int_equal(accesses[1].flags, SAMPLE_WRITE);

    assert_true(decode_instruction((const uint8_t *)"\xf3\xa4", 2, &decoded));
    assert_int_equal(decode_accesses(&decoded, &registers, accesses), 2);
    registers.general[DECODE_RCX] = 0;
    assert_int_equal(decode_accesses(&decoded, &registers, accesses), 0);

    assert_true(decode_instruction((const uint8_t *)"\xd7", 1, &decoded));
    registers.general[DECODE_RAX] = 0x1234;
    assert_int_equal(decode_accesses(&decoded, &registers, accesses), 1);
    assert_int_equal(accesses[0].addr, registers.general[DECODE_RBX] + 0x34);
}

static void test_elements_of_gathers(void **state)
{
    (void)state;
    static uint8_t xmm[256], ymm_high[256], masks[64], zmm_16[1024];
    struct decode_vectors vectors = {.xmm = xmm, .ymm_high = ymm_high};
    struct decode_registers registers = {.general = {0x10000}, .vectors = &vectors};
    struct decoded decoded;
    struct decode_access accesses[DECODE_MAX_ACCESSES];
    int32_t indices[8] = {0, 1, -1, 100, 7, 8, -9, 10};
    memcpy(xmm + 16, indices, 16);
    memcpy(ymm_high + 16, indices + 4, 16);
    /* the mask, %ymm2: elements 0, 2, 3 and 6 */
    xmm[32 + 3] = xmm[32 + 11] = xmm[32 + 15] = ymm_high[32 + 11] = 0x80;
    assert_true(decode_instruction((const uint8_t *)"\xc4\xe2\x6d\x92\x04\x88", 6, &decoded));
    assert_int_equal(decode_accesses(&decoded, &registers, accesses), 4);
    assert_int_equal(accesses[0].addr, 0x10000);
    assert_int_equal(accesses[1].addr, 0x10000 - 4);
    assert_int_equal(accesses[2].addr, 0x10000 + 400);
    assert_int_equal(accesses[3].addr, 0x10000 - 36);
    assert_int_equal(accesses[3].size, 4);

    vectors.ymm_high = NULL; /* in its initial state: zeros */
    assert_int_equal(decode_accesses(&decoded, &registers, accesses), 3);

    /* vpgatherqq 16(%rax,%zmm29,8),%zmm0{k1} */
    int64_t wide[8] = {-1, 2, 3, 4, 5, 6, 7, 1000};
    memcpy(zmm_16 + (29 - 16) * 64, wide, sizeof wide);
    masks[8] = 0x81;
    vectors.masks = masks;
    vectors.zmm_16 = zmm_16;
    assert_true(decode_instruction((const uint8_t *)"\x62\xb2\xfd\x41\x91\x44\xe8\x02", 8, &decoded));
    assert_int_equal(decode_accesses(&decoded, &registers, accesses), 2);
    assert_int_equal(accesses[0].addr, 0x10000 + 16 - 8);
    assert_int_equal(accesses[1].addr, 0x10000 + 16 + 8000);

    registers.vectors = NULL;
    assert_int_equal(decode_accesses(&decoded, &registers, accesses), -1);
}

static void test_corpus(void **state)
{
    (void)state;
    FILE *file = fopen(corpus_path, "r");
    assert_non_null(file);
    char line[256];
    unsigned lines = 0, refused = 0;
    while (fgets(line, sizeof line, file)) {
        char *space = strchr(line, ' ');
        if (line[0] == '#' || !space)
            continue;
        line[strcspn(line, "\n")] = '\0';
        *space = '\0';
        expect(line, space + 1);
        lines++;
        refused += !strcmp(space + 1, "end");
    }
    fclose(file);
    assert_true(lines > 2000);
    assert_true(refused > 20 && refused < lines / 4);
}

/* Whatever the bytes: no read beyond them, no length beyond 15. Sanitizers watch. */
static void test_random_bytes(void **state)
{
    (void)state;
    uint64_t random = 88172645463325252u;
    for (unsigned round = 0; round < 300000; round++) {
        uint8_t *bytes = malloc(15);
        assert_non_null(bytes);
        for (unsigned i = 0; i < 15; i++) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            bytes[i] = (uint8_t)(random >> 24);
        }
        if (round % 3 == 0)
            bytes[0] = round % 2 ? 0xc4 : 0x62;
        size_t available = round % 16;
        struct decoded decoded;
        if (decode_instruction(bytes, available, &decoded)) {
            assert_in_range(decoded.length, 1, available);
            assert_in_range(decoded.operand_count, 0, DECODE_MAX_OPERANDS);
            for (unsigned i = 0; i < decoded.operand_count; i++)
                assert_in_range(decoded.operands[i].elements, 0, DECODE_MAX_ACCESSES);
        }
        free(bytes);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain_moves),
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_read_and_write),
        cmocka_unit_test(test_stack),
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_without_access),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_floating_point),
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_evex),
        cmocka_unit_test(test_gathers),
        cmocka_unit_test(test_addresses_of_registers),
        cmocka_unit_test(test_elements_of_gathers),
        cmocka_unit_test(test_corpus),
        cmocka_unit_test(test_random_bytes),
    };
    corpus_path = argc > 1 ? argv[1] : "tests/agent/x86_64/decode_corpus.txt";
    return cmocka_run_group_tests_name("decode_x86_64", tests, NULL, NULL);
}
