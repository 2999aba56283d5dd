/* Every threshold decides something: moved by a fifth, down or up, it changes a known answer. Prints which; with an argument, all that
 * change. */
#include "known/known.h"

#include "analysis/thresholds.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const struct known *const groups[] = {known_findings,    known_runs, known_problems,  known_verdicts,
                                             known_differences, known_jobs, known_placements};
enum { GROUPS = sizeof groups / sizeof *groups };
static bool all;

static void answers_are_right(void **state)
{
    (void)state;
    for (unsigned i = 0; i < GROUPS; i++)
        for (const struct known *known = groups[i]; known->name; known++) {
            char text[ANSWER];
            known->answer(text);
            if (strcmp(text, known->right) != 0)
                fail_msg("%s: '%s', and '%s' is right", known->name, text, known->right);
        }
}

/* Prints the first answer that changes when the threshold is moved by a fifth, or all of them; false when none does. */
static bool decides(const struct threshold *threshold)
{
    static const double factors[] = {0.8, 1.2};
    bool found = false;
    double value = *threshold->value;
    for (unsigned i = 0; i < 2 * GROUPS; i++)
        for (const struct known *known = groups[i / 2]; known->name; known++) {
            char text[ANSWER];
            *threshold->value = value * factors[i % 2];
            known->answer(text);
            *threshold->value = value;
            if (strcmp(text, known->right) == 0)
                continue;
            print_message("# %s %+.0f%%: %s: %s\n", threshold->name, 100 * (factors[i % 2] - 1), known->name, text);
            found = true;
            if (!all)
                return true;
        }
    return found;
}

static void each_decides_something(void **state)
{
    (void)state;
    unsigned idle = 0;
    for (size_t i = 0; i < thresholds_count; i++) {
        const struct threshold *threshold = &thresholds_list[i];
        if (!decides(threshold)) {
            print_message("# %s changes no known answer: delete it, or add one that is near it\n", threshold->name);
            idle++;
        }
    }
    assert_int_equal(idle, 0);
}

int main(int argc, char **argv)
{
    (void)argv;
    all = argc > 1;
    setenv("HWLOC_PLUGINS_PATH", "/nonexistent", 1); /* else hwloc loads those of graphics for every recording */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_right),
        cmocka_unit_test(each_decides_something),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
