/* The draining end of rings, with made-up producers in place of agents. */
#include "capture/agent/agent_source.h"
#include "base/clock.h"
#include "producer.h"
#include "trace/reader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <pthread.h>
#include <sys/wait.h>
#include <cmocka.h>

enum { PAIRS = 400000, THREADS = 2, MEMORY = 64 << 20 };

struct bench {
    char path[40];
    struct capture_options options;
    struct topology topology;
    struct capture_region region;
    struct counter_clock clock;
    struct sink sink;
    struct process_table processes;
    struct agent_source *agents;
};

static int set_up(void **state)
{
    struct bench *bench = calloc(1, sizeof *bench);
    strcpy(bench->path, "/tmp/numalens-test-XXXXXX");
    int fd = mkstemp(bench->path);
    if (fd < 0)
        return -1;
    close(fd);
    struct error err;
    bench->options = (struct capture_options){.memory = MEMORY, .topology = &bench->topology};
    if (capture_region_make(&bench->region, &bench->options, false, &err) < 0)
        return -1;
    struct trace_session *session = trace_session_new();
    bench->sink.writer = trace_writer_open(bench->path, session, &err);
    trace_session_free(session);
    counter_clock_start(&bench->clock, true); /* times are nanoseconds already */
    process_table_init(&bench->processes, &bench->sink, MEMORY / 16);
    bench->agents = agent_source_new(&bench->region, &bench->processes, &bench->sink, &bench->clock, NULL, MEMORY / 16);
    *state = bench;
    return bench->sink.writer ? 0 : -1;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;
    agent_source_free(bench->agents);
    process_table_free(&bench->processes);
    if (bench->sink.writer)
        trace_writer_close(bench->sink.writer, NULL, NULL);
    capture_region_free(&bench->region);
    unlink(bench->path);
    free(bench);
    return 0;
}

static struct trace_reader *read_back(struct bench *bench)
{
    struct error err;
    struct trace_session *ending = trace_session_new();
    agent_source_free(bench->agents);
    bench->agents = NULL;
    assert_int_equal(trace_writer_close(bench->sink.writer, ending, &err), 0);
    bench->sink.writer = NULL;
    trace_session_free(ending);
    struct trace_reader *reader = trace_reader_open(bench->path, &err);
    assert_non_null(reader);
    assert_null(trace_reader_damage(reader));
    return reader;
}

static void drain_all(struct bench *bench)
{
    for (int round = 0; round < 20; round++)
        agent_source_drain(bench->agents, clock_now_ns());
}

struct worker {
    struct bench *bench;
    pthread_t thread;
    unsigned number;
    uint64_t sum;
};

static void *produce(void *argument)
{
    struct worker *worker = argument;
    struct fake_agent agent;
    uint64_t frames[4] = {0x1000 + worker->number, 2, 3, 4};
    fake_claim(&agent, worker->bench->region.map, (uint32_t)getpid(), (uint32_t)syscall(SYS_gettid), 1);
    if (worker->number == 0)
        fake_process(&agent, 1, 0, false);
    uint32_t own = fake_stack(&agent, frames, 4);
    frames[0] = 0x9999;
    uint32_t shared = fake_stack(&agent, frames, 4);
    for (uint64_t i = 0; i < PAIRS; i++) {
        uint64_t addr = ((uint64_t)worker->number << 40) + i * 16;
        fake_alloc(&agent, 1000 + i * 2, addr, i % 200, i % 2 ? own : shared);
        fake_free(&agent, 1001 + i * 2, addr);
        worker->sum += addr + i % 200;
    }
    fake_close(&agent);
    return NULL;
}

