#include "capture/agent/counter.h"

#include "base/clock.h"
#include "base/small_file.h"
#include "wire/region.h"

#include <stdlib.h>
#include <string.h>

enum { RENEW_NS = 1000000000, MEASURE_NS = 3000000, STEP_NS = 100000000 };

#if defined(__x86_64__)
bool counter_trusted(void)
{
    char *flags = small_file_field("/proc/cpuinfo", "flags");
    bool trusted = flags && strstr(flags, " constant_tsc") && strstr(flags, " nonstop_tsc");
    free(flags);
    return trusted;
}
#elif defined(__aarch64__)
bool counter_trusted(void)
{
    return true; /* the architecture promises it */
}
#else
#error "counter_trusted: this architecture is not supported"
#endif

struct moment {
    uint64_t counter, ns;
};

/* A counter value and the time at which it was read, from the tightest of a few tries. */
static struct moment measure(void)
{
    struct moment best = {0};
    uint64_t min_ticks = UINT64_MAX;
    for (int try = 0; try < 8; try++) {
        uint64_t before = wire_counter(), now = clock_now_ns(), after = wire_counter();
        if (after - before >= min_ticks)
            continue;
        min_ticks = after - before;
        best = (struct moment){before + min_ticks / 2, now};
    }
    return best;
}

/* ns a tick, in 2^-32. */
static uint64_t slope_of(uint64_t ticks, uint64_t ns)
{
    return ticks ? (uint64_t)(((unsigned __int128)ns << 32) / ticks) : 0;
}

static uint64_t measured_slope(void)
{
#if defined(__aarch64__)
    uint64_t frequency;
    __asm__("mrs %0, cntfrq_el0" : "=r"(frequency));
    if (frequency)
        return slope_of(frequency, 1000000000);
#endif
    struct moment first = measure(), later;
    do
        later = measure();
    while (later.ns - first.ns < MEASURE_NS);
    return slope_of(later.counter - first.counter, later.ns - first.ns);
}

uint32_t counter_ticks_per_us(void)
{
    uint64_t slope = measured_slope();
    return slope ? (uint32_t)(((uint64_t)1000 << 32) / slope) : 1;
}

void counter_clock_start(struct counter_clock *clock, bool identity)
{
    *clock = (struct counter_clock){.identity = identity, .count = 1};
    if (identity) {
        clock->lines[0].slope = (uint64_t)1 << 32;
        return;
    }
    uint64_t slope = measured_slope();
    struct moment origin = measure();
    clock->origin = origin.counter;
    clock->origin_ns = origin.ns;
    clock->lines[0] = (struct counter_line){clock->origin, clock->origin_ns, slope};
    clock->renewed_ns = clock->origin_ns;
}

uint64_t counter_line_ns(const struct counter_line *line, uint64_t counter)
{
    if (counter >= line->from)
        return line->ns + (uint64_t)((unsigned __int128)(counter - line->from) * line->slope >> 32);
    uint64_t back = (uint64_t)((unsigned __int128)(line->from - counter) * line->slope >> 32);
    return back < line->ns ? line->ns - back : 0;
}

uint64_t counter_clock_old_ns(const struct counter_clock *clock, uint64_t counter)
{
    unsigned i = 0;
    while (i + 1 < clock->count && counter < clock->lines[i].from)
        i++;
    return counter_line_ns(&clock->lines[i], counter);
}

void counter_clock_renew(struct counter_clock *clock, uint64_t now_ns)
{
    if (clock->identity || now_ns - clock->renewed_ns < RENEW_NS)
        return;
    struct moment now = measure();
    uint64_t counter = now.counter, ns = now.ns;
    clock->renewed_ns = ns;
    uint64_t reached = counter_clock_ns(clock, counter);
    if (counter < clock->lines[0].from || reached > ns + STEP_NS || ns > reached + STEP_NS) {
        /* One of the two was stepped: a suspended machine's counter may run on or restart, its clock stands still. */
        clock->origin = counter;
        clock->origin_ns = ns;
        clock->lines[0] = (struct counter_line){counter, ns, clock->lines[0].slope};
        clock->count = 1;
        return;
    }
    uint64_t rate = slope_of(counter - clock->origin, ns - clock->origin_ns);
    uint64_t ticks = counter - clock->lines[0].from;
    if (rate == 0 || ticks == 0)
        return;
    /* Aim for where true time will be after as long as the last line lasted, without ever standing still. */
    uint64_t truth_then = ns + (uint64_t)((unsigned __int128)ticks * rate >> 32);
    uint64_t slope = truth_then > reached ? slope_of(ticks, truth_then - reached) : rate / 2;
    memmove(clock->lines + 1, clock->lines, (COUNTER_LINES - 1) * sizeof *clock->lines);
    clock->lines[0] = (struct counter_line){counter, reached, slope};
    if (clock->count < COUNTER_LINES)
        clock->count++;
}
