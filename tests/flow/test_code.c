/* Code that no file has: its names at the time of each sample, and one function whatever the instruction is. */
#include "feeding.h"
#include "flow/runtimes.h"

static void feed_code(struct feeding *feeding, uint64_t addr, uint64_t size, uint64_t since, const char *name,
                      uint32_t line)
{
    feed(feeding, (struct event){.kind = EVENT_RUNTIME_CODE,
                                 .time = 1,
                                 .code = {addr, size, since, line, name, line ? "/srv/a.js" : ""}});
}

static const char *function_at(struct feeding *feeding, uint64_t time)
{
    struct flow_access access;
    const char *name = NULL;
    struct flow_iter *iter = flow_accesses(feeding->flow);
    while (flow_next(iter, &access))
        if (access.time == time) {
            uint32_t number = flow_stack_function(feeding->flow, 0, access.stack);
            name = number == FLOW_NONE ? "" : flow_function(feeding->flow, number)->function;
        }
    flow_iter_free(iter);
    return name ? name : "no such access";
}

static uint64_t sample(struct feeding *feeding, uint64_t addr, uint32_t stack)
{
    feed(feeding, (struct event){.kind = EVENT_SAMPLE, .sample = {.addr = addr, .stack = stack, .flags = SAMPLE_READ}});
    return feeding->time;
}

static void code_is_named_as_of_the_time_of_the_sample(void **state)
{
    (void)state;
    struct feeding f = feeding_new(NULL, 0);
    feeding_record(&f);
    feed(&f, (struct event){.kind = EVENT_PROCESS_START, .time = 1, .process = {.exe = "/bin/it", .command = "it"}});
    feed_code(&f, 0x7000, 0x100, 0, "first", 3);
    feed_code(&f, 0x7080, 0x100, f.time + 20, "second", 0); /* in the place of half of it */
    feed_code(&f, 0x7000, 0x40, f.time + 40, "first", 3);   /* compiled again: no other name */
    const uint64_t one[] = {0x7090, 0x7010}, two[] = {0x7098, 0x7010}, three[] = {0x7010, 0x7098};
    feed_stack(&f, 1, 2, one);
    feed_stack(&f, 2, 2, two);
    feed_stack(&f, 3, 2, three);
    f.time += 2;
    uint64_t early = sample(&f, 0x100000, 1), other = sample(&f, 0x100000, 2), outer = sample(&f, 0x100000, 3);
    f.time += 30;
    uint64_t late = sample(&f, 0x100000, 1), later = sample(&f, 0x100000, 2), inner = sample(&f, 0x100000, 3);
    feeding_build(&f);
    assert_string_equal(function_at(&f, early), "first");
    assert_string_equal(function_at(&f, other), "first");
    assert_string_equal(function_at(&f, late), "second");
    assert_string_equal(function_at(&f, later), "second");
    assert_string_equal(function_at(&f, outer), "first");
    assert_string_equal(function_at(&f, inner), "first");
    assert_int_equal(flow_function_count(f.flow), 2);
    assert_int_equal(flow_function(f.flow, 0)->totals.samples, 4);
    assert_string_equal(flow_function(f.flow, 0)->function, "first");
    assert_string_equal(flow_function(f.flow, 0)->file, "/srv/a.js");
    assert_int_equal(flow_function(f.flow, 0)->line, 3);
    assert_string_equal(flow_function(f.flow, 0)->module, "[jit]");
    /* The whole chain follows: what calls is named by the time too. */
    struct flow_access access;
    struct flow_iter *iter = flow_accesses(f.flow);
    unsigned seen = 0;
    while (flow_next(iter, &access)) {
        struct symbol_frame frames[4];
        assert_int_equal(flow_stack_frames(f.flow, 0, access.stack, frames, 4), 2);
        if (access.time != outer && access.time != inner)
            continue;
        assert_string_equal(frames[1].function, access.time == outer ? "first" : "second");
        seen++;
    }
    flow_iter_free(iter);
    assert_int_equal(seen, 2);
    feeding_free(&f);
}

static void a_forked_child_has_its_parents_code(void **state)
{
    (void)state;
    struct feeding f = feeding_new(NULL, 0);
    feed_start(&f, PID, 1, false);
    feed_code(&f, 0x7000, 0x100, 0, "handle", 0);
    const uint64_t chain[] = {0x7010};
    feed_stack(&f, 1, 1, chain);
    feed_start(&f, PID + 1, PID, true);
    f.pid = f.tid = PID + 1;
    feed(&f, (struct event){.kind = EVENT_SAMPLE, .sample = {.addr = 16, .stack = 1, .flags = SAMPLE_READ}});
    flow_finish(f.flow);
    assert_int_equal(flow_function_count(f.flow), 1);
    assert_string_equal(flow_function(f.flow, 0)->function, "handle");
    feeding_free(&f);
}

