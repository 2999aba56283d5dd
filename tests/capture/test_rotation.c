/* A recording in several files against the same events in one: merged they are the same, and each file by itself knows what is where at
 * its end. Events of threads come in batches, so that one thread's later ones come before another's earlier ones; one process
 * is a fork of another, whose blocks it has as they were. */
#include "capture/rotate/rotation.h"
#include "trace/merge.h"
#include "trace/reader.h"
#include "trace/event_text.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

enum {
    EVENTS = 24000,
    EACH_FILE = 2500,
    THREADS = 4,
    BATCH = 24,
    ADDRESSES = 256,
    PAGES = 64,
    STACKS = 40,
    FRAMES = 9,
    PARENT = 100,
    CHILD = 200,
    PAGE = 4096,
    HEAP = 0x10000,
    MAPS = 0x7f0000,
};

/* What is where: by address the time at which it came, or 0. */
struct world {
    bool there;
    uint64_t blocks[ADDRESSES], maps[PAGES], homes[PAGES], touches[PAGES], threads[THREADS + 1];
    char name[THREADS + 1][16];
    bool stacks[STACKS + 1];
};

static struct {
    unsigned long random;
    uint64_t time;
    struct sink sink;
    struct rotation rotation;
    struct trace_writer *plain;
    struct event waiting[BATCH];
    char names[BATCH][16];
    unsigned waits, put;
    bool alive[2][THREADS + 1];
    bool defined[2][STACKS + 1], forked;
    char folder[64];
} run;

static unsigned draw(unsigned below)
{
    run.random = run.random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(run.random >> 33) % below;
}

static void put(const struct event *event)
{
    struct error err = {0};
    sink_put(&run.sink, event);
    assert_int_equal(trace_writer_append(run.plain, event, &err), 0);
    run.put++;
}

/* Those of one thread after those of another, each in its own order. */
static void put_waiting(void)
{
    unsigned first = draw(THREADS);
    for (unsigned i = 0; i < THREADS; i++)
        for (unsigned at = 0; at < run.waits; at++)
            if (run.waiting[at].tid % THREADS == (first + i) % THREADS)
                put(&run.waiting[at]);
    run.waits = 0;
}

static void say(struct event event)
{
    event.time = run.time += 1 + draw(1000);
    run.waiting[run.waits] = event;
    if (event.kind == EVENT_THREAD_NAME) {
        memcpy(run.names[run.waits], event.thread.name, 16);
        run.waiting[run.waits].thread.name = run.names[run.waits];
    }
    if (++run.waits == BATCH)
        put_waiting();
}

static void start(uint32_t pid, bool forked)
{
    put_waiting();
    struct event event = {.time = ++run.time, .pid = pid, .tid = pid, .kind = EVENT_PROCESS_START};
    event.process = (struct event_process){forked ? PARENT : 1, forked, "/bin/it", "it"};
    put(&event);
}

/* Many have their outermost frames in common. */
static struct event_stack chain_of(uint32_t pid, uint32_t id, uint64_t frames[FRAMES])
{
    uint16_t depth = 1 + id % FRAMES;
    for (unsigned i = 0; i < depth; i++)
        frames[depth - 1 - i] = i < 2 ? pid : UINT64_MAX / (id + i);
    return (struct event_stack){id, depth, id % 5 == 0, frames};
}

static void define_stack(uint32_t pid, uint32_t id)
{
    bool *defined = &run.defined[pid == CHILD][id];
    uint64_t frames[FRAMES];
    if (*defined)
        return;
    *defined = true;
    struct event event = {.time = 5, .pid = pid, .tid = pid, .kind = EVENT_STACK};
    event.stack = chain_of(pid, id, frames);
    put(&event);
}

static void change_thread(uint32_t pid, uint32_t number)
{
    bool *alive = &run.alive[pid == CHILD][number];
    char name[16];
    struct event event = {.pid = pid, .tid = pid + number, .kind = *alive ? EVENT_THREAD_EXIT : EVENT_THREAD_START};
    event.thread.name = "";
    if (*alive && draw(2)) {
        snprintf(name, sizeof name, "name%u", draw(1000));
        event.kind = EVENT_THREAD_NAME;
        event.thread.name = name;
    } else {
        *alive = !*alive;
    }
    say(event);
}

