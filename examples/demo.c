/* demo.c - heat spreading through a square plate, with the NUMA mistake that is made most often.
 *
 * The main thread allocates and fills the whole plate, so that all of it is on the main thread's node; then workers on all nodes
 * each compute their band of rows: a step computes `next_plate` from `plate`, the next loop copies it back. A table of
 * conductivities, filled by the main thread too, is read by everyone for every point; it is so small that caches keep it. Each
 * worker's own sums of changes are allocated and filled by the worker, as they should be.
 * Truth: with four nodes and as many workers on each, three quarters of the accesses to `plate`, `next_plate` and `conductivity`
 * are remote; those to the workers' `changes` are local. A step moves 48 bytes of `plate` for each point where caches do not hold
 * it (read in both loops, written in one) and 24 of `next_plate` (written, after a read of its line, and read). */
#include "example.h"

enum { MATERIALS = 256 };

struct point {
    double heat;
    uint32_t material;
};

struct simulation {
    size_t side; /* of the plate, in points */
    size_t workers;
    long steps;
    bool first_touch; /* --first-touch: each worker fills its own band; `conductivity` alone is remote then */
    struct point *plate;
    double *next_plate, *conductivity;
    pthread_barrier_t loop_done;
};

struct worker {
    struct simulation *simulation;
    size_t number;
    double heat; /* of its band at the end */
};

static void simulation_init(struct simulation *simulation)
{
    size_t points = simulation->side * simulation->side;
    simulation->plate = malloc(points * sizeof *simulation->plate);           /* site: plate */
    simulation->next_plate = malloc(points * sizeof *simulation->next_plate); /* site: next_plate */
    simulation->conductivity = malloc(MATERIALS * sizeof(double));            /* site: conductivity */
    example_need(simulation->plate && simulation->next_plate && simulation->conductivity, "malloc");
    for (size_t i = 0; i < MATERIALS; i++)
        simulation->conductivity[i] = 0.1 + (double)(i % 8) / 100.0;
}

static void simulation_fill(struct simulation *simulation, size_t first_row, size_t end_row)
{
    for (size_t i = first_row * simulation->side; i < end_row * simulation->side; i++) {
        simulation->plate[i].heat = simulation->next_plate[i] = i % 97 == 0 ? 100.0 : 0.0;
        simulation->plate[i].material = (uint32_t)(i * 2654435761u) % MATERIALS;
    }
}

__attribute__((noinline)) static void spread_row(const struct point *row, double *result, const double *conductivity,
                                                 double *changes, size_t side)
{
    const struct point *above = row - side, *below = row + side;
    for (size_t i = 1; i + 1 < side; i++) {
        double change = above[i].heat + below[i].heat + row[i - 1].heat + row[i + 1].heat - 4.0 * row[i].heat;
        result[i] = row[i].heat + conductivity[row[i].material] * change;
        changes[i] += change;
    }
}

__attribute__((noinline)) static void copy_row(struct point *row, const double *result, size_t side)
{
    for (size_t i = 1; i + 1 < side; i++)
        row[i].heat = result[i];
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct simulation *simulation = worker->simulation;
    char name[32];
    snprintf(name, sizeof name, "worker %zu", worker->number);
    pthread_setname_np(pthread_self(), name);
    size_t side = simulation->side, inner = side - 2;
    size_t first = 1 + inner * worker->number / simulation->workers;
    size_t end = 1 + inner * (worker->number + 1) / simulation->workers;
    double *changes = calloc(side, sizeof *changes); /* site: changes */
    example_need(changes, "calloc");
    if (simulation->first_touch) {
        simulation_fill(simulation, first == 1 ? 0 : first, end == side - 1 ? side : end);
        pthread_barrier_wait(&simulation->loop_done);
    }
    for (long step = 0; step < simulation->steps; step++) {
        for (size_t row = first; row < end; row++)
            spread_row(simulation->plate + row * side, simulation->next_plate + row * side, simulation->conductivity,
                       changes, side);
        pthread_barrier_wait(&simulation->loop_done);
        for (size_t row = first; row < end; row++)
            copy_row(simulation->plate + row * side, simulation->next_plate + row * side, side);
        pthread_barrier_wait(&simulation->loop_done);
    }
    for (size_t i = first * side; i < end * side; i++)
        worker->heat += simulation->plate[i].heat;
    free(changes);
    return NULL;
}

int main(int argc, char **argv)
{
    struct simulation simulation = {
        .side = (size_t)example_option(argc, argv, "side", 1448),
        .workers = (size_t)example_option(argc, argv, "workers", 8),
        .steps = example_work(argc, argv, "steps", 150),
        .first_touch = example_flag(argc, argv, "first-touch"),
    };
    example_need(simulation.workers > 0 && simulation.side >= simulation.workers + 2, "a row for each worker");
    simulation_init(&simulation);
    /* The mistake: the thread that writes a page first decides on which node it is, and here that is always this one. */
    if (!simulation.first_touch)
        simulation_fill(&simulation, 0, simulation.side);
    pthread_barrier_init(&simulation.loop_done, NULL, (unsigned)simulation.workers);
    struct worker *workers = calloc(simulation.workers, sizeof *workers);
    pthread_t *threads = calloc(simulation.workers, sizeof *threads);
    example_need(workers && threads, "calloc");
    for (size_t i = 0; i < simulation.workers; i++) {
        workers[i] = (struct worker){.simulation = &simulation, .number = i};
        threads[i] = example_thread(work, &workers[i]);
    }
    double heat = 0;
    for (size_t i = 0; i < simulation.workers; i++) {
        pthread_join(threads[i], NULL);
        heat += workers[i].heat;
    }
    printf("heat on the plate after %ld steps: %.6g\n", simulation.steps, heat);
    free(threads);
    free(workers);
    free(simulation.plate);
    free(simulation.next_plate);
    free(simulation.conductivity);
    return 0;
}
