/* Times the aggregation of made-up memory maps: measure KIND LEAVES SLICES. For bench/aggregate/run.
 *
 * Kinds: sweep (each of three arrays is walked once, a few slices at each page), matrix (two swept arrays, and a dense one
 * between them that is used all the time by chance, as in a matrix multiplication), phases (blocks of steady use with
 * chance in it), sparse (one cell in fifty has something), dense (every cell has), equal (every cell has the same). */
#include "analysis/memory_map/aggregate.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static uint64_t seed = 88172645463325252u;

static uint32_t dice(uint32_t sides)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)((seed >> 11) % sides);
}

static array_of(struct aggregate_node) nodes;
static array_of(struct aggregate_value) values;

static void grow(uint32_t parent, uint32_t first, uint32_t leaves)
{
    uint32_t node = (uint32_t)nodes.count, parts = leaves < 4 ? leaves : 4;
    array_push(&nodes, (struct aggregate_node){parent, first, leaves});
    for (uint32_t i = 0; leaves > 1 && i < parts; i++) {
        uint32_t from = leaves * i / parts, to = leaves * (i + 1) / parts;
        grow(node, first + from, to - from);
    }
}

static uint32_t swept(double leaf, double leaves, double slice, double slices)
{
    double away = slice / slices - leaf / leaves;
    return away > -0.01 && away < 0.01 ? 1 + dice(4) : 0;
}

static uint32_t value_at(const char *kind, uint32_t leaf, uint32_t leaves, uint32_t slice, uint32_t slices)
{
    uint32_t third = leaves / 3 + 1, array = leaf / third;
    if (strcmp(kind, "sweep") == 0)
        return swept(leaf % third, third, slice, slices);
    if (strcmp(kind, "matrix") == 0)
        return array == 1 ? (uint32_t)(dice(3) == 0) + (dice(10) == 0) : swept(leaf % third, third, slice, slices);
    if (strcmp(kind, "phases") == 0)
        return (leaf / (leaves / 8 + 1) + slice / (slices / 5 + 1)) % 3 == 0 ? dice(2) + dice(2) + dice(2)
                                                                             : dice(20) == 0;
    if (strcmp(kind, "sparse") == 0)
        return dice(50) == 0 ? 1 + dice(3) : 0;
    return strcmp(kind, "dense") == 0 ? 1 + dice(4) : 3;
}

int main(int argc, char **argv)
{
    struct error err = {0};
    struct timespec start, end;
    if (argc != 4)
        return 2;
    uint32_t leaves = (uint32_t)atoi(argv[2]), slices = (uint32_t)atoi(argv[3]);
    grow(UINT32_MAX, 0, leaves);
    for (uint32_t leaf = 0; leaf < leaves; leaf++) {
        for (uint32_t slice = 0; slice < slices; slice++) {
            uint32_t value = value_at(argv[1], leaf, leaves, slice, slices);
            if (value)
                array_push(&values, (struct aggregate_value){leaf, value, (uint16_t)slice});
        }
    }
    struct aggregate_input input = {nodes.items, (uint32_t)nodes.count, leaves, slices, values.items, values.count};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
    struct aggregation *result = aggregate(&input, &(struct aggregate_options){0}, &err);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    if (!result) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    printf(
        "cells %zu seconds %.3f partitions %zu exact %d complete %d group %u least_leaves %u bound %.4f blocks %zu\n",
        values.count, (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) * 1e-9,
        result->partitions.count, result->exact, result->complete, result->group, result->least_leaves, result->bound,
        result->blocks.count);
    if (getenv("NUMALENS_BENCH_PARTITIONS")) {
        array_each (&result->partitions, const struct aggregate_partition, p)
            printf("  p %.5f gain %.4f loss %.4f blocks %u\n", p->p, p->gain, p->loss, p->blocks);
    }
    aggregation_free(result);
    array_free(&nodes);
    array_free(&values);
    return 0;
}
