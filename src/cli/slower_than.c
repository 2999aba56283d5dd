#include "cli/slower_than.h"

#include <errno.h>

unsigned thresholds_parse(struct argp_state *state, const char *text, uint32_t thresholds[LATENCY_THRESHOLDS])
{
    unsigned count = 0;
    for (const char *at = text; count < LATENCY_THRESHOLDS; at++) {
        char *end;
        errno = 0;
        unsigned long number = strtoul(at, &end, 10);
        if (end == at || *at < '0' || *at > '9' || errno || number > 1000000000 || (*end && *end != ',') ||
            (count && number <= thresholds[count - 1]))
            break;
        thresholds[count++] = (uint32_t)number;
        if (!*end)
            return count;
        at = end;
    }
    argp_error(state, "--thresholds: '%s' is no list of up to %d rising numbers such as 100,300,1000", text,
               LATENCY_THRESHOLDS);
    return 0;
}
