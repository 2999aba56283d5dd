#include "capture/hardware/choose.h"

#include "base/small_file.h"
#include "capture/hardware/known.h"
#include "capture/hardware/sysfs.h"
#include "wire/event.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    DEVICES_MOST = 16,
    LEAST_LATENCY = 3, /* what Intel's threshold cannot be less than */
    MOST_LATENCY = 65535,
    IBS_LATENCY_STEP = 128,
    IBS_LATENCY_MOST = 2048,
    IBS_PERIOD_LEAST = 0x90,
    SPE_PERIOD_LEAST = 1024,
    SPE_LATENCY_MOST = 4095,
};

/* SPE has no frequency. A core that does this many operations a second gets what was asked for. */
#define SPE_OPERATIONS_A_SECOND 2500000000u

struct choosing {
    struct pmu_choice *choice;
    const char *sysfs, *cpuid;
    const struct pmu_request *request;
};

static const char *pmu_kind_name(enum pmu_kind kind)
{
    static const char *const names[] = {"a memory PMU", "Intel PEBS", "AMD IBS", "Arm SPE"};
    return names[kind];
}

/* What all of them record; the rest is the kind's own. */
static void fill_common(struct perf_event_attr *attr, const struct pmu_request *request)
{
    attr->size = sizeof *attr;
    attr->sample_type |= PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
    if (request->period) {
        attr->sample_period = request->period;
    } else {
        attr->freq = 1;
        attr->sample_freq = request->frequency;
        attr->sample_type |= PERF_SAMPLE_PERIOD; /* the kernel changes it all the time */
    }
    attr->disabled = 1;
    attr->exclude_kernel = 1;
    attr->exclude_hv = 1;
    attr->sample_id_all = 1;
    attr->use_clockid = 1;
    attr->clockid = CLOCK_MONOTONIC_RAW;
}

static struct pmu_event *add(struct choosing *choosing, const struct pmu_device *device, const char *event)
{
    struct pmu_choice *choice = choosing->choice;
    struct pmu_event *added = &choice->events[choice->count++];
    *added = (struct pmu_event){0};
    snprintf(added->name, sizeof added->name, "%s/%s/", device->name, event);
    memcpy(added->cpus, device->cpus, sizeof added->cpus);
    added->attr.type = device->type;
    return added;
}

static bool full(const struct choosing *choosing)
{
    return choosing->choice->count >= PMU_EVENTS_MOST;
}

static uint32_t bounded(uint32_t value, uint32_t min, uint32_t max)
{
    return value < min ? min : value > max ? max : value;
}

/* Every one that PEBS can write with a sample. */
static void fill_pebs(struct choosing *choosing, const struct pmu_device *device, struct pmu_event *event, bool loads)
{
    event->source = SOURCE_PEBS;
    event->flags = loads ? SAMPLE_READ : SAMPLE_WRITE;
    event->attr.sample_type =
        PERF_SAMPLE_ADDR | PERF_SAMPLE_WEIGHT_STRUCT | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_PHYS_ADDR;
    uint64_t precise = pmu_device_number(device, "caps/max_precise", 3);
    event->attr.precise_ip = precise >= 1 && precise <= 3 ? precise : 3;
    event->min_precise = 1; /* with none there is no address */
    fill_common(&event->attr, choosing->request);
}

static void add_leader(struct pmu_event *event, uint32_t type, uint64_t config)
{
    event->has_leader = true;
    event->leader = (struct perf_event_attr){.type = type,
                                             .size = sizeof event->leader,
                                             .config = config,
                                             .disabled = 1,
                                             .exclude_kernel = 1,
                                             .exclude_hv = 1};
}

/* The kernel's own names. Returns whether it has any, requested or not. */
static bool add_named_pebs(struct choosing *choosing, const struct pmu_device *device)
{
    const struct pmu_request *request = choosing->request;
    struct perf_event_attr attr, leader;
    if (request->loads && !full(choosing) && pmu_device_event(device, "mem-loads", &attr)) {
        struct pmu_event *event = add(choosing, device, "mem-loads");
        event->attr = attr;
        pmu_device_set(device, "ldlat", bounded(request->latency, LEAST_LATENCY, MOST_LATENCY), &event->attr);
        fill_pebs(choosing, device, event, true);
        if (pmu_device_event(device, "mem-loads-aux", &leader))
            add_leader(event, leader.type, leader.config);
    }
    if (request->stores && !full(choosing) && pmu_device_event(device, "mem-stores", &attr)) {
        struct pmu_event *event = add(choosing, device, "mem-stores");
        event->attr = attr;
        fill_pebs(choosing, device, event, false);
    }
    return pmu_device_event(device, "mem-loads", &attr) || pmu_device_event(device, "mem-stores", &attr);
}

