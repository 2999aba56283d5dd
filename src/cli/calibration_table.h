/* cli/calibration_table.h - memory fields for people and for programs. */
#pragma once

#include "topology/calibration.h"
#include "topology/topology.h"

void calibration_print(const struct calibration *calibration, const struct topology *topology);
int calibration_write_json(const struct calibration *calibration, const struct topology *topology, struct error *err);
