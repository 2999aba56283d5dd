/* The decoder against Zydis, instruction by instruction through whole programs and libraries: lengths, and address, size and
 * direction of every operand in memory. Both see the same bytes; neither shares a table with the other. Beside that, how many
 * of these instructions a burst carries out (isa/x86_64/outline.h).
 *
 * What Zydis says of hidden operands is left aside: it has the stack's address before a push and a call, not where they
 * write; that part is held by test_decode_x86_64.c. */
#include "../../skip.h"

#include "isa/x86_64/decode.h"
#include "isa/x86_64/outline.h"
#include "wire/event.h"

#include <Zydis/Zydis.h>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

enum { SHOWN = 10 };

static ZydisDecoder decoder;
static struct decode_registers registers;
static ZydisRegisterContext zydis_registers;

struct tally {
    unsigned long instructions, carried_out, compared, different;
};

static void set_registers(void)
{
    static const ZydisRegister first = ZYDIS_REGISTER_RAX;
    memset(&zydis_registers, 0, sizeof zydis_registers);
    for (unsigned i = 0; i < 16; i++)
        zydis_registers.values[first + i] = registers.general[i] = 0x123456789abcull * (i + 3) + i;
    registers.fs_base = 0x7f0000001000;
    registers.gs_base = 0x7f0000002000;
    registers.has_fs = registers.has_gs = true;
}

/* Instructions whose operand Zydis lists as memory but which do not access it, and those whose size is the processor's
 * business. */
static bool is_apart(const ZydisDecodedInstruction *instruction)
{
    switch (instruction->meta.category) {
    case ZYDIS_CATEGORY_PREFETCH:
    case ZYDIS_CATEGORY_NOP:
    case ZYDIS_CATEGORY_WIDENOP:
    case ZYDIS_CATEGORY_XSAVE:
    case ZYDIS_CATEGORY_XSAVEOPT:
    case ZYDIS_CATEGORY_CLDEMOTE:
    case ZYDIS_CATEGORY_GATHER:
    case ZYDIS_CATEGORY_SCATTER:
        return true;
    default:
        break;
    }
    switch (instruction->mnemonic) {
    case ZYDIS_MNEMONIC_CLFLUSH:
    case ZYDIS_MNEMONIC_CLFLUSHOPT:
    case ZYDIS_MNEMONIC_CLWB:
    case ZYDIS_MNEMONIC_FXSAVE:
    case ZYDIS_MNEMONIC_FXSAVE64:
    case ZYDIS_MNEMONIC_FXRSTOR:
    case ZYDIS_MNEMONIC_FXRSTOR64:
    case ZYDIS_MNEMONIC_FNSTENV:
    case ZYDIS_MNEMONIC_FLDENV:
    case ZYDIS_MNEMONIC_FNSAVE:
    case ZYDIS_MNEMONIC_FRSTOR:
    case ZYDIS_MNEMONIC_BT: /* with a register the bit may be anywhere */
    case ZYDIS_MNEMONIC_BTS:
    case ZYDIS_MNEMONIC_BTR:
    case ZYDIS_MNEMONIC_BTC:
        return true;
    default:
        return false;
    }
}

static unsigned flags_of(const ZydisDecodedOperand *operand)
{
    return (operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ ? SAMPLE_READ : 0) |
           (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE ? SAMPLE_WRITE : 0);
}

/* "" or what differs. */
static const char *compare(const uint8_t *bytes, const ZydisDecodedInstruction *instruction,
                           const ZydisDecodedOperand *operands, const struct decoded *decoded)
{
    static char text[256];
    struct decode_access accesses[DECODE_MAX_ACCESSES];
    (void)bytes;
    if (decoded->length != instruction->length)
        return "length";
    if (is_apart(instruction))
        return "";
    struct decode_registers at = registers;
    int count = decode_accesses(decoded, &at, accesses);
    if (count < 0)
        return "accesses not known";
    for (unsigned i = 0; i < instruction->operand_count_visible; i++) {
        const ZydisDecodedOperand *operand = &operands[i];
        if (operand->type != ZYDIS_OPERAND_TYPE_MEMORY || operand->mem.type != ZYDIS_MEMOP_TYPE_MEM)
            continue;
        ZyanU64 address = 0;
        if (!ZYAN_SUCCESS(ZydisCalcAbsoluteAddressEx(instruction, operand, at.rip, &zydis_registers, &address)))
            continue;
        if (operand->mem.segment == ZYDIS_REGISTER_FS)
            address += at.fs_base;
        else if (operand->mem.segment == ZYDIS_REGISTER_GS)
            address += at.gs_base;
        if (instruction->mnemonic == ZYDIS_MNEMONIC_POP && operand->mem.base == ZYDIS_REGISTER_RSP)
            address += operand->size / 8;
        bool found = false;
        for (int k = 0; k < count && !found; k++)
            found = accesses[k].addr == address && accesses[k].size == operand->size / 8 &&
                    (accesses[k].flags & (SAMPLE_READ | SAMPLE_WRITE)) == flags_of(operand);
        if (!found) {
            snprintf(text, sizeof text, "Zydis: %llx, %u bytes, %u; ours: %d accesses, %llx, %u bytes, %u",
                     (unsigned long long)address, operand->size / 8, flags_of(operand), count,
                     count ? (unsigned long long)accesses[0].addr : 0ull, count ? accesses[0].size : 0,
                     count ? accesses[0].flags : 0u);
            return text;
        }
    }
    return "";
}

