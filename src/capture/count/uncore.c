/* capture/count/uncore.c - plans from the counters of memory controllers, meshes and fabrics. */
#include "capture/count/uncore.h"

#include "base/number_list.h"
#include "capture/hardware/sysfs.h"
#include "capture/count/plan_make.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

enum { DEVICES_MOST = 1024, CHANNEL_STEP = 0x40 };

struct making {
    const struct count_machine *machine;
    const struct uncore_family *family;
    struct count_plan *plan;
    struct count_rows rows;
    bool bytes_unknown;
};

/* "event=0x50,umask=0x05"; the event `channel` steps further. */
static bool set_terms(const struct pmu_device *device, const char *terms, unsigned channel,
                      struct perf_event_attr *attr)
{
    char text[128], *rest = text;
    snprintf(text, sizeof text, "%.127s", terms);
    *attr = (struct perf_event_attr){.type = device->type, .size = sizeof *attr};
    for (char *term; (term = strsep(&rest, ","));) {
        char *value = strchr(term, '=');
        if (!value)
            return false;
        *value++ = 0;
        uint64_t number = strtoull(value, NULL, 0);
        if (strcmp(term, "event") == 0)
            number += (uint64_t)channel * CHANNEL_STEP;
        if (!pmu_device_set(device, term, number, attr))
            return false;
    }
    return true;
}

/* Bytes of one event as the kernel's .scale and .unit report, else `otherwise`. */
static double bytes_of(const struct pmu_device *device, const char *event, double otherwise)
{
    static const struct {
        const char *unit;
        double bytes;
    } units[] = {{"MiB", 1 << 20}, {"KiB", 1 << 10}, {"GiB", 1 << 30}, {"Bytes", 1}, {"bytes", 1}, {"B", 1}};
    char file[128], scale[64], unit[32], *end;
    snprintf(file, sizeof file, "events/%.60s.scale", event);
    if (!pmu_device_text(device, file, scale, sizeof scale))
        return otherwise;
    snprintf(file, sizeof file, "events/%.60s.unit", event);
    if (!pmu_device_text(device, file, unit, sizeof unit))
        return otherwise;
    double factor = strtod(scale, &end);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(unit, units[i].unit) == 0 && end != scale && factor > 0)
            return factor * units[i].bytes;
    return otherwise;
}

struct mask {
    array_of(uint32_t) cpus;
    const struct count_machine *machine;
};

static void see_cpu(void *context, uint32_t cpu)
{
    struct mask *mask = context;
    if (cpu < mask->machine->cpus.count && mask->machine->cpus.items[cpu].node >= 0)
        array_push(&mask->cpus, cpu);
}

/* A device that names no CPU can only be placed where there is one node. */
static void load_mask(struct mask *mask, const struct pmu_device *device)
{
    const struct count_machine *machine = mask->machine;
    if (device->cpus[0])
        number_list_each(device->cpus, COUNT_CPUS_MOST, see_cpu, mask);
    else if (machine->nodes.count == 1)
        see_cpu(mask, 0);
}

/* Nodes that the counter on `cpu` covers become one row. */
static void join_covered(struct making *making, const struct mask *mask, uint32_t cpu)
{
    const struct count_machine *machine = making->machine;
    const struct count_cpu *own = &machine->cpus.items[cpu];
    bool by_die = false;
    if (making->family->scope == UNCORE_OF_NODE || own->package < 0)
        return;
    array_each (&mask->cpus, uint32_t, other)
        if (*other != cpu && machine->cpus.items[*other].package == own->package)
            by_die = true;
    array_each (&machine->cpus, struct count_cpu, peer)
        if (peer->node >= 0 && peer->package == own->package && (!by_die || peer->die == own->die))
            count_machine_rows_join(&making->rows, machine, (uint32_t)peer->node, (uint32_t)own->node);
}

