/* Every threshold decides something: moved by a fifth, down or up, it changes the known answers that are near it. Prints them; with an
 * argument, all that change. */
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

static bool is_near(const struct known *known, const char *threshold)
{
    size_t length = strlen(threshold);
    for (const char *at = known->near; at && *at; at += strspn(at, " ")) {
        size_t word = strcspn(at, " ");
        if (word == length && memcmp(at, threshold, length) == 0)
            return true;
        at += word;
    }
    return false;
}

/* Whether the answer changes when the threshold is moved so. */
static bool changes(const struct known *known, const struct threshold *threshold, double factor)
{
    char text[ANSWER];
    double value = *threshold->value;
    *threshold->value = value * factor;
    known->answer(text);
    *threshold->value = value;
    if (strcmp(text, known->right) == 0)
        return false;
    print_message("# %s %+.0f%%: %s: %s\n", threshold->name, 100 * (factor - 1), known->name, text);
    return true;
}

/* Of the answers that are near it, or of all, whether one changes. */
static bool decides(const struct threshold *threshold)
{
    bool found = false;
    for (unsigned i = 0; i < GROUPS; i++)
        for (const struct known *known = groups[i]; known->name; known++) {
            if (!all && !is_near(known, threshold->name))
                continue;
            bool down = changes(known, threshold, 0.8), up = changes(known, threshold, 1.2);
            if (!down && !up && !all)
                fail_msg("%s: a fifth of %s changes nothing", known->name, threshold->name);
            found |= down || up;
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
            print_message("# %s changes no known answer: delete it, or say which one is near it\n", threshold->name);
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
