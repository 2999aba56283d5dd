#include "ranks.h"
#include "../predict/workers.h"

#include "compare/job/rank_pack.h"

#include <stdlib.h>
#include <string.h>

static void the_rank_with_more_work_holds_the_others_up(void **state)
{
    (void)state;
    struct rank_summary *ranks[RANKS];
    for (uint32_t i = 0; i < RANKS; i++)
        ranks[(i + 2) % RANKS] = rank_with(i, 400, i == 1 ? 20 : 300); /* in another order than theirs */
    array_push(&ranks[3]->objects,
               (struct rank_object){.name = "stack", .file = "", .kind = OBJECT_STACK, .work = 380});
    assert_int_equal(ranks[3]->rank, 1);
    struct job *job = make(ranks, RANKS);
    assert_int_equal(job->balance, JOB_HELD_UP);
    assert_int_equal(job->slowest->rank, 1);
    assert_float_equal(job->work, 3.8, 1e-9);
    assert_float_equal(job->others_work, 1, 1e-9);
    assert_float_equal(job->imbalance, 3.8 / 1.7 - 1, 1e-9);
    assert_float_equal(job->waits, 0.05, 1e-9);
    assert_float_equal(job->others_wait, 0.75, 1e-9);
    assert_string_equal(job->object->name, "field"); /* not the stack, which has as much */
    assert_float_equal(job->object_work, 3.8, 1e-9);
    assert_float_equal(job->object_others_work, 1, 1e-9);
    assert_int_equal(job->hosts.count, 2);
    assert_int_equal(job->hosts.items[0].ranks, 2);
    for (uint32_t i = 0; i < RANKS; i++)
        assert_int_equal(job->ranks.items[i]->rank, i);
    end(job, ranks, RANKS);
}

static void chance_is_no_imbalance(void **state)
{
    (void)state;
    struct rank_summary *even[RANKS], *few[RANKS];
    for (uint32_t i = 0; i < RANKS; i++) {
        even[i] = rank_with(i, 400, i == 1 ? 195 : 200);
        few[i] = rank_with(i, 20, i == 1 ? 8 : 10);
    }
    struct job *job = make(even, RANKS);
    assert_int_equal(job->balance, JOB_EVEN);
    assert_null(job->object);
    end(job, even, RANKS);
    job = make(few, RANKS);
    assert_int_equal(job->balance, JOB_UNDECIDED);
    end(job, few, RANKS);

    struct rank_summary *one[] = {rank_with(0, 400, 0)}, *blind[] = {rank_with(0, 400, 0), rank_with(1, 0, 0)};
    job = make(one, 1);
    assert_int_equal(job->balance, JOB_ONE_RANK);
    end(job, one, 1);
    job = make(blind, 2);
    assert_int_equal(job->balance, JOB_UNKNOWN);
    assert_null(job->slowest);
    end(job, blind, 2);
}

static void what_is_not_there_is_named(void **state)
{
    (void)state;
    struct rank_summary *ranks[] = {rank_with(2, 400, 0), rank_with(0, 400, 0),
                                    rank_with(2, 400, 0), rank_summary_unread("d/x.data", "d/x.data: is no trace"),
                                    rank_with(3, 400, 0), rank_summary_unread("d/y.data", "")};
    ranks[4]->job = "78";
    struct job *job = make(ranks, 6);
    assert_string_equal(job->name, "77");
    assert_int_equal(job->ranks.count, 2);
    assert_int_equal(job->size, RANKS);
    assert_int_equal(job->missing.count, 2);
    assert_int_equal(job->missing.items[0], 1);
    assert_int_equal(job->missing.items[1], 3);
    assert_int_equal(job->unread.count, 1);
    assert_int_equal(job->strangers.count, 3); /* rank 2 again, another job's, no job's */
    end(job, ranks, 6);

    struct error err = {0};
    struct rank_summary *none = rank_summary_unread("d/y.data", "");
    assert_null(job_make(&none, 1, "d", &err));
    assert_non_null(strstr(err.text, "none of its 1 traces"));
    rank_summary_free(none);
}

