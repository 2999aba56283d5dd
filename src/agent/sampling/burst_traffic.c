/* See burst_traffic.h. */
#include "agent/sampling/burst_places.h"
#include "agent/sampling/sampler.h"
#include "base/sys.h"
#include "agent/sampling/tick.h"
#include "agent/unwind/unwind.h"

#include <sys/resource.h>
#include <time.h>

enum { NEAR = 1024 }; /* bytes: from one access to the next, what a prefetcher might guess */

void traffic_thread_start(struct agent_thread *self)
{
    if (!self->sampler.traffic && self->sampler.tick_page && self->sampler.step_stack)
        self->sampler.traffic = sys_pages(sizeof(struct burst_traffic));
}

void traffic_thread_stop(struct agent_thread *self)
{
    struct burst_traffic *traffic = self->sampler.traffic;
    self->sampler.traffic = NULL;
    if (traffic)
        sys_unmap(traffic, sizeof *traffic);
}

void traffic_forget(struct agent_thread *self)
{
    if (self->sampler.traffic)
        self->sampler.traffic->state = ALONE;
}

static struct burst_place *place_of(struct burst_traffic *traffic, uint64_t pc, uint8_t write, bool make)
{
    unsigned at = (unsigned)((pc * 2 + write) * 0x9e3779b97f4a7c15u >> 58);
    for (; traffic->table[at]; at = (at + 1) % TABLE) {
        struct burst_place *place = &traffic->places[traffic->table[at] - 1];
        if (place->pc == pc && (place->flags & STREAM_WRITE) == write)
            return place;
    }
    if (!make || traffic->count == PLACES)
        return NULL;
    struct burst_place *place = &traffic->places[traffic->count++];
    traffic->table[at] = (uint8_t)traffic->count;
    place->pc = pc;
    place->flags = write | STREAM_NEAR | STREAM_STILL;
    place->runs = place->times = place->far = place->odd = 0;
    place->timed = 0;
    place->stride = 0;
    place->irregular = place->found = false;
    place->iterations = -1;
    place->ahead = 0;
    place->ahead_ns = STREAM_NO_LATENCY;
    place->behind = 0;
    return place;
}

static uint8_t direction_of(const struct step_access *access)
{
    return access->flags & SAMPLE_WRITE ? STREAM_WRITE
                                        : 0; /* what reads and writes counts as written: it is read for that */
}

static uint64_t pc_of(const ucontext_t *context)
{
    struct unwind_regs regs;
    step_unwind_regs(context, &regs);
    return regs.pc;
}

static void note_registers(struct burst_place *place, const ucontext_t *context)
{
    uint64_t now[STEP_REGISTERS];
    unsigned count = step_registers(context, now);
    for (unsigned i = 0; i < count; i++) {
        int64_t step = (int64_t)(now[i] - place->registers[i]);
        uint32_t bit = 1u << i;
        if (place->runs == 1)
            place->step[i] = step;
        if (step != 0)
            place->same &= ~bit;
        if (step == 0 || step != place->step[i])
            place->even &= ~bit;
        place->registers[i] = now[i];
        KEEP_LOOP();
    }
    if (place->runs == 0)
        place->same = place->even = count == 32 ? UINT32_MAX : (1u << count) - 1;
}

/* One more execution of it, or one more access of the same. */
static void note_run(struct burst_place *place, const ucontext_t *context, const struct step_access *access,
                     uint32_t steps)
{
    if (place->runs > 0 && place->steps == steps) {
        place->irregular = true;
        place->flags &= (uint8_t) ~(STREAM_STILL | STREAM_NEAR);
    } else {
        int64_t stride = (int64_t)(access->addr - place->addr);
        if (place->runs > 0 && stride != 0)
            place->flags &= (uint8_t)~STREAM_STILL;
        place->far += place->runs > 0 && (stride >= NEAR || stride <= -NEAR);
        if (place->runs > 1 && stride != place->stride)
            place->odd++;
        if (place->runs == 1 || (place->runs == 2 && place->odd))
            place->stride = stride; /* the first may have led to another row */
        note_registers(place, context);
        place->runs++;
    }
    place->steps = steps;
    place->addr = access->addr;
    place->size = access->size;
}

