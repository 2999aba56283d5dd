/* isa/aarch64/slots.c - see slots.h.
 *
 * Shared anonymous memory, mapped twice: writable for the table and the code, executable for running. (A memfd would
 * do, but making it as large as it must be kills a program that runs under a small limit for file sizes.) A slot is claimed by a
 * compare-and-swap on its key from 0 to word | CLAIMED, filled, made visible to instruction fetch, and then marked READY. A
 * handler that meets a slot another thread is still filling ends its burst instead of waiting. */
#include "isa/aarch64/slots.h"
#include "base/sys.h"

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

static void *mapped(long at)
{
    return at < 0 && at > -4096 ? NULL : (void *)at;
}

bool slots_start(void)
{
    if (slots_writable)
        return true;
    const size_t size = sizeof(struct slots);
    void *writable = mapped(sys_call(SYS_mmap, NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0L));
    if (!writable)
        return false;
    /* an old size of 0 maps the same shared pages once more */
    void *code = mapped(sys_call(SYS_mremap, writable, 0L, size, MREMAP_MAYMOVE));
    if (code && sys_call(SYS_mprotect, code, size, PROT_READ | PROT_EXEC) == 0) {
        slots_code = (uint64_t)code;
        slots_writable = writable;
        return true;
    }
    sys_unmap(writable, size);
    if (code)
        sys_unmap(code, size);
    return false;
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