static void walk(const uint8_t *code, size_t size, uint64_t address, struct tally *tally)
{
    for (size_t at = 0; at < size;) {
        ZydisDecodedInstruction instruction;
        ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
        size_t left = size - at > DECODE_MAX_BYTES ? DECODE_MAX_BYTES : size - at;
        if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code + at, left, &instruction, operands))) {
            at++;
            continue;
        }
        struct decoded decoded;
        registers.rip = address + at;
        tally->instructions++;
        if (decode_instruction(code + at, left, &decoded)) {
            struct outline outline;
            outline_of(&decoded, registers.rip, &outline);
            tally->carried_out += outline.kind != OUTLINE_STOP;
            tally->compared++;
            const char *difference = compare(code + at, &instruction, operands, &decoded);
            if (*difference && tally->different++ < SHOWN) {
                char hex[3 * DECODE_MAX_BYTES + 1] = "";
                for (unsigned i = 0; i < instruction.length; i++)
                    snprintf(hex + 3 * i, 4, "%02x ", code[at + i]);
                print_message("# %s%s: %s\n", hex, ZydisMnemonicGetString(instruction.mnemonic), difference);
            }
        }
        at += instruction.length;
    }
}

/* Goes through .text of the file. */
static bool walk_file(const char *path, struct tally *tally)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat file;
    if (fd < 0 || fstat(fd, &file) != 0)
        return false;
    const uint8_t *bytes = mmap(NULL, (size_t)file.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (bytes == MAP_FAILED)
        return false;
    const Elf64_Ehdr *head = (const Elf64_Ehdr *)bytes;
    const Elf64_Shdr *sections = (const Elf64_Shdr *)(bytes + head->e_shoff);
    const char *names = (const char *)bytes + sections[head->e_shstrndx].sh_offset;
    for (unsigned i = 0; i < head->e_shnum; i++)
        if (strcmp(names + sections[i].sh_name, ".text") == 0)
            walk(bytes + sections[i].sh_offset, sections[i].sh_size, sections[i].sh_addr, tally);
    munmap((void *)bytes, (size_t)file.st_size);
    return true;
}

static void check(const char *path)
{
    struct tally tally = {0};
    if (!path || !walk_file(path, &tally))
        skip_test("%s cannot be read", path ? path : "the file");
    print_message("# %s: %lu instructions, %.4f%% compared, %.4f%% carried out in bursts, %lu differ\n", path,
                  tally.instructions, 100.0 * (double)tally.compared / (double)tally.instructions,
                  100.0 * (double)tally.carried_out / (double)tally.instructions, tally.different);
    assert_true(tally.instructions > 10000);
    assert_int_equal(tally.different, 0);
    assert_true(tally.carried_out >= tally.instructions * 99 / 100);
}

/* Where the dynamic linker has a library that this process has, or can load. */
static const char *library(const char *name)
{
    static char path[4096];
    void *handle = dlopen(name, RTLD_LAZY);
    struct link_map *map = NULL;
    if (!handle || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || !map)
        return NULL;
    snprintf(path, sizeof path, "%s", map->l_name);
    dlclose(handle);
    return path;
}

static void libc(void **state)
{
    (void)state;
    check(library("libc.so.6"));
}

static void libm(void **state)
{
    (void)state;
    check(library("libm.so.6"));
}

static void libstdcxx(void **state)
{
    (void)state;
    check(library("libstdc++.so.6"));
}

static void python(void **state)
{
    (void)state;
    check("/usr/bin/python3");
}

int main(void)
{
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    set_registers();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(libc),
        cmocka_unit_test(libm),
        cmocka_unit_test(libstdcxx),
        cmocka_unit_test(python),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
