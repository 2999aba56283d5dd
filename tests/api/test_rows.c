/* Rows, accesses and call chains. */
#include "made_up.h"

static void processes_and_threads(void **state)
{
    (void)state;
    nlens_trace *trace = made_up_open("numa:3 core:1");
    const nlens_process *process = nlens_next_process(trace, NULL);
    assert_non_null(process);
    assert_null(nlens_next_process(trace, process));
    assert_int_equal(process->pid, PID);
    assert_string_equal(process->exe, "/bin/it\\x1b[31m");
    assert_string_equal(nlens_raw(trace, process->exe), "/bin/it" ESCAPE);
    assert_string_equal(process->command, "it -x");
    assert_string_equal(nlens_raw(trace, process->command), "it -x");
    assert_int_equal(process->end, NLENS_FOREVER);
    assert_int_equal(process->totals.samples, ALL);

    static const char *const names[] = {"main", "worker 1", "worker \\x1b[31m"};
    unsigned count = 0;
    nlens_foreach_thread (trace, t) {
        assert_int_equal(t->id, count);
        assert_int_equal(t->tid, PID + count);
        assert_int_equal(t->ordinal, count);
        assert_ptr_equal(t->process, process);
        assert_ptr_equal(t->trace, trace);
        assert_string_equal(t->name, names[count]);
        assert_int_equal(t->totals.samples, 100 + (count == 2 ? TAIL : 0) + (count == 0));
        assert_ptr_equal(nlens_thread_by_id(trace, count), t);
        count++;
    }
    assert_int_equal(count, 3);
    assert_null(nlens_thread_by_id(trace, 3));
    nlens_close(trace);
}

static void objects_and_sites(void **state)
{
    (void)state;
    nlens_trace *trace = made_up_open("numa:3 core:1");
    unsigned count = 0;
    nlens_foreach_object (trace, o) {
        assert_int_equal(o->id, count);
        assert_int_equal(o->kind, NLENS_HEAP);
        assert_string_equal(nlens_kind_name(o->kind), "heap");
        assert_int_equal(o->address, count == 1 ? B : A);
        assert_int_equal(o->size, SIZE);
        assert_int_equal(o->totals.samples, count < 2 ? SHARED / 2 : TAIL);
        assert_int_equal(o->totals.remote, count < 2 ? 100 : TAIL);
        assert_int_equal(o->alloc_thread->tid, PID + count);
        assert_string_equal(o->allocator, "malloc");
        assert_non_null(o->site);
        assert_string_equal(o->label, o->site->label);
        assert_int_equal(o->start, count == 0 ? 20 : count == 1 ? 21 : 1010);
        assert_int_equal(o->end, count == 0 ? 1000 : NLENS_FOREVER);
        assert_ptr_equal(nlens_object_by_id(trace, count), o);
        count++;
    }
    assert_int_equal(count, 3);
    assert_int_equal(nlens_object_by_id(trace, 0)->alloc_cpu, 1);
    assert_null(nlens_object_by_id(trace, 3));

    const nlens_site *site = nlens_next_site(trace, NULL);
    assert_non_null(site);
    assert_null(nlens_next_site(trace, site));
    assert_int_equal(site->count, 3);
    assert_int_equal(site->live_peak, 2);
    assert_int_equal(site->bytes, 3 * SIZE);
    assert_int_equal(site->bytes_peak, 2 * SIZE);
    assert_int_equal(site->totals.samples, SHARED + TAIL);
    assert_ptr_equal(nlens_site_by_id(trace, 0), site);
    assert_null(nlens_site_by_id(trace, 1));
    assert_non_null(nlens_site_frames(site));
    nlens_close(trace);
}

static void an_address_is_looked_up_at_a_time(void **state)
{
    (void)state;
    nlens_trace *trace = made_up_open(NULL);
    const nlens_process *process = nlens_next_process(trace, NULL);
    assert_int_equal(nlens_object_at(process, A + 16, 500)->id, 0);
    assert_int_equal(nlens_object_at(process, B + SIZE - 1, 500)->id, 1);
    assert_null(nlens_object_at(process, A + 16, 1005));
    assert_int_equal(nlens_object_at(process, A + 16, 1015)->id, 2);
    assert_null(nlens_object_at(process, A + SIZE, 500));
    assert_null(nlens_object_at(process, A, 19));
    nlens_close(trace);
}

