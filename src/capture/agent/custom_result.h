/* capture/agent/custom_result.h - what came of the functions that the user named: reported in the summary, in the trace's ending,
 * and as losses. */
#pragma once

#include "capture/recorder.h"
#include "capture/sink.h"
#include "wire/region.h"

/* Puts the losses and fills result->custom_missing and result->custom_refused. Nothing when no function was named. */
void custom_result_report(struct wire_region *region, const struct capture_options *options, uint64_t now, uint32_t pid,
                          struct sink *sink, struct recorder_result *result);
