/* Figures 7 to 9 of the paper, as they are printed there but for quotes and for `sm` in figure 9, which it never declares: `s` is
 * meant. */
#include "work.h"

#include "numalens/paper.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Figure 7. That these compile beside the header's says that they are the same. */
int init_samp_session(struct samp_session *ses, int nb_threads, int sampling_rate, int mmap_pages_count);
int samp_read_start(struct samp_session *s);
int samp_read_stop(struct samp_session *s);
int samp_write_start(struct samp_session *s);
int samp_write_stop(struct samp_session *s);
int print_rd(File *f, struct samp_session *s);
int print_wr(File *f, struct samp_session *s);
int cpy_samples(struct samp_session *s, struct samp **dest, int *nb_sp);
int init_count_session(struct count_session *ses, int nb_nodes, int *nodes);
int count_read_start(struct count_session *s);
int count_read_stop(struct count_session *s);
int count_write_start(struct count_session *s);
int count_write_stop(struct count_session *s);
long get_count(struct count_session *s);
const char *error_message(int error);

/* Figure 8: the fields, in order, with their types. */
#define is_at(type, field, kind, previous)                                                                             \
    (__builtin_types_compatible_p(__typeof__(((struct type *)0)->field), kind) &&                                      \
     offsetof(struct type, field) > offsetof(struct type, previous))
#define begins(type, field, kind)                                                                                      \
    (__builtin_types_compatible_p(__typeof__(((struct type *)0)->field), kind) && offsetof(struct type, field) == 0)

_Static_assert(begins(samp_session, nb_threads, unsigned int) && is_at(samp_session, tids, pid_t *, nb_threads) &&
                   is_at(samp_session, sampling_rate, unsigned int, tids) &&
                   is_at(samp_session, mmap_pages_count, unsigned int, sampling_rate) &&
                   is_at(samp_session, metadatas, struct perf_event_mmap_page **, mmap_pages_count) &&
                   is_at(samp_session, page_size, size_t, metadatas) &&
                   is_at(samp_session, mmap_len, size_t, page_size) &&
                   is_at(samp_session, fd_per_tid, long *, mmap_len),
               "struct samp_session");
_Static_assert(begins(samp, ip, uint64_t) && is_at(samp, addr, uint64_t, ip) && is_at(samp, weight, uint64_t, addr) &&
                   is_at(samp, data_src, union perf_mem_data_src, weight),
               "struct samp");
_Static_assert(begins(count_session, nb_nodes, unsigned int) && is_at(count_session, nodes, int *, nb_nodes) &&
                   is_at(count_session, fds, long *, nodes),
               "struct count_session");

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
    FILE *out = tmpfile(), *console = stdout; /* which is TAP's here */
    stdout = out;
    printf("Memory read sampling results\n");
    print_rd(stdout, &s);
    stdout = console;

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