void traffic_note(struct agent_thread *self, const ucontext_t *context, const struct step_access *access, int64_t ns)
{
    struct burst_traffic *traffic = self->sampler.traffic;
    if (traffic->state != FIRST)
        return;
    traffic->known[access->addr / PAGE_UNIT % KNOWN] = access->addr / PAGE_UNIT + 1;
    struct burst_place *place = place_of(traffic, pc_of(context), direction_of(access), true);
    if (!place)
        return;
    note_run(place, context, access, self->sampler.steps);
    place->noted = place->runs;
    place->times++;
    if (ns >= 0 && ns < LATENCY_MOST && !traffic->retry && place->timed < STREAM_LATENCIES)
        place->latencies[place->timed++] = (uint16_t)ns;
}

/* Whether half of the instructions were executed again: the others are before the loop or on a rare path of it. */
static bool loop_repeats(const struct burst_traffic *traffic)
{
    uint32_t loops = 0;
    for (unsigned i = 0; i < traffic->count; i++)
        loops += traffic->places[i].runs >= STREAM_RUNS;
    return loops * 2 >= traffic->count;
}

bool traffic_begin_watch(struct agent_thread *self)
{
    struct burst_traffic *traffic = self->sampler.traffic;
    if (!traffic || traffic->state != FIRST || loop_repeats(traffic))
        return false;
    traffic->remaining = TRAFFIC_WATCH;
    return true;
}

bool traffic_watch(struct agent_thread *self, const ucontext_t *context, const struct step_access *access)
{
    struct burst_traffic *traffic = self->sampler.traffic;
    struct burst_place *place = place_of(traffic, pc_of(context), direction_of(access), false);
    if (place && place->runs < STREAM_RUNS) { /* what is known already may be left and entered again by now */
        note_run(place, context, access, self->sampler.steps);
        if (place->runs == STREAM_RUNS && loop_repeats(traffic))
            return false;
    }
    return --traffic->remaining > 0;
}

/* How often it was carried out since: by its own addresses, else by registers that change evenly. */
static int64_t iterations_since(const struct burst_place *place, uint64_t addr, const uint64_t *now, unsigned count)
{
    int64_t iterations = -1;
    if (is_stream(place)) {
        int64_t moved = (int64_t)(addr - place->addr);
        return moved % place->stride == 0 && moved / place->stride > 0 ? moved / place->stride - 1 : -1;
    }
    for (unsigned i = 0; i < count; i++) {
        if (!(place->even >> i & 1))
            continue;
        int64_t moved = (int64_t)(now[i] - place->registers[i]), step = place->step[i];
        if (moved % step != 0 || moved / step <= 0)
            return -1;
        if (iterations >= 0 && iterations != moved / step - 1)
            return -1; /* they do not agree */
        iterations = moved / step - 1;
    }
    return iterations;
}

bool traffic_follow(struct agent_thread *self, const ucontext_t *context, const struct step_access *access)
{
    struct burst_traffic *traffic = self->sampler.traffic;
    struct burst_place *place = place_of(traffic, pc_of(context), direction_of(access), false);
    if (place && !place->found) {
        uint64_t now[STEP_REGISTERS];
        unsigned count = step_registers(context, now);
        place->found = true;
        traffic->found++;
        if (place->runs >= STREAM_RUNS) {
            /* A loop that is longer than what is noted of it is not always met when it runs: how often it runs is not known. */
            place->flags |= place->noted >= STREAM_RUNS ? STREAM_LOOP : 0;
            place->flags |= is_stream(place) && place->odd ? STREAM_REENTERED : 0;
            for (unsigned i = 0; i < count; i++)
                if (place->same >> i & 1 && now[i] != place->registers[i])
                    place->flags |= STREAM_REENTERED;
            place->iterations = iterations_since(place, access->addr, now, count);
            int64_t beyond = (int64_t)(access->addr - place->ahead);
            if (place->ahead && is_stream(place) && place->iterations >= 0 && !(place->flags & STREAM_REENTERED) &&
                (place->stride > 0 ? beyond > 0 : beyond < 0))
                place->flags |= STREAM_PASSED;
        }
    }
    return traffic->found < traffic->count && --traffic->remaining > 0;
}

