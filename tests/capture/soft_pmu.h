/* A sysfs tree whose PMU is the kernel's own software one, and whose memory event is the page fault: what is chosen from it
 * is opened by a real kernel, on every machine. */
#ifndef TESTS_CAPTURE_SOFT_PMU_H
#define TESTS_CAPTURE_SOFT_PMU_H

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static inline int soft_pmu_file(const char *folder, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/sys/bus/event_source/devices/cpu/%s", folder, name);
    for (char *slash = path + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
        *slash = 0;
        mkdir(path, 0700);
    }
    FILE *file = fopen(path, "w");
    if (!file || fputs(text, file) < 0)
        return -1;
    return fclose(file);
}

/* In FOLDER/sys. `event` is what the kernel calls it: 2 is PERF_COUNT_SW_PAGE_FAULTS. */
static inline int soft_pmu_make(const char *folder, unsigned event)
{
    char text[32];
    snprintf(text, sizeof text, "event=%#x\n", event);
    return soft_pmu_file(folder, "type", "1\n") | soft_pmu_file(folder, "format/event", "config:0-7\n") |
           soft_pmu_file(folder, "events/mem-loads", text);
}

#endif
