/* lib/sampling/session_hardware.h - samples of one session by the processor: an event on each of its threads, opened when the thread is
 * added, enabled and disabled with the session. No signals are taken for it.
 *
 * The list of threads changes only with both of the engine's locks held; so either is enough to read it. */
#pragma once

#include "capture/hardware/hw_source.h"
#include "capture/kernel_probe.h"
#include "numalens/capture.h"

struct hardware;

/* NULL with `err`: this processor has none of that kind, or none that works. */
struct hardware *hardware_new(const nlens_session_options *options, struct error *err);
void hardware_free(struct hardware *hardware);

/* What samples, for people and for the file. */
const struct pmu_choice *hardware_choice(const struct hardware *hardware);
void hardware_describe(const struct hardware *hardware, struct capture_means *means);

/* An event on that thread, not enabled; NULL with `err`. */
struct hw_source *hardware_open(const struct hardware *hardware, uint32_t tid, struct error *err);

/* Puts it into the list, enabled when the session runs. `source` may be NULL: the thread counts as waiting. */
void hardware_put(struct hardware *hardware, uint32_t tid, struct hw_source *source);
bool hardware_has(const struct hardware *hardware, uint32_t tid);

/* Takes the thread out of the list; `*source` is the caller's then, and may be NULL. False when it is not in it. */
bool hardware_take(struct hardware *hardware, uint32_t tid, struct hw_source **source);

/* A thread that has ended, or 0. */
uint32_t hardware_ended(const struct hardware *hardware);

int hardware_enable(struct hardware *hardware, bool on); /* 0 or -errno */
double hardware_drain(struct hardware *hardware, uint64_t until, const struct hw_listener *listener);
void hardware_count(const struct hardware *hardware, uint32_t *threads, uint32_t *waiting);

/* Where the machine's PMUs are described: "/sys", but for tests. */
void hardware_look_in(const char *sysfs);