/* What a package's line, in native code without a name, allocates is known by the program's own line. */
static void a_block_is_known_by_the_line_of_the_script(void **state)
{
    (void)state;
    struct feeding f = feeding_new(NULL, 0);
    feed_start(&f, PID, 1, false);
    const struct {
        uint32_t line;
        const char *name, *file;
    } lines[] = {
        {0, "", ""}, {7, "ones", "/usr/lib/python3/dist-packages/numpy/numeric.py"}, {12, "main", "/srv/a.py"}};
    for (uint64_t i = 1; i < 3; i++)
        feed(&f, (struct event){
                     .kind = EVENT_RUNTIME_CODE,
                     .time = 1,
                     .code = {RUNTIME_CODE_SCRIPT + i * 16, 16, 0, lines[i].line, lines[i].name, lines[i].file}});
    const uint64_t chain[] = {0x7010, 0x7020, RUNTIME_CODE_SCRIPT + 24, 0x7030, RUNTIME_CODE_SCRIPT + 40, 0x7040};
    feed_stack(&f, 1, 6, chain);
    feed_alloc(&f, 0x100000, 4096, 1);
    feed_map(&f, 0x200000, 4096, MAP_KIND_ANONYMOUS, 1, "");
    feed(&f, (struct event){.kind = EVENT_SAMPLE, .sample = {.addr = 0x100010, .stack = 1, .flags = SAMPLE_READ}});
    flow_finish(f.flow);
    const struct flow_site *site = flow_site(f.flow, flow_object(f.flow, 0)->site);
    assert_string_equal(site->function, "main");
    assert_string_equal(site->file, "/srv/a.py");
    assert_int_equal(site->line, 12);
    assert_string_equal(site->module, "[python]");
    /* Code without a name counts for the line that called it, a package's too. */
    assert_string_equal(flow_function(f.flow, 0)->function, "ones");
    feeding_free(&f);
}

/* However many lines allocate: each is its own site, which none of its callers is. */
static void each_line_of_a_long_script_is_a_site(void **state)
{
    enum { LINES = 600 };
    (void)state;
    struct feeding f = feeding_new(NULL, 0);
    feed_start(&f, PID, 1, false);
    for (uint32_t i = 1; i <= LINES; i++) {
        uint64_t at = RUNTIME_CODE_SCRIPT + i * 16;
        feed(&f, (struct event){.kind = EVENT_RUNTIME_CODE,
                                .time = 1,
                                .code = {at, 16, 0, i, i < LINES ? "make" : "main", "/srv/a.py"}});
    }
    for (uint32_t i = 1; i < LINES; i++) {
        const uint64_t chain[] = {RUNTIME_CODE_SCRIPT + i * 16 + 8, RUNTIME_CODE_SCRIPT + LINES * 16 + 8};
        feed_stack(&f, i, 2, chain);
        feed_alloc(&f, 0x100000 * i, 4096, i);
        feed(&f,
             (struct event){.kind = EVENT_SAMPLE, .sample = {.addr = 0x100000 * i, .stack = i, .flags = SAMPLE_READ}});
    }
    flow_finish(f.flow);
    for (uint32_t i = 0; i < LINES - 1; i++) {
        const struct flow_object *object = flow_object(f.flow, i);
        struct symbol_frame frames[4];
        assert_int_equal(flow_site(f.flow, object->site)->line, object->addr / 0x100000);
        assert_int_equal(flow_stack_frames(f.flow, object->stack_process, object->stack, frames, 4), 2);
        assert_int_equal(frames[0].line, object->addr / 0x100000);
    }
    feeding_free(&f);
}

/* By the functions that map it, not by the types of their parameters. */
static void what_a_runtime_maps_is_called_by_its_use(void **state)
{
    (void)state;
    static const struct {
        const char *function, *region;
    } known[] = {
        {"CardGeneration::CardGeneration(ReservedSpace, unsigned long, CardTableRS*)", "Java heap"},
        {"CardTable::initialize()", "Java GC tables"},
        {"v8::internal::SemiSpace::Commit()", "V8 heap, new space"},
        {"runtime.(*mheap).sysAlloc", "Go heap"},
        {"os::commit_memory(char*, unsigned long, bool)", NULL},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        unsigned rank = UINT32_MAX;
        const char *region = runtime_region(known[i].function, &rank);
        assert_true(region ? known[i].region && strcmp(region, known[i].region) == 0 : !known[i].region);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(code_is_named_as_of_the_time_of_the_sample),
        cmocka_unit_test(a_forked_child_has_its_parents_code),
        cmocka_unit_test(a_block_is_known_by_the_line_of_the_script),
        cmocka_unit_test(each_line_of_a_long_script_is_a_site),
        cmocka_unit_test(what_a_runtime_maps_is_called_by_its_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
