/* cli/mpi/mpi_gather.h - what numalens-mpi.so does: the only code of numalens that is linked with MPI, loaded where a report of a
 * job runs under mpirun itself, and nowhere else.
 *
 * Each function is looked up by its name, with the type beside it. They return 0, or -1 when MPI failed. */
#pragma once

#include <stddef.h>

/* Which of how many processes this is. All of them must call it. */
typedef int mpi_gather_begin_fn(int *rank, int *size);
#define MPI_GATHER_BEGIN "numalens_mpi_begin"

/* Everyone's bytes, one after the other in order of their ranks, at rank 0, which frees `*all`; NULL and 0 elsewhere. -2 at all of
 * them when they are more than MPI counts, 2 GiB. */
typedef int mpi_gather_fn(const void *mine, size_t size, char **all, size_t *total);
#define MPI_GATHER "numalens_mpi_gather"

typedef int mpi_gather_end_fn(void);
#define MPI_GATHER_END "numalens_mpi_end"

mpi_gather_begin_fn numalens_mpi_begin;
mpi_gather_fn numalens_mpi_gather;
mpi_gather_end_fn numalens_mpi_end;
