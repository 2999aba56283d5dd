/* When memory runs out, calls fail and the program goes on: each allocation in turn fails, of the library's own and of those
 * below it, and everything is given back. */
#include "failing_malloc.h"
#include "spared_hwloc.h"
#include "made_up.h"

#include "numalens/findings.h"
#include "numalens/pages.h"

#include <dirent.h>

/* Called by libdw, which does not look at what it returns. */
without_failing(void *, tsearch, (const void *key, void **root, int (*compare)(const void *, const void *)), key, root,
                compare)

    static char own_path[4096];

/* The program itself, so that there are symbols and debug information to read. */
static void add_module(struct trace_writer *writer)
{
    ssize_t size = readlink("/proc/self/exe", own_path, sizeof own_path - 1);
    assert_true(size > 0);
    made_up_add(writer,
                (struct event){.time = 4,
                               .kind = EVENT_MODULE_LOAD,
                               .module = {.bias = 0x400000, .start = 0x400000, .end = 0x800000, .path = own_path}});
}

static uint64_t place_of(const void *function)
{
    extern const char __ehdr_start[];
    return 0x400000 + (uint64_t)((const char *)function - __ehdr_start);
}

int main(int argc, char **argv);

static char path[64];

static int write_trace(void **state)
{
    (void)state;
    const uint64_t frames[] = {place_of((const void *)add_module) + 8, place_of((const void *)main) + 8};
    snprintf(path, sizeof path, "/tmp/numalens-test-memory-%d.data", (int)getpid());
    struct trace_session *session = trace_session_new();
    trace_session_set(session, "latency_unit", "ns");
    struct trace_writer *writer = trace_writer_open(path, session, NULL);
    assert_non_null(writer);
    made_up_add(writer, (struct event){.time = 1, .kind = EVENT_PROCESS_START, .process = {.exe = "/bin/it"}});
    made_up_add(writer, (struct event){.time = 2, .kind = EVENT_THREAD_START, .thread = {.name = "main"}});
    made_up_add(writer, (struct event){.time = 3, .tid = PID + 1, .kind = EVENT_THREAD_START, .thread = {.name = "a"}});
    add_module(writer);
    made_up_add(writer,
                (struct event){.time = 5, .kind = EVENT_STACK, .stack = {.id = 1, .depth = 2, .frames = frames}});
    made_up_add(writer,
                (struct event){.time = 20, .kind = EVENT_ALLOC, .alloc = {.addr = A, .size = SIZE, .stack = 1}});
    for (uint32_t i = 0; i < SHARED; i++)
        made_up_add(writer, (struct event){.time = 100 + i,
                                           .tid = PID + 1,
                                           .kind = EVENT_SAMPLE,
                                           .sample = {.addr = A + i % 64 * 8,
                                                      .latency = 200,
                                                      .size = 8,
                                                      .stack = 1,
                                                      .flags = SAMPLE_READ | SAMPLE_HAS_LATENCY}});
    assert_int_equal(trace_writer_close(writer, session, NULL), 0);
    trace_session_free(session);
    return 0;
}

static int remove_trace(void **state)
{
    (void)state;
    return unlink(path);
}

