/* cli/report_job.h - numalens report FOLDER: the traces of a job's ranks, one after the other, into one report. */
#pragma once

#include "view/view.h"

/* Every file in `folder` whose name ends in .data, in order of their names. One trace is in memory at a time. */
int report_job(const char *folder, const struct flow_options *options, const struct view_options *view,
               struct error *err);
