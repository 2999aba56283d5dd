/* capture/hardware/event_table.c - Intel's load-latency and store events, from Nehalem on (Intel SDM volume 3, "PEBS" of each
 * generation; perfmon event files). */
#include "capture/hardware/known.h"

#include <stddef.h>
#include <stdio.h>

enum {
    LOADS_NEHALEM = 0x100b, /* MEM_INST_RETIRED.LATENCY_ABOVE_THRESHOLD */
    LOADS = 0x1cd,          /* MEM_TRANS_RETIRED.LOAD_LATENCY */
    STORES_PRECISE = 0x2cd, /* MEM_TRANS_RETIRED.PRECISE_STORE, STORE_SAMPLE */
    STORES = 0x82d0,        /* MEM_UOPS_RETIRED.ALL_STORES, MEM_INST_RETIRED.ALL_STORES */
    LEADER = 0x8203,        /* MEM-LOADS-AUX: without it load latency does not count on Golden Cove */
};

struct generation {
    struct pmu_known known;
    uint8_t models[12]; /* of family 6; 0 ends them */
};

static const struct generation generations[] = {
    {{LOADS_NEHALEM, 0, 0}, {26, 30, 31, 46, 37, 44, 47}},     /* Nehalem, Westmere */
    {{LOADS, STORES_PRECISE, 0}, {42, 45, 58, 62}},            /* Sandy Bridge, Ivy Bridge */
    {{LOADS, STORES, 0}, {60, 63, 69, 70, 61, 71, 79, 86}},    /* Haswell, Broadwell */
    {{LOADS, STORES, 0}, {78, 94, 85, 142, 158, 165, 166}},    /* Skylake to Comet Lake */
    {{LOADS, STORES, 0}, {125, 126, 106, 108, 140, 141, 167}}, /* Ice Lake, Tiger Lake, Rocket Lake */
    {{LOADS, STORES_PRECISE, LEADER}, {143, 207}},             /* Sapphire Rapids, Emerald Rapids */
    {{LOADS, STORES_PRECISE, 0}, {173, 174}},                  /* Granite Rapids */
};

bool pmu_known_table(struct pmu_known *known, const char *cpuid)
{
    unsigned family, model;
    if (sscanf(cpuid, "GenuineIntel-%u-%u", &family, &model) != 2 || family != 6)
        return false;
    for (size_t i = 0; i < sizeof generations / sizeof *generations; i++) {
        for (const uint8_t *one = generations[i].models; *one; one++) {
            if (*one == model) {
                *known = generations[i].known;
                return true;
            }
        }
    }
    return false;
}
