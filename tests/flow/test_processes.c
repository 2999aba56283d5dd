/* Processes by themselves and in groups: who started whom, what each did, and what is left when only one counts. */
#include "feeding.h"

static void feed_image(struct feeding *f, uint32_t pid, uint32_t parent, bool forked, const char *exe,
                       const char *command)
{
    feed(f, (struct event){.kind = EVENT_PROCESS_START,
                           .pid = pid,
                           .tid = pid,
                           .process = {.parent = parent, .forked = forked, .exe = exe, .command = command}});
}

/* mpirun starts three ranks of a solver by fork and exec, and a helper of its own. */
static struct feeding ranks(uint32_t only)
{
    struct feeding f = feeding_new(NULL, ASSIGN_PACKED);
    f.flow->only_pid = only;
    uint64_t frames[] = {0x5000};
    feed_image(&f, PID, 1, false, "/bin/mpirun", "mpirun -n 3 solver");
    for (uint32_t rank = 0; rank < 3; rank++) {
        uint32_t pid = 200 + rank;
        feed_image(&f, pid, PID, true, "/bin/mpirun", "mpirun -n 3 solver");
        feed_image(&f, pid, PID, false, "/bin/solver", rank == 1 ? "solver --first" : "solver");
        f.pid = f.tid = pid;
        feed_stack(&f, 1, 1, frames);
        feed_alloc(&f, 0x1000, 64, 1);
        for (uint32_t i = 0; i <= rank; i++)
            feed_read(&f, 0x1000 + i);
        feed_read(&f, 0x9000); /* no object there */
    }
    f.pid = f.tid = PID;
    feed_image(&f, 300, PID, false, "/bin/helper", "helper");
    flow_finish(f.flow);
    return f;
}

static void processes_of_one_program_are_a_group(void **state)
{
    (void)state;
    struct feeding f = ranks(0);
    assert_int_equal(flow_group_count(f.flow), 3);
    const struct flow_group *solvers = flow_group(f.flow, 1);
    assert_string_equal(flow_group(f.flow, 0)->exe, "/bin/mpirun");
    assert_int_equal(flow_group(f.flow, 0)->processes, 1);
    assert_string_equal(solvers->exe, "/bin/solver");
    assert_string_equal(solvers->command, "solver ...");
    assert_int_equal(solvers->processes, 3);
    assert_int_equal(solvers->threads, 3);
    assert_int_equal(solvers->totals.samples, 9);
    assert_string_equal(flow_group(f.flow, 2)->command, "helper");
    for (uint32_t i = 0; i < flow_process_count(f.flow); i++) {
        const struct flow_process *process = flow_process(f.flow, i);
        if (strcmp(process->exe, "/bin/solver") == 0) {
            assert_int_equal(process->parent, PID);
            assert_int_equal(process->group, 1);
            assert_int_equal(process->totals.samples, process->pid - 200 + 2);
        } else if (process->pid >= 200 && process->pid < 300) { /* between fork and exec */
            assert_true(process->replaced);
            assert_int_equal(process->group, FLOW_NONE);
        }
    }
    assert_int_equal(flow_site_count(f.flow), 1); /* one site over all of them */
    assert_int_equal(flow_site(f.flow, 0)->count, 3);
    feeding_free(&f);
}

static void a_parent_may_learn_later_how_a_child_ended(void **state)
{
    (void)state;
    struct feeding f = feeding_new(NULL, ASSIGN_PACKED);
    feed_start(&f, PID, 1, false);
    feed_start(&f, 200, PID, true);
    feed(&f, (struct event){.kind = EVENT_PROCESS_EXIT, .pid = 200, .tid = 200, .exit_status = -1});
    uint64_t ended = f.time;
    feed(&f, (struct event){.kind = EVENT_PROCESS_EXIT, .pid = 200, .tid = 200, .exit_status = 7 << 8});
    feed(&f, (struct event){.kind = EVENT_PROCESS_EXIT, .pid = 200, .tid = 200, .exit_status = -1});
    flow_finish(f.flow);
    assert_int_equal(flow_process(f.flow, 1)->exit_status, 7 << 8);
    assert_int_equal(flow_process(f.flow, 1)->end, ended);
    feeding_free(&f);
}

static void one_process_can_be_counted_by_itself(void **state)
{
    (void)state;
    struct feeding all = ranks(0), one = ranks(202);
    assert_int_equal(flow_totals(one.flow).samples, 4);
    assert_int_equal(flow_attributed(one.flow), 3);
    assert_int_equal(one.flow->reasons[REASON_NO_MAP] + one.flow->reasons[REASON_METADATA], 1);
    assert_int_equal(flow_site(one.flow, 0)->count, 1);
    assert_int_equal(flow_site(one.flow, 0)->totals.samples, 3);
    assert_int_equal(one.flow->order.count, 4);
    /* Objects keep their numbers. */
    assert_int_equal(flow_sampled_object_count(one.flow), flow_sampled_object_count(all.flow));
    for (uint32_t i = 0; i < flow_sampled_object_count(all.flow); i++) {
        const struct flow_object *object = flow_object(one.flow, i), *same = flow_object(all.flow, i);
        uint32_t pid = flow_process(one.flow, object->process)->pid;
        assert_int_equal(flow_process(all.flow, same->process)->pid, pid);
        assert_int_equal(object->totals.samples, pid == 202 ? same->totals.samples : 0);
        assert_int_equal(flow_object_totals(one.flow, i).samples, object->totals.samples);
    }
    feeding_free(&all);
    feeding_free(&one);
}

static void what_a_left_out_parent_made_counts_for_its_child(void **state)
{
    (void)state;
    struct feeding f = feeding_new(NULL, ASSIGN_PACKED);
    uint64_t frames[] = {0x5000};
    f.flow->only_pid = 200;
    feed_start(&f, PID, 1, false);
    feed_stack(&f, 1, 1, frames);
    feed_alloc(&f, 0x1000, 64, 1);
    feed_alloc(&f, 0x2000, 64, 1);
    feed_read(&f, 0x1000);
    feed_start(&f, 200, PID, true);
    f.pid = f.tid = 200;
    uint32_t used = feed_read(&f, 0x2000);
    feed_free(&f, 0x2000);
    flow_finish(f.flow);
    assert_int_equal(object_of(&f, used)->process, 1);
    assert_int_equal(flow_site(f.flow, 0)->count, 1);
    assert_int_equal(flow_site(f.flow, 0)->peak_bytes, 64);
    assert_int_equal(flow_totals(f.flow).samples, 1);
    feeding_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes_of_one_program_are_a_group),
        cmocka_unit_test(a_parent_may_learn_later_how_a_child_ended),
        cmocka_unit_test(one_process_can_be_counted_by_itself),
        cmocka_unit_test(what_a_left_out_parent_made_counts_for_its_child),
    };
    return cmocka_run_group_tests_name("processes", tests, NULL, NULL);
}
