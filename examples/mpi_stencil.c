/* mpi_stencil - a heat equation on a grid, in MPI: each rank has a slab of it, sends its outer rows to its neighbours, and all sum
 * up how much still changes, in every step.
 *
 * The truth: rank --slow=R (2, or the last one) has a refined part, `refined`, with as many cells as its slab, and sweeps
 * --sweeps=N times (4) over it in every step, in place, where each cell waits for the one before. So it has more than five times
 * the work of the other ranks, more than four fifths of it at `refined`; the others wait in MPI_Allreduce and use theirs once. */
#include "example.h"

#include <mpi.h>

enum { COLUMNS = 256, ROWS = 128 }; /* of a slab, and two rows of the neighbours */

/* One sweep; returns how much changed. Not inlined, so that slab and refined part have the same loop. */
__attribute__((noinline)) static double sweep(const volatile double *from, volatile double *to)
{
    double changed = 0;
    for (long row = 1; row <= ROWS; row++) {
        for (long column = 1; column < COLUMNS - 1; column++) {
            long at = row * COLUMNS + column;
            double value = 0.25 * (from[at - 1] + from[at + 1] + from[at - COLUMNS] + from[at + COLUMNS]);
            changed += value > from[at] ? value - from[at] : from[at] - value;
            to[at] = value;
        }
    }
    return changed;
}

static void exchange(double *slab, int rank, int size)
{
    int above = rank ? rank - 1 : MPI_PROC_NULL, below = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
    MPI_Sendrecv(slab + COLUMNS, COLUMNS, MPI_DOUBLE, above, 0, slab + (ROWS + 1) * COLUMNS, COLUMNS, MPI_DOUBLE, below,
                 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(slab + ROWS * COLUMNS, COLUMNS, MPI_DOUBLE, below, 1, slab, COLUMNS, MPI_DOUBLE, above, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    int rank, size;
    example_need(MPI_Init(&argc, &argv) == MPI_SUCCESS, "MPI_Init");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    long steps = example_work(argc, argv, "steps", 1500), sweeps = example_option(argc, argv, "sweeps", 4);
    long slow = example_option(argc, argv, "slow", size > 2 ? 2 : size - 1);
    size_t cells = (ROWS + 2) * COLUMNS;
    double *slab = calloc(cells, sizeof *slab);       /* site: slab */
    double *next = calloc(cells, sizeof *next);       /* site: next */
    double *refined = calloc(cells, sizeof *refined); /* site: refined */
    double changed = 0, all = 0;
    example_need(slab && next && refined, "calloc");
    for (long column = 0; column < COLUMNS; column++)
        slab[column] = next[column] = refined[column] = rank == 0 ? 100 : 0;
    changed = sweep(refined, refined);
    for (long step = 0; step < steps; step++) {
        exchange(slab, rank, size);
        changed = sweep(slab, next);
        for (long i = 0; rank == slow && i < sweeps; i++)
            changed += sweep(refined, refined);
        MPI_Allreduce(&changed, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        double *swap = slab;
        slab = next;
        next = swap;
    }
    if (rank == 0)
        printf("%ld steps on %d ranks, still changes by %.3g\n", steps, size, all);
    free(slab);
    free(next);
    free(refined);
    MPI_Finalize();
    return 0;
}
