#include "lib/sampling/collect.h"

#include "calibrate/calibrate.h"
#include "numalens/capture.h"
#include "wire/event.h"

#include <linux/perf_event.h>

/* Beyond the caches, but from whose memory is not known: to be added to a data_src without a level. */
#define DATA_SRC_MISS ((uint64_t)PERF_MEM_LVL_MISS << PERF_MEM_LVL_SHIFT)

static uint64_t level_bits(uint32_t level)
{
    switch (level) {
    case NLENS_LEVEL_L1:
        return PERF_MEM_LVL_L1 | PERF_MEM_LVL_HIT;
    case NLENS_LEVEL_LFB:
        return PERF_MEM_LVL_LFB | PERF_MEM_LVL_HIT;
    case NLENS_LEVEL_L2:
        return PERF_MEM_LVL_L2 | PERF_MEM_LVL_HIT;
    case NLENS_LEVEL_L3:
        return PERF_MEM_LVL_L3 | PERF_MEM_LVL_HIT;
    case NLENS_LEVEL_RAM:
        return PERF_MEM_LVL_LOC_RAM | PERF_MEM_LVL_HIT;
    case NLENS_LEVEL_REMOTE_CACHE:
        return PERF_MEM_LVL_REM_CCE1 | PERF_MEM_LVL_HIT;
    case NLENS_LEVEL_REMOTE_RAM:
        return PERF_MEM_LVL_REM_RAM1 | PERF_MEM_LVL_HIT;
    case NLENS_LEVEL_IO:
        return PERF_MEM_LVL_IO | PERF_MEM_LVL_HIT;
    case NLENS_LEVEL_UNCACHED:
        return PERF_MEM_LVL_UNC | PERF_MEM_LVL_HIT;
    default:
        return PERF_MEM_LVL_NA;
    }
}

/* A sample's level and direction as perf writes them down, and its `flags` (enum sample_flag). */
static uint64_t data_src_of(const nlens_sample *sample, unsigned flags)
{
    union perf_mem_data_src source = {0};
    source.mem_op = (flags & SAMPLE_READ ? PERF_MEM_OP_LOAD : 0) | (flags & SAMPLE_WRITE ? PERF_MEM_OP_STORE : 0);
    source.mem_lvl = level_bits(sample->level);
    source.mem_snoop = flags & SAMPLE_HITM ? PERF_MEM_SNOOP_HITM : PERF_MEM_SNOOP_NA;
    source.mem_lock = flags & SAMPLE_LOCKED ? PERF_MEM_LOCK_LOCKED : PERF_MEM_LOCK_NA;
    source.mem_dtlb = flags & SAMPLE_TLB_MISS ? PERF_MEM_TLB_MISS : PERF_MEM_TLB_NA;
    return source.val;
}

/* What of the sample follows from its flags. */
static void take(struct collect *collect, struct taken taken)
{
    nlens_sample *sample = &taken.sample;
    sample->read = (taken.flags & SAMPLE_READ) != 0;
    sample->write = (taken.flags & SAMPLE_WRITE) != 0;
    sample->locked = (taken.flags & SAMPLE_LOCKED) != 0;
    sample->has_latency = (taken.flags & SAMPLE_HAS_LATENCY) != 0;
    if (sample->data_src == 0)
        sample->data_src = data_src_of(sample, taken.flags);
    array_push(&collect->taken, taken);
}

/* The soft sampler knows how long a load took; where that came from, a calibration reports. */
static void report_level(const struct collect *collect, struct taken *taken)
{
    uint32_t latency = taken->sample.latency;
    if (taken->sample.level != LEVEL_UNKNOWN || !(taken->flags & SAMPLE_HAS_LATENCY))
        return;
    uint8_t level = collect->levels[latency < COLLECT_LEVELS ? latency : COLLECT_LEVELS - 1];
    if (level == LEVEL_RAM && collect->several_nodes)
        taken->sample.data_src = data_src_of(&taken->sample, taken->flags) | DATA_SRC_MISS;
    else
        taken->sample.level = level;
}

