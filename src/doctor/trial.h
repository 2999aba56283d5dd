/* doctor/trial.h - what the checks share: trials in children, adding results, explaining refusals. */
#pragma once

#include "doctor/doctor.h"

#include <linux/perf_event.h>
#include <stdint.h>

struct probe_result {
    int error; /* 0, or the errno of what failed; PROBE_DIED, PROBE_HUNG, PROBE_SILENT */
    uint64_t value;
};

enum { PROBE_CRASHED = 10000, PROBE_HUNG, PROBE_SILENT /* set up without error, but nothing happened */ };

/* Runs `trial` in a child process of its own, for at most a few seconds. */
struct probe_result probe_in_child(struct probe_result (*trial)(void *argument), void *argument);

/* errno's text, or what became of the trial. */
const char *probe_error_text(int error);

/* Adds a check. `remedy` may be NULL; it is copied. */
void probe_add(struct doctor *doctor, const char *group, const char *id, const char *name, enum doctor_status status,
               const char *remedy, const char *format, ...) __attribute__((format(printf, 7, 8)));

/* The same for a perf event that was refused: why, and what would change it. */
void probe_add_perf_refusal(struct doctor *doctor, const char *group, const char *id, const char *name, int error);

/* perf_event_open for the calling thread; a descriptor or -errno. */
int probe_perf_open(struct perf_event_attr *attr);

bool probe_has_seccomp_filter(void);

/* Which container this runs in ("docker"), or NULL. */
const char *probe_container(void);

/* The groups of checks. */
void doctor_check_sources(struct doctor *doctor);
void doctor_check_pmu(struct doctor *doctor);
void doctor_check_homes(struct doctor *doctor);
void doctor_check_mechanisms(struct doctor *doctor);
void doctor_check_permissions(struct doctor *doctor);

/* Records a small program for real. True when the agent got into it. */
bool doctor_check_recording(struct doctor *doctor);