/* Most are used again soon, some live long. */
static uint64_t address(void)
{
    return HEAP + (draw(8) ? draw(ADDRESSES / 4) : draw(ADDRESSES)) * 16u;
}

static void do_something(void)
{
    uint32_t pid = run.forked && draw(2) ? CHILD : PARENT, tid = pid + 1 + draw(THREADS), stack = 1 + draw(STACKS);
    struct event event = {.pid = pid, .tid = tid};
    uint64_t page = MAPS + (uint64_t)(draw(8) ? draw(PAGES / 4) : draw(PAGES)) * PAGE;
    unsigned what = draw(100);
    if (what < 80)
        define_stack(pid, stack);
    if (what < 35) {
        event.kind = EVENT_ALLOC;
        event.alloc = (struct event_alloc){address(), 8, stack, 1, ALLOC_MALLOC, 0};
    } else if (what < 65) {
        event.kind = EVENT_FREE;
        event.free = (struct event_free){address(), 1, ALLOC_FREE};
    } else if (what < 72) {
        event.kind = EVENT_MAP;
        event.tid = pid + 1; /* one thread: a map's end is not looked for before its beginning */
        event.map = (struct event_map){page, PAGE * (1 + draw(8)), 0, stack, 3, 2, MAP_KIND_ANONYMOUS, ""};
    } else if (what < 76) {
        event.kind = EVENT_UNMAP;
        event.tid = pid + 1;
        event.map = (struct event_map){page, PAGE * (1 + draw(8)), 0, 0, 0, 0, 0, ""};
    } else if (what < 86) {
        event.kind = what < 81 ? EVENT_HOME : EVENT_TOUCH;
        event.tid = pid + 1;
        if (what < 81)
            event.home = (struct event_home){page, PAGE, (int32_t)draw(4)};
        else
            event.touch = (struct event_touch){page + draw(PAGE), 77, 1, true};
    } else if (what < 90) {
        change_thread(pid, 1 + draw(THREADS));
        return;
    } else {
        event.kind = EVENT_SAMPLE;
        event.sample = (struct event_sample){.addr = address(), .stack = stack, .flags = SAMPLE_READ};
    }
    say(event);
}

static void breathe(void *context)
{
    (void)context;
    do_something();
}

static void expect_chain(const struct event *event)
{
    uint64_t frames[FRAMES];
    struct event_stack expected = chain_of(event->pid, event->stack.id, frames);
    assert_int_equal(event->stack.depth, expected.depth);
    assert_int_equal(event->stack.cut, expected.cut);
    assert_memory_equal(event->stack.frames, frames, expected.depth * sizeof *frames);
}

static void see_map(struct world *world, const struct event *event)
{
    uint64_t first = (event->map.addr - MAPS) / PAGE;
    for (uint64_t i = first; i < first + event->map.size / PAGE && i < PAGES; i++) {
        world->maps[i] = event->kind == EVENT_MAP ? event->time : 0;
        world->homes[i] = world->touches[i] = 0;
    }
}

static void see(struct world worlds[2], const struct event *event)
{
    struct world *world = &worlds[event->pid == CHILD];
    unsigned thread = event->tid - event->pid;
    uint64_t *block;
    switch (event->kind) {
    case EVENT_PROCESS_START:
        if (event->process.forked) {
            *world = worlds[0];
            memset(world->homes, 0, sizeof world->homes); /* pages are the parent's until they are its own */
            memset(world->touches, 0, sizeof world->touches);
            memset(world->threads, 0, sizeof world->threads);
            memset(world->name, 0, sizeof world->name);
        }
        world->there = true;
        break;
    case EVENT_STACK:
        expect_chain(event);
        world->stacks[event->stack.id] = true;
        break;
    case EVENT_ALLOC:
    case EVENT_FREE:
        block = &world->blocks[((event->kind == EVENT_ALLOC ? event->alloc.addr : event->free.addr) - HEAP) / 16];
        *block = event->kind == EVENT_ALLOC ? event->time << 8 | event->alloc.stack : 0;
        break;
    case EVENT_MAP:
    case EVENT_UNMAP:
        see_map(world, event);
        break;
    case EVENT_HOME:
        world->homes[(event->home.page - MAPS) / PAGE] = event->time << 8 | (uint64_t)event->home.node;
        break;
    case EVENT_TOUCH:
        world->touches[(event->touch.addr - MAPS) / PAGE] = event->touch.addr;
        break;
    case EVENT_THREAD_START:
        world->threads[thread] = event->time;
        break;
    case EVENT_THREAD_EXIT:
        world->threads[thread] = 0;
        memset(world->name[thread], 0, sizeof world->name[thread]);
        break;
    case EVENT_THREAD_NAME:
        snprintf(world->name[thread], sizeof world->name[thread], "%s", event->thread.name);
        break;
    default:
        break;
    }
}

