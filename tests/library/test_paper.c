/* Figure 9 of the paper, as it is printed there but for its quotes and for `sm`, which it never declares: `s` is meant. */
#include "work.h"

#include "numalens/paper.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint64_t *array;

static int figure_9(void)
{
    int res;
    // Init read sampling
    struct samp_session s;
    res = init_samp_session(&s, 1, 1000, 64);
    if (res < 0) {
        printf("err:%s\n", error_message(res));
        return -1;
    }
    s.tids[0] = syscall(SYS_gettid);

    // Start memory read access sampling
    res = samp_read_start(&s);
    if (res < 0) {
        printf("err:%s\n", error_message(res));
        return -1;
    }

    // Code to be profiled here
    for (int i = 0; i < 20000; i++)
        read_all(array);

    // Stop memory read access sampling
    res = samp_read_stop(&s);
    if (res < 0) {
        printf("err:%s\n", error_message(res));
        return -1;
    }

    // Print memory read sampling results
    FILE *out = tmpfile();
    print_rd(out, &s);

    int lines = 0;
    char line[256];
    rewind(out);
    while (fgets(line, sizeof line, out))
        lines += strncmp(line, "pc=", 3) == 0;
    fclose(out);
    struct samp *samples;
    int count, inside = 0;
    assert_int_equal(cpy_samples(&s, &samples, &count), 0);
    for (int i = 0; i < count; i++)
        inside += lies_in(array, samples[i].addr) && samples[i].ip != 0;
    free(samples);
    assert_int_equal(lines, count);
    assert_true(count > 100);
    assert_true(inside * 10 > count * 9);
    return 0;
}

static void as_printed(void **state)
{
    (void)state;
    array = new_array();
    assert_int_equal(figure_9(), 0);
    free(array);
}

static void counting_or_a_reason(void **state)
{
    (void)state;
    struct count_session s;
    int nodes[] = {0};
    int res = init_count_session(&s, 1, nodes);
    if (res < 0) {
        assert_non_null(strstr(error_message(res), "counted"));
        return;
    }
    assert_int_equal(count_read_start(&s), 0);
    assert_int_equal(count_read_stop(&s), 0);
    assert_true(get_count(&s) >= 0);
    assert_int_equal(count_write_start(&s), 0);
    assert_int_equal(count_write_stop(&s), 0);
    assert_true(get_count(&s) >= 0);
}

static void stop_before_start(void **state)
{
    (void)state;
    struct samp_session s;
    struct samp *samples;
    int count;
    assert_int_equal(init_samp_session(&s, 1, 1000, 64), 0);
    assert_true(samp_read_stop(&s) < 0);
    assert_true(cpy_samples(&s, &samples, &count) < 0);
    assert_true(init_samp_session(&s, 0, 1000, 64) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_printed),
        cmocka_unit_test(counting_or_a_reason),
        cmocka_unit_test(stop_before_start),
    };
    return cmocka_run_group_tests_name("paper", tests, NULL, NULL);
}
