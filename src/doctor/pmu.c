/* doctor/pmu.c - hardware that samples memory accesses by itself: Intel PEBS, AMD IBS, Arm SPE. */
#include "doctor/probe.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEVICES "/sys/bus/event_source/devices"

struct pmu {
    const char *kind; /* NULL: none found */
    char name[64];
    struct perf_event_attr attr;
};

/* "event=0xcd,umask=0x1,ldlat=3" as the kernel's x86 driver lays it out. */
static void parse_event(const char *text, struct perf_event_attr *attr)
{
    static const struct {
        const char *term;
        int shift;
        bool second;
    } terms[] = {{"event=", 0, false}, {"umask=", 8, false}, {"ldlat=", 0, true}};
    for (size_t i = 0; i < sizeof terms / sizeof *terms; i++) {
        const char *at = strstr(text, terms[i].term);
        uint64_t value = at ? strtoull(at + strlen(terms[i].term), NULL, 0) : 0;
        if (terms[i].second)
            attr->config1 = value;
        else
            attr->config |= value << terms[i].shift;
    }
}

static bool recognise(struct pmu *pmu, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, DEVICES "/%.60s/events/mem-loads", name);
    char *loads = probe_read_line(path);
    if (strcmp(name, "ibs_op") == 0) {
        pmu->kind = "AMD IBS";
        pmu->attr.sample_period = 0x100000;
    } else if (strncmp(name, "arm_spe", 7) == 0) {
        pmu->kind = "Arm SPE";
        pmu->attr.sample_period = 0x10000;
        pmu->attr.exclude_kernel = 1;
    } else if (loads) {
        pmu->kind = "Intel PEBS";
        parse_event(loads, &pmu->attr);
        pmu->attr.sample_period = 10007;
        pmu->attr.sample_type = PERF_SAMPLE_ADDR | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC;
        pmu->attr.precise_ip = 2;
        pmu->attr.exclude_kernel = 1;
        pmu->attr.exclude_hv = 1;
    }
    free(loads);
    if (!pmu->kind)
        return false;
    snprintf(pmu->name, sizeof pmu->name, "%.60s", name);
    snprintf(path, sizeof path, DEVICES "/%.60s/type", name);
    pmu->attr.type = (uint32_t)probe_read_number(path, 0);
    return true;
}

static struct pmu find_pmu(void)
{
    struct pmu pmu = {0};
    DIR *devices = opendir(DEVICES);
    struct dirent *entry;
    while (devices && !pmu.kind && (entry = readdir(devices)))
        if (entry->d_name[0] != '.')
            recognise(&pmu, entry->d_name);
    if (devices)
        closedir(devices);
    return pmu;
}

static struct probe_result try_open(void *argument)
{
    int fd = probe_perf_open(argument);
    return (struct probe_result){.error = fd < 0 ? -fd : 0};
}

void doctor_check_pmu(struct doctor *doctor)
{
    struct pmu pmu = find_pmu();
    if (!pmu.kind) {
        probe_add(doctor, "sources", "pmu", "memory PMU", DOCTOR_MISSING,
                  "bare metal, or a kind of virtual machine that passes its PMU on; record does not need one",
                  "no PEBS, IBS or SPE in " DEVICES ": the CPU lacks it or the hypervisor hides it");
        return;
    }
    struct probe_result opened = probe_in_child(try_open, &pmu.attr);
    if (opened.error == 0)
        probe_add(doctor, "sources", "pmu", "memory PMU", DOCTOR_WORKS, NULL, "%s (%s) can be opened", pmu.kind,
                  pmu.name);
    else
        probe_add_perf_refusal(doctor, "sources", "pmu", "memory PMU", opened.error);
}