_Static_assert(sizeof(struct event_stream) % 8 == 0, "records are whole words");

static void send_place(struct agent_thread *self, const struct burst_traffic *traffic, const struct burst_place *place,
                       uint64_t user_ns, bool paired)
{
    const uint32_t words = (sizeof(struct wire_event) + sizeof(struct event_stream)) / 8;
    struct wire_event *record = agent_reserve(self, words, LOSS_SAMPLE_FULL, false);
    if (!record)
        return;
    record->head =
        (struct wire_head){.type = WIRE_EVENT, .words = (uint8_t)words, .cpu = agent_cpu(), .value = EVENT_STREAM};
    record->time = agent_time();
    struct event_stream *stream = (struct event_stream *)record->body;
    *stream = (struct event_stream){
        .burst = traffic->burst,
        .iterations = -1,
        .user_ns = user_ns,
        .ahead_ns = STREAM_NO_LATENCY,
        .behind_ns = STREAM_NO_LATENCY,
        .gap_ns = paired ? traffic->gap_ns : 0,
        .flags = paired && traffic->gap_ns ? STREAM_PAIRED : 0,
    };
    if (place) {
        stream->pc = place->pc;
        stream->addr = place->addr;
        stream->stride = is_stream(place) ? place->stride : 0;
        stream->ahead = place->ahead;
        stream->ahead_ns = place->ahead ? place->ahead_ns : STREAM_NO_LATENCY;
        stream->behind = place->behind;
        stream->behind_ns = place->behind ? place->behind_ns : STREAM_NO_LATENCY;
        stream->iterations = paired ? place->iterations : -1;
        stream->size = place->size;
        stream->times = place->times;
        stream->runs = place->noted;
        stream->flags |= place->flags;
        if (place->far * FAR_PARTS > place->runs)
            stream->flags &= (uint8_t)~STREAM_NEAR;
        if (place->flags & STREAM_WRITE && step_is_nontemporal(place->pc))
            stream->flags |= STREAM_NONTEMPORAL;
        stream->timed = place->timed;
        for (unsigned i = 0; i < place->timed; i++) {
            stream->latencies[i] = place->latencies[i];
            KEEP_LOOP();
        }
    }
    agent_commit(self, words);
}

static void send_pair(struct agent_thread *self, bool paired)
{
    const struct burst_traffic *traffic = self->sampler.traffic;
    struct rusage usage;
    uint64_t user_ns = 0;
    if (sys_call(SYS_getrusage, RUSAGE_THREAD, &usage) == 0)
        user_ns = (uint64_t)usage.ru_utime.tv_sec * 1000000000 + (uint64_t)usage.ru_utime.tv_usec * 1000;
    if (traffic->count == 0)
        send_place(self, traffic, NULL, user_ns, false);
    for (unsigned i = 0; i < traffic->count; i++)
        send_place(self, traffic, &traffic->places[i], user_ns, paired);
}