static unsigned descriptors(void)
{
    unsigned count = 0;
    DIR *folder = opendir("/proc/self/fd");
    assert_non_null(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

static int keep(const nlens_object *object, void *context)
{
    return object != NULL && context == NULL;
}

/* Everything that a program may ask for. Returns what it counted, for comparison. */
static uint64_t read_all(nlens_trace *trace)
{
    uint64_t sum = 0;
    nlens_error err;
    sum += nlens_info(trace, "latency_unit") != NULL;
    sum += nlens_damage(trace) != NULL;
    nlens_foreach_site (trace, s) {
        sum += s->totals.samples;
        nlens_foreach_frame (nlens_site_frames(s), f)
            sum += f->line;
    }
    nlens_foreach_object (trace, o) {
        sum += o->totals.samples + *nlens_fit(trace, o->label, 10);
        nlens_foreach_object_access (o, a) {
            const nlens_function *function = nlens_access_function(a);
            sum += a->write + (function ? function->line : 0);
            nlens_foreach_frame (nlens_access_frames(a), f)
                sum += f->line;
        }
        const nlens_facts *facts = nlens_object_facts(o);
        sum += facts ? facts->pages : 0;
    }
    nlens_foreach_thread (trace, t)
        nlens_foreach_thread_access (t, a)
            sum += a->remote;
    nlens_foreach_function (trace, f)
        sum += f->totals.samples;
    nlens_foreach_finding (trace, f)
        sum += f->remote_samples;
    sum += nlens_numa_bound(trace, NULL);
    nlens_foreach_page (trace, p)
        nlens_foreach_page_user (p, u)
            sum += u->reads;
    nlens_group *group = nlens_group_new(trace);
    if (group) {
        size_t count = 0;
        nlens_group_filter(group, "access=remote,read", &err);
        nlens_group_objects_where(group, keep, NULL);
        sum += nlens_group_totals(group)->remote;
        const nlens_object *const *objects = nlens_group_objects(group, NLENS_BY_REMOTE, &count);
        for (size_t i = 0; i < count; i++)
            sum += nlens_group_object_totals(group, objects[i])->samples;
        nlens_foreach_group_access (group, a)
            sum += a->remote;
        nlens_group_free(group);
    }
    return sum;
}

struct attempt {
    bool opened, ended, reached;
    int code;
    uint64_t sum;
    long lost; /* blocks that were not freed */
};

static struct attempt attempt(long n, bool on)
{
    struct attempt it = {0};
    nlens_error err = {0};
    nlens_options options = {.size = sizeof options, .topology = "numa:3 core:1"};
    long live = failing_live;
    failing_begin(n, on);
    nlens_trace *trace = nlens_open_with(path, &options, &err);
    it.opened = trace != NULL;
    it.code = err.code;
    if (trace) {
        it.sum = read_all(trace);
        it.ended = nlens_out_of_memory(trace);
        nlens_close(trace);
    }
    it.reached = failing_end();
    it.lost = failing_live - live;
    return it;
}

/* n grows by one at first, then faster: there are many allocations, of few kinds. */
static void each_fails(bool on)
{
    struct attempt whole = attempt(0, false);
    assert_true(whole.opened && !whole.ended && whole.sum > 1000);
    unsigned files = descriptors();
    long failed = 0, tried = 0, unnoticed = 0, lost = 0;
    for (long n = 1;; n += n < 3000 ? 1 : n / 500) {
        struct attempt it = attempt(n, on);
        if (!it.reached)
            break;
        tried++;
        if (!it.opened)
            assert_int_equal(it.code, -ENOMEM);
        failed += !it.opened || it.ended;
        /* A library below may do without: names are missing then, and nothing else. */
        unnoticed += it.opened && !it.ended;
        lost = it.lost > lost ? it.lost : lost;
        assert_int_equal(descriptors(), files);
    }
    print_message("# %ld allocations failed: %ld calls did, %ld were made without; at most %ld blocks lost\n", tried,
                  failed, unnoticed, lost);
    assert_true(failed > 300);
    assert_true(lost <= 8); /* inside libraries below */
    struct attempt again = attempt(0, false);
    assert_true(again.opened && again.sum == whole.sum);
}

static void one_allocation_fails(void **state)
{
    (void)state;
    each_fails(false);
}

static void all_allocations_fail(void **state)
{
    (void)state;
    each_fails(true);
}

int main(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    failing_spare("libdw");
    failing_spare("libelf");
    failing_spare("libhwloc");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_allocation_fails),
        cmocka_unit_test(all_allocations_fail),
    };
    return cmocka_run_group_tests_name("memory that runs out", tests, write_trace, remove_trace);
}
