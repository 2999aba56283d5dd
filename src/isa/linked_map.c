/* isa/linked_map.c - memory of long bursts: code that runs, the same to write to, state and log. */
#include "base/units.h"
#include "isa/code_map.h"
#include "isa/linked.h"

enum { LOG_BYTES = LINKED_LOG * 8 };
_Static_assert(LINKED_CODE % PAGE_LARGEST == 0 && LOG_BYTES % PAGE_LARGEST == 0, "parts are mapped one by one");

/* libc's area for restartable sequences, where it has one (2.35 and later). */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

static size_t without_log(void)
{
    return (sizeof(struct linked) + PAGE_LARGEST - 1) & ~(PAGE_LARGEST - 1ul);
}

size_t linked_state_bytes(void)
{
    return without_log() + LOG_BYTES;
}

size_t linked_bytes(void)
{
    return 2 * (size_t)LINKED_CODE + linked_state_bytes();
}

struct linked *linked_prepare(uint8_t *code, uint8_t *writable, void *state)
{
    struct linked *linked = state;
    linked->code = code;
    linked->writable = writable;
    linked->log_begin = (uint64_t *)((uint8_t *)state + without_log());
    linked->log_end = linked->log_begin + LINKED_LOG;
    linked->log_limit = (uint64_t)(linked->log_end - LINKED_ACCESSES - 2);
    linked->has_sequence = &__rseq_size && __rseq_size;
    linked->sequence_at = linked->has_sequence ? __rseq_offset : 0;
    linked->indirect[0].pc = linked_empty(0); /* the others are so: the memory is new */
    linked_prepare_ways(linked);
    linked->code_used = LINKED_ENTRY;
    return linked;
}

struct linked *linked_make(void *reserved)
{
    uint8_t *base = reserved;
    if (!code_map(base, LINKED_CODE, linked_state_bytes()))
        return NULL;
    return linked_prepare(base, base + LINKED_CODE, base + 2 * (size_t)LINKED_CODE);
}
