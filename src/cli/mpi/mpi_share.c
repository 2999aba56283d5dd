#include "cli/mpi/mpi_share.h"

#include "base/own_files.h"
#include "capture/job_rank.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* dlsym returns objects; POSIX lets them be functions, ISO C does not. */
static bool find(void *library, const char *name, void *function)
{
    void *found = dlsym(library, name);
    memcpy(function, &found, sizeof found);
    return found != NULL;
}

static void *load(void)
{
    char *path = self_find("numalens-mpi.so"); /* a build tree */
    if (!path)
        path = self_find(NUMALENS_MPI_FROM_BIN);
    /* Global: parts that MPI loads itself look for its symbols there. */
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_GLOBAL) : NULL;
    free(path);
    return library;
}

int mpi_share_begin(struct mpi_share *share, struct error *err)
{
    struct job_rank rank;
    mpi_gather_begin_fn *begin = NULL;
    int number = 0, count = 0;
    *share = (struct mpi_share){.count = 1};
    job_rank_find(&rank, getenv);
    if (!rank.in_job || rank.size < 2)
        return 0;
    share->silent = rank.number != 0;
    void *library = load();
    if (!library || !find(library, MPI_GATHER_BEGIN, &begin) || !find(library, MPI_GATHER, &share->gather) ||
        !find(library, MPI_GATHER_END, &share->end)) {
        if (library)
            dlclose(library);
        share->gather = NULL;
        share->end = NULL;
        return 0;
    }
    share->library = library;
    if (begin(&number, &count) < 0)
        return error_set(err, -EIO, "MPI cannot be started; without mpirun the report is the same");
    if (count < 2) { /* another MPI than the launcher's: each process believes to be alone */
        share->gather = NULL;
        return 0;
    }
    share->silent = false;
    share->number = (unsigned)number;
    share->count = (unsigned)count;
    return 0;
}

void mpi_share_end(struct mpi_share *share)
{
    if (share->end)
        share->end(); /* the library stays: MPI leaves threads and handlers */
    share->end = NULL;
}