static void add_known_pebs(struct choosing *choosing, const struct pmu_device *device, const struct pmu_known *known)
{
    const struct pmu_request *request = choosing->request;
    if (request->loads && known->loads) {
        struct pmu_event *event = add(choosing, device, "load latency");
        event->attr.config = known->loads;
        event->attr.config1 = bounded(request->latency, LEAST_LATENCY, MOST_LATENCY);
        fill_pebs(choosing, device, event, true);
        if (known->leader)
            add_leader(event, device->type, known->leader);
    }
    if (request->stores && known->stores) {
        struct pmu_event *event = add(choosing, device, "stores");
        event->attr.config = known->stores;
        fill_pebs(choosing, device, event, false);
    }
}

static void choose_pebs(struct choosing *choosing)
{
    struct pmu_choice *choice = choosing->choice;
    char names[DEVICES_MOST][64];
    struct pmu_device device;
    size_t count = pmu_devices(choosing->sysfs, "cpu", names, DEVICES_MOST); /* cpu, or cpu_core and cpu_atom */
    bool is_named = false; /* then what has no name cannot be sampled here, whatever the processor's model could do */
    for (size_t i = 0; i < count; i++)
        if (pmu_device_open(&device, choosing->sysfs, names[i]))
            is_named |= add_named_pebs(choosing, &device);
    const char *who = "as the kernel names them";
    struct pmu_known known;
    if (!is_named && strncmp(choosing->cpuid, "GenuineIntel", 12) == 0 &&
        pmu_device_open(&device, choosing->sysfs, "cpu")) {
        bool real = strcmp(choosing->sysfs, "/sys") == 0; /* libpfm4 knows this machine only */
        who = "as libpfm4 names them";
        if (!real || !pmu_known_pfm(&known)) {
            who = "as a table has them";
            if (!pmu_known_table(&known, choosing->cpuid))
                return;
        }
        add_known_pebs(choosing, &device, &known);
    }
    if (choice->count == 0)
        return;
    choice->kind = PMU_PEBS;
    snprintf(choice->how, sizeof choice->how, "Intel PEBS: %s", choice->events[0].name);
    for (size_t i = 1; i < choice->count; i++) {
        size_t used = strlen(choice->how);
        snprintf(choice->how + used, sizeof choice->how - used, ", %s", choice->events[i].name);
    }
    size_t used = strlen(choice->how);
    snprintf(choice->how + used, sizeof choice->how - used, ", %s", who);
}

static void choose_ibs(struct choosing *choosing)
{
    const struct pmu_request *request = choosing->request;
    struct pmu_device device;
    if (!pmu_device_open(&device, choosing->sysfs, "ibs_op"))
        return;
    struct pmu_event *event = add(choosing, &device, "");
    struct perf_event_attr *attr = &event->attr;
    event->source = SOURCE_IBS;
    attr->sample_type = PERF_SAMPLE_ADDR | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_RAW;
    fill_common(attr, request);
    pmu_device_set(&device, "cnt_ctl", 1, attr); /* count operations, not cycles: every one has the same chance */
    /* The hardware cannot distinguish the kernel from the program; newer kernels sort its samples out themselves. */
    attr->exclude_kernel = attr->exclude_hv = pmu_device_set(&device, "swfilt", 1, attr);
    if (request->latency >= IBS_LATENCY_STEP)
        pmu_device_set(&device, "ldlat", bounded(request->latency, 0, IBS_LATENCY_MOST) & ~(IBS_LATENCY_STEP - 1u),
                       attr);
    if (!attr->freq) {
        attr->sample_period &= ~15ULL; /* the counter has no lower bits */
        if (attr->sample_period < IBS_PERIOD_LEAST)
            attr->sample_period = IBS_PERIOD_LEAST;
    }
    choosing->choice->kind = PMU_IBS;
    snprintf(choosing->choice->how, sizeof choosing->choice->how, "AMD IBS: %s%s", event->name,
             attr->exclude_kernel ? "" : ", which needs perf_event_paranoid 1 or less or CAP_PERFMON on this kernel");
}