static void accesses_come_in_order_of_time(void **state)
{
    (void)state;
    nlens_trace *trace = made_up_open("numa:3 core:1");
    uint64_t i = 0;
    nlens_foreach_access (trace, a) {
        if (i < SHARED) {
            bool write = i % 5 == 0;
            assert_int_equal(a->time, 100 + i);
            assert_int_equal(a->tid, PID + i % 3);
            assert_int_equal(a->pid, PID);
            assert_int_equal(a->thread->id, i % 3);
            assert_int_equal(a->object->id, i % 2);
            assert_int_equal(a->address - a->object->address, i % 64 * 8);
            assert_int_equal(a->write, write);
            assert_int_equal(a->read, !write);
            assert_int_equal(a->has_latency, !write);
            assert_int_equal(a->latency, write ? 0 : i % 50 + 1);
            assert_int_equal(a->size, 8);
            assert_int_equal(a->from, i % 3);
            assert_int_equal(a->home, i % 2);
            assert_int_equal(a->remote, i % 3 != i % 2);
            assert_string_equal(nlens_level_name(a->level), "ram");
            assert_string_equal(a->source, "soft");
            assert_int_equal(nlens_access_frames(a) != NULL, i < 100);
            assert_int_equal(nlens_access_function(a) != NULL, i < 100);
        }
        assert_int_equal(a->cpu, i == ALL - 1 ? -1 : 0);
        if (i == ALL - 1)
            assert_null(a->object);
        i++;
    }
    assert_int_equal(i, ALL);

    uint64_t seen = 0;
    nlens_foreach_object (trace, o) {
        uint64_t last = 0;
        nlens_foreach_object_access (o, a) {
            assert_true(a->time > last);
            assert_ptr_equal(a->object, o);
            last = a->time;
            seen++;
        }
    }
    assert_int_equal(seen, ALL - 1);
    nlens_foreach_thread (trace, t) {
        uint64_t count = 0;
        nlens_foreach_thread_access (t, a) {
            assert_ptr_equal(a->thread, t);
            if (++count == 50)
                break;
            if (count % 2)
                continue;
        }
        assert_int_equal(count, 50);
    }
    nlens_close(trace);
}

static void chains_go_outwards(void **state)
{
    (void)state;
    nlens_trace *trace = made_up_open(NULL);
    nlens_iter *iter = nlens_accesses(trace);
    const nlens_access *a = nlens_next(iter);
    unsigned depth = 0;
    nlens_foreach_frame (nlens_access_frames(a), f) {
        assert_non_null(f->function);
        assert_non_null(f->file);
        depth++;
    }
    assert_int_equal(depth, 2);
    assert_ptr_equal(nlens_access_frames(a), nlens_access_frames(a));

    const nlens_function *function = nlens_next_function(trace, NULL);
    assert_non_null(function);
    assert_null(nlens_next_function(trace, function));
    assert_int_equal(function->totals.samples, 100);
    assert_ptr_equal(nlens_access_function(a), function);
    nlens_close(trace); /* and the iterator */
}

static bool leave_early(nlens_trace *trace)
{
    nlens_foreach_access (trace, a) {
        nlens_foreach_object_access (a->object, b)
            return b->time == a->time;
    }
    return false;
}

static void a_loop_left_by_return_is_freed_with_the_trace(void **state)
{
    (void)state;
    nlens_trace *trace = made_up_open(NULL);
    assert_true(leave_early(trace)); /* a sanitizer would report what is left */
    nlens_iter *iters[3];
    for (unsigned i = 0; i < 3; i++)
        iters[i] = nlens_accesses(trace);
    nlens_iter_free(iters[1]);
    nlens_iter_free(iters[2]);
    nlens_iter_free(NULL);
    assert_non_null(nlens_next(iters[0]));
    nlens_close(trace);
}

static void texts_are_cut_to_width(void **state)
{
    (void)state;
    nlens_trace *trace = made_up_open(NULL);
    assert_string_equal(nlens_fit(trace, "short", 10), "short");
    assert_true(strlen(nlens_fit(trace, "a text that is longer than that", 10)) < 20);
    nlens_close(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes_and_threads),
        cmocka_unit_test(objects_and_sites),
        cmocka_unit_test(an_address_is_looked_up_at_a_time),
        cmocka_unit_test(accesses_come_in_order_of_time),
        cmocka_unit_test(chains_go_outwards),
        cmocka_unit_test(a_loop_left_by_return_is_freed_with_the_trace),
        cmocka_unit_test(texts_are_cut_to_width),
    };
    return cmocka_run_group_tests_name("rows and accesses", tests, made_up_write, made_up_remove);
}
