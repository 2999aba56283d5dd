/* capture/agent/counter.h - from wire_counter() to nanoseconds of CLOCK_MONOTONIC_RAW, for as long as a recording takes.
 *
 * Both run at constant rates, but their ratio is only known as well as it was measured. So it is measured again and
 * again over longer stretches, and each new line begins where the last one had got to: time never jumps and never goes
 * back. A record is converted by the line that was in force when it was made. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Whether the processor's counter is constant and the same on every CPU. */
bool counter_trusted(void);

/* Its rate, measured for some milliseconds where the processor does not report it. */
uint32_t counter_ticks_per_us(void);

enum { COUNTER_LINES = 8 };

struct counter_line {
    uint64_t from;  /* counter */
    uint64_t ns;    /* at `from` */
    uint64_t slope; /* ns a tick, in 2^-32 */
};

struct counter_clock {
    bool identity;                            /* record times are ns already */
    struct counter_line lines[COUNTER_LINES]; /* newest first */
    unsigned count;
    uint64_t origin, origin_ns; /* where the first measurement was taken */
    uint64_t renewed_ns;
};

void counter_clock_start(struct counter_clock *clock, bool identity);

/* Call now and then; does something once a second. */
void counter_clock_renew(struct counter_clock *clock, uint64_t now_ns);

uint64_t counter_line_ns(const struct counter_line *line, uint64_t counter);
uint64_t counter_clock_old_ns(const struct counter_clock *clock, uint64_t counter);

static inline uint64_t counter_clock_ns(const struct counter_clock *clock, uint64_t counter)
{
    const struct counter_line *line = &clock->lines[0];
    if (__builtin_expect(counter >= line->from, 1))
        return line->ns + (uint64_t)((unsigned __int128)(counter - line->from) * line->slope >> 32);
    return counter_clock_old_ns(clock, counter);
}
