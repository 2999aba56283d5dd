/* scratch_file.h - an empty file of its own for a group of tests: setup and teardown for cmocka_run_group_tests. */
#ifndef NUMALENS_TESTS_SCRATCH_FILE_H
#define NUMALENS_TESTS_SCRATCH_FILE_H

#include <stdlib.h>
#include <unistd.h>

static char scratch_path[] = "/tmp/numalens-test-XXXXXX";

static inline int scratch_make(void **state)
{
    (void)state;
    int fd = mkstemp(scratch_path);
    return fd < 0 ? -1 : close(fd);
}

static inline int scratch_remove(void **state)
{
    (void)state;
    return unlink(scratch_path);
}

#endif
