/* The report of a job for programs: what is not known of a rank is null. */
#include "view/job/job_view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

typedef int shows(const struct job *job, const struct view_options *options, FILE *out, struct error *err);

static char *shown(shows *print, struct rank_summary **all, size_t count)
{
    char *text = NULL;
    size_t size = 0;
    struct error err = {0};
    struct job *job = job_make(all, count, "folder", &err);
    assert_non_null(job);
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(print(job, &(struct view_options){.path = "folder"}, out, &err), 0);
    fclose(out);
    job_free(job);
    return text;
}

static char *json_of(struct rank_summary *summary)
{
    return shown(job_json, &summary, 1);
}

static struct rank_summary rank_of(uint32_t number, uint32_t ranks)
{
    return (struct rank_summary){.path = "rank",
                                 .error = "",
                                 .damage = "",
                                 .in_job = true,
                                 .rank = number,
                                 .ranks = ranks,
                                 .job = "job",
                                 .launcher = "pmi",
                                 .host = "host",
                                 .command = "command",
                                 .verdict = "",
                                 .grade = "",
                                 .bottleneck = "",
                                 .samples = 40,
                                 .bursts = 40};
}

/* Of four ranks NUMA slows two, may slow one, and does not slow the first: what is undecided is not "no". */
static void ranks_that_are_slowed(void **state)
{
    (void)state;
    static const uint32_t matters[] = {MATTERS_NOT, MATTERS, MATTERS, MATTERS_UNDECIDED};
    struct rank_summary ranks[4], *all[4];
    for (uint32_t i = 0; i < 4; i++) {
        ranks[i] = rank_of(i, 4);
        ranks[i].matters = matters[i];
        ranks[i].verdict = i == 1 ? "NUMA slows this program on a machine: so and so" : "another sentence";
        ranks[i].bottleneck = i == 1 ? "memory of node 0" : "";
        all[i] = &ranks[i];
    }
    char *text = shown(job_text, all, 4);
    assert_non_null(
        strstr(text, "  NUMA slows ranks 1, 2. Rank 1: NUMA slows this program on a machine: so and so.\n"));
    assert_non_null(strstr(text, "   no"));
    assert_non_null(strstr(text, "  yes"));
    assert_non_null(strstr(text, "  undecided"));
    free(text);
    text = shown(job_json, all, 4);
    assert_non_null(strstr(text, "\"matters\": true,"));
    assert_non_null(strstr(text, "\"matters\": false,"));
    assert_non_null(strstr(text, "\"matters\": null,"));
    assert_non_null(strstr(text, "\"bottleneck\": \"memory of node 0\","));
    free(text);
}

static void remote_accesses_of_unknown_homes(void **state)
{
    (void)state;
    struct rank_summary rank = rank_of(0, 1);
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
        cmocka_unit_test(ranks_that_are_slowed),
        cmocka_unit_test(remote_accesses_of_unknown_homes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
