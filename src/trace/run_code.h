/* trace/run_code.h - how single numbers are coded in a column of a run, and decoded. Private to src/trace. */
#pragma once

#include "trace/run.h"
#include "trace/varint.h"

/* Without optimization code of its own is no quicker for a row, and what is put in many times over takes the compiler most of its time. */
#ifdef __OPTIMIZE__
#define ALWAYS_INLINE inline __attribute__((always_inline))
#else
#define ALWAYS_INLINE inline
#endif

static inline void put(struct trace_run *run, unsigned column, uint64_t value)
{
    run->columns[column].at = varint_put(run->columns[column].at, value);
}

static inline void put_difference(struct trace_run *run, unsigned column, uint64_t value)
{
    put(run, column, zigzag(value - run->state.last[column]));
    run->state.last[column] = value;
}

static inline void put_repeat(struct trace_run *run, unsigned column, uint64_t value)
{
    struct run_repeat *repeat = &run->state.repeats[column];
    if (__builtin_expect(repeat->value != value || repeat->times == 0, 0)) {
        if (repeat->times) {
            put(run, column, repeat->value);
            put(run, column, repeat->times);
        }
        repeat->value = value;
        repeat->times = 0;
    }
    repeat->times++;
}

static ALWAYS_INLINE bool get(struct run_cursor *cursor, unsigned column, uint64_t *value)
{
    return varint_get(&cursor->at[column], cursor->end[column], value);
}

static ALWAYS_INLINE bool get_difference(struct run_cursor *cursor, unsigned column, uint64_t *value)
{
    uint64_t code;
    if (!get(cursor, column, &code))
        return false;
    *value = cursor->state.last[column] += unzigzag(code);
    return true;
}

static ALWAYS_INLINE bool get_repeat(struct run_cursor *cursor, unsigned column, uint64_t *value)
{
    struct run_repeat *repeat = &cursor->state.repeats[column];
    if (__builtin_expect(repeat->times == 0, 0) &&
        (!get(cursor, column, &repeat->value) || !get(cursor, column, &repeat->times) || repeat->times == 0))
        return false;
    repeat->times--;
    *value = repeat->value;
    return true;
}
