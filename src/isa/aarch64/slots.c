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

/* Written once by slots_start before any tick; read by handlers. */
static struct slots *slots_writable;
static uint64_t slots_code;

bool slots_start(void)
{
    if (slots_writable)
        return true;
    const size_t size = (sizeof(struct slots) + PAGE_LARGEST - 1) & ~(PAGE_LARGEST - 1ul);
    long at = sys_call(SYS_mmap, NULL, 2 * size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);
    if (sys_failed(at))
        return false;
    if (!code_map((uint8_t *)at, size, 0)) {
        sys_unmap((void *)at, 2 * size);
        return false;
    }
    slots_code = (uint64_t)at;
    slots_writable = (struct slots *)(at + (long)size);
    return true;
}

bool slots_hold(uint64_t pc)
{
    return slots_code && pc - slots_code < sizeof(slots_writable->code);
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
