/* fuzz_region_beside.c - as fuzz_region, with a thread that writes all the time. Only a fault, a hang or memory counts: what is in the
 * region is another thing each time. */
#define BESIDE 1
#include "fuzz_region.c"
