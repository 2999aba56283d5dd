/* cli/mpi/mpi_share.h - a report that runs under mpirun: which of its processes this is, and what the others found.
 *
 * Without numalens-mpi.so, or where mpirun is not the one that it was built for, the first process does all the work and the
 * others nothing. The answer is the same. */
#pragma once

#include "base/error.h"
#include "cli/mpi/mpi_gather.h"

#include <stdbool.h>

struct mpi_share {
    unsigned number, count; /* takes every count-th trace, from number on; count 1 outside of a job */
    bool silent;            /* another process does it all */
    mpi_gather_fn *gather;  /* NULL: nothing to gather */
    mpi_gather_end_fn *end;
    void *library;
};

int mpi_share_begin(struct mpi_share *share, struct error *err);
void mpi_share_end(struct mpi_share *share);
