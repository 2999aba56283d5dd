/* Groups: conditions, sums, order, arrays. */
#include "made_up.h"

/* How many accesses are in the group of these conditions; checks that iterating and summing agree. */
static uint64_t count_of(nlens_trace *trace, const char *first, const char *second)
{
    nlens_error err;
    nlens_group *group = nlens_group_new(trace);
    if (nlens_group_filter(group, first, &err) < 0 || (second && nlens_group_filter(group, second, &err) < 0))
        fail_msg("%s", err.text);
    uint64_t count = 0, last = 0, objects = 0, threads = 0, writes = 0;
    nlens_foreach_group_access (group, a) {
        assert_true(a->time > last);
        last = a->time;
        count++;
        writes += a->write;
    }
    assert_int_equal(nlens_group_totals(group)->samples, count);
    assert_int_equal(nlens_group_totals(group)->writes, writes);
    nlens_foreach_object (trace, o) {
        uint64_t part = 0;
        nlens_foreach_group_object_access (group, o, a)
            part++;
        assert_int_equal(nlens_group_object_totals(group, o)->samples, part);
        objects += part;
    }
    nlens_foreach_thread (trace, t) {
        uint64_t part = 0;
        nlens_foreach_group_thread_access (group, t, a)
            part++;
        assert_int_equal(nlens_group_thread_totals(group, t)->samples, part);
        threads += part;
    }
    assert_int_equal(threads, count);
    assert_true(objects <= count && objects + 1 >= count);
    assert_int_equal(nlens_group_site_totals(group, nlens_site_by_id(trace, 0))->samples, objects);
    nlens_group_free(group);
    return count;
}

static void conditions_hold(void **state)
{
    (void)state;
    nlens_trace *trace = made_up_open("numa:3 core:1");
    uint64_t slow = 0;
    for (unsigned i = 0; i < SHARED; i++)
        slow += i % 5 != 0 && i % 50 + 1 >= 40;
    const struct {
        const char *first, *second;
        uint64_t count;
    } cases[] = {
        {"object=0", NULL, 150},
        {"object=0,2", NULL, 160},
        {"object!=0", NULL, ALL - 150},
        {"object=7", NULL, 0},
        {"object=*", NULL, ALL - 1},
        {"object!=*", NULL, 1},
        {"site=0", NULL, ALL - 1},
        {"site=nothing*", NULL, 0},
        {"kind=heap", NULL, ALL - 1},
        {"kind=stack,file", NULL, 0},
        {"kind!=heap", NULL, 1},
        {"file=*.c", NULL, 0},
        {"module!=libm*", NULL, ALL},
        {"thread=101", NULL, 100},
        {"thread=worker*", NULL, 200 + TAIL},
        {"thread=worker 1", NULL, 100},
        {"thread=*1", "thread!=worker*", 0},
        {"process=100", NULL, ALL},
        {"process=it*", NULL, ALL},
        {"process!=it*", NULL, 0},
        {"function=*", NULL, 100},
        {"function!=*", NULL, ALL - 100},
        {"from=0", NULL, 101},
        {"home=0", NULL, 150 + TAIL + 1},
        {"home=0,1", NULL, ALL},
        {"home!=0", "from=1,2", 100},
        {"time=..0.0000002", NULL, 101},
        {"time=0.0000002..", NULL, ALL - 101},
        {"time=0.0000002..0.0000003", NULL, 100},
        {"access=write", NULL, 60},
        {"access=read", NULL, ALL - 60},
        {"access=read,write", NULL, ALL},
        {"access=remote", NULL, 210},
        {"access=local", NULL, ALL - 210},
        {"access!=remote", NULL, ALL - 210},
        {"latency=40..", NULL, slow},
        {"latency=..40", NULL, 240 - slow},
        {"object=0", "thread=100", 50},
        {"object=0", "access=write", 30},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t count = count_of(trace, cases[i].first, cases[i].second);
        if (count != cases[i].count)
            fail_msg("%s %s: %lu, not %lu", cases[i].first, cases[i].second ? cases[i].second : "",
                     (unsigned long)count, (unsigned long)cases[i].count);
    }
    nlens_close(trace);
}

