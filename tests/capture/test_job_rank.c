#include "capture/job_rank.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static const char *const *environment; /* name, value, ..., NULL */

static char *get(const char *name)
{
    for (size_t i = 0; environment[i]; i += 2)
        if (strcmp(environment[i], name) == 0)
            return (char *)environment[i + 1];
    return NULL;
}

static struct job_rank find(const char *const *variables)
{
    struct job_rank rank;
    environment = variables;
    job_rank_find(&rank, get);
    strcpy(rank.host, "node7");
    return rank;
}

static void named(const struct job_rank *rank, const char *pattern, const char *expected)
{
    struct error err = {0};
    char *file = job_rank_file(rank, pattern, &err);
    assert_non_null(file);
    assert_string_equal(file, expected);
    free(file);
}

static void refused(const struct job_rank *rank, const char *pattern, const char *reason)
{
    struct error err = {0};
    assert_null(job_rank_file(rank, pattern, &err));
    assert_non_null(strstr(err.text, reason));
}

#define variables(...)                                                                                                 \
    (const char *const[])                                                                                              \
    {                                                                                                                  \
        __VA_ARGS__, NULL                                                                                              \
    }

static void launchers_say_which_rank_this_is(void **state)
{
    (void)state;
    struct job_rank rank = find(variables("OMPI_COMM_WORLD_RANK", "3", "OMPI_COMM_WORLD_SIZE", "64", "PMIX_RANK", "3",
                                          "PMIX_NAMESPACE", "155497", "SLURM_PROCID", "0", "SLURM_JOB_ID", "9"));
    assert_true(rank.in_job);
    assert_int_equal(rank.number, 3);
    assert_int_equal(rank.size, 64);
    assert_string_equal(rank.job, "155497");
    assert_string_equal(rank.launcher, "openmpi");

    rank = find(variables("PMI_RANK", "1", "PMI_SIZE", "2"));
    assert_int_equal(rank.number, 1);
    assert_int_equal(rank.size, 2);
    assert_string_equal(rank.job, "");

    rank = find(variables("SLURM_PROCID", "5", "SLURM_NTASKS", "8", "SLURM_JOB_ID", "77", "SLURM_STEP_ID", "2"));
    assert_int_equal(rank.number, 5);
    assert_int_equal(rank.size, 8);
    assert_string_equal(rank.job, "77.2");

    rank = find(variables("PMIX_RANK", "4", "PMIX_NAMESPACE", "prterun-a@1"));
    assert_int_equal(rank.number, 4);
    assert_int_equal(rank.size, 0);
    assert_string_equal(rank.launcher, "pmix");
}

static void what_is_no_task_is_no_rank(void **state)
{
    (void)state;
    assert_false(find(variables("HOME", "/")).in_job);
    assert_false(find(variables("SLURM_PROCID", "0", "SLURM_NTASKS", "8", "SLURM_JOB_ID", "77")).in_job); /* a script */
    assert_false(find(variables("PMI_RANK", "")).in_job);
    assert_false(find(variables("PMI_RANK", "-1")).in_job);
    assert_false(find(variables("PMI_RANK", "3x")).in_job);
    assert_false(find(variables("PMI_RANK", "99999999999999999999999")).in_job);
    assert_int_equal(find(variables("PMI_RANK", "9", "PMI_SIZE", "4")).size, 0);
}

static void ranks_have_files_of_their_own(void **state)
{
    (void)state;
    struct job_rank rank =
        find(variables("OMPI_COMM_WORLD_RANK", "3", "OMPI_COMM_WORLD_SIZE", "64", "PMIX_NAMESPACE", "15"));
    named(&rank, NULL, "numalens.15/rank-00003.node7.data");
    named(&rank, "a/%j/%r-%h.data", "a/15/3-node7.data");
    named(&rank, "100%%r.%r%x%", "100%r.3%x%");
    refused(&rank, "app.data", "write -o app.%r.data");
    refused(&rank, "v1.2/app", "write -o v1.2/app.%r, or");
    refused(&rank, "app.%h.data", "would all write");
    refused(&rank, "app.%%r.data", "would all write");

    rank = find(variables("PMI_RANK", "0", "PMI_SIZE", "1"));
    named(&rank, "app.data", "app.data");
    named(&rank, NULL, "numalens.job/rank-00000.node7.data");
    refused(&rank, "%j.data", "does not name the job");

    rank = find(variables("PMIX_RANK", "0", "PMIX_NAMESPACE", "../../etc/x y@1"));
    named(&rank, NULL, "numalens._._.._etc_x_y_1/rank-00000.node7.data");
    refused(&rank, "app.data", "would all write");
}

static void outside_of_a_job_nothing_changes(void **state)
{
    (void)state;
    struct job_rank rank = find(variables("HOME", "/"));
    named(&rank, NULL, "numalens.data");
    named(&rank, "50%.data", "50%.data");
    named(&rank, "a.%h.data", "a.node7.data");
    refused(&rank, "a.%r.data", "shows no job");
    refused(&rank, "a.%j.data", "shows no job");
}

static void folders_are_made_once_or_twice(void **state)
{
    (void)state;
    char folder[] = "/tmp/numalens-rank-XXXXXX", file[128];
    struct error err = {0};
    struct stat found;
    assert_non_null(mkdtemp(folder));
    snprintf(file, sizeof file, "%s/a/b/c.data", folder);
    assert_int_equal(job_rank_make_folder(file, &err), 0);
    assert_int_equal(job_rank_make_folder(file, &err), 0);
    *strrchr(file, '/') = '\0';
    assert_int_equal(stat(file, &found), 0);
    assert_true(S_ISDIR(found.st_mode));
    assert_int_equal(rmdir(file), 0);
    *strrchr(file, '/') = '\0';
    assert_int_equal(rmdir(file), 0);
    assert_int_equal(rmdir(folder), 0);
    assert_true(job_rank_make_folder("/proc/none/x.data", &err) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launchers_say_which_rank_this_is), cmocka_unit_test(what_is_no_task_is_no_rank),
        cmocka_unit_test(ranks_have_files_of_their_own),    cmocka_unit_test(outside_of_a_job_nothing_changes),
        cmocka_unit_test(folders_are_made_once_or_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