static struct trace_reader *open_trace(const char *path)
{
    struct error err = {0};
    struct trace_reader *reader = trace_reader_open(path, &err);
    if (!reader)
        fail_msg("%s", err.text);
    assert_null(trace_reader_damage(reader));
    return reader;
}

/* What is where after all events of a file; how many samples it has. */
static uint64_t world_after(const char *path, struct world worlds[2])
{
    struct trace_reader *reader = open_trace(path);
    struct event event;
    memset(worlds, 0, 2 * sizeof *worlds);
    while (trace_reader_next(reader, &event, NULL) == 1)
        see(worlds, &event);
    uint64_t samples = trace_reader_count(reader, EVENT_SAMPLE);
    trace_reader_close(reader);
    return samples;
}

/* The events of a file, one line each. */
static char *lines_of(const char *path)
{
    struct trace_reader *reader = open_trace(path);
    struct event event;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    while (trace_reader_next(reader, &event, NULL) == 1) {
        event_print(out, &event);
        fputc('\n', out);
    }
    fclose(out);
    trace_reader_close(reader);
    return text;
}

static void path_of(char *path, const char *name)
{
    snprintf(path, 128, "%s/%s", run.folder, name);
}

static void begin(const struct capture_options *options)
{
    struct error err = {0};
    struct trace_session *session = trace_session_new();
    char plain[128];
    memset(&run, 0, sizeof run);
    snprintf(run.folder, sizeof run.folder, "/tmp/test-rotation-XXXXXX");
    assert_non_null(mkdtemp(run.folder));
    char output[128];
    path_of(output, "it.data");
    path_of(plain, "plain.data");
    struct capture_options named = *options;
    named.output = output;
    run.random = 42;
    run.time = 1000;
    run.sink.carried = carried_new(false);
    trace_session_set(session, "command", "it");
    run.plain = trace_writer_open(plain, session, &err);
    assert_non_null(run.plain);
    assert_int_equal(rotation_start(&run.rotation, &named, session, &run.sink, run.time, &err), 0);
    run.rotation.breath = 32;
}

static void end(void)
{
    char command[128];
    rotation_free(&run.rotation);
    carried_free(run.sink.carried);
    snprintf(command, sizeof command, "rm -r %s", run.folder);
    assert_int_equal(system(command), 0);
}

static struct trace_session *ending(bool last)
{
    struct trace_session *session = trace_session_new();
    trace_session_set(session, "samples", "10");
    if (!last)
        trace_session_set(session, "next_part", "2");
    return session;
}

static void turn(void)
{
    struct trace_session *figures = ending(false);
    rotation_prepare(&run.rotation, run.time, breathe, NULL);
    rotation_switch(&run.rotation, figures, run.time);
    trace_session_free(figures);
}

