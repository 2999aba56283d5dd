/* Opening: errors say what and where; options of older and newer clients; the trace as a whole. */
#include "made_up.h"

#include <pthread.h>

static void errors_have_a_cause(void **state)
{
    (void)state;
    nlens_error err;
    assert_null(nlens_open("/nonexistent/numalens.data", &err));
    assert_int_equal(err.code, -ENOENT);
    assert_non_null(strstr(err.text, "/nonexistent/numalens.data"));
    assert_null(nlens_open("/nonexistent/numalens.data", NULL));
    assert_null(nlens_open("/nonexistent/" ESCAPE, &err));
    assert_non_null(strstr(err.text, "/nonexistent/\\x1b[31m"));
    assert_null(nlens_open("/tmp", &err));
    assert_true(err.code < 0 && *err.text);
    assert_null(nlens_open("/dev/null", &err));
    assert_true(err.code < 0 && *err.text);

    char garbage[] = "/tmp/numalens-test-garbage-XXXXXX";
    int fd = mkstemp(garbage);
    assert_int_equal(write(fd, "no trace at all, but long enough to be one", 42), 42);
    close(fd);
    assert_null(nlens_open(garbage, &err));
    assert_true(err.code < 0);
    assert_non_null(strstr(err.text, garbage));
    unlink(garbage);

    nlens_trace *trace = nlens_open(made_up_path, &err);
    assert_non_null(trace);
    assert_int_equal(err.code, 0);
    assert_string_equal(err.text, "");
    nlens_close(trace);
    nlens_close(NULL);
}

static nlens_trace *open_with(nlens_options options, nlens_error *err)
{
    return nlens_open_with(made_up_path, &options, err);
}

struct heard {
    unsigned calls;
    uint64_t last;
};

static void hear(void *data, const char *what, uint64_t done, uint64_t total)
{
    struct heard *heard = data;
    assert_string_equal(what, "reading");
    assert_true(done >= heard->last && done <= total);
    heard->last = done;
    heard->calls++;
}

/* Once it is called, and never after the trace is open; another thread's work is not this one's. */
static void progress_is_reported(void **state)
{
    (void)state;
    nlens_error err;
    struct heard heard = {0};
    nlens_options options = {.size = sizeof options, .progress = hear, .progress_data = &heard};
    nlens_trace *trace = nlens_open_with(made_up_path, &options, &err);
    assert_non_null(trace);
    unsigned calls = heard.calls;
    assert_true(calls >= 2);
    nlens_trace *other = nlens_open(made_up_path, &err);
    assert_non_null(other);
    nlens_close(other);
    assert_null(nlens_open_with("/nowhere", &options, &err));
    assert_int_equal(heard.calls, calls);
    nlens_close(trace);
}

static void options_are_checked(void **state)
{
    (void)state;
    nlens_error err;
    assert_null(open_with((nlens_options){.size = 0}, &err));
    assert_int_equal(err.code, -EINVAL);
    assert_null(open_with((nlens_options){sizeof(nlens_options), .assign = "packed"}, &err));
    assert_non_null(strstr(err.text, "topology"));
    assert_null(open_with((nlens_options){sizeof(nlens_options), .topology = "no machine"}, &err));
    assert_null(open_with((nlens_options){sizeof(nlens_options), .topology = "numa:2 core:1", .homes = "away"}, &err));
    assert_true(err.code < 0 && *err.text);

    struct {
        nlens_options known;
        uint64_t later;
    } newer = {{.size = sizeof newer, .topology = "numa:3 core:1"}, 0};
    nlens_trace *trace = nlens_open_with(made_up_path, &newer.known, &err);
    assert_non_null(trace);
    assert_int_equal(nlens_node_count(trace), 3);
    nlens_close(trace);
    newer.later = 1;
    assert_null(nlens_open_with(made_up_path, &newer.known, &err));
    assert_int_equal(err.code, -E2BIG);

    /* A client from before `topology`: what is behind its size is not read. */
    nlens_options older = {.size = sizeof older.size, .topology = "no machine"};
    trace = nlens_open_with(made_up_path, &older, &err);
    assert_non_null(trace);
    nlens_close(trace);
}

