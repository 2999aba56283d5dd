/* isa/aarch64/slots.h - single instructions run out of line.
 *
 * An instruction that neither touches memory nor the program counter does the same anywhere. A slot is such an
 * instruction followed by a return, kept in executable memory and found by its word; so each is written once per
 * process family (the memory and its table are shared with forked children). Operands in general registers are renamed
 * to x0 to x5 by the caller; vector registers stay as they are. */
#pragma once

#include "isa/aarch64/access.h"
#include "isa/aarch64/cpu.h"

/* Maps the slots' memory; outside handlers. False when the system gives no executable memory: then slot_execute()
 * answers OUTCOME_UNKNOWN. */
bool slots_start(void);

/* The same in memory of the caller's choice, slots_bytes() of address space. */
size_t slots_bytes(void);
bool slots_make(void *reserved);

/* Runs `word` on `state`: OUTCOME_NEXT; OUTCOME_UNKNOWN when the table is full or the instruction is undefined here;
 * OUTCOME_FAULT when it accessed memory and faulted. `state` is changed with OUTCOME_NEXT only. */
enum outcome slot_execute(uint32_t word, struct slot_state *state);

/* A fault at an instruction in a slot, or of access.S: the registers go back into who asked for it; false: it was neither. */
bool slots_fault(mcontext_t *registers);
