/* analysis/problems/balance_waits.c - how long threads wait for one another at barriers.
 *
 * A barrier of the C library reports every wait. What spins is known by its call chains, and there waiting is what is missing to the
 * work of the one that works longest. */
#include "analysis/problems/balance_waits.h"

#include "analysis/thresholds.h"

#include <string.h>

enum { FRAMES = 8, SLEEPS = 2 }; /* one sleep of a thread may be there only for all to begin together */

/* By the names that libraries and programs give them. */
static bool through_barrier(const struct flow *flow, uint32_t process, uint32_t stack)
{
    struct symbol_frame frames[FRAMES];
    size_t count = flow_stack_frames(flow, process, stack, frames, FRAMES);
    for (size_t i = 0; i < count; i++) {
        if (frames[i].function && strcasestr(frames[i].function, "barrier"))
            return true;
    }
    return false;
}

bool waits_spinning(const struct flow *flow, struct map64 *known, uint32_t thread, uint32_t stack)
{
    bool is_new;
    uint32_t process = flow_thread(flow, thread)->process;
    uint64_t *place = map64_insert(known, (uint64_t)process << 32 | stack, &is_new);
    if (is_new)
        *place = through_barrier(flow, process, stack);
    return *place;
}

/* The part of [start, end) between `from` and `to`. */
static uint64_t overlap(uint64_t start, uint64_t end, uint64_t from, uint64_t to)
{
    uint64_t first = start > from ? start : from, last = end < to ? end : to;
    return last > first ? last - first : 0;
}

/* When a thread lived together with others. */
static void life_of(const struct balance *balance, uint32_t index, uint64_t *started, uint64_t *ended)
{
    const struct flow *flow = balance->accesses->flow;
    const struct flow_thread *thread = flow_thread(flow, index);
    uint64_t end = balance->end < flow_end(flow) ? balance->end : flow_end(flow);
    *started = thread->start > balance->start ? thread->start : balance->start;
    *ended = thread->end < end ? thread->end : end;
}

/* Threads meet at the barriers of their process. A burst or two may be of one that is there only for all to begin together. */
void waits_find_barriers(struct balance *balance)
{
    const struct flow *flow = balance->accesses->flow;
    const struct flow_barrier_wait *sleeps;
    size_t sleep_count = flow_barrier_waits(flow, &sleeps);
    size_t processes = flow_process_count(flow) + 1ul, threads = flow_thread_count(flow) + 1ul;
    uint64_t *spun = mem_zalloc(processes * sizeof *spun), *slept = mem_zalloc(processes * sizeof *slept);
    uint32_t *often = mem_zalloc(threads * sizeof *often);
    array_each (&balance->threads, const struct balance_thread, row)
        spun[flow_thread(flow, row->thread)->process] += row->spun_bursts;
    for (size_t i = 0; i < sleep_count; i++) {
        if (++often[sleeps[i].thread] >= SLEEPS)
            slept[flow_thread(flow, sleeps[i].thread)->process]++;
    }
    array_each (&balance->threads, struct balance_thread, row) {
        uint32_t process = flow_thread(flow, row->thread)->process;
        bool spins = (double)spun[process] >= thresholds.bursts;
        row->sleeps = !spins && slept[process] && often[row->thread];
        row->at_barrier = row->counted && (spins || row->sleeps);
        balance->barriers |= row->at_barrier;
    }
    free(spun);
    free(slept);
    free(often);
}

void waits_asleep(const struct balance *balance, struct thread_slice *slices, unsigned count)
{
    const struct flow *flow = balance->accesses->flow;
    const struct flow_barrier_wait *sleeps;
    size_t sleep_count = flow_barrier_waits(flow, &sleeps), width = balance->threads.count;
    uint64_t start = flow_start(flow), length = flow_end(flow) - start + 1;
    for (size_t i = 0; i < width; i++) {
        uint64_t started, ended;
        life_of(balance, balance->threads.items[i].thread, &started, &ended);
        for (unsigned k = 0; k < count; k++)
            slices[k * width + i].lived =
                overlap(started, ended, start + length * k / count, start + length * (k + 1) / count);
    }
    uint32_t *place_of = mem_alloc((flow_thread_count(flow) + 1ul) * sizeof *place_of);
    memset(place_of, 0xff, (flow_thread_count(flow) + 1ul) * sizeof *place_of);
    for (uint32_t i = 0; i < width; i++)
        place_of[balance->threads.items[i].thread] = i;
    for (size_t i = 0; i < sleep_count; i++) {
        uint32_t place = place_of[sleeps[i].thread];
        uint64_t started, ended, to = sleeps[i].time, from = to - (sleeps[i].waited < to ? sleeps[i].waited : to);
        if (place == FLOW_NONE)
            continue;
        life_of(balance, sleeps[i].thread, &started, &ended);
        from = from > started ? from : started;
        to = to < ended ? to : ended;
        for (unsigned k = from > start ? (unsigned)((from - start) * count / length) : 0;
             k < count && from < to && start + length * k / count < to; k++)
            slices[k * width + place].asleep +=
                overlap(from, to, start + length * k / count, start + length * (k + 1) / count);
    }
    free(place_of);
}

