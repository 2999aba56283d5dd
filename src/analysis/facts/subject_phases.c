/* analysis/facts/subject_phases.c - the stretches of the run in which a subject is hot.
 *
 * The run is cut into slices, as many as leave a burst in each on average, the more where it is hot. A stretch begins
 * where a slice (smoothed with its neighbours) comes near the hottest one and ends where it falls well below: two bounds,
 * so that chance does not cut it in pieces. Nor does a short pause of the whole program, which may just have had no
 * processor: it says nothing of the subject. */
#include "analysis/facts/facts_work.h"

enum { MIN_SLICES = 4 };

unsigned phases_slice(const struct flow *flow, uint64_t time)
{
    uint64_t span = flow_end(flow) - flow_start(flow) + 1;
    uint64_t since = time > flow_start(flow) ? time - flow_start(flow) : 0;
    unsigned slice = (unsigned)((__uint128_t)since * SLICES / span);
    return slice < SLICES ? slice : SLICES - 1;
}

void phases_add(struct detail *detail, unsigned slice, bool remote)
{
    detail->samples[slice]++;
    detail->remote[slice] += remote;
}

static void push(struct facts_subject *subject, const struct flow *flow, const struct detail *detail, unsigned from,
                 unsigned to)
{
    uint64_t span = flow_end(flow) - flow_start(flow) + 1;
    struct fact_phase phase = {
        .start = flow_start(flow) + (uint64_t)((__uint128_t)span * from / SLICES),
        .end = flow_start(flow) + (uint64_t)((__uint128_t)span * to / SLICES),
    };
    for (unsigned i = from; i < to; i++) {
        phase.samples += detail->samples[i];
        phase.remote += detail->remote[i];
    }
    array_push(&subject->phases, phase);
}

/* When little is known: one stretch from the first access to the last. */
static void push_whole(struct facts_subject *subject)
{
    struct fact_phase phase = {.start = UINT64_MAX};
    array_each (&subject->users, const struct fact_user, user) {
        if (user->samples == 0)
            continue;
        phase.start = user->first < phase.start ? user->first : phase.start;
        phase.end = user->last > phase.end ? user->last : phase.end;
        phase.samples += user->samples;
        phase.remote += user->remote;
    }
    if (phase.samples == 0)
        return;
    array_fit(&subject->phases, 1);
    array_push(&subject->phases, phase);
}

/* Each slice as a mean with its neighbours. Returns the greatest. */
static double smoothed(const double *level, unsigned count, double *smooth)
{
    double most = 0;
    for (unsigned i = 0; i < count; i++) {
        double before = i ? level[i - 1] : level[i], after = i + 1 < count ? level[i + 1] : level[i];
        smooth[i] = (before + 2 * level[i] + after) / 4;
        most = smooth[i] > most ? smooth[i] : most;
    }
    return most;
}

/* How many slices from `at` on the whole program pauses. */
static unsigned pause_at(const double *active, unsigned count, double most, unsigned at)
{
    unsigned end = at;
    while (end < count && active[end] < thresholds.hot / 2 * most)
        end++;
    return end - at;
}

void phases_finish(const struct gathering *gathering, struct facts_subject *subject, const struct detail *detail)
{
    const struct flow *flow = gathering->flow;
    double level[SLICES] = {0}, smooth[SLICES], all[SLICES] = {0}, active[SLICES];
    unsigned count = SLICES;
    if (!detail || (double)subject->bursts < thresholds.bursts) {
        push_whole(subject);
        return;
    }
    while (count > MIN_SLICES && subject->bursts < count)
        count /= 2;
    unsigned width = SLICES / count;
    for (unsigned i = 0; i < SLICES; i++)
        level[i / width] += detail->samples[i];
    for (unsigned i = 0; i < SLICES; i++)
        all[i / width] += gathering->active[i];
    double most = smoothed(level, count, smooth), most_active = smoothed(all, count, active);
    unsigned start = 0;
    bool hot = false;
    for (unsigned i = 0; i < count; i++) {
        bool empty = level[i] == 0;
        if (!hot && !empty && smooth[i] >= thresholds.hot * most) {
            hot = true;
            start = i;
        } else if (hot && smooth[i] < thresholds.hot / 2 * most) {
            unsigned pause = pause_at(active, count, most_active, i);
            if (pause && pause * width <= thresholds.worth_saying * SLICES && i + pause < count &&
                smooth[i + pause] >= thresholds.hot / 2 * most) {
                i += pause;
                continue;
            }
            hot = false;
            push(subject, flow, detail, start * width, i * width);
        }
    }
    if (hot)
        push(subject, flow, detail, start * width, SLICES);
}
