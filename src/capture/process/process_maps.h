/* capture/process/process_maps.h - the maps of a process, asked of the kernel for the sake of samples.
 *
 * Hooks see what the program maps itself. What libc maps behind their back (malloc's arenas, locale files) and the
 * growth of the break they do not: when a sample is in a map that was not reported yet, it is reported then, with the
 * sample's time and without a call chain. A process that has ended meanwhile cannot be asked. */
#pragma once

#include "capture/process/process_table.h"
#include "capture/sink.h"
#include "capture/source.h"

struct capture_maps;

struct capture_maps *capture_maps_new(struct sink *sink, const struct process_table *processes, size_t memory);
void capture_maps_free(struct capture_maps *maps);

void capture_maps_sample(struct capture_maps *maps, uint32_t pid, uint64_t addr, uint64_t time);

/* From time to time: samples outside of all maps known when the process was last looked at are looked for again. */
void capture_maps_poll(struct capture_maps *maps, uint64_t now);

struct source capture_maps_source(struct capture_maps *maps);