/* At each barrier all but one wait. */
static double of_others(double sum, uint32_t meeting)
{
    double share = meeting > 1 ? sum / (meeting - 1) : 0;
    return share < 1 ? share : 1;
}

struct balance_wait waits_of(const struct balance *balance, const struct thread_slice *slice, uint64_t *waited)
{
    const struct flow *flow = balance->accesses->flow;
    struct balance_wait wait = {.last = FLOW_NONE};
    uint64_t *longest = mem_zalloc((flow_process_count(flow) + 1ul) * sizeof *longest), worked = 0;
    uint32_t meeting = 0;
    double min_share = 2;
    for (size_t i = 0; i < balance->threads.count; i++) {
        const struct balance_thread *row = &balance->threads.items[i];
        uint64_t *own = &longest[flow_thread(flow, row->thread)->process];
        if (row->at_barrier && slice[i].work > *own)
            *own = slice[i].work;
    }
    for (size_t i = 0; i < balance->threads.count; i++) {
        const struct balance_thread *row = &balance->threads.items[i];
        uint64_t own = longest[flow_thread(flow, row->thread)->process], work = slice[i].work;
        if (!row->at_barrier || (row->sleeps ? slice[i].lived == 0 : own == 0))
            continue;
        double share = row->sleeps ? (double)slice[i].asleep / (double)slice[i].lived : 1 - (double)work / (double)own;
        if (!row->sleeps && waited)
            waited[i] += own - work;
        if (share < min_share || (share == min_share && work > worked)) {
            min_share = share;
            worked = work;
            wait.last = row->thread;
        }
        wait.share += share;
        meeting++;
    }
    wait.share = of_others(wait.share, meeting);
    free(longest);
    return wait;
}

void waits_join(struct thread_slice *to, const struct thread_slice *from)
{
    to->work += from->work;
    to->asleep += from->asleep;
    to->lived += from->lived;
}

bool waits_alike(const struct balance_wait *left, const struct balance_wait *right)
{
    return left->share < thresholds.majority || right->share < thresholds.majority || left->last == right->last;
}

void waits_in_all(struct balance *balance, const uint64_t *waited)
{
    uint64_t most = 0, worked = 0;
    uint32_t meeting = 0;
    double min_share = 2;
    struct thread_slice *slept = mem_zalloc((balance->threads.count + 1) * sizeof *slept);
    waits_asleep(balance, slept, 1);
    balance->wait.last = FLOW_NONE;
    array_each (&balance->threads, const struct balance_thread, row)
        most = row->bursts > most ? row->bursts : most;
    array_each (&balance->threads, struct balance_thread, row) {
        size_t place = (size_t)(row - balance->threads.items);
        uint64_t work = row->bursts - row->spun_bursts, lost = waited[place], lived = slept[place].lived;
        row->ran = most ? (double)row->bursts / (double)most : 0;
        if (!row->at_barrier || (row->sleeps ? lived == 0 : lost + work == 0))
            continue;
        row->waited = row->sleeps ? (double)slept[place].asleep / (double)lived : (double)lost / (double)(lost + work);
        row->waited_s = row->waited * (double)lived * 1e-9;
        if (row->waited < min_share || (row->waited == min_share && work > worked)) {
            min_share = row->waited;
            worked = work;
            balance->wait.last = row->thread;
        }
        balance->wait.share += row->waited;
        meeting++;
    }
    balance->wait.share = of_others(balance->wait.share, meeting);
    free(slept);
}
