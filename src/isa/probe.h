/* isa/probe.h - how one load is timed, and how a line is put out of the caches: the sampler's measure, and what
 * calibration must measure with to be comparable. Each processor's half defines:
 *
 *   probe_ticks()  wire_counter() ticks that a fenced load of one byte takes beyond the measuring itself, after another
 *                  line of its page was touched; false when it faulted and was recovered (the sampler only)
 *   probe_flush()  the line of an address leaves all caches; done when it returns */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#if defined(__aarch64__)
#include "isa/aarch64/probe.h"
#elif defined(__x86_64__)
#include "isa/x86_64/probe.h"
#else
#error "this architecture is not supported"
#endif
