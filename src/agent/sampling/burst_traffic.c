/* See traffic.h. */
#include "agent/sampling/burst_traffic.h"
#include "agent/sampling/sampler.h"
#include "base/sys.h"
#include "agent/sampling/tick.h"
#include "agent/unwind/unwind.h"

#include <sys/resource.h>

enum {
    PLACES = 40, /* instructions noted of a burst */
    TABLE = 64,
    PROBES = 6,
    LINE = 64,
    AHEAD_LINES = 128, /* at least so far ahead, and so many steps: prefetchers do not get there */
    AHEAD_SPREAD = 384,
    BEHIND_LINES = 64, /* beyond the row that it is in, and still in a cache */
    BEHIND_SPREAD = 1024,
    STEPS_SPREAD = 64,
    PAGE = 4096,
    STREAM_RUNS = 3, /* executions that show a stream, or a loop */
    LATENCY_MOST = 20000,
    KNOWN = 16,
    ASKED_MOST = 12,
    NEAR = 1024,   /* bytes: from one access to the next, what a prefetcher might guess */
    FAR_PARTS = 4, /* one of so many steps may go further: to the next row, of which a part is walked through */
};

#define ADDRESS_END ((int64_t)1 << 47)
/* The compiler would make calls to libc's memcpy of some loops, which uses the program's vector registers. */
#define KEEP_LOOP() __asm__ volatile("" ::: "memory")

enum state { ALONE, FIRST, SECOND, WAITING, DUE, MISSED };

struct place { /* an instruction, in one direction */
    uint64_t pc, addr, ahead;
    int64_t stride, turns;
    uint32_t steps; /* of the burst when it was last met: a gather accesses several times in one execution */
    uint32_t ahead_ns;
    uint16_t behind, behind_ns; /* a load so many strides behind, and what it took */
    uint16_t size, times, runs;
    uint16_t far; /* steps that no prefetcher might guess */
    uint8_t flags, timed, sample_flags;
    bool found, irregular;
    uint16_t latencies[STREAM_LATENCIES];
    uint32_t same, even; /* registers that did not change from one execution to the next; that changed by their step */
    uint64_t registers[STEP_REGISTERS];
    int64_t step[STEP_REGISTERS];
};

struct traffic {
    enum state state;
    uint32_t count, found, burst, left;
    uint64_t left_at; /* wire_counter() when the first burst was left */
    uint32_t turns;   /* tick_turns() then */
    uint32_t gap_ns;
    uint64_t carried;
    uint32_t asked;        /* times that the kernel was asked for a page in this burst */
    uint64_t known[KNOWN]; /* pages that were accessed in this burst, by their number, + 1 */
    uint8_t table[TABLE];  /* number of the place + 1 */
    struct place places[PLACES];
};

void traffic_thread_start(struct agent_thread *self)
{
    if (!self->sampler.traffic && self->sampler.tick_page && self->sampler.step_stack)
        self->sampler.traffic = sys_pages(sizeof(struct traffic));
}

void traffic_thread_stop(struct agent_thread *self)
{
    struct traffic *traffic = self->sampler.traffic;
    self->sampler.traffic = NULL;
    if (traffic)
        sys_unmap(traffic, sizeof *traffic);
}

void traffic_forget(struct agent_thread *self)
{
    if (self->sampler.traffic)
        self->sampler.traffic->state = ALONE;
}

