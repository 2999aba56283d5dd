/* isa/aarch64/transfer.h - instructions taken apart, whoever carries them out. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* A plain load or store of one register or two. */
struct transfer {
    unsigned log2; /* of one register's bytes */
    unsigned rt, rt2, count;
    bool load, vector;
    unsigned sign;   /* 0, or the width that the loaded value's sign is spread to: 32 or 64 */
    bool prefetch;   /* a hint: nothing is accessed */
    bool literal;    /* the base is the instruction's own address, else register rn */
    bool post;       /* the base itself is accessed, and the offset added behind it */
    bool write_back; /* rn becomes base + offset */
    unsigned rn;
    int64_t offset;
    unsigned
        extend; /* 0, or how register rm is extended before it is shifted and added: 2, 3, 6 or 7 as instructions have it */
    unsigned rm, shift;
};

/* False: no such instruction, or one whose result the architecture leaves open. */
bool transfer_decode(uint32_t word, struct transfer *transfer);

/* How many registers and bytes LD1 to LD4, ST1 to ST4 and kin move; false when there is no such instruction. */
bool structure_shape(uint32_t word, unsigned *registers, unsigned *bytes);

/* Of an instruction of the vector group: whether it has a general register as its source (rn), its target (rd), or none. */
enum vector_general { GENERAL_NONE, GENERAL_SOURCE, GENERAL_TARGET };
enum vector_general vector_general_register(uint32_t word);
