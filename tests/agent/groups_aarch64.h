/* tests/agent/groups_aarch64.h - the instruction set by groups, for words at random. */
#ifndef NUMALENS_TESTS_GROUPS_AARCH64_H
#define NUMALENS_TESTS_GROUPS_AARCH64_H

#include <stdbool.h>
#include <stdint.h>

/* `bits` are fixed where `mask` is set. */
struct group {
    const char *name;
    uint32_t mask, bits;
    bool addresses;
    unsigned rounds, least; /* how many must have been stepped */
};

static const struct group integer_groups[] = {
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

static const struct group branch_groups[] = {
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

static const struct group memory_groups[] = {
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

static const struct group vector_groups[] = {
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

#endif