static void nothing_is_lost_at_full_speed(void **state)
{
    struct bench *bench = *state;
    struct worker workers[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.bench = bench, .number = i};
        pthread_create(&workers[i].thread, NULL, produce, &workers[i]);
    }
    size_t most = 0;
    while (bench->sink.counts[EVENT_FREE] < (uint64_t)PAIRS * THREADS) {
        if (agent_source_drain(bench->agents, clock_now_ns()) < 4096)
            agent_source_sleep(bench->agents, 10000000);
        size_t held = trace_writer_pending(bench->sink.writer) + agent_source_memory(bench->agents) +
                      process_table_memory(&bench->processes);
        most = held > most ? held : most;
    }
    uint64_t sum = 0, read = 0;
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        sum += workers[i].sum;
    }
    drain_all(bench);
    assert_true(most < MEMORY / 4);
    for (uint32_t i = 0; i < bench->region.map->ring_count; i++)
        assert_int_equal(atomic_load(&wire_ring_at(bench->region.map, i)->state), WIRE_RING_FREE);

    struct trace_reader *reader = read_back(bench);
    struct error err;
    struct event event;
    uint64_t last = 0, live = 0;
    uint32_t stacks[3] = {0}, stack_count = 0;
    while (trace_reader_next(reader, &event, &err) == 1) {
        assert_true(event.time >= last);
        last = event.time;
        if (event.kind == EVENT_STACK) {
            assert_true(stack_count < 3);
            stacks[stack_count++] = event.stack.id;
        } else if (event.kind == EVENT_ALLOC) {
            read += event.alloc.addr + event.alloc.size;
            bool defined = false;
            for (uint32_t i = 0; i < stack_count; i++)
                defined = defined || stacks[i] == event.alloc.stack;
            assert_true(defined);
            live++;
        } else if (event.kind == EVENT_FREE) {
            live--;
        }
    }
    assert_int_equal(stack_count, 3); /* one of each thread, and one that both share */
    assert_int_equal(live, 0);
    assert_int_equal(read, sum);
    trace_reader_close(reader);
}

static void a_ring_with_nonsense_is_given_up_and_drained(void **state)
{
    struct bench *bench = *state;
    struct fake_agent bad, good;
    uint32_t pid = (uint32_t)getpid();
    fake_claim(&bad, bench->region.map, pid, pid, 1);
    fake_process(&bad, 1, 0, false);
    fake_alloc(&bad, 2, 64, 8, 0);
    struct wire_alloc *record = fake_reserve(&bad, 4);
    record->head.type = WIRE_TYPES + 3;
    fake_commit(&bad, 4);
    fake_alloc(&bad, 3, 128, 8, 0);
    fake_claim(&good, bench->region.map, pid, pid, 1);
    fake_alloc(&good, 4, 256, 8, 0);
    drain_all(bench);
    assert_int_equal(agent_source_totals(bench->agents)->corrupt, 1);
    assert_int_equal(bench->sink.counts[EVENT_ALLOC], 2);
    /* Its producer is not held up. */
    for (int i = 0; i < 100000; i++) {
        fake_alloc(&bad, 5, 512, 8, 0);
        if (i % 1000 == 0)
            drain_all(bench);
    }
    drain_all(bench);
    assert_int_equal(bench->sink.counts[EVENT_ALLOC], 2);
}

static void any_bytes_in_a_ring_do_no_harm(void **state)
{
    struct bench *bench = *state;
    uint64_t random = 88172645463325252u;
    uint32_t pid = (uint32_t)getpid();
    for (int round = 0; round < 3000; round++) {
        struct fake_agent agent;
        fake_claim(&agent, bench->region.map, pid, pid, 1);
        if (round == 0)
            fake_process(&agent, 1, 0, false);
        unsigned words = 2 + (unsigned)(random % 200);
        uint64_t *bytes = fake_reserve(&agent, words);
        for (unsigned i = 0; i < words; i++) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            bytes[i] = random;
        }
        /* Most look like a record at first sight. */
        ((struct wire_head *)bytes)->type = (uint8_t)(random % (WIRE_TYPES + 1));
        ((struct wire_head *)bytes)->words = (uint8_t)(random % 7 ? words : random >> 8);
        if (random % 11 == 0)
            atomic_store(&agent.producer.ring->head, random);
        else
            wire_ring_commit(&agent.producer, words);
        fake_close(&agent);
        drain_all(bench);
        assert_int_equal(atomic_load(&agent.producer.ring->state), WIRE_RING_FREE);
    }
    trace_reader_close(read_back(bench));
}