static void a_finding_on_many_ranks_is_one(void **state)
{
    (void)state;
    struct rank_summary *ranks[RANKS];
    for (uint32_t i = 0; i < RANKS; i++) {
        struct rank_finding finding = {.pattern = PATTERN_SATURATED_NODE,
                                       .name = "field",
                                       .file = "app.c",
                                       .line = 7,
                                       .evidence = "",
                                       .advice = "",
                                       .lost_time_share = 0.01 * (i + 1)};
        ranks[i] = rank_with(i, 400, 0);
        array_push(&ranks[i]->findings, finding);
        finding.pattern = PATTERN_FALSE_SHARING;
        finding.lost_time_share = 0.5;
        if (i == 2)
            array_push(&ranks[i]->findings, finding);
    }
    struct job *job = make(ranks, RANKS);
    assert_int_equal(job->findings.count, 2);
    assert_int_equal(job->findings.items[0].worst->pattern, PATTERN_FALSE_SHARING); /* 2 s; the other 0.4 s */
    assert_int_equal(job->findings.items[0].ranks.count, 1);
    assert_int_equal(job->findings.items[1].ranks.count, RANKS);
    assert_int_equal(job->findings.items[1].worst_rank, 3);
    assert_float_equal(job->findings.items[1].lost_s, 0.4, 1e-9);
    end(job, ranks, RANKS);
}

/* What a report of the rank alone says first. */
static void verdict_of_a_rank(void **state)
{
    (void)state;
    struct error err = {0};
    for (int own = 0; own < 2; own++) {
        struct judged judged =
            judge((struct run){.own = own, .traffic = true, .rounds = ROUNDS, .latency = SLOW, .distance = 512});
        struct rank_summary *rank = rank_summary_make(judged.feeding.flow, "d/0.data", NULL, NULL, &err);
        assert_non_null(rank);
        assert_int_equal(rank->matters, own ? MATTERS_NOT : MATTERS);
        assert_string_equal(rank->bottleneck, own ? "" : "latency of remote memory");
        assert_string_equal(rank->grade, "near");
        const char *words =
            own ? "NUMA is not what slows this program on generic-4" : "NUMA slows this program on generic-4";
        assert_memory_equal(rank->verdict, words, strlen(words));
        assert_null(strchr(rank->verdict, '\n'));
        rank_summary_free(rank);
        judged_free(&judged);
    }
}

static void summaries_travel_as_bytes(void **state)
{
    (void)state;
    struct rank_summary *rank = rank_with(3, 400, 100), *bad = rank_summary_unread("d/x.data", "is no trace");
    struct rank_bytes bytes = {0}, again = {0};
    struct rank_finding finding = {
        .pattern = PATTERN_FALSE_SHARING, .name = "n", .file = "", .evidence = "e", .advice = "a"};
    array_push(&rank->findings, finding);
    rank->cost = 0.25;
    rank->matters = MATTERS;
    rank->verdict = "NUMA slows this program";
    rank_pack(&bytes, rank);
    size_t first = bytes.bytes.count, at = 0;
    rank_pack(&bytes, bad);
    struct rank_summary *read = rank_unpack(bytes.bytes.items, bytes.bytes.count, &at);
    assert_non_null(read);
    assert_int_equal(at, first);
    assert_string_equal(read->host, "b");
    assert_string_equal(read->objects.items[0].name, "field");
    assert_string_equal(read->findings.items[0].evidence, "e");
    assert_float_equal(read->cost, 0.25, 0);
    assert_int_equal(read->matters, MATTERS);
    assert_string_equal(read->verdict, "NUMA slows this program");
    rank_pack(&again, read);
    assert_int_equal(again.bytes.count, first);
    assert_memory_equal(again.bytes.items, bytes.bytes.items, first);
    rank_summary_free(read);
    read = rank_unpack(bytes.bytes.items, bytes.bytes.count, &at);
    assert_string_equal(read->error, "is no trace");
    rank_summary_free(read);
    assert_null(rank_unpack(bytes.bytes.items, bytes.bytes.count, &at));
    for (size_t cut = 1; cut < first; cut++) {
        at = 0;
        assert_null(rank_unpack(bytes.bytes.items, cut, &at));
    }
    array_free(&bytes.bytes);
    array_free(&again.bytes);
    rank_summary_free(rank);
    rank_summary_free(bad);
}

static void ranges(const uint32_t *numbers, size_t count, const char *expected)
{
    char *text = job_ranges(numbers, count);
    assert_string_equal(text, expected);
    free(text);
}

static void ranges_are_short(void **state)
{
    (void)state;
    ranges(NULL, 0, "");
    ranges((uint32_t[]){5}, 1, "5");
    ranges((uint32_t[]){0, 1}, 2, "0, 1");
    ranges((uint32_t[]){0, 1, 2, 3, 7, 9, 10, 11}, 8, "0-3, 7, 9-11");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rank_with_more_work_holds_the_others_up),
        cmocka_unit_test(chance_is_no_imbalance),
        cmocka_unit_test(what_is_not_there_is_named),
        cmocka_unit_test(a_finding_on_many_ranks_is_one),
        cmocka_unit_test(ranges_are_short),
        cmocka_unit_test(verdict_of_a_rank),
        cmocka_unit_test(summaries_travel_as_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
