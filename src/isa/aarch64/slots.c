/* isa/aarch64/slots.c - see slots.h.
 *
 * Memory that is mapped twice: writable for the table and the code, executable for running. A slot is claimed by a
 * compare-and-swap on its key from 0 to word | CLAIMED, filled, made visible to instruction fetch, and then marked READY. A
 * handler that meets a slot another thread is still filling ends its burst instead of waiting. */
#include "isa/aarch64/slots.h"
#include "base/units.h"
#include "isa/code_map.h"

#include <stdatomic.h>

enum {
    SLOT_COUNT = 8192, /* a power of two; a program uses some hundreds of different words */
    SLOT_TRIES = 16,
    SLOT_WORDS = 2,
    WORD_RET = 0xd65f03c0,
};
#define KEY_CLAIMED (1ull << 32)
#define KEY_READY   (1ull << 33)

struct slots {
    uint32_t code[SLOT_COUNT][SLOT_WORDS];
    _Atomic uint64_t key[SLOT_COUNT];
};

/* Written once by slots_make before any tick; read by handlers. */
static struct slots *slots_writable;
static uint64_t slots_code;

#define SLOTS_SIZE ((sizeof(struct slots) + PAGE_LARGEST - 1) & ~(PAGE_LARGEST - 1ul))

bool slots_start(void)
{
    if (slots_writable)
        return true;
    long at = sys_call(SYS_mmap, NULL, slots_bytes(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);
    if (sys_failed(at))
        return false;
    if (slots_make((void *)at))
        return true;
    sys_unmap((void *)at, slots_bytes());
    return false;
}

size_t slots_bytes(void)
{
    return 2 * SLOTS_SIZE;
}

bool slots_make(void *reserved)
{
    if (!code_map(reserved, SLOTS_SIZE, 0))
        return false;
    slots_code = (uint64_t)reserved;
    slots_writable = (struct slots *)((uint8_t *)reserved + SLOTS_SIZE);
    return true;
}

bool slots_fault(mcontext_t *registers)
{
    if (registers->pc - (uint64_t)access_begin < (uint64_t)access_end - (uint64_t)access_begin) {
        registers->regs[0] = 1;
        registers->pc = registers->regs[30];
        return true;
    }
    if (!slots_code || registers->pc - slots_code >= sizeof(slots_writable->code))
        return false;
    registers->pc = (uint64_t)slot_faulted;
    return true;
}

/* Where `word` can be run, or 0. */
static uint64_t slot_find(uint32_t word)
{
    uint32_t hash = word * 0x9e3779b1u >> 13;
    for (unsigned try = 0; try < SLOT_TRIES; try++) {
        uint32_t index = (hash + try) & (SLOT_COUNT - 1);
        _Atomic uint64_t *key = &slots_writable->key[index];
        uint64_t code = slots_code + index * sizeof(slots_writable->code[0]);
        uint64_t seen = atomic_load_explicit(key, memory_order_acquire);
        if (seen == (KEY_READY | KEY_CLAIMED | word))
            return code;
        if (seen == 0) {
            if (!atomic_compare_exchange_strong(key, &seen, KEY_CLAIMED | word))
                return 0; /* another thread was faster, perhaps with this very word: next time */
            slots_writable->code[index][0] = word;
            slots_writable->code[index][1] = WORD_RET;
            __builtin___clear_cache((char *)code, (char *)code + sizeof(slots_writable->code[0]));
            atomic_store_explicit(key, KEY_READY | KEY_CLAIMED | word, memory_order_release);
            return code;
        }
        if ((uint32_t)seen == word)
            return 0; /* being filled */
    }
    return 0;
}

enum outcome slot_execute(uint32_t word, struct slot_state *state)
{
    if (!slots_writable)
        return OUTCOME_UNKNOWN;
    uint64_t code = slot_find(word);
    if (code == 0)
        return OUTCOME_UNKNOWN;
    __asm__ volatile("isb" ::: "memory"); /* another processor may have filled it a moment ago */
    return slot_run(code, state) == 0 ? OUTCOME_NEXT : OUTCOME_FAULT;
}