static void rings_of_the_dead_are_freed(void **state)
{
    struct bench *bench = *state;
    pid_t child = fork();
    if (child == 0) {
        struct fake_agent agent;
        fake_claim(&agent, bench->region.map, (uint32_t)getpid(), (uint32_t)getpid(), 7);
        fake_process(&agent, 1, 0, false);
        fake_alloc(&agent, 2, 64, 8, 0);
        kill(getpid(), SIGKILL);
    }
    waitpid(child, NULL, 0);
    agent_source_drain(bench->agents, clock_now_ns());
    assert_int_equal(bench->sink.counts[EVENT_ALLOC], 1);
    assert_int_equal(bench->sink.counts[EVENT_THREAD_EXIT], 0);
    agent_source_tend(bench->agents, clock_now_ns());
    assert_int_equal(atomic_load(&wire_ring_at(bench->region.map, 0)->state), WIRE_RING_FREE);
    assert_int_equal(bench->sink.counts[EVENT_THREAD_EXIT], 1);
    assert_int_equal(bench->sink.counts[EVENT_PROCESS_EXIT], 1);
    assert_true(process_find(&bench->processes, (uint32_t)child)->ended);
}

static void a_program_replaced_by_exec_loses_its_rings(void **state)
{
    struct bench *bench = *state;
    uint32_t pid = (uint32_t)getpid();
    struct fake_agent old, new;
    fake_claim(&old, bench->region.map, pid, pid, 1);
    fake_process(&old, 1, 0, false);
    fake_alloc(&old, 2, 64, 8, 0);
    fake_claim(&new, bench->region.map, pid, pid, 2);
    fake_process(&new, 10, 0, false);
    drain_all(bench);
    agent_source_tend(bench->agents, clock_now_ns());
    assert_int_equal(atomic_load(&old.producer.ring->state), WIRE_RING_FREE);
    assert_int_equal(atomic_load(&new.producer.ring->state), WIRE_RING_CLAIMED);
    assert_int_equal(bench->sink.counts[EVENT_PROCESS_START], 2);
}

static void a_forked_child_keeps_its_parents_numbers_free(void **state)
{
    struct bench *bench = *state;
    uint32_t pid = (uint32_t)getpid();
    uint64_t frames[2] = {1, 2};
    struct fake_agent parent, child;
    /* The child's ring comes first: it must not be drained before what its parent did before the fork. */
    fake_claim(&child, bench->region.map, pid + 1, pid + 1, 2);
    fake_claim(&parent, bench->region.map, pid, pid, 1);
    fake_process(&parent, 1, 0, false);
    agent_source_drain(bench->agents, clock_now_ns());
    fake_stack(&parent, frames, 2);
    fake_process(&child, 5, pid, true);
    frames[0] = 77;
    fake_stack(&child, frames, 2);
    fake_alloc(&child, 6, 64, 8, 1);
    drain_all(bench);
    struct trace_reader *reader = read_back(bench);
    struct error err;
    struct event event;
    while (trace_reader_next(reader, &event, &err) == 1) {
        if (event.kind == EVENT_STACK)
            assert_int_equal(event.stack.id, event.pid == pid ? 1 : 2);
        if (event.kind == EVENT_ALLOC)
            assert_int_equal(event.alloc.stack, 2);
    }
    trace_reader_close(reader);
}

static void losses_are_reported_once(void **state)
{
    struct bench *bench = *state;
    uint32_t pid = (uint32_t)getpid();
    struct fake_agent agent;
    fake_claim(&agent, bench->region.map, pid, pid, 1);
    fake_process(&agent, 1, 0, false);
    struct wire_counters *counters = &agent.producer.ring->counters;
    atomic_store(&counters->lost[LOSS_TICK_BUSY], 5);
    atomic_store(&counters->ticks, 100);
    atomic_store(&bench->region.map->shared.lost[LOSS_NO_RING], 3);
    drain_all(bench);
    agent_source_tend(bench->agents, 10);
    agent_source_tend(bench->agents, 20);
    atomic_store(&counters->lost[LOSS_TICK_BUSY], 7);
    fake_close(&agent);
    drain_all(bench);
    assert_int_equal(agent_source_totals(bench->agents)->ticks, 100);
    assert_int_equal(bench->sink.lost[LOSS_TICK_BUSY], 7);
    assert_int_equal(bench->sink.lost[LOSS_NO_RING], 3);
    assert_int_equal(bench->sink.counts[EVENT_LOSS], 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_is_lost_at_full_speed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_ring_with_nonsense_is_given_up_and_drained, set_up, tear_down),
        cmocka_unit_test_setup_teardown(any_bytes_in_a_ring_do_no_harm, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rings_of_the_dead_are_freed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_program_replaced_by_exec_loses_its_rings, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_forked_child_keeps_its_parents_numbers_free, set_up, tear_down),
        cmocka_unit_test_setup_teardown(losses_are_reported_once, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("drain", tests, NULL, NULL);
}
