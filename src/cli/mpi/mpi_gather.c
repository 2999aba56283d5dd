/* cli/mpi/mpi_gather.c - numalens-mpi.so: summaries of traces from all processes of an mpirun to the first. */
#include "cli/mpi/mpi_gather.h"

#include <limits.h>
#include <mpi.h>
#include <stdlib.h>

int numalens_mpi_begin(int *rank, int *size)
{
    if (MPI_Init(NULL, NULL) != MPI_SUCCESS || MPI_Comm_rank(MPI_COMM_WORLD, rank) != MPI_SUCCESS ||
        MPI_Comm_size(MPI_COMM_WORLD, size) != MPI_SUCCESS)
        return -1;
    return 0;
}

/* The places of all parts in one buffer, from their sizes; the buffer. */
static char *lay_out(const int *sizes, int *places, int count, size_t *total)
{
    *total = 0;
    for (int i = 0; i < count; i++) {
        places[i] = (int)*total;
        *total += (size_t)sizes[i];
    }
    return malloc(*total + 1);
}

int numalens_mpi_gather(const void *mine, size_t size, char **all, size_t *total)
{
    int rank, count, own = (int)size, failed = -1;
    unsigned long long part = size, sum = 0;
    *all = NULL;
    *total = 0;
    if (MPI_Comm_rank(MPI_COMM_WORLD, &rank) != MPI_SUCCESS || MPI_Comm_size(MPI_COMM_WORLD, &count) != MPI_SUCCESS ||
        MPI_Allreduce(&part, &sum, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD) != MPI_SUCCESS)
        return -1;
    if (sum > INT_MAX)
        return -2;
    int *sizes = calloc((size_t)count, sizeof *sizes), *places = calloc((size_t)count, sizeof *places);
    if (sizes && places && MPI_Gather(&own, 1, MPI_INT, sizes, 1, MPI_INT, 0, MPI_COMM_WORLD) == MPI_SUCCESS) {
        if (rank == 0)
            *all = lay_out(sizes, places, count, total);
        if (rank == 0 && !*all)
            MPI_Abort(MPI_COMM_WORLD, 1); /* the others wait for it */
        if (MPI_Gatherv(mine, own, MPI_BYTE, *all, sizes, places, MPI_BYTE, 0, MPI_COMM_WORLD) == MPI_SUCCESS)
            failed = 0;
    }
    free(sizes);
    free(places);
    return failed;
}

int numalens_mpi_end(void)
{
    return MPI_Finalize() == MPI_SUCCESS ? 0 : -1;
}
