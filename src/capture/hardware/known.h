/* capture/hardware/known.h - encodings of memory events for kernels that name none: libpfm4's, then a table's. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct pmu_known {
    uint64_t loads;  /* config with the threshold in config1; 0: none */
    uint64_t stores; /* 0: none */
    uint64_t leader; /* 0: needs none */
};

/* For this machine's processor, by libpfm4. False when numalens was built without it, or it knows none. */
bool pmu_known_pfm(struct pmu_known *known);

/* By the processor's name; see pmu_choose. */
bool pmu_known_table(struct pmu_known *known, const char *cpuid);