static void add_spe(struct choosing *choosing, const struct pmu_device *device)
{
    const struct pmu_request *request = choosing->request;
    struct pmu_event *event = add(choosing, device, "");
    struct perf_event_attr *attr = &event->attr;
    event->source = SOURCE_SPE;
    event->aux = true;
    fill_common(attr, request);
    pmu_device_set(device, "ts_enable", 1, attr);
    pmu_device_set(device, "jitter", 1, attr);
    pmu_device_set(device, "load_filter", request->loads, attr);
    pmu_device_set(device, "store_filter", request->stores, attr);
    pmu_device_set(device, "min_latency", bounded(request->latency, 0, SPE_LATENCY_MOST), attr);
    struct perf_event_attr physical = {0};
    if (pmu_device_set(device, "pa_enable", 1, &physical)) {
        event->optional = physical.config; /* for the privileged only */
        attr->config |= physical.config;
    }
    uint64_t min_period = pmu_device_number(device, "caps/min_interval", SPE_PERIOD_LEAST);
    uint64_t period =
        attr->freq ? SPE_OPERATIONS_A_SECOND / (request->frequency ? request->frequency : 1) : request->period;
    attr->freq = 0;
    attr->sample_type &= ~(uint64_t)PERF_SAMPLE_PERIOD;
    attr->sample_period = period < min_period ? min_period : period;
}

static void choose_spe(struct choosing *choosing)
{
    struct pmu_choice *choice = choosing->choice;
    char names[DEVICES_MOST][64];
    struct pmu_device device;
    size_t count = pmu_devices(choosing->sysfs, "arm_spe", names, DEVICES_MOST);
    for (size_t i = 0; i < count && !full(choosing); i++)
        if (pmu_device_open(&device, choosing->sysfs, names[i]))
            add_spe(choosing, &device);
    if (choice->count == 0)
        return;
    choice->kind = PMU_SPE;
    snprintf(choice->how, sizeof choice->how, "Arm SPE: %s", choice->events[0].name);
}

int pmu_choose(struct pmu_choice *choice, const char *sysfs, const char *cpuid, enum pmu_kind kind,
               const struct pmu_request *request, struct error *err)
{
    static void (*const choosers[])(struct choosing *) = {NULL, choose_pebs, choose_ibs, choose_spe};
    *choice = (struct pmu_choice){0};
    struct choosing choosing = {choice, sysfs, cpuid, request};
    for (enum pmu_kind one = PMU_PEBS; one <= PMU_SPE && choice->count == 0; one++)
        if (kind == PMU_ANY || kind == one)
            choosers[one](&choosing);
    if (choice->count)
        return 0;
    struct pmu_choice other;
    if (kind != PMU_ANY && pmu_choose(&other, sysfs, cpuid, PMU_ANY, request, NULL) == 0)
        return error_set(err, -ENODEV, "there is no %s here, but %s: --source auto takes it", pmu_kind_name(kind),
                         pmu_kind_name(other.kind));
    return error_set(err, -ENODEV,
                     "there is no PMU that samples memory accesses (no PEBS, IBS or SPE; most virtual machines hide "
                     "it); --source soft needs none");
}

void pmu_cpuid(char *text, size_t size)
{
    static const char path[] = "/proc/cpuinfo";
    char *vendor = small_file_field(path, "vendor_id"), *family = small_file_field(path, "cpu family");
    char *model = small_file_field(path, "model\t"), *stepping = small_file_field(path, "stepping");
    uint64_t midr = vendor ? 0 : pmu_midr("/sys", 0);
    *text = '\0';
    if (vendor)
        snprintf(text, size, "%s-%s-%s-%s", vendor, family ? family : "", model ? model : "", stepping ? stepping : "");
    else if (midr)
        snprintf(text, size, "0x%016llx", (unsigned long long)midr);
    free(vendor);
    free(family);
    free(model);
    free(stepping);
}

uint64_t pmu_midr(const char *sysfs, unsigned cpu)
{
    return (uint64_t)small_file_number(0, "%.200s/devices/system/cpu/cpu%u/regs/identification/midr_el1", sysfs, cpu);
}
