/* isa/aarch64/access.h - the functions of access.S: accesses on the program's behalf that may fault.
 *
 * Each is a leaf that returns 0, or 1 when the access faulted and nothing was changed: the fault's handler sends them
 * back to their caller. The first argument is the program's address, tag and all; the second is our memory. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef unsigned access_load(uint64_t addr, uint64_t *into);
typedef unsigned access_store(uint64_t addr, const uint64_t *from);

/* By log2 of the size: 1, 2, 4, 8 and 16 bytes. Loads fill whole 8-byte words of `into` with zeroes above. */
extern access_load access_load1, access_load2, access_load4, access_load8, access_load16;
extern access_load access_acquire1, access_acquire2, access_acquire4, access_acquire8;
extern access_store access_store1, access_store2, access_store4, access_store8, access_store16;
extern access_store access_release1, access_release2, access_release4, access_release8;

/* Two registers of 4, 8 or 16 bytes; in `into` and `from` each has one word (4 and 8) or two (16). */
extern access_load access_load_pair4, access_load_pair8, access_load_pair16;
extern access_store access_store_pair4, access_store_pair8, access_store_pair16;

/* DC ZVA at `addr`. */
unsigned access_zero_block(uint64_t addr);

/* Times a load of one byte at `addr` after touching `neighbour`: into[0] the ticks of the load, into[1] of nothing. */
unsigned access_probe(uint64_t addr, uint64_t neighbour, uint64_t *into);

/* What a slot's instruction works on (slots.c). */
struct slot_state {
    uint64_t x[6];
    uint64_t nzcv;
    uint64_t fpsr;
    __uint128_t *vectors; /* V0 to V31, or NULL when the instruction uses none */
};

/* Runs the slot at `code`; 1 when it faulted, with `state` unchanged. */
unsigned slot_run(uint64_t code, struct slot_state *state);

/* The range that slots_fault() knows, and where it sends a slot that faulted. */
extern const char access_begin[], access_end[], slot_faulted[];
