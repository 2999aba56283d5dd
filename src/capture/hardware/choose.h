/* capture/hardware/choose.h - which hardware events to sample memory accesses with, on the processor at hand.
 *
 * A pure function of a sysfs tree and a processor's name, so that any machine can be tested on any other. The kernel is
 * asked first: it names its events and lays out their fields in /sys/bus/event_source/devices. Where it names none,
 * libpfm4 is asked (when numalens was built with it), then a small table. */
#pragma once

#include "base/error.h"

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pmu_kind { PMU_ANY, PMU_PEBS, PMU_IBS, PMU_SPE };

struct pmu_request {
    bool loads, stores;
    uint32_t latency;   /* cycles that a load must take at least; 0: any */
    uint64_t frequency; /* samples a second of CPU time, or 0: */
    uint64_t period;    /* every so many events */
};

enum { PMU_EVENTS_MOST = 8 };

struct pmu_event {
    char name[96];  /* "cpu/mem-loads/": for people */
    char cpus[128]; /* "0-15,32": where it exists; "": everywhere */
    uint8_t source; /* enum sample_source */
    uint8_t flags;  /* enum sample_flag: the direction, for samples that do not report it themselves */
    bool aux;       /* samples come through an AUX buffer (SPE) */
    bool has_leader;
    /* Of attr: what to count, how often, and the best that could be recorded. Some of it a kernel may refuse:
     * precise_ip can be lowered as far as `min_precise`, bits of `optional` in config cleared, some of sample_type,
     * and software filters. */
    struct perf_event_attr attr;
    struct perf_event_attr leader; /* must be in the same group before it (Sapphire Rapids) */
    uint64_t optional;
    unsigned min_precise;
};

struct pmu_choice {
    struct pmu_event events[PMU_EVENTS_MOST]; /* to be opened together */
    size_t count;
    enum pmu_kind kind;
    char how[256]; /* "Intel PEBS: cpu/mem-loads/ ...", for people */
};

/* 0, or -ENODEV with `err`: there is nothing of that kind, and what else there is. `sysfs` is "/sys" but for tests;
 * `cpuid` as perf writes it: "GenuineIntel-6-85-4", "AuthenticAMD-25-17-1", a MIDR in hex. */
int pmu_choose(struct pmu_choice *choice, const char *sysfs, const char *cpuid, enum pmu_kind kind,
               const struct pmu_request *request, struct error *err);

/* The name of this machine's processor; "" when it cannot be reported. */
void pmu_cpuid(char *text, size_t size);

/* MIDR_EL1 of one CPU, 0 when the kernel does not report it. */
uint64_t pmu_midr(const char *sysfs, unsigned cpu);