static void the_whole_is_reported(void **state)
{
    (void)state;
    nlens_trace *trace = made_up_open("numa:3 core:1");
    assert_true(nlens_simulated(trace));
    assert_int_equal(nlens_start(trace), 1);
    assert_true(nlens_end(trace) >= 1100);
    const nlens_totals *totals = nlens_trace_totals(trace);
    assert_int_equal(totals->samples, ALL);
    assert_int_equal(totals->writes, SHARED / 5);
    assert_int_equal(totals->reads, ALL - SHARED / 5);
    assert_int_equal(totals->home_known, ALL);
    assert_int_equal(totals->remote, 210);
    assert_int_equal(totals->latency_count, SHARED - SHARED / 5);
    assert_string_equal(nlens_info(trace, "latency_unit"), "ns");
    assert_string_equal(nlens_info(trace, "command"), "made \\x1b[31mup");
    assert_string_equal(nlens_raw(trace, nlens_info(trace, "command")), "made " ESCAPE "up");
    assert_null(nlens_info(trace, "no such key"));
    assert_null(nlens_damage(trace));
    assert_string_equal(nlens_version(), NUMALENS_VERSION);

    unsigned count = 0;
    nlens_foreach_loss (trace, l) {
        assert_string_equal(l->name, "ring_full");
        assert_int_equal(l->count, 7);
        assert_true(*l->text);
        count++;
    }
    assert_int_equal(count, 1);
    uint64_t reasons = 0;
    nlens_foreach_reason (trace, r) {
        assert_true(*r->name);
        reasons += r->count;
    }
    assert_int_equal(reasons, 1);

    count = 0;
    nlens_foreach_node (trace, n) {
        assert_int_equal(n->id, count++);
        assert_int_equal(n->cpu_count, 1);
        assert_int_equal(nlens_node_of_cpu(trace, n->id), n->id);
        assert_int_equal(nlens_distance(trace, (int)n->id, (int)n->id), 10);
    }
    assert_int_equal(count, 3);
    assert_true(nlens_distance(trace, 0, 1) > 10);
    assert_int_equal(nlens_distance(trace, 0, 3), 0);
    assert_int_equal(nlens_distance(trace, -1, 0), 0);
    nlens_close(trace);
}

static void a_cut_trace_opens_and_says_so(void **state)
{
    (void)state;
    char cut[] = "/tmp/numalens-test-cut-XXXXXX";
    int fd = mkstemp(cut);
    FILE *in = fopen(made_up_path, "rb");
    char bytes[65536];
    size_t size = fread(bytes, 1, sizeof bytes, in);
    fclose(in);
    assert_true(size > 200 && size < sizeof bytes);
    assert_int_equal(write(fd, bytes, size - 100), (ssize_t)size - 100);
    close(fd);
    nlens_error err;
    nlens_trace *trace = nlens_open(cut, &err);
    assert_non_null(trace);
    assert_non_null(nlens_damage(trace));
    nlens_close(trace);
    unlink(cut);
}

static void *count_remote(void *result)
{
    nlens_trace *trace = made_up_open("numa:3 core:1");
    uint64_t *remote = result;
    for (unsigned round = 0; round < 20; round++) {
        *remote = 0;
        nlens_foreach_access (trace, a)
            *remote += a->remote && nlens_access_frames(a) != NULL;
    }
    nlens_close(trace);
    return NULL;
}

static void traces_in_different_threads_do_not_meet(void **state)
{
    (void)state;
    pthread_t threads[4];
    uint64_t remote[5];
    count_remote(&remote[4]);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, count_remote, &remote[i]), 0);
    for (unsigned i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(remote[i], remote[4]);
    }
    assert_true(remote[4] > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_have_a_cause),           cmocka_unit_test(options_are_checked),
        cmocka_unit_test(progress_is_reported),          cmocka_unit_test(the_whole_is_reported),
        cmocka_unit_test(a_cut_trace_opens_and_says_so), cmocka_unit_test(traces_in_different_threads_do_not_meet),
    };
    return cmocka_run_group_tests_name("opening a trace", tests, made_up_write, made_up_remove);
}
