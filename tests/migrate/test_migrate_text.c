/* What `numalens migrate` says at its end: no share without the number of samples it is of, and none as a change that is chance. */
#include "migrate/migrate_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static char *summary_text(const struct loop_summary *summary)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    print_summary(out, "numalens migrate", summary, false, 0);
    assert_int_equal(fclose(out), 0);
    return text;
}

static struct loop_summary summary_of(struct loop_share first, struct loop_share last)
{
    struct loop_summary summary = {.policy = "access", .intervals = 4, .first = first, .last = last};
    summary.total.samples = first.known + last.known;
    return summary;
}

static void a_share_has_its_samples_and_its_interval(void **state)
{
    (void)state;
    struct loop_summary summary = summary_of((struct loop_share){.remote = 900, .known = 1000, .bursts = 200},
                                             (struct loop_share){.remote = 10, .known = 1000, .bursts = 200});
    char *text = summary_text(&summary);
    assert_non_null(
        strstr(text, "remote accesses: 90.0% (85 to 93%: 1000 samples in 200 bursts) in the first interval, 1.0% ("));
    assert_non_null(strstr(text, ": 1000 samples in 200 bursts) in the last"));
    assert_null(strstr(text, "chance"));
    free(text);
}

/* 0% of 6 bursts and 59% of 10 read as damage; they may as well be the same. */
static void few_samples_are_no_change(void **state)
{
    (void)state;
    struct loop_summary summary = summary_of((struct loop_share){.remote = 0, .known = 24, .bursts = 3},
                                             (struct loop_share){.remote = 19, .known = 32, .bursts = 4});
    char *text = summary_text(&summary);
    assert_non_null(strstr(text, "no difference beyond chance"));
    free(text);
}

static void without_samples_there_is_no_share(void **state)
{
    (void)state;
    struct loop_summary summary = summary_of((struct loop_share){0}, (struct loop_share){0});
    char *text = summary_text(&summary);
    assert_non_null(strstr(text, "no access was sampled"));
    assert_null(strchr(text, '%'));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_share_has_its_samples_and_its_interval),
        cmocka_unit_test(few_samples_are_no_change),
        cmocka_unit_test(without_samples_there_is_no_share),
    };
    return cmocka_run_group_tests_name("migrate_text", tests, NULL, NULL);
}