static void take_sample(struct collect *collect, const struct event *event)
{
    const struct event_sample *sample = &event->sample;
    struct taken taken = {.stack = sample->stack, .source = sample->source, .flags = sample->flags};
    taken.sample = (nlens_sample){
        .time = event->time,
        .ip = kept_ip(&collect->kept, sample->stack),
        .addr = sample->addr,
        .tid = event->tid,
        .latency = sample->latency,
        .level = sample->level,
        .cpu = (int16_t)sample->cpu, /* UINT16_MAX: -1 */
        .size = sample->size,
    };
    report_level(collect, &taken);
    take(collect, taken);
}

static void take_loss(struct collect *collect, enum loss_cause cause, uint64_t count)
{
    switch (cause) {
    case LOSS_RING_FULL:
    case LOSS_SAMPLE_FULL:
    case LOSS_NO_RING:
    case LOSS_PERF:
    case LOSS_AUX_FULL:
    case LOSS_COLLISION:
        collect->overrun += count;
        break;
    case LOSS_TICK_MASKED:
    case LOSS_TICK_BUSY:
    case LOSS_TICK_BUDGET:
    case LOSS_TICK_UNSTEPPED:
    case LOSS_THROTTLED:
        collect->skipped += count;
        break;
    default:
        break;
    }
}

static void see_event(void *context, const struct event *event)
{
    struct collect *collect = context;
    switch (event->kind) {
    case EVENT_SAMPLE:
        take_sample(collect, event);
        break;
    case EVENT_LOSS:
        take_loss(collect, event->loss.cause, event->loss.count);
        break;
    case EVENT_THREAD_START:
        running_knows(&collect->known, event->pid, event->tid);
        kept_add(&collect->kept, event);
        break;
    default:
        kept_add(&collect->kept, event);
        break;
    }
}

static void load_levels(struct collect *collect)
{
    static const uint8_t levels[] = {LEVEL_UNKNOWN, LEVEL_L1, LEVEL_L2, LEVEL_L3, LEVEL_RAM};
    struct calibration *calibration = calibrate_kept(NULL);
    for (uint32_t ns = 0; calibration && ns < COLLECT_LEVELS; ns++)
        collect->levels[ns] = levels[calibration_level(calibration, ns)];
    collect->several_nodes = calibration && calibration->node_count > 1;
    calibration_free(calibration);
}

void collect_init(struct collect *collect)
{
    load_levels(collect);
    collect->sink.tap = see_event;
    collect->sink.tap_context = collect;
    running_init(&collect->known, &collect->processes);
}

struct hearing {
    struct collect *collect;
    bool file;
};

static void hear_sample(void *context, const struct hw_sample *sample)
{
    const struct hearing *hearing = context;
    struct collect *collect = hearing->collect;
    const struct memory_access *access = &sample->access;
    struct taken taken = {.source = sample->source, .flags = access->flags, .physical = access->physical};
    taken.sample = (nlens_sample){
        .time = access->time,
        .ip = access->ip,
        .addr = access->addr,
        .tid = access->tid,
        .latency = access->latency,
        .level = access->level,
        .cpu = access->has_cpu ? (int16_t)access->cpu : -1,
        .size = access->size,
        .data_src = sample->data_src,
    };
    if (hearing->file) {
        struct capture_process *process = running_process(&collect->known, access->pid, access->tid, access->time);
        taken.stack = process_stack(&collect->processes, process, sample->frames, sample->depth, sample->cut);
    }
    take(collect, taken);
}

static void hear_loss(void *context, uint64_t time, enum loss_cause cause, uint64_t count)
{
    (void)time;
    take_loss(((const struct hearing *)context)->collect, cause, count);
}

static void hear_record(void *context, const struct perf_event_header *record, uint64_t time)
{
    const struct hearing *hearing = context;
    if (hearing->file)
        running_record(&hearing->collect->known, record, time);
}

double collect_hardware(struct collect *collect, const nlens_session *session, uint64_t until,
                        const struct counter_clock *clock)
{
    struct hearing hearing = {collect, session->dump != NULL};
    const struct hw_listener listener = {&hearing, hear_sample, hear_loss, clock, hear_record};
    return hardware_drain(session->hardware, until, &listener);
}
