#include "lib/sampling/session_hardware.h"

#include "base/array.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    RING_PAGES = 16, /* of a thread's event: some hundred samples; fewer when the kernel will not lock as much */
    FRAMES = 32,
    BURST = 8, /* samples that the soft sampler takes in a period: as many are asked for */
    TRIAL_FREQUENCY = 5000,
};

struct sampled_thread {
    uint32_t tid;
    struct hw_source *source; /* NULL: could not be opened */
};

struct hardware {
    struct pmu_choice choice;
    bool tasks; /* for the file: mappings that are new */
    bool enabled;
    array_of(struct sampled_thread) threads;
};

static const char *described_in = "/sys"; /* written by tests before the first session */

void hardware_look_in(const char *sysfs)
{
    described_in = sysfs;
}

static enum pmu_kind kind_of(int source)
{
    switch (source) {
    case NLENS_SOURCE_PEBS:
        return PMU_PEBS;
    case NLENS_SOURCE_IBS:
        return PMU_IBS;
    case NLENS_SOURCE_SPE:
        return PMU_SPE;
    default:
        return PMU_ANY;
    }
}

static int choose(const nlens_session_options *options, struct pmu_choice *choice, struct error *err)
{
    char cpuid[64];
    uint64_t frequency = 1000000000ull * BURST / options->period_ns;
    const struct pmu_request request = {
        .loads = options->wanted & NLENS_READS,
        .stores = options->wanted & NLENS_WRITES,
        .latency = options->latency,
        .period = options->period,
        .frequency = frequency ? frequency : 1,
    };
    pmu_cpuid(cpuid, sizeof cpuid);
    int code = pmu_choose(choice, described_in, cpuid, kind_of(options->source), &request, err);
    if (code < 0 || options->source != NLENS_SOURCE_AUTO)
        return code;
    /* Some virtual machines have a PMU that opens and reports nothing. Tried with requests that are easy to fulfil. */
    struct pmu_choice trial;
    const struct pmu_request easy = {.loads = request.loads, .stores = request.stores, .frequency = TRIAL_FREQUENCY};
    code = pmu_choose(&trial, described_in, cpuid, PMU_ANY, &easy, err);
    return code < 0 ? code : hw_source_try(&trial, err);
}

struct hardware *hardware_new(const nlens_session_options *options, struct error *err)
{
    struct hardware *hardware = mem_zalloc(sizeof *hardware);
    hardware->tasks = options->output != NULL;
    if (choose(options, &hardware->choice, err) < 0) {
        free(hardware);
        return NULL;
    }
    return hardware;
}

void hardware_free(struct hardware *hardware)
{
    if (!hardware)
        return;
    array_each (&hardware->threads, struct sampled_thread, watched)
        hw_source_close(watched->source);
    array_free(&hardware->threads);
    free(hardware);
}

const struct pmu_choice *hardware_choice(const struct hardware *hardware)
{
    return &hardware->choice;
}

void hardware_describe(const struct hardware *hardware, struct capture_means *means)
{
    means->source = (enum sample_source)hardware->choice.events[0].source;
    snprintf(means->hardware, sizeof means->hardware, "%s", hardware->choice.how);
}

struct hw_source *hardware_open(const struct hardware *hardware, uint32_t tid, struct error *err)
{
    const struct hw_target target = {
        .pid = (pid_t)tid,
        .tasks = hardware->tasks,
        .max_frames = hardware->tasks ? FRAMES : 0, /* chains are for the file */
        .pages = RING_PAGES,
    };
    return hw_source_open(&hardware->choice, &target, err);
}

static struct sampled_thread *find(const struct hardware *hardware, uint32_t tid)
{
    array_each (&hardware->threads, struct sampled_thread, watched)
        if (watched->tid == tid)
            return watched;
    return NULL;
}

bool hardware_has(const struct hardware *hardware, uint32_t tid)
{
    return find(hardware, tid) != NULL;
}

void hardware_put(struct hardware *hardware, uint32_t tid, struct hw_source *source)
{
    array_push(&hardware->threads, (struct sampled_thread){tid, source});
    if (source && hardware->enabled)
        hw_source_enable(source, true);
}

bool hardware_take(struct hardware *hardware, uint32_t tid, struct hw_source **source)
{
    struct sampled_thread *watched = find(hardware, tid);
    if (!watched)
        return false;
    *source = watched->source;
    *watched = hardware->threads.items[--hardware->threads.count];
    return true;
}

uint32_t hardware_ended(const struct hardware *hardware)
{
    array_each (&hardware->threads, struct sampled_thread, watched)
        if (syscall(SYS_tgkill, getpid(), watched->tid, 0) != 0 && errno == ESRCH)
            return watched->tid;
    return 0;
}

int hardware_enable(struct hardware *hardware, bool on)
{
    int code = 0;
    hardware->enabled = on;
    array_each (&hardware->threads, struct sampled_thread, watched)
        if (watched->source && hw_source_enable(watched->source, on) < 0)
            code = -errno;
    return code;
}

double hardware_drain(struct hardware *hardware, uint64_t until, const struct hw_listener *listener)
{
    double fullest = 0;
    array_each (&hardware->threads, struct sampled_thread, watched) {
        double filled = watched->source ? hw_source_drain(watched->source, until, listener) : 0;
        fullest = filled > fullest ? filled : fullest;
    }
    return fullest;
}

void hardware_count(const struct hardware *hardware, uint32_t *threads, uint32_t *waiting)
{
    *threads = (uint32_t)hardware->threads.count;
    *waiting = 0;
    array_each (&hardware->threads, struct sampled_thread, watched)
        *waiting += watched->source == NULL;
}
