/* machine/mlc.c - the tables of Intel's Memory Latency Checker, found by their headings. */
#include "machine/mlc.h"

#include "base/mem.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { CURVE_MOST = 64 };

enum part { PART_NONE, PART_LATENCY, PART_PEAK, PART_BANDWIDTH, PART_LOADED };

struct table {
    double cells[MODEL_NODES * MODEL_NODES];
    uint32_t columns, rows;
};

struct mlc {
    enum part part;
    struct table latency, bandwidth; /* ns; MB/s */
    double reads, mixed;             /* MB/s */
    struct {
        double ns, mbs;
    } curve[CURVE_MOST];
    size_t points;
    uint32_t line;     /* that is read */
    uint32_t bad_line; /* the first row of a table that cannot be one; 0: none */
};

/* Numbers of a line into `values`; how many, or 0 when something else stands there. */
static uint32_t numbers(const char *line, double *values, uint32_t most)
{
    uint32_t count = 0;
    for (;;) {
        line += strspn(line, " \t\r\n");
        if (!*line)
            return count;
        char *end;
        double value = strtod(line, &end);
        if (end == line || !isfinite(value) || value < 0 || count == most)
            return 0;
        values[count++] = value;
        line = end;
    }
}

static bool has_zero(const double *values, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!(values[i] > 0))
            return true;
    return false;
}

/* A row is the node's number and a value for each node. False: it is one, but not with as many values as the others, or one is 0. */
static bool add_row(struct table *table, const char *line)
{
    double values[MODEL_NODES + 1];
    uint32_t count = numbers(line, values, MODEL_NODES + 1);
    if (count < 2 || values[0] != table->rows || table->rows == MODEL_NODES)
        return true;
    if (table->rows == 0)
        table->columns = count - 1;
    if (count - 1 != table->columns || has_zero(values + 1, count - 1))
        return false;
    memcpy(table->cells + table->rows++ * MODEL_NODES, values + 1, (count - 1) * sizeof *values);
    return true;
}

static enum part heading(const char *line)
{
    if (!strstr(line, "Measuring"))
        return PART_NONE;
    if (strstr(line, "dle latencies"))
        return PART_LATENCY;
    if (strstr(line, "Peak"))
        return PART_PEAK;
    if (strstr(line, "between nodes"))
        return PART_BANDWIDTH;
    return strstr(line, "Loaded") ? PART_LOADED : PART_NONE;
}

static void read_line(struct mlc *mlc, const char *line)
{
    double values[3];
    bool good = true;
    mlc->line++;
    if (strstr(line, "Measuring")) {
        mlc->part = heading(line);
    } else if (mlc->part == PART_LATENCY) {
        good = add_row(&mlc->latency, line);
    } else if (mlc->part == PART_BANDWIDTH) {
        good = add_row(&mlc->bandwidth, line);
    } else if (mlc->part == PART_PEAK) {
        const char *colon = strchr(line, ':');
        if (colon && strncmp(line, "ALL Reads", 9) == 0)
            mlc->reads = atof(colon + 1);
        else if (strncmp(line, "1:1 Reads-Writes", 16) == 0 && (colon = strchr(line + 3, ':')))
            mlc->mixed = atof(colon + 1);
    } else if (mlc->part == PART_LOADED && mlc->points < CURVE_MOST && numbers(line, values, 3) == 3) {
        mlc->curve[mlc->points].ns = values[1];
        mlc->curve[mlc->points++].mbs = values[2];
    }
    if (!good && !mlc->bad_line)
        mlc->bad_line = mlc->line;
}

/* The checker begins with full load. Points that do not rise are noise and stay out; so do those beyond the bandwidth. */
static void set_loads(struct model *machine, const struct mlc *mlc)
{
    if (mlc->points < 2 || mlc->reads <= 0)
        return;
    double idle = mlc->curve[mlc->points - 1].ns;
    for (size_t i = mlc->points; i-- > 0;) {
        struct model_load load = {fmin(mlc->curve[i].mbs / mlc->reads, 1), fmax(mlc->curve[i].ns / idle, 1)};
        const struct model_load *last =
            machine->loads.count ? &machine->loads.items[machine->loads.count - 1] : &(struct model_load){0, 1};
        if (idle > 0 && load.use > last->use + 0.01 && load.factor >= last->factor && load.factor <= 100)
            array_push(&machine->loads, load);
    }
}

static bool is_square(const struct table *table)
{
    return table->rows > 0 && table->rows == table->columns;
}

struct model *model_from_mlc(FILE *in, const char *path, uint32_t cpus, struct error *err)
{
    struct mlc *mlc = mem_zalloc(sizeof *mlc);
    struct model *machine = NULL;
    char *line = NULL;
    size_t size = 0;
    while (getline(&line, &size, in) >= 0)
        read_line(mlc, line);
    uint32_t nodes = mlc->latency.rows;
    if (mlc->bad_line) {
        error_set(err, -EINVAL, "%s:%u: a row with another number of values than the first, or with a value of 0", path,
                  mlc->bad_line);
    } else if (!is_square(&mlc->latency) || !is_square(&mlc->bandwidth) || mlc->bandwidth.rows != nodes) {
        error_set(err, -EINVAL,
                  "%s: no latencies and bandwidths from each node to each node; run Intel's mlc without arguments and "
                  "give its "
                  "whole output",
                  path);
    } else {
        machine = model_new(nodes);
        machine->name = mem_strdup("imported");
        machine->title =
            mem_format("Machine with %u node%s of %u CPU%s", nodes, nodes == 1 ? "" : "s", cpus, cpus == 1 ? "" : "s");
        machine->source = mem_strdup("Intel Memory Latency Checker");
        machine->topology = mem_format("numa:%u core:%u", nodes, cpus);
        machine->cpus_per_node = cpus;
        for (uint32_t from = 0; from < nodes; from++) {
            for (uint32_t to = 0; to < nodes; to++) {
                machine->latency[from * nodes + to] = mlc->latency.cells[from * MODEL_NODES + to];
                machine->read[from * nodes + to] = mlc->bandwidth.cells[from * MODEL_NODES + to] / 1000;
            }
        }
        if (mlc->reads > 0 && mlc->mixed > 0)
            machine->mixed = fmin(mlc->mixed / mlc->reads, 2);
        if (machine->mixed < MODEL_LEAST)
            machine->mixed = 0;
        set_loads(machine, mlc);
        if (model_check(machine, path, err) < 0) {
            model_free(machine);
            machine = NULL;
        }
    }
    free(line);
    free(mlc);
    return machine;
}
