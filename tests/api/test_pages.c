/* Pages in use as rows: from faults, and from samples where there are none. */
#include "made_up.h"
#include "numalens/pages.h"

enum { FRAME = 0x12345000, INTERVAL = 50 };

static char faults_path[64];

static void used(struct trace_writer *writer, uint64_t time, uint32_t tid, uint64_t page, uint32_t reads,
                 uint32_t writes)
{
    struct event event = {.time = time, .pid = PID, .tid = tid, .kind = EVENT_PAGE};
    event.page = (struct event_page){.page = page,
                                     .size = 4096,
                                     .physical = FRAME + page,
                                     .until = time + INTERVAL,
                                     .reads = reads,
                                     .writes = writes,
                                     .mechanism = PAGE_UFFD_WP};
    assert_int_equal(trace_writer_append(writer, &event, NULL), 0);
}

static int write_faults(void **state)
{
    (void)state;
    snprintf(faults_path, sizeof faults_path, "/tmp/numalens-test-pages-%d.data", (int)getpid());
    struct trace_session *session = trace_session_new();
    struct trace_writer *writer = trace_writer_open(faults_path, session, NULL);
    trace_session_free(session);
    assert_non_null(writer);
    made_up_add(writer, (struct event){.time = 1, .kind = EVENT_PROCESS_START, .process = {.exe = "/bin/it"}});
    made_up_add(writer, (struct event){.time = 2, .kind = EVENT_THREAD_START, .thread = {.name = "main"}});
    made_up_add(writer,
                (struct event){.time = 3, .tid = PID + 1, .kind = EVENT_THREAD_START, .thread = {.name = "worker"}});
    made_up_add(writer, (struct event){.time = 20, .kind = EVENT_ALLOC, .alloc = {.addr = A, .size = 2 * SIZE}});
    used(writer, 100, PID, A, 0, 3);
    used(writer, 100, PID, A + SIZE, 0, 1);
    used(writer, 150, PID + 1, A, 2, 0);
    used(writer, 200, 0, A, 0, 1);
    assert_int_equal(trace_writer_close(writer, NULL, NULL), 0);
    return made_up_write(state);
}

static int remove_both(void **state)
{
    unlink(faults_path);
    return made_up_remove(state);
}

static void from_faults(void **state)
{
    (void)state;
    nlens_trace *trace = nlens_open(faults_path, NULL);
    assert_non_null(trace);
    assert_int_equal(nlens_find_pages(trace, NULL), 0);
    assert_false(nlens_pages_from_samples(trace));
    const nlens_page *first = nlens_next_page(trace, NULL), *second = nlens_next_page(trace, first);
    assert_non_null(second);
    assert_null(nlens_next_page(trace, second));
    assert_int_equal(first->page, A);
    assert_int_equal(first->size, 4096);
    assert_int_equal(first->physical, FRAME + A);
    assert_int_equal(first->process->pid, PID);
    assert_non_null(first->object);
    assert_int_equal(first->object->address, A);
    assert_int_equal(first->intervals, 3);
    assert_int_equal(first->first, 100);
    assert_int_equal(first->last, 200 + INTERVAL);
    unsigned users = 0, not_reported = 0;
    nlens_foreach_page_user (first, u) {
        users++;
        if (!u->thread) {
            not_reported++;
            assert_int_equal(u->writes, 1);
        } else {
            assert_int_equal(u->writes, u->thread->tid == PID ? 3 : 0);
            assert_int_equal(u->reads, u->thread->tid == PID ? 0 : 2);
        }
    }
    assert_int_equal(users, 3);
    assert_int_equal(not_reported, 1);
    assert_int_equal(second->page, A + SIZE);
    assert_non_null(second->users);
    assert_null(second->users->next);
    assert_string_equal(second->users->thread->name, "main");
    nlens_close(trace);
}

static void from_samples(void **state)
{
    (void)state;
    nlens_trace *trace = made_up_open("numa:3 core:1");
    assert_true(nlens_pages_from_samples(trace));
    uint64_t uses = 0;
    nlens_foreach_page (trace, p) {
        assert_int_equal(p->physical, 0);
        assert_int_equal(p->physical_node, -1);
        nlens_foreach_page_user (p, u)
            uses += u->reads + u->writes + u->unknown;
    }
    assert_int_equal(uses, ALL);
    nlens_close(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(from_faults), cmocka_unit_test(from_samples)};
    return cmocka_run_group_tests_name("pages of the library", tests, write_faults, remove_both);
}