static void files_have_what_one_has(void **state)
{
    (void)state;
    struct error err = {0};
    struct world(*truth)[2] = calloc(EVENTS / EACH_FILE + 2, sizeof *truth), found[2];
    char path[128], merged[128];
    begin(&(struct capture_options){.rotate_ns = 1});
    start(PARENT, false);
    unsigned files = 0;
    path_of(path, "plain.data");
    while (run.put < EVENTS) {
        do_something();
        if (!run.forked && run.put > EVENTS / 3) {
            start(CHILD, true);
            run.forked = true;
        }
        if (run.put >= EACH_FILE * (files + 1)) {
            turn();
            assert_int_equal(trace_writer_flush(run.plain, &err), 0);
            /* The plain file has no end yet, and all events so far. */
            struct trace_reader *reader = trace_reader_open(path, &err);
            struct event event;
            while (trace_reader_next(reader, &event, NULL) == 1)
                see(truth[files], &event);
            trace_reader_close(reader);
            files++;
        }
    }
    put_waiting();
    struct trace_session *figures = ending(true);
    rotation_finish(&run.rotation, figures, run.time);
    assert_int_equal(trace_writer_close(run.plain, figures, &err), 0);
    trace_session_free(figures);
    assert_int_equal(run.rotation.files.count, files + 1);
    assert_int_equal(run.rotation.failure.code, 0);

    uint64_t samples = 0, all = world_after(path, truth[files]);
    const char *paths[EVENTS / EACH_FILE + 2];
    for (unsigned i = 0; i <= files; i++) {
        paths[files - i] = run.rotation.files.items[i].path; /* in any order */
        samples += world_after(run.rotation.files.items[i].path, found);
        for (unsigned which = 0; which < 2; which++) {
            assert_memory_equal(found[which].blocks, truth[i][which].blocks, sizeof found[which].blocks);
            assert_memory_equal(found[which].maps, truth[i][which].maps, sizeof found[which].maps);
            assert_memory_equal(found[which].homes, truth[i][which].homes, sizeof found[which].homes);
            assert_memory_equal(found[which].touches, truth[i][which].touches, sizeof found[which].touches);
            assert_memory_equal(found[which].threads, truth[i][which].threads, sizeof found[which].threads);
            assert_memory_equal(found[which].name, truth[i][which].name, sizeof found[which].name);
            assert_memory_equal(found[which].stacks, truth[i][which].stacks, sizeof found[which].stacks);
            assert_int_equal(found[which].there, truth[i][which].there);
        }
    }
    assert_int_equal(samples, all);

    struct trace_merged about;
    path_of(merged, "merged.data");
    if (trace_merge(paths, files + 1, merged, &about, &err) < 0)
        fail_msg("%s", err.text);
    assert_true(about.first == 1 && about.last == files + 1 && about.ended);
    char *one = lines_of(path), *many = lines_of(merged);
    assert_string_equal(one, many);
    struct trace_reader *reader = open_trace(merged);
    assert_int_equal(trace_session_number(trace_reader_ending(reader), "samples", 0), 10 * (files + 1));
    trace_reader_close(reader);
    free(one);
    free(many);
    free(truth);
    end();
}

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

static void old_files_are_removed_and_only_those_of_the_run(void **state)
{
    (void)state;
    struct error err = {0};
    char path[128], other[128];
    begin(&(struct capture_options){.rotate_ns = 1, .keep = 2});
    start(PARENT, false);
    for (unsigned i = 0; i < 3; i++)
        turn();
    path_of(path, "it.000001.data");
    assert_false(exists(path));
    /* Another run's file in the place of one of ours stays. */
    path_of(other, "it.000002.data");
    FILE *file = fopen(other, "w");
    assert_non_null(file);
    fclose(file);
    path_of(path, "it.000003.data");
    struct stat mode;
    assert_int_equal(stat(path, &mode), 0);
    assert_int_equal(mode.st_mode & 0777, 0600);
    assert_int_equal(unlink(path), 0); /* and one that somebody removed is no error */
    for (unsigned i = 0; i < 3; i++)
        turn();
    assert_int_equal(run.rotation.files.count, 2);
    assert_int_equal(run.rotation.removed, 4);
    assert_int_equal(run.rotation.failure.code, 0);
    struct trace_session *figures = ending(true);
    rotation_finish(&run.rotation, figures, run.time);
    trace_session_free(figures);
    assert_int_equal(trace_writer_close(run.plain, NULL, &err), 0);
    assert_int_equal(run.rotation.removed, 5);
    end();
}

