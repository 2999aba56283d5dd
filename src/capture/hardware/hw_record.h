/* capture/hardware/hw_record.h - hardware samples in a recording: chosen for this machine, opened on the target, reported to the sink as
 * events with numbers for their call chains. */
#pragma once

#include "capture/hardware/hw_source.h"
#include "capture/kernel_probe.h"
#include "capture/options.h"
#include "capture/process/process_table.h"
#include "capture/process/running.h"
#include "capture/source.h"

/* Whether these options want a hardware source: by name, or when there is one. */
bool hw_record_named(const struct capture_options *options);
bool hw_record_possible(const struct capture_options *options);

/* 0, or negative with `err`: there is none of the kind that is asked for, or, where any would do, none that works. For
 * page faults the kernel's software event is chosen. */
int hw_record_choose(const struct capture_options *options, struct pmu_choice *choice, struct error *err);

struct hw_record;

/* On the held child: samples from its exec on. On options->pid with all its threads, or with -1 on everything on
 * options->cpus: once they are wanted. `choice` and `options` must outlive it. */
struct hw_record *hw_record_new(const struct pmu_choice *choice, pid_t child, const struct capture_options *options);
struct source hw_record_source(struct hw_record *record); /* whose open may be refused */

/* Where events go, and who else hears of samples; before the first drain. `listener` must outlive it. */
void hw_record_connect(struct hw_record *record, struct sink *sink, struct process_table *processes,
                       const struct source_listener *listener, const struct counter_clock *clock);

/* Processes without an agent: `running` learns of them, and says which they are. */
void hw_record_follow(struct hw_record *record, struct running *running);

/* What samples, for the trace and for people; once it is open. */
void hw_record_describe(const struct hw_record *record, struct capture_means *means);
