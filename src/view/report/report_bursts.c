/* view/report/report_bursts.c - how many bursts a recording has, and the instructions at which they ended early. */
#include "base/number.h"
#include "view/report/report_parts.h"

#include <stdlib.h>
#include <string.h>

/* What of a trace is known by name; x86-64's opcodes. */
static const char *stop_name(const char *bytes, size_t length)
{
    static const char *const names[][2] = {
        {"0f05", "syscall"}, {"0fa2", "cpuid"},    {"0f0b", "ud2"},      {"9c", "pushf"},    {"9d", "popf"},
        {"cc", "int3"},      {"cd", "int"},        {"f4", "hlt"},        {"0fae", "xsave"},  {"0fc7", "xsavec"},
        {"0f01d6", "xtest"}, {"0f01ee", "rdpkru"}, {"0f01ef", "wrpkru"}, {"0f01d5", "xend"}, {"c7", "xbegin"},
        {"d9", "fnstenv"},   {"dd", "fnsave"},     {"0f34", "sysenter"}, {"ec", "in"},       {"cf", "iret"},
    };
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i][0]) == length && strncmp(names[i][0], bytes, length) == 0)
            return names[i][1];
    return NULL;
}

/* "0f05 812, cd 3": instructions by their first bytes, and how many bursts ended before them. */
static void how_stops(const struct report *report, const char *stops)
{
    char text[1024] = "";
    size_t length = 0;
    for (const char *at = stops; *at && length + 64 < sizeof text;) {
        size_t name = strcspn(at, " "), item = strcspn(at, ",");
        unsigned long count = name < item ? strtoul(at + name, NULL, 10) : 0;
        const char *known = stop_name(at, name);
        bool sane = count && name <= 6 && strspn(at, "0123456789abcdefother") >= name;
        if (sane)
            length += (size_t)snprintf(text + length, sizeof text - length, "%s%s%s%.*s%s %lu", length ? ", " : "",
                                       known ? known : "", known ? " (" : "", (int)name, at, known ? ")" : "", count);
        at += item + strspn(at + item, ", ");
    }
    if (length)
        say(report, "Bursts ended before these instructions: %s.", text);
}

void report_bursts(const struct report *report)
{
    const struct trace_session *ending = report->options->ending;
    if (!ending)
        return;
    uint64_t bursts = trace_session_number(ending, "bursts", 0), steps = trace_session_number(ending, "steps", 0);
    const char *stops = trace_session_get(ending, "stops");
    if (bursts)
        say(report, "%s bursts, %lu instructions each on average%s.", number_count(bursts),
            (unsigned long)(steps / bursts), stops ? "" : "; none ended at an instruction it could not carry out");
    if (stops)
        how_stops(report, stops);
}