static struct place *place_of(struct traffic *traffic, uint64_t pc, uint8_t write, bool make)
{
    unsigned at = (unsigned)((pc * 2 + write) * 0x9e3779b97f4a7c15u >> 58);
    for (; traffic->table[at]; at = (at + 1) % TABLE) {
        struct place *place = &traffic->places[traffic->table[at] - 1];
        if (place->pc == pc && (place->flags & STREAM_WRITE) == write)
            return place;
    }
    if (!make || traffic->count == PLACES)
        return NULL;
    struct place *place = &traffic->places[traffic->count++];
    traffic->table[at] = (uint8_t)traffic->count;
    place->pc = pc;
    place->flags = write | STREAM_NEAR | STREAM_STILL;
    place->runs = place->times = place->far = 0;
    place->timed = 0;
    place->stride = 0;
    place->irregular = place->found = false;
    place->turns = -1;
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

static void note_registers(struct place *place, const ucontext_t *context)
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

/* Which of the pages are in the page table: a page that is not, or is the kernel's page of zeroes, has an error in the place of its
 * node. */
static bool ask_pages(void **pages, uint64_t count, int *nodes)
{
    return sys_call(SYS_move_pages, 0, count, pages, NULL, nodes, 0) == 0;
}

bool traffic_may_load(struct agent_thread *self, uint64_t addr)
{
    struct traffic *traffic = self->sampler.traffic;
    void *page = (void *)(addr & ~(uint64_t)(PAGE - 1));
    int node = -1;
    if (!traffic || traffic->state != FIRST)
        return false;
    if (traffic->known[addr / PAGE % KNOWN] == addr / PAGE + 1)
        return true;
    return traffic->asked++ < ASKED_MOST && ask_pages(&page, 1, &node) && node >= 0;
}

void traffic_note(struct agent_thread *self, const ucontext_t *context, const struct step_access *access, int64_t ns)
{
    struct traffic *traffic = self->sampler.traffic;
    uint32_t steps = self->sampler.steps;
    if (traffic->state != FIRST)
        return;
    traffic->known[access->addr / PAGE % KNOWN] = access->addr / PAGE + 1;
    struct place *place = place_of(traffic, pc_of(context), direction_of(access), true);
    if (!place)
        return;
    if (place->runs > 0 && place->steps == steps) {
        place->irregular = true;
        place->flags &= (uint8_t) ~(STREAM_STILL | STREAM_NEAR);
    } else {
        int64_t stride = (int64_t)(access->addr - place->addr);
        if (place->runs > 0 && stride != 0)
            place->flags &= (uint8_t)~STREAM_STILL;
        place->far += place->runs > 0 && (stride >= NEAR || stride <= -NEAR);
        if (place->runs == 1)
            place->stride = stride;
        else if (place->runs > 1 && stride != place->stride)
            place->irregular = true;
        note_registers(place, context);
        place->runs++;
    }
    place->steps = steps;
    place->addr = access->addr;
    place->size = access->size;
    place->times++;
    if (ns >= 0 && ns < LATENCY_MOST && place->timed < STREAM_LATENCIES)
        place->latencies[place->timed++] = (uint16_t)ns;
}

/* How often it was carried out since: by its own addresses, else by registers that change evenly. */
static int64_t turns_since(const struct place *place, uint64_t addr, const uint64_t *now, unsigned count)
{
    int64_t turns = -1;
    if (!place->irregular && place->stride != 0) {
        int64_t moved = (int64_t)(addr - place->addr);
        return moved % place->stride == 0 && moved / place->stride > 0 ? moved / place->stride - 1 : -1;
    }
    for (unsigned i = 0; i < count; i++) {
        if (!(place->even >> i & 1))
            continue;
        int64_t moved = (int64_t)(now[i] - place->registers[i]), step = place->step[i];
        if (moved % step != 0 || moved / step <= 0)
            return -1;
        if (turns >= 0 && turns != moved / step - 1)
            return -1; /* they do not agree */
        turns = moved / step - 1;
    }
    return turns;
}

bool traffic_follow(struct agent_thread *self, const ucontext_t *context, const struct step_access *access)
{
    struct traffic *traffic = self->sampler.traffic;
    struct place *place = place_of(traffic, pc_of(context), direction_of(access), false);
    if (place && !place->found) {
        uint64_t now[STEP_REGISTERS];
        unsigned count = step_registers(context, now);
        place->found = true;
        traffic->found++;
        if (place->runs >= STREAM_RUNS) {
            place->flags |= STREAM_LOOP;
            for (unsigned i = 0; i < count; i++)
                if (place->same >> i & 1 && now[i] != place->registers[i])
                    place->flags |= STREAM_ANEW;
            place->turns = turns_since(place, access->addr, now, count);
            int64_t beyond = (int64_t)(access->addr - place->ahead);
            if (place->ahead && place->turns >= 0 && !(place->flags & STREAM_ANEW) &&
                (place->stride > 0 ? beyond > 0 : beyond < 0))
                place->flags |= STREAM_PASSED;
        }
    }
    return traffic->found < traffic->count && --traffic->left > 0;
}

static uint64_t next_random(struct agent_thread *self)
{
    uint64_t x = self->sampler.random;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return self->sampler.random = x;
}

static uint64_t ahead_of(struct agent_thread *self, const struct place *place)
{
    int64_t far = (int64_t)(AHEAD_LINES + next_random(self) % AHEAD_SPREAD) * LINE;
    int64_t size = place->stride < 0 ? -place->stride : place->stride;
    int64_t steps = (far + size - 1) / size, least = AHEAD_LINES + (int64_t)(next_random(self) % STEPS_SPREAD);
    uint64_t to = place->addr + (uint64_t)((steps > least ? steps : least) * place->stride);
    return to > PAGE && to < (uint64_t)ADDRESS_END ? to : 0;
}

/* Strides back to where it would have come by a while ago: 0 when that is nowhere. */
static uint16_t behind_of(struct agent_thread *self, const struct place *place)
{
    int64_t size = place->stride < 0 ? -place->stride : place->stride;
    int64_t far = (int64_t)(BEHIND_LINES + next_random(self) % BEHIND_SPREAD);
    int64_t steps = size < LINE ? far * LINE / size : far;
    uint64_t to = place->addr - (uint64_t)(steps * place->stride);
    return to > PAGE && to < (uint64_t)ADDRESS_END && steps <= UINT16_MAX ? (uint16_t)steps : 0;
}

static void *page_of(uint64_t addr)
{
    return (void *)(addr & ~(uint64_t)(PAGE - 1));
}

/* Nanoseconds of a load, or STREAM_NO_LATENCY. */
static uint32_t time_load(uint64_t addr, uint64_t (*to_ns)(uint64_t ticks))
{
    uint32_t ticks;
    uint64_t ns = step_probe(addr, &ticks) ? to_ns(ticks) : LATENCY_MOST;
    return ns < LATENCY_MOST ? (uint32_t)ns : STREAM_NO_LATENCY;
}

/* Times a load ahead of each of some streams, and one behind: whether it uses all the lines that it comes by. Which pages are there
 * the kernel says for all of them at once. */
static void probe_around(struct agent_thread *self, struct traffic *traffic, uint64_t (*to_ns)(uint64_t ticks))
{
    void *pages[2 * PROBES];
    struct place *chosen[PROBES];
    int nodes[2 * PROBES];
    uint64_t count = 0;
    if (agent_device_mapped || traffic->count == 0)
        return;
    unsigned start = (unsigned)(next_random(self) % traffic->count);
    for (unsigned i = 0; i < traffic->count && count < PROBES; i++) {
        struct place *place = &traffic->places[(start + i) % traffic->count];
        if (place->irregular || place->runs < STREAM_RUNS || place->stride == 0 ||
            place->stride >= ADDRESS_END / 1024 || place->stride <= -ADDRESS_END / 1024)
            continue;
        place->ahead = ahead_of(self, place);
        if (!place->ahead)
            continue;
        place->behind = behind_of(self, place);
        nodes[2 * count] = nodes[2 * count + 1] = -1;
        pages[2 * count] = page_of(place->ahead);
        pages[2 * count + 1] = page_of(place->addr - (uint64_t)(place->behind * place->stride));
        chosen[count++] = place;
    }
    bool asked = count > 0 && ask_pages(pages, 2 * count, nodes);
    for (unsigned i = 0; i < count; i++) {
        struct place *place = chosen[i];
        uint64_t back = place->addr - (uint64_t)(place->behind * place->stride);
        place->ahead_ns = asked && nodes[2 * i] >= 0 ? time_load(place->ahead, to_ns) : STREAM_NO_LATENCY;
        uint32_t ns = asked && place->behind && nodes[2 * i + 1] >= 0 ? time_load(back, to_ns) : STREAM_NO_LATENCY;
        if (place->ahead_ns == STREAM_NO_LATENCY)
            place->ahead = 0;
        if (ns == STREAM_NO_LATENCY)
            place->behind = 0;
        place->behind_ns = (uint16_t)ns;
    }
}

static void send_place(struct agent_thread *self, const struct traffic *traffic, const struct place *place,
                       uint64_t user_ns, bool paired)
{
    const uint32_t words = sizeof(struct wire_stream) / 8;
    struct wire_stream *stream = agent_reserve(self, words, LOSS_SAMPLE_FULL, false);
    if (!stream)
        return;
    *stream = (struct wire_stream){
        .head = {.type = WIRE_STREAM, .words = (uint8_t)words, .cpu = agent_cpu(), .value = traffic->burst},
        .time = agent_time(),
        .turns = -1,
        .user_ns = user_ns,
        .ahead_ns = STREAM_NO_LATENCY,
        .gap_ns = paired ? traffic->gap_ns : 0,
        .flags = paired && traffic->gap_ns ? STREAM_PAIRED : 0,
    };
    if (place) {
        bool moves = !place->irregular && place->runs >= STREAM_RUNS;
        stream->pc = place->pc;
        stream->addr = place->addr;
        stream->stride = moves ? place->stride : 0;
        stream->ahead = place->ahead;
        stream->ahead_ns = place->ahead ? place->ahead_ns : STREAM_NO_LATENCY;
        stream->behind = place->behind;
        stream->behind_ns = place->behind_ns;
        stream->turns = paired ? place->turns : -1;
        stream->size = place->size;
        stream->times = place->times;
        stream->runs = place->runs;
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
    const struct traffic *traffic = self->sampler.traffic;
    struct rusage usage;
    uint64_t user_ns = 0;
    if (sys_call(SYS_getrusage, RUSAGE_THREAD, &usage) == 0)
        user_ns = (uint64_t)usage.ru_utime.tv_sec * 1000000000 + (uint64_t)usage.ru_utime.tv_usec * 1000;
    if (traffic->count == 0)
        send_place(self, traffic, NULL, user_ns, false);
    for (unsigned i = 0; i < traffic->count; i++)
        send_place(self, traffic, &traffic->places[i], user_ns, paired);
}

bool traffic_is_due(struct agent_thread *self)
{
    struct traffic *traffic = self->sampler.traffic;
    if (!traffic || traffic->state < WAITING)
        return false;
    bool due = traffic->state == WAITING && self->sampler.tick_page && tick_turns(self) == traffic->turns;
    traffic->state = due ? DUE : MISSED; /* another thread had the CPU, or the tick came at a bad moment */
    return due;
}

bool traffic_begin(struct agent_thread *self)
{
    struct traffic *traffic = self->sampler.traffic;
    if (!traffic)
        return false;
    if (traffic->state == DUE) {
        traffic->state = SECOND;
        traffic->left = TRAFFIC_FOLLOW;
        traffic->found = 0;
        return true;
    }
    if (traffic->state >= WAITING)
        send_pair(self, false);
    traffic->state = FIRST;
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

void traffic_end(struct agent_thread *self, uint64_t (*to_ns)(uint64_t ticks), uint64_t delivery_ns)
{
    struct traffic *traffic = self->sampler.traffic;
    if (!traffic)
        return;
    if (traffic->state == FIRST) {
        probe_around(self, traffic, to_ns);
    } else if (traffic->state == SECOND) {
        uint64_t gap = to_ns(self->sampler.began - traffic->left_at);
        traffic->gap_ns = gap > delivery_ns && gap - delivery_ns < UINT32_MAX ? (uint32_t)(gap - delivery_ns) : 0;
        send_pair(self, true);
    }
}

uint64_t traffic_carry(struct agent_thread *self, uint64_t cost_ns)
{
    struct traffic *traffic = self->sampler.traffic;
    if (!traffic)
        return cost_ns;
    if (traffic->state == SECOND) {
        traffic->carried = cost_ns;
        return 0;
    }
    cost_ns += traffic->carried;
    traffic->carried = 0;
    return cost_ns;
}

void traffic_leave(struct agent_thread *self)
{
    struct traffic *traffic = self->sampler.traffic;
    if (!traffic)
        return;
    traffic->state = traffic->state == FIRST ? WAITING : ALONE;
    traffic->turns = tick_turns(self);
    traffic->left_at = wire_counter();
}
