#include "capture/hardware/sysfs.h"

#include "base/small_file.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEVICES "bus/event_source/devices"

bool pmu_device_text(const struct pmu_device *device, const char *file, char *text, size_t size)
{
    char *line = small_file_line("%.200s/" DEVICES "/%.63s/%.100s", device->sysfs, device->name, file);
    bool found = line;
    snprintf(text, size, "%s", found ? line : "");
    free(line);
    return found;
}

uint64_t pmu_device_number(const struct pmu_device *device, const char *file, uint64_t otherwise)
{
    return (uint64_t)small_file_number((int64_t)otherwise, "%.200s/" DEVICES "/%.63s/%.100s", device->sysfs,
                                       device->name, file);
}

bool pmu_device_open(struct pmu_device *device, const char *sysfs, const char *name)
{
    *device = (struct pmu_device){.sysfs = sysfs};
    snprintf(device->name, sizeof device->name, "%.63s", name);
    uint64_t type = pmu_device_number(device, "type", UINT64_MAX);
    if (type > UINT32_MAX)
        return false;
    device->type = (uint32_t)type;
    if (!pmu_device_text(device, "cpus", device->cpus, sizeof device->cpus) &&
        !pmu_device_text(device, "cpumask", device->cpus, sizeof device->cpus))
        device->cpus[0] = 0;
    return true;
}

static int compare(const void *a, const void *b)
{
    return strcmp(a, b);
}

size_t pmu_devices(const char *sysfs, const char *prefix, char (*names)[64], size_t most)
{
    char path[512];
    size_t count = 0;
    snprintf(path, sizeof path, "%.200s/" DEVICES, sysfs);
    DIR *devices = opendir(path);
    struct dirent *entry;
    while (devices && count < most && (entry = readdir(devices)))
        if (entry->d_name[0] != '.' && strncmp(entry->d_name, prefix, strlen(prefix)) == 0 &&
            strlen(entry->d_name) < 64)
            strcpy(names[count++], entry->d_name);
    if (devices)
        closedir(devices);
    qsort(names, count, sizeof *names, compare);
    return count;
}

/* Lays the low bits of `value` over one range of bits, and returns what is left of it. */
static uint64_t put_bits(uint64_t *word, unsigned low, unsigned high, uint64_t value)
{
    unsigned bits = high - low + 1;
    uint64_t mask = bits >= 64 ? UINT64_MAX : (1ULL << bits) - 1;
    *word = (*word & ~(mask << low)) | (value & mask) << low;
    return bits >= 64 ? 0 : value >> bits;
}

bool pmu_device_set(const struct pmu_device *device, const char *term, uint64_t value, struct perf_event_attr *attr)
{
    char file[128], text[128];
    snprintf(file, sizeof file, "format/%.60s", term);
    if (!pmu_device_text(device, file, text, sizeof text))
        return false;
    __u64 *words[] = {&attr->config, &attr->config1, &attr->config2};
    static const char *const names[] = {"config:", "config1:", "config2:"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strncmp(text, names[i], strlen(names[i])) != 0)
            continue;
        uint64_t word = *words[i];
        const char *at = text + strlen(names[i]);
        for (;;) { /* "0-7,32-35" */
            unsigned low, high;
            int taken = 0;
            if (sscanf(at, "%u-%u%n", &low, &high, &taken) != 2) {
                if (sscanf(at, "%u%n", &low, &taken) != 1)
                    return false;
                high = low;
            }
            if (low > high || high > 63)
                return false;
            value = put_bits(&word, low, high, value);
            at += taken;
            if (*at != ',')
                break;
            at++;
        }
        if (*at)
            return false;
        *words[i] = word;
        return true;
    }
    return false;
}

bool pmu_device_event(const struct pmu_device *device, const char *name, struct perf_event_attr *attr)
{
    char file[128], text[256], *rest = text;
    snprintf(file, sizeof file, "events/%.60s", name);
    if (!pmu_device_text(device, file, text, sizeof text))
        return false;
    struct perf_event_attr made = {.type = device->type, .size = sizeof made};
    for (char *term; (term = strsep(&rest, ","));) {
        char *value = strchr(term, '=');
        if (value)
            *value++ = 0;
        if (!pmu_device_set(device, term, value ? strtoull(value, NULL, 0) : 1, &made))
            return false;
    }
    *attr = made;
    return true;
}
