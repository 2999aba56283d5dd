/* capture/hardware/sysfs.h - one PMU as the kernel describes it: fields, events, abilities. */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pmu_device {
    const char *sysfs; /* root of the tree */
    char name[64];
    uint32_t type;
    char cpus[128]; /* "" when it does not say */
};

/* False when there is no such device. */
bool pmu_device_open(struct pmu_device *device, const char *sysfs, const char *name);

/* Names of all devices that begin with `prefix`, in order; returns how many. */
size_t pmu_devices(const char *sysfs, const char *prefix, char (*names)[64], size_t most);

/* A line of text, or a number, of one of its files ("caps/max_precise"). */
bool pmu_device_text(const struct pmu_device *device, const char *file, char *text, size_t size);
uint64_t pmu_device_number(const struct pmu_device *device, const char *file, uint64_t otherwise);

/* Puts `value` where format/`term` says. False when the device has no such field. */
bool pmu_device_set(const struct pmu_device *device, const char *term, uint64_t value, struct perf_event_attr *attr);

/* The event that the kernel calls `name`. False when it has none, or one with fields that nobody described. */
bool pmu_device_event(const struct pmu_device *device, const char *name, struct perf_event_attr *attr);
