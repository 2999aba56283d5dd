/* base/number.h - numbers for people. Each returns one of a few buffers that are reused: use it at once. */
#pragma once

#include <stdint.h>

const char *number_count(uint64_t count);                                   /* 12,345 */
const char *number_bytes(uint64_t bytes);                                   /* 1.5 MiB */
const char *number_percent(uint64_t part, uint64_t whole);                  /* 12.3%, <0.1%, 0%, - without a whole */
const char *number_remote(uint64_t remote, uint64_t home_known);            /* 12.3% remote; remote unknown */
const char *number_seconds(double seconds);                                 /* 12.3 s, 45 ms, 3 m 05 s */
const char *number_latency(uint64_t sum, uint64_t count, const char *unit); /* 212 ns, or - */
