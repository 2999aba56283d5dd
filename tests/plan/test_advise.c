/* What findings ask for is in the plan, or the plan says that it is not and why; from made-up facts. */
#include "../analysis/made_facts.h"
#include "plan/plan_advise.h"

static char *head_of(struct made *made, size_t *entries)
{
    struct placement_plan plan = {.name = mem_strdup("p")};
    struct plan_expected expected;
    struct error err = {0};
    patterns(made);
    assert_int_equal(plan_advise(&plan, made->findings, &expected, &err), 0);
    char *head = mem_strdup(plan.head ? plan.head : "");
    *entries = plan.entries.count;
    placement_plan_free(&plan);
    return head;
}

static void what_no_entry_is_about(void **state)
{
    (void)state;
    struct made *made = make();
    size_t entries;
    char *head = head_of(made, &entries); /* allocated by code of no binary: nothing that another run has */
    assert_int_equal(entries, 0);
    assert_true(says(head, "not placed: ") && says(head, "concurrent-remote: it has no name that a plan could have"));
    assert_null(strstr(head, "no finding asks"));
    free(head);
    for (unsigned node = 0; node < NODES; node++)
        made->object->home[node] = SAMPLES / NODES;
    head = head_of(made, &entries);
    assert_string_equal(head, "no finding asks for another placement");
    free(head);
    made->facts.bursts = 29;
    head = head_of(made, &entries);
    assert_true(says(head, "too few samples to say"));
    free(head);
    made_free(made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_no_entry_is_about)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