static void a_folder_that_is_gone_for_a_while_costs_its_files_only(void **state)
{
    (void)state;
    struct error err = {0};
    char away[128], path[128];
    begin(&(struct capture_options){.rotate_ns = 1});
    start(PARENT, false);
    for (unsigned i = 0; i < 2000; i++)
        do_something();
    turn();
    snprintf(away, sizeof away, "%s.away", run.folder);
    assert_int_equal(rename(run.folder, away), 0);
    turn(); /* file 2 cannot get its name, 3 cannot be created */
    for (unsigned i = 0; i < 2000; i++)
        do_something();
    put_waiting();
    assert_null(run.sink.writer);
    assert_true(run.rotation.failure.code < 0);
    assert_int_equal(rename(away, run.folder), 0);
    turn();
    assert_non_null(run.sink.writer);
    assert_true(run.rotation.unwritten >= 2000);
    struct trace_session *figures = ending(true);
    rotation_finish(&run.rotation, figures, run.time);
    assert_int_equal(trace_writer_close(run.plain, figures, &err), 0);
    trace_session_free(figures);

    /* What happened meanwhile is known in the next one. */
    struct world truth[2], found[2];
    path_of(path, "plain.data");
    world_after(path, truth);
    path_of(path, "it.000004.data");
    world_after(path, found);
    assert_memory_equal(found[0].blocks, truth[0].blocks, sizeof found[0].blocks);
    assert_memory_equal(found[0].maps, truth[0].maps, sizeof found[0].maps);
    char first[128], merged[128];
    path_of(first, "it.000001.data");
    path_of(merged, "merged.data");
    const char *paths[] = {first, path};
    assert_int_equal(trace_merge(paths, 2, merged, NULL, &err), -EINVAL);
    assert_non_null(strstr(err.text, "files 2 to 3 of the run are missing"));
    assert_false(exists(merged));
    end();
}

static void files_of_other_runs_are_refused(void **state)
{
    (void)state;
    struct error err = {0};
    char first[128], copy[128], plain[128], merged[128], command[400];
    begin(&(struct capture_options){.rotate_ns = 1});
    start(PARENT, false);
    turn();
    path_of(first, "it.000001.data");
    path_of(copy, "copy.data");
    path_of(plain, "plain.data");
    path_of(merged, "merged.data");
    assert_int_equal(trace_writer_close(run.plain, NULL, &err), 0);
    snprintf(command, sizeof command, "cp %s %s", first, copy);
    assert_int_equal(system(command), 0);
    assert_int_equal(trace_merge((const char *const[]){first, copy}, 2, merged, NULL, &err), -EINVAL);
    assert_non_null(strstr(err.text, "both have file 1 of the run"));
    assert_int_equal(trace_merge((const char *const[]){first, plain}, 2, merged, NULL, &err), -EINVAL);
    assert_non_null(strstr(err.text, "plain.data is a recording of its own"));
    char *one = trace_run_of(first), *same = trace_run_of(copy);
    assert_string_equal(one, same);
    assert_null(trace_run_of(plain));
    assert_null(trace_run_of("/nowhere"));
    free(one);
    free(same);

    struct rotation again;
    struct sink sink = {.carried = run.sink.carried};
    struct capture_options options = {.rotate_ns = 1, .output = copy};
    assert_int_equal(rotation_start(&again, &options, trace_session_new(), &sink, run.time, &err), 0);
    struct trace_session *figures = ending(true);
    rotation_finish(&again, figures, run.time);
    const char *paths[] = {first, again.files.items[0].path};
    assert_int_equal(trace_merge(paths, 2, merged, NULL, &err), -EINVAL);
    assert_non_null(strstr(err.text, "are of different runs"));
    assert_false(exists(merged));
    rotation_free(&again);
    rotation_finish(&run.rotation, figures, run.time);
    trace_session_free(figures);
    end();
}

static unsigned pools, pooled;
static uint64_t pooled_at;

static void count_pooled(void *context, const struct event *event)
{
    (void)context;
    pools += event->kind == EVENT_POOL;
    pooled += event->kind == EVENT_POOL_ALLOC;
    pooled_at = event->kind == EVENT_POOL_ALLOC ? event->alloc.addr : pooled_at;
}