/* CPU time of this thread, or 0. */
static uint64_t thread_ns(void)
{
    struct timespec now;
    if (sys_call(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &now) != 0)
        return 0;
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

bool traffic_is_early(struct agent_thread *self, uint64_t (*to_ns)(uint64_t ticks), uint64_t delivery_ns)
{
    struct burst_traffic *traffic = self->sampler.traffic;
    if (!traffic || traffic->state != WAITING || to_ns(self->sampler.began - traffic->ended_at) >= TRAFFIC_SOONEST)
        return false;
    traffic->spent_ns += delivery_ns + to_ns(wire_counter() - self->sampler.began);
    return true;
}

/* Where threads wait for each other at barriers, hardly a pair has the CPU for itself: then the time between its bursts is that
 * which the thread has used. */
bool traffic_is_due(struct agent_thread *self)
{
    struct burst_traffic *traffic = self->sampler.traffic;
    if (!traffic || traffic->state < WAITING)
        return false;
    bool due = traffic->state == WAITING && self->sampler.tick_page;
    traffic->switched = due && tick_context_switches(self) != traffic->context_switches;
    if (traffic->switched) {
        traffic->due_ns = traffic->ended_cpu_ns ? thread_ns() : 0;
        due = traffic->due_ns > traffic->ended_cpu_ns;
    }
    traffic->state = due ? DUE : MISSED; /* the tick came at a bad moment, or no system call may be made */
    return due;
}

bool traffic_begin(struct agent_thread *self)
{
    struct burst_traffic *traffic = self->sampler.traffic;
    if (!traffic)
        return false;
    bool again = traffic->state == DUE && traffic->cut;
    if (traffic->state == DUE && !again) {
        traffic->state = SECOND;
        traffic->remaining = TRAFFIC_FOLLOW;
        traffic->found = 0;
        return true;
    }
    bool conclusive = traffic->count > 0 || !traffic->cut; /* none in a whole burst is known to be none */
    if (traffic->state >= WAITING && !again && conclusive)
        send_pair(self, false);
    traffic->state = FIRST;
    traffic->retry = again;
    traffic->cut = false;
    traffic->burst++;
    traffic->count = traffic->asked = 0;
    for (unsigned i = 0; i < KNOWN; i++) {
        traffic->known[i] = 0;
        KEEP_LOOP();
    }
    for (unsigned i = 0; i < TABLE; i++) {
        traffic->table[i] = 0;
        KEEP_LOOP();
    }
    return false;
}

bool traffic_is_second(const struct agent_thread *self)
{
    return self->sampler.traffic && self->sampler.traffic->state == SECOND;
}

bool traffic_is_retry(const struct agent_thread *self)
{
    const struct burst_traffic *traffic = self->sampler.traffic;
    return traffic && traffic->state == FIRST && traffic->retry;
}

bool traffic_will_repeat(const struct agent_thread *self)
{
    const struct burst_traffic *traffic = self->sampler.traffic;
    return traffic && traffic->state == FIRST && traffic->cut && !traffic->retry;
}

void traffic_end(struct agent_thread *self, uint64_t (*to_ns)(uint64_t ticks), uint64_t delivery_ns)
{
    struct burst_traffic *traffic = self->sampler.traffic;
    if (!traffic)
        return;
    if (traffic->state == FIRST) {
        traffic->cut = self->sampler.skip > 0 && !self->sampler.ran_out;
        if (!traffic->cut)
            probe_around(self, traffic, to_ns);
    } else if (traffic->state == SECOND) {
        uint64_t ours = traffic->spent_ns + delivery_ns, gap = traffic->switched
                                                                   ? traffic->due_ns - traffic->ended_cpu_ns
                                                                   : to_ns(self->sampler.began - traffic->ended_at);
        traffic->gap_ns = gap > ours && gap - ours < UINT32_MAX ? (uint32_t)(gap - ours) : 0;
        send_pair(self, true);
    }
}

uint64_t traffic_carry(struct agent_thread *self, uint64_t cost_ns)
{
    struct burst_traffic *traffic = self->sampler.traffic;
    if (!traffic)
        return cost_ns;
    if (traffic->state == SECOND || traffic_will_repeat(self)) {
        traffic->carried += cost_ns;
        return 0;
    }
    cost_ns += traffic->carried;
    traffic->carried = 0;
    return cost_ns;
}

void traffic_leave(struct agent_thread *self)
{
    struct burst_traffic *traffic = self->sampler.traffic;
    if (!traffic)
        return;
    traffic->state = traffic->state == FIRST && !(traffic->cut && traffic->retry) ? WAITING : ALONE;
    traffic->ended_cpu_ns = traffic->state == WAITING ? thread_ns() : 0;
    traffic->spent_ns = 0;
    traffic->context_switches = tick_context_switches(self);
    traffic->ended_at = wire_counter();
}
