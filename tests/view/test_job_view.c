/* The report of a job for programs: what is not known of a rank is null. */
#include "view/job/job_view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static char *json_of(struct rank_summary *summary)
{
    char *text = NULL;
    size_t size = 0;
    struct error err = {0};
    struct rank_summary *all[] = {summary};
    struct job *job = job_make(all, 1, "folder", &err);
    assert_non_null(job);
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(job_json(job, &(struct view_options){.path = "folder"}, out, &err), 0);
    fclose(out);
    job_free(job);
    return text;
}

static void remote_accesses_of_unknown_homes(void **state)
{
    (void)state;
    struct rank_summary rank = {.path = "rank",
                                .error = "",
                                .damage = "",
                                .in_job = true,
                                .ranks = 1,
                                .job = "job",
                                .launcher = "pmi",
                                .host = "host",
                                .command = "command",
                                .samples = 40,
                                .bursts = 40};
    char *text = json_of(&rank);
    assert_non_null(strstr(text, "\"remote\": null,"));
    assert_non_null(strstr(text, "\"remote_share\": null,"));
    free(text);
    rank.home_known = 40;
    text = json_of(&rank);
    assert_non_null(strstr(text, "\"remote\": 0,"));
    assert_non_null(strstr(text, "\"remote_share\": 0.000000,"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remote_accesses_of_unknown_homes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
