/* trace/sample_code.h - the columns of samples, written and read back: a call chain's next access is near its last one, of the same
 * size and kind. Private to src/trace. */
#pragma once

#include "trace/run_code.h"

static inline void put_sample(struct trace_run *run, const struct event_sample *sample)
{
    struct run_guess *guess = run_guess_for(&run->state, sample->stack);
    uint64_t shape = sample->flags | (uint64_t)sample->size << 8 | (uint64_t)sample->level << 24 |
                     (uint64_t)(sample->physical != 0) << 32 | (uint64_t)sample->period << 33;
    put_difference(run, 1, sample->stack);
    put(run, 2, zigzag(sample->addr - guess->addr));
    if (sample->flags & SAMPLE_HAS_LATENCY)
        put(run, 3, sample->latency);
    put_repeat(run, 4, sample->source | (uint64_t)sample->cpu << 8);
    put(run, 5, shape ^ guess->other);
    if (sample->physical)
        put_difference(run, 6, sample->physical);
    guess->other = shape;
    guess->addr = run->state.last[0] = sample->addr;
}

static inline bool get_sample(struct run_cursor *cursor, struct event_sample *sample)
{
    uint64_t stack, addr, origin, shape, latency = 0, physical = 0;
    if (!get_difference(cursor, 1, &stack) || !get(cursor, 2, &addr) || !get_repeat(cursor, 4, &origin) ||
        !get(cursor, 5, &shape) || stack > UINT32_MAX || origin >> 24)
        return false;
    struct run_guess *guess = run_guess_for(&cursor->state, (uint32_t)stack);
    guess->addr += unzigzag(addr);
    guess->other ^= shape;
    cursor->state.last[0] = guess->addr;
    sample->addr = guess->addr;
    sample->stack = (uint32_t)stack;
    sample->source = (uint8_t)origin;
    sample->cpu = (uint16_t)(origin >> 8);
    sample->flags = (uint8_t)guess->other;
    sample->size = (uint16_t)(guess->other >> 8);
    sample->level = (uint8_t)(guess->other >> 24);
    sample->period = (uint32_t)(guess->other >> 33);
    if ((sample->flags & SAMPLE_HAS_LATENCY) && (!get(cursor, 3, &latency) || latency > UINT32_MAX))
        return false;
    if ((guess->other >> 32 & 1) && !get_difference(cursor, 6, &physical))
        return false;
    sample->latency = (uint32_t)latency;
    sample->physical = physical;
    sample->ordinal = 0;
    return true;
}
