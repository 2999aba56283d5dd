#include "base/number.h"

#include <stdio.h>

enum { BUFFERS = 16, BUFFER = 48 };

static char *buffer(void)
{
    static _Thread_local char buffers[BUFFERS][BUFFER];
    static _Thread_local unsigned next;
    return buffers[next++ % BUFFERS];
}

const char *number_count(uint64_t count)
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%lu", (unsigned long)count);
    char *text = buffer(), *out = text;
    for (int i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0)
            *out++ = ',';
        *out++ = digits[i];
    }
    *out = '\0';
    return text;
}

const char *number_bytes(uint64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes;
    unsigned unit = 0;
    while (value >= 1023.95 && unit + 1 < sizeof units / sizeof *units) {
        value /= 1024;
        unit++;
    }
    char *text = buffer();
    snprintf(text, BUFFER, unit && value < 99.95 ? "%.1f %s" : "%.0f %s", value, units[unit]);
    return text;
}

const char *number_percent(uint64_t part, uint64_t whole)
{
    char *text = buffer();
    if (whole == 0)
        return "-";
    double percent = 100.0 * (double)part / (double)whole;
    if (part == 0)
        return "0%";
    if (percent < 0.05)
        return "<0.1%";
    if (part < whole && percent > 99.9)
        percent = 99.9;
    snprintf(text, BUFFER, percent >= 99.95 ? "%.0f%%" : "%.1f%%", percent);
    return text;
}

const char *number_remote(uint64_t remote, uint64_t home_known)
{
    char *text = buffer();
    if (home_known == 0)
        return "remote unknown";
    snprintf(text, BUFFER, "%s remote", number_percent(remote, home_known));
    return text;
}

const char *number_seconds(double seconds)
{
    char *text = buffer();
    if (seconds >= 120)
        snprintf(text, BUFFER, "%lu m %02lu s", (unsigned long)seconds / 60, (unsigned long)seconds % 60);
    else if (seconds >= 1)
        snprintf(text, BUFFER, "%.1f s", seconds);
    else if (seconds >= 0.001)
        snprintf(text, BUFFER, "%.0f ms", seconds * 1e3);
    else
        snprintf(text, BUFFER, "%.0f us", seconds * 1e6);
    return text;
}

const char *number_latency(uint64_t sum, uint64_t count, const char *unit)
{
    if (count == 0)
        return "-";
    char *text = buffer();
    snprintf(text, BUFFER, "%s %s", number_count((sum + count / 2) / count), unit);
    return text;
}