static void expect_pooled(struct carried *carried, unsigned wanted_pools, unsigned wanted, uint64_t last)
{
    pools = pooled = 0;
    pooled_at = 0;
    carried_replay(carried, &(struct carried_taker){NULL, count_pooled, 0, NULL});
    assert_int_equal(pools, wanted_pools);
    assert_int_equal(pooled, wanted);
    assert_int_equal(pooled_at, last);
}

static void pool_event(struct carried *carried, uint64_t time, enum pool_change change, uint64_t handle,
                       uint64_t parent)
{
    struct event event = {.time = time, .pid = PARENT, .tid = PARENT, .kind = EVENT_POOL};
    event.pool = (struct event_pool){handle, parent, (uint8_t)change, ALLOC_CUSTOM_FIRST};
    carried_see(carried, &event);
}

static void pool_alloc(struct carried *carried, uint64_t time, uint64_t addr, uint64_t pool)
{
    struct event event = {.time = time, .pid = PARENT, .tid = PARENT, .kind = EVENT_POOL_ALLOC};
    event.alloc = (struct event_alloc){addr, 16, 1, 0, ALLOC_CUSTOM_FIRST, pool};
    carried_see(carried, &event);
}

static void objects_of_pools_end_with_them_and_with_their_block(void **state)
{
    (void)state;
    struct carried *carried = carried_new(false);
    struct event block = {.time = 1, .pid = PARENT, .tid = PARENT, .kind = EVENT_ALLOC};
    block.alloc = (struct event_alloc){HEAP, 4096, 1, 0, ALLOC_MALLOC, 0};
    carried_see(carried, &block);
    pool_event(carried, 2, POOL_CREATED, 500, 0);
    pool_event(carried, 3, POOL_CREATED, 600, 500);
    pool_alloc(carried, 4, HEAP + 16, 500);
    pool_alloc(carried, 5, HEAP + 32, 600);
    pool_alloc(carried, 6, HEAP + 48, 0);
    expect_pooled(carried, 2, 3, HEAP + 48);
    pool_event(carried, 7, POOL_FREED, HEAP + 48, 0);
    expect_pooled(carried, 2, 2, HEAP + 32);
    pool_event(carried, 8, POOL_CLEARED, 500, 0); /* its objects and its child */
    expect_pooled(carried, 1, 0, 0);
    pool_alloc(carried, 9, HEAP + 64, 500);
    expect_pooled(carried, 1, 1, HEAP + 64);
    struct event end_of_block = {.time = 10, .pid = PARENT, .tid = PARENT, .kind = EVENT_FREE};
    end_of_block.free = (struct event_free){HEAP, 0, ALLOC_FREE};
    carried_see(carried, &end_of_block);
    block.time = 11;
    carried_see(carried, &block); /* another block in its place */
    expect_pooled(carried, 1, 0, 0);
    expect_pooled(carried, 1, 0, 0); /* a pool is there without objects */
    pool_event(carried, 12, POOL_DESTROYED, 500, 0);
    expect_pooled(carried, 0, 0, 0);
    carried_free(carried);
}

static void memory_up_to_the_last_address_can_be_unmapped(void **state)
{
    (void)state;
    struct carried *carried = carried_new(false);
    struct event touch = {.time = 1, .pid = PARENT, .tid = PARENT, .kind = EVENT_TOUCH};
    for (uint64_t page = 0; page < 8; page++) {
        touch.touch.addr = page * PAGE;
        carried_see(carried, &touch);
    }
    struct event unmap = {.time = 2, .pid = PARENT, .tid = PARENT, .kind = EVENT_UNMAP};
    unmap.map = (struct event_map){.addr = -4096ul, .size = 4000, .path = ""};
    carried_see(carried, &unmap); /* once went on from page 0, for ever */
    carried_free(carried);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_have_what_one_has),
        cmocka_unit_test(old_files_are_removed_and_only_those_of_the_run),
        cmocka_unit_test(a_folder_that_is_gone_for_a_while_costs_its_files_only),
        cmocka_unit_test(files_of_other_runs_are_refused),
        cmocka_unit_test(memory_up_to_the_last_address_can_be_unmapped),
        cmocka_unit_test(objects_of_pools_end_with_them_and_with_their_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
