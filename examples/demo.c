/* demo.c - heat spreading through a plate, with the NUMA mistake that is made most often.
 *
 * The main thread allocates and fills the whole plate, so all of it lies on the main thread's node; then workers on all
 * nodes each compute their band of it. A table of conductivities, filled by the main thread too, is read by everyone
 * for every point. Each worker's own buffer is allocated and filled by the worker, as it should be.
 * Truth: with four nodes and eight workers, two on each node, three quarters of the accesses to `plate`, `next_plate` and
 * `conductivity` are remote; those to the workers' `edge` buffers are local. */
#include "example.h"

enum { WORKERS = 8, MATERIALS = 1 << 20 };

struct simulation {
    size_t rows, columns;
    long steps;
    bool first_touch; /* --first-touch: each worker fills its own band; `conductivity` alone is remote then */
    double *plate, *next_plate, *conductivity;
    uint32_t *material;
    pthread_barrier_t step_done;
};

struct worker {
    struct simulation *simulation;
    size_t number;
    double heat; /* what its band holds at the end */
};

static void simulation_init(struct simulation *simulation)
{
    size_t points = simulation->rows * simulation->columns;
    simulation->plate = malloc(points * sizeof(double));           /* site: plate */
    simulation->next_plate = malloc(points * sizeof(double));      /* site: next_plate */
    simulation->conductivity = malloc(MATERIALS * sizeof(double)); /* site: conductivity */
    simulation->material = malloc(points * sizeof(uint32_t));      /* site: material */
    example_need(simulation->plate && simulation->next_plate && simulation->conductivity && simulation->material,
                 "malloc");
    for (size_t i = 0; i < MATERIALS; i++)
        simulation->conductivity[i] = 0.1 + (double)(i % 8) / 100.0;
}

static void simulation_fill(struct simulation *simulation, size_t first_row, size_t end_row)
{
    for (size_t i = first_row * simulation->columns; i < end_row * simulation->columns; i++) {
        simulation->plate[i] = simulation->next_plate[i] = i % 97 == 0 ? 100.0 : 0.0;
        simulation->material[i] = (uint32_t)(i * 2654435761u) >> 12;
    }
}

__attribute__((noinline)) static void spread_row(const double *above, const double *row, const double *below,
                                                 double *result, const uint32_t *material, const double *conductivity,
                                                 double *edge, size_t columns)
{
    for (size_t i = 1; i + 1 < columns; i++) {
        double change = above[i] + below[i] + row[i - 1] + row[i + 1] - 4.0 * row[i];
        result[i] = row[i] + conductivity[material[i]] * change;
        edge[i] += change;
    }
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct simulation *simulation = worker->simulation;
    char name[16];
    snprintf(name, sizeof name, "worker %zu", worker->number);
    pthread_setname_np(pthread_self(), name);
    size_t columns = simulation->columns, band = (simulation->rows - 2) / WORKERS;
    size_t first = 1 + worker->number * band, last = first + band;
    double *edge = calloc(columns, sizeof *edge); /* site: edge */
    example_need(edge, "calloc");
    if (simulation->first_touch) {
        simulation_fill(simulation, worker->number ? first : 0, worker->number + 1 < WORKERS ? last : simulation->rows);
        pthread_barrier_wait(&simulation->step_done);
    }
    double *from = simulation->plate, *to = simulation->next_plate;
    for (long step = 0; step < simulation->steps; step++) {
        for (size_t row = first; row < last; row++) {
            size_t at = row * columns;
            spread_row(from + at - columns, from + at, from + at + columns, to + at, simulation->material + at,
                       simulation->conductivity, edge, columns);
        }
        double *swap = from;
        from = to;
        to = swap;
        pthread_barrier_wait(&simulation->step_done);
    }
    for (size_t i = first * columns; i < last * columns; i++)
        worker->heat += from[i];
    free(edge);
    return NULL;
}

int main(int argc, char **argv)
{
    struct simulation simulation = {
        .rows = 2 + WORKERS * (size_t)example_option(argc, argv, "rows", 128),
        .columns = (size_t)example_option(argc, argv, "columns", 2048),
        .steps = example_work(argc, argv, "steps", 150),
        .first_touch = example_flag(argc, argv, "first-touch"),
    };
    simulation_init(&simulation);
    /* The mistake: the thread that writes a page first decides where it lies, and here that is always this one. */
    if (!simulation.first_touch)
        simulation_fill(&simulation, 0, simulation.rows);
    pthread_barrier_init(&simulation.step_done, NULL, WORKERS);
    struct worker workers[WORKERS] = {0};
    pthread_t threads[WORKERS];
    for (size_t i = 0; i < WORKERS; i++) {
        workers[i] = (struct worker){.simulation = &simulation, .number = i};
        threads[i] = example_thread(work, &workers[i]);
    }
    double heat = 0;
    for (size_t i = 0; i < WORKERS; i++) {
        pthread_join(threads[i], NULL);
        heat += workers[i].heat;
    }
    printf("heat on the plate after %ld steps: %.6g\n", simulation.steps, heat);
    free(simulation.plate);
    free(simulation.next_plate);
    free(simulation.conductivity);
    free(simulation.material);
    return 0;
}
