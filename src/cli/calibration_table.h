/* cli/calibration_table.h - memory fields for people and for programs. */
#ifndef NUMALENS_CLI_CALIBRATION_TABLE_H
#define NUMALENS_CLI_CALIBRATION_TABLE_H

#include "topology/calibration.h"
#include "topology/topology.h"

void calibration_print(const struct calibration *calibration, const struct topology *topology);
int calibration_write_json(const struct calibration *calibration, const struct topology *topology, struct error *err);

#endif