static void wrong_conditions_are_explained(void **state)
{
    (void)state;
    nlens_trace *trace = made_up_open(NULL);
    nlens_group *group = nlens_group_new(trace);
    nlens_error err;
    const struct {
        const char *text, *says;
    } cases[] = {
        {"", "KEY=VALUE"},        {"object", "KEY=VALUE"},     {"colour=red", "colour"},   {"object!", "KEY=VALUE"},
        {"kind=heep", "heep"},    {"kind=heep", "heap"},       {"access=execute", "read"}, {"from=one", "number"},
        {"time=3", ".."},         {"time=2..1", "empty"},      {"time=a..b", "'a'"},       {"time=-1..", "'-1'"},
        {"time=nan..", "number"}, {"latency=5..5", "empty"},   {"object=", "missing"},     {"thread=a,,b", "missing"},
        {"objects=1", "objects"}, {"time=0..1e999", "number"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_true(nlens_group_filter(group, cases[i].text, &err) < 0);
        assert_true(err.code < 0);
        if (!strstr(err.text, cases[i].says))
            fail_msg("'%s' does not say '%s': %s", cases[i].text, cases[i].says, err.text);
    }
    assert_true(nlens_group_filter(group, "nothing", NULL) < 0);
    assert_int_equal(nlens_group_totals(group)->samples, ALL);
    assert_int_equal(nlens_group_filter(group, "kind=heap", &err), 0);
    assert_int_equal(err.code, 0);
    assert_int_equal(nlens_group_totals(group)->samples, ALL - 1);
    nlens_close(trace);
}

static int born_late(const nlens_object *object, void *context)
{
    ++*(unsigned *)context;
    return object->start > 1000;
}

static int is_named(const nlens_thread *thread, void *context)
{
    return strcmp(thread->name, context) == 0;
}

static int is_even(const nlens_access *access, void *context)
{
    (void)context;
    return access->time % 2 == 0;
}

static void conditions_in_c(void **state)
{
    (void)state;
    nlens_trace *trace = made_up_open(NULL);
    unsigned asked = 0;
    nlens_group *late = nlens_group_new(trace), *main = nlens_group_new(trace), *even = nlens_group_new(trace);
    assert_ptr_equal(nlens_group_trace(late), trace);
    nlens_group_objects_where(late, born_late, &asked);
    assert_int_equal(nlens_group_totals(late)->samples, TAIL);
    assert_int_equal(asked, 3); /* once each */
    nlens_group_threads_where(main, is_named, "main");
    assert_int_equal(nlens_group_totals(main)->samples, 101);
    nlens_group_accesses_where(even, is_even, NULL);
    nlens_group_window(even, 100, 200);
    assert_int_equal(nlens_group_totals(even)->samples, 50);
    nlens_group_window(even, 150, NLENS_FOREVER);
    assert_int_equal(nlens_group_totals(even)->samples, 25);
    nlens_close(trace);
}

static void arrays_are_sorted(void **state)
{
    (void)state;
    nlens_trace *trace = made_up_open("numa:3 core:1");
    nlens_group *all = nlens_group_new(trace);
    size_t count;
    const nlens_object *const *objects = nlens_group_objects(all, NLENS_BY_SAMPLES, &count);
    assert_int_equal(count, 3);
    assert_int_equal(objects[0]->id, 0); /* as many as the next: by id */
    assert_int_equal(objects[2]->id, 2);
    assert_null(objects[3]);
    const nlens_thread *const *threads = nlens_group_threads(all, NLENS_BY_REMOTE, NULL);
    assert_int_equal(threads[0]->id, 2); /* 100 + 10; the others 50 each */
    assert_int_equal(threads[1]->id, 0);
    assert_int_equal(nlens_group_thread_totals(all, threads[0])->remote, 110);
    threads = nlens_group_threads(all, NLENS_BY_ID, &count);
    assert_int_equal(count, 3);
    assert_int_equal(threads[0]->id, 0);
    nlens_group_sites(all, NLENS_BY_LATENCY, &count);
    assert_int_equal(count, 1);
    const nlens_function *const *functions = nlens_group_functions(all, NLENS_BY_WRITES, &count);
    assert_int_equal(count, 1);
    assert_int_equal(nlens_group_function_totals(all, functions[0])->samples, 100);

    nlens_group *none = nlens_group_new(trace);
    assert_int_equal(nlens_group_filter(none, "object=99", NULL), 0);
    objects = nlens_group_objects(none, NLENS_BY_SAMPLES, &count);
    assert_int_equal(count, 0);
    assert_null(objects[0]);
    nlens_close(trace);
}

static void a_freed_group_ends_its_loops(void **state)
{
    (void)state;
    nlens_trace *trace = made_up_open(NULL);
    nlens_group *group = nlens_group_new(trace), *other = nlens_group_new(trace);
    nlens_iter *iter = nlens_group_accesses(group), *going = nlens_group_accesses(other);
    assert_non_null(nlens_next(iter));
    nlens_group_free(group);
    assert_null(nlens_next(iter));
    assert_non_null(nlens_next(going));
    nlens_group_free(NULL);
    /* a condition that comes in the middle of a loop holds from then on */
    assert_int_equal(nlens_group_filter(other, "access=write", NULL), 0);
    for (const nlens_access *a; (a = nlens_next(going));)
        assert_true(a->write);
    nlens_close(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conditions_hold),
        cmocka_unit_test(wrong_conditions_are_explained),
        cmocka_unit_test(conditions_in_c),
        cmocka_unit_test(arrays_are_sorted),
        cmocka_unit_test(a_freed_group_ends_its_loops),
    };
    return cmocka_run_group_tests_name("groups", tests, made_up_write, made_up_remove);
}