static void add_event(struct making *making, const struct pmu_device *device, const struct mask *mask,
                      const struct uncore_event *event)
{
    bool named = !strchr(event->event, '=');
    for (unsigned channel = 0; channel < event->channels; channel++) {
        struct count_counter counter = {.what = event->what, .optional = event->optional};
        if (named ? !pmu_device_event(device, event->event, &counter.attr)
                  : !set_terms(device, event->event, channel, &counter.attr))
            return;
        double bytes = named ? bytes_of(device, event->event, event->bytes) : event->bytes;
        making->bytes_unknown |= bytes == 0;
        counter.scale = bytes == 0 ? 1 : bytes;
        counter.attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
        if (event->channels > 1)
            snprintf(counter.name, sizeof counter.name, "%.40s/%.40s/ of channel %u", device->name, event->event,
                     channel);
        else
            snprintf(counter.name, sizeof counter.name, "%.40s/%.40s/", device->name, event->event);
        array_each (&mask->cpus, uint32_t, cpu) {
            counter.cpu = (int32_t)*cpu;
            counter.row = (uint32_t)making->machine->cpus.items[*cpu].node;
            array_push(&making->plan->counters, counter);
        }
    }
}

static void add_device(struct making *making, const char *name)
{
    struct pmu_device device;
    struct mask mask = {.machine = making->machine};
    if (!pmu_device_open(&device, making->machine->sysfs, name))
        return;
    load_mask(&mask, &device);
    size_t before = making->plan->counters.count;
    for (const struct uncore_event *event = making->family->events; event->devices; event++)
        if (fnmatch(event->devices, name, 0) == 0)
            add_event(making, &device, &mask, event);
    if (making->plan->counters.count > before)
        array_each (&mask.cpus, uint32_t, cpu)
            join_covered(making, &mask, *cpu);
    array_free(&mask.cpus);
}

static bool family_is_here(const struct count_machine *machine, const struct uncore_family *family)
{
    struct pmu_device device;
    char text[128];
    if (!family->device)
        return true;
    return pmu_device_open(&device, machine->sysfs, family->device) &&
           pmu_device_text(&device, family->file, text, sizeof text) &&
           (!family->content || strcmp(text, family->content) == 0);
}

static struct count_plan *make_family(const struct count_machine *machine, const struct uncore_family *family,
                                      char (*names)[64], size_t name_count)
{
    struct count_plan *plan = count_plan_new(COUNT_UNCORE, family->side);
    struct making making = {machine, family, plan, {0}, false};
    count_machine_rows_init(&making.rows, machine);
    for (size_t i = 0; i < name_count; i++)
        add_device(&making, names[i]);
    count_machine_rows_make(&making.rows, machine, plan);
    bool good = false;
    array_each (&plan->counters, struct count_counter, counter) {
        counter->row = making.rows.row_of[counter->row];
        good |= !counter->optional;
    }
    free(making.rows.row_of);
    plan->in_bytes = !making.bytes_unknown;
    plan->devices = mem_strdup(family->name);
    if (good)
        return plan;
    count_plan_free(plan);
    return NULL;
}

void count_uncore_plans(struct count_plans *plans, const struct count_machine *machine)
{
    char(*names)[64] = mem_alloc(DEVICES_MOST * sizeof *names);
    size_t name_count = pmu_devices(machine->sysfs, "", names, DEVICES_MOST);
    bool any = false;
    for (const struct uncore_family *family = uncore_families; family->name; family++) {
        struct count_plan *plan =
            family_is_here(machine, family) ? make_family(machine, family, names, name_count) : NULL;
        if (!plan)
            continue;
        any = true;
        count_plan_finish(plan);
        array_push(&plans->list, plan);
    }
    free(names);
    if (any)
        return;
    struct count_plan *none = count_plan_new(COUNT_UNCORE, COUNT_AT_MEMORY);
    none->devices = mem_strdup("memory controllers");
    none->lacks =
        mem_strdup("no counters of memory controllers in /sys/bus/event_source/devices: virtual machines hide "
                   "them; on bare metal load the kernel's uncore driver (intel_uncore, amd_uncore, "
                   "hisi_uncore_ddrc_pmu, arm_cmn)");
    array_push(&plans->list, none);
}
