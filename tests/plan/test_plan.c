/* A plan is read and written without loss; what is no plan is refused with its line. */
#include "plan/flexmalloc.h"
#include "plan/plan_table.h"
#include "symbols/search.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static const char whole[] = "# from a recording\n"
                            "numalens plan 1\n"
                            "nodes 0-3\n"
                            "program /opt/store 0123456789abcdef\n"
                            "\n"
                            "# 72.5% remote\n"
                            "# far-initialised\n"
                            "site store.c:54 @ split 0:16,1:16,0:32\n"
                            "\n"
                            "site xmalloc > a b(int) > store!0x1234 @ bind 0,2-3\n"
                            "\n"
                            "site f @ weighted 0:3,1:1 huge\n"
                            "\n"
                            "static table @ interleave all\n"
                            "\n"
                            "file /data/*.bin @ preferred 1\n"
                            "\n"
                            "shm sysv:0x00001234 @ local small\n"
                            "\n"
                            "stack worker @ local\n"
                            "\n"
                            "thread worker @ cpus 0-1,7\n"
                            "\n"
                            "thread * @ distribute\n"
                            "\n"
                            "thread serve @ together\n"
                            "\n"
                            "thread main @ node 2\n";

static void comes_back(void **state)
{
    (void)state;
    struct placement_plan plan;
    struct error err = {0};
    char *text;
    size_t size;
    assert_int_equal(plan_read_text(&plan, "p", whole, NULL, &err), 0);
    assert_int_equal(plan.entries.count, 11);
    assert_int_equal(plan.entries.items[0].line, 8);
    FILE *out = mem_stream(&text, &size);
    plan_write(out, &plan);
    mem_stream_end(out, &text);
    assert_string_equal(text, whole);
    free(text);
    placement_plan_free(&plan);
}

static void bad_lines(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "p is empty"},
        {"site f @ bind 0\n", "p, line 1: this is no plan"},
        {"numalens plan 2\n", "p, line 1: this is no plan"},
        {"numalens plan 1\n\nsit f @ bind 0\n", "p, line 3: 'sit' is unknown here"},
        {"numalens plan 1\nsite f bind 0\n", "p, line 2: site wants what it is about"},
        {"numalens plan 1\nsite f @ bnd 0\n", "p, line 2: 'bnd' is no placement"},
        {"numalens plan 1\nsite f @ bind\n", "p, line 2: bind wants its nodes"},
        {"numalens plan 1\nsite f @ bind x\n", "p, line 2: 'x' is no list"},
        {"numalens plan 1\nsite f @ bind 3-1\n", "p, line 2: '3-1' is no list"},
        {"numalens plan 1\nsite f @ bind 1024\n", "p, line 2: '1024' is no list"},
        {"numalens plan 1\nsite f @ bind -1\n", "p, line 2: '-1' is no list"},
        {"numalens plan 1\nsite f @ bind 0,0\n", "p, line 2: 0 is in '0,0' twice"},
        {"numalens plan 1\nsite f @ preferred 0-1\n", "p, line 2: preferred takes one node"},
        {"numalens plan 1\nsite f @ weighted 0:0\n", "p, line 2: '0:0' is no list"},
        {"numalens plan 1\nsite f @ local 1\n", "p, line 2: local takes nothing"},
        {"numalens plan 1\nthread f @ together 1\n", "p, line 2: together takes nothing"},
        {"numalens plan 1\nsite f @ distribute\n", "p, line 2: distribute is for threads"},
        {"numalens plan 1\nstack f @ node 1\n", "p, line 2: node is for threads"},
        {"numalens plan 1\nthread f @ interleave all\n", "p, line 2: interleave is for memory"},
        {"numalens plan 1\nthread f @ node 1 huge\n", "p, line 2: threads have no pages"},
        {"numalens plan 1\nsite f @ bind 0\nsite f @ bind 1\n", "p, line 3: site f is placed in line 2 already"},
        {"numalens plan 1\nsite * @ bind 0\n",
         "p, line 2: * is for threads, stacks, files and shared memory: a site is"},
        {"numalens plan 1\nsite f > * > g @ bind 0\n", "p, line 2: * is for threads"},
        {"numalens plan 1\nstatic * @ bind 0\n", "p, line 2: * is for threads"},
        {"numalens plan 1\nnodes 0\nnodes 1\n", "p, line 3: the nodes"},
        {"numalens plan 1\nprogram\n", "p, line 2: program wants the path"},
        {"numalens plan 1\nprogram /a 01234567\nprogram /a 76543210\n",
         "p, line 3: the program /a is named in line 2 already"},
        {"numalens plan 1\nsite a > a > a > a > a > a > a > a > a > a > a > a > a > a > a > a > a @ bind 0\n",
         "p, line 2: a call chain has 16 frames at most"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct placement_plan plan;
        struct error err = {0};
        assert_true(plan_read_text(&plan, "p", cases[i].text, NULL, &err) < 0);
        if (strncmp(err.text, cases[i].says, strlen(cases[i].says)) != 0)
            fail_msg("'%s' says '%s', not '%s'", cases[i].text, err.text, cases[i].says);
    }
}

/* Names are hostile: whatever they are made of, they come back, and a plan has one line for each. */
static void hostile_names_come_back(void **state)
{
    (void)state;
    enum { PLANS = 200, BYTES_MOST = 120 };
    static const char *const parts[] = {
        "\n",         "\r", "\t", " ",    "\"",   "\\",   "\\x41",    "\x1b[31m",          " @ ",
        " > ",        "!",  "#",  "*",    "?",    "@",    "\xff",     "\xe2\x80\xae",      "a",
        "store.c:54", "é",  "'",  "0x12", "main", "\x7f", "\xc2\x9b", "site f @ bind 0\n", " 0123456789abcdef"};
    static const char *const special[PLACE_KINDS] = {"!>", "!", "*?", "*?", "!", "!"};
    uint64_t random = 1;
    for (unsigned i = 0; i < PLANS; i++) {
        struct placement_plan plan = {.name = mem_strdup("p")}, again;
        struct error err = {0};
        char *names[PLACE_KINDS + 1];
        for (unsigned kind = 0; kind <= PLACE_KINDS; kind++) {
            char name[2 * BYTES_MOST] = "x";
            while (strlen(name) < BYTES_MOST && (random = random * 6364136223846793005u + 1442695040888963407u) >> 60)
                strcat(name, parts[(random >> 33) % (sizeof parts / sizeof *parts)]);
            names[kind] = mem_strdup(name + (random >> 32) % 2 * (name[1] != '\0'));
            char *written = plan_name_write(names[kind], kind < PLACE_KINDS ? special[kind] : " ");
            if (kind == PLACE_KINDS)
                array_push(&plan.programs,
                           (struct plan_program){0, mem_strdup(written), mem_strdup(i % 2 ? "0123456789" : "")});
            else
                placement_plan_add(&plan, kind, written, kind == PLACE_THREAD ? PLACE_DISTRIBUTE : PLACE_LOCAL);
            for (const char *at = written; *at; at++)
                assert_true((unsigned char)*at >= ' ' && *at != 0x7f);
            free(written);
        }
        char *text;
        size_t size;
        FILE *out = mem_stream(&text, &size);
        plan_write(out, &plan);
        mem_stream_end(out, &text);
        if (plan_read_text(&again, "p", text, NULL, &err) < 0)
            fail_msg("%s: %s", err.text, text);
        assert_int_equal(again.entries.count, PLACE_KINDS);
        for (unsigned kind = 0; kind <= PLACE_KINDS; kind++) {
            char *name =
                plan_name_read(kind == PLACE_KINDS ? again.programs.items[0].path : again.entries.items[kind].what);
            assert_string_equal(name, names[kind]);
            assert_true(kind == PLACE_KINDS || again.entries.items[kind].kind == kind);
            free(name);
            free(names[kind]);
        }
        assert_string_equal(again.programs.items[0].build_id, plan.programs.items[0].build_id);
        free(text);
        placement_plan_free(&again);
        placement_plan_free(&plan);
    }
}

/* A pattern in the agent's words is what counts; names that are searched for may be of any length. */
static void long_names(void **state)
{
    (void)state;
    char name[1024], *text, *trouble;
    memset(name, 'a', sizeof name);
    name[PLACE_NAME - 1] = '\0';
    assert_null(trouble = plan_name_trouble(PLACE_FILE, name));
    name[0] = '\n';
    text = plan_name_write(name, "*?");
    assert_null(trouble = plan_name_trouble(PLACE_FILE, text));
    free(text);
    name[0] = '*';
    text = plan_name_write(name, "*?");
    assert_non_null(trouble = plan_name_trouble(PLACE_SHM, text)); /* "\\*" */
    free(text);
    free(trouble);
    name[PLACE_NAME - 1] = 'a';
    name[sizeof name - 1] = '\0';
    assert_non_null(trouble = plan_name_trouble(PLACE_FILE, name));
    free(trouble);
    assert_null(plan_name_trouble(PLACE_STATIC, name));
    text = plan_pattern("a*\\x2a\\b\\x3f\\x0a?");
    assert_string_equal(text, "a*\\*\\\\b\\?\n?");
    free(text);
}

/* Many comments and many programs: the first take time in proportion, the second would. */
static void large(void **state)
{
    (void)state;
    enum { LINES = 1 << 20, PROGRAMS = 65 };
    struct placement_plan plan;
    struct error err = {0};
    char *text, *program;
    size_t size;
    FILE *out = mem_stream(&text, &size);
    for (unsigned i = 0; i < LINES; i++)
        fputs("#x\n", out);
    fputs("numalens plan 1\n", out);
    mem_stream_end(out, &text);
    assert_int_equal(plan_read_text(&plan, "p", text, NULL, &err), 0);
    assert_int_equal(strlen(plan.head), 2 * LINES - 1);
    placement_plan_free(&plan);
    free(text);
    out = mem_stream(&program, &size);
    fputs("numalens plan 1\n", out);
    for (unsigned i = 0; i < PROGRAMS; i++)
        fprintf(out, "program /bin/%u\n", i);
    mem_stream_end(out, &program);
    assert_true(plan_read_text(&plan, "p", program, NULL, &err) < 0);
    assert_string_equal(err.text, "p, line 66: a plan names 64 programs at most");
    free(program);
}

static struct placement_limits limits;

/* Four nodes with two CPUs each. */
static int make(struct plan_table *table, struct placement_plan *plan, const char *text, bool maps, struct error *err)
{
    struct topology *topology = topology_simulate("numa:4(memory=1GB) core:2", ASSIGN_PACKED, err);
    assert_non_null(topology);
    memset(&limits.nodes, 0xff, sizeof limits.nodes);
    memset(&limits.cpus, 0xff, sizeof limits.cpus);
    assert_int_equal(plan_read_text(plan, "p", text, NULL, err), 0);
    struct plan_machine machine = {topology, &limits, maps};
    int code = plan_table_make(table, plan, "/proc/self/exe", &machine, err);
    topology_free(topology);
    return code;
}

static __attribute__((noinline, used)) void a_function_of_this_program(void)
{
}
static char an_object_of_this_program[8192] __attribute__((used));

/* The kernel's; while those are all alike, what the bandwidths come to. */
static void weights_of_all_nodes(void **state)
{
    (void)state;
    static const struct {
        uint8_t weights[4];
        uint32_t bandwidths[4];
        uint16_t wanted[4];
    } cases[] = {{{0}, {0}, {1, 1, 1, 1}},
                 {{1, 1, 1, 1}, {400000, 200000, 100000, 1000}, {16, 8, 4, 1}},
                 {{5, 1, 1, 2}, {400000, 200000, 100000, 1000}, {5, 1, 1, 2}}};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct placement_plan plan;
        struct plan_table table;
        struct error err = {0};
        memcpy(limits.weights, cases[i].weights, sizeof cases[i].weights);
        memcpy(limits.bandwidths, cases[i].bandwidths, sizeof cases[i].bandwidths);
        assert_int_equal(make(&table, &plan, "numalens plan 1\nfile x @ weighted all\n", false, &err), 0);
        const struct place_entry *entry = place_entries(table.shared);
        assert_int_equal(entry->part_count, 4);
        assert_memory_equal(entry->part_weights, cases[i].wanted, sizeof cases[i].wanted);
        plan_table_free(&table);
        placement_plan_free(&plan);
    }
    limits = (struct placement_limits){0};
}

static void names_are_found(void **state)
{
    (void)state;
    struct placement_plan plan;
    struct plan_table table;
    struct error err = {0};
    const char *text = "numalens plan 1\nsite a_function_of_this_program > test_plan.c:9999 @ bind 1\n"
                       "site a_function_of_this_program @ bind 1\nstatic an_object_of_this_program @ split all\n"
                       "site nothing_of_the_kind @ bind 1\nthread * @ cluster\nsite other.so!0x1234 @ bind 0\n";
    a_function_of_this_program();
    assert_int_equal(make(&table, &plan, text, false, &err), 0);
    assert_int_equal(table.places[0], PLAN_NOWHERE);
    assert_non_null(strstr(table.reasons[0], "test_plan.c:9999"));
    assert_non_null(strstr(table.reasons[3], "nothing_of_the_kind"));
    assert_int_equal(table.shared->entry_count, 4);
    const struct place_entry *object = &place_entries(table.shared)[table.places[2]];
    assert_int_equal(object->part_count, 4);
    const struct place_range *range = &place_range_list(table.shared)[object->frames[0].first];
    assert_int_equal(range->high - range->low, sizeof an_object_of_this_program);
    const struct place_entry *threads = &place_entries(table.shared)[table.places[4]];
    assert_int_equal(threads->cpus_count, 4);
    assert_int_equal(place_cpu_list(table.shared)[threads->cpus_first].repeat, 2);
    struct plan_result result = plan_result(&table, &plan, 3);
    assert_false(result.applied);
    free(result.reason);
    plan_table_free(&table);
    placement_plan_free(&plan);
}

static const char *reason_of(struct plan_table *table, const char *programs, const char *name)
{
    struct placement_plan plan;
    struct error err = {0};
    static char reason[400];
    char *text = mem_format("numalens plan 1\n%ssite %s!0x1234 @ bind 0\n", programs, name);
    assert_int_equal(make(table, &plan, text, false, &err), 0);
    snprintf(reason, sizeof reason, "%s", table->reasons[0] ? table->reasons[0] : "");
    plan_table_free(table);
    placement_plan_free(&plan);
    free(text);
    return reason;
}

/* Offsets are those of one build: of the program that is run, by its name, and of libraries where they are. */
static void programs_are_checked(void **state)
{
    (void)state;
    struct plan_table table;
    char build_id[SEARCH_BUILD_ID], own[1024] = "";
    assert_true(readlink("/proc/self/exe", own, sizeof own - 1) > 0 && search_build_id(own, build_id));
    const char *name = strrchr(own, '/') + 1;
    char *good = mem_format("program %s %s\n", own, build_id),
         *bad = mem_format("program /else/%s 0123456789abcdef\n", name), *both = mem_format("%s%s", good, bad),
         *swapped = mem_format("%s%s", bad, good);
    assert_string_equal(reason_of(&table, good, name), "");
    assert_non_null(strstr(reason_of(&table, bad, name), "is another build than the plan was made for"));
    assert_string_equal(reason_of(&table, both, name), "");
    assert_string_equal(reason_of(&table, swapped, name), "");
    assert_string_equal(reason_of(&table, "program /no/such/lib.so\n", "lib.so"), "");
    assert_non_null(strstr(reason_of(&table, "program /no/such/lib.so 0123456789abcdef\n", "lib.so"),
                           "/no/such/lib.so cannot be read"));
    free(good);
    free(bad);
    free(both);
    free(swapped);
}

/* Of findings, which name a binary as it is: one with an arrow in its name makes more frames of a chain. */
static void too_many_frames(void **state)
{
    (void)state;
    struct error err = {0};
    char what[1024] = "a_function_of_this_program";
    for (unsigned frames = 1; frames <= PLACE_FRAMES + 1; frames++) {
        struct placement_plan plan;
        struct plan_table table;
        struct topology *topology = topology_simulate("numa:1(memory=1GB) core:1", ASSIGN_PACKED, &err);
        struct plan_machine machine = {topology, &limits, false};
        memset(&limits.nodes, 0xff, sizeof limits.nodes);
        assert_int_equal(plan_read_text(&plan, "p", "numalens plan 1\n", NULL, &err), 0);
        placement_plan_add(&plan, PLACE_SITE, what, PLACE_LOCAL);
        assert_int_equal(plan_table_make(&table, &plan, "/proc/self/exe", &machine, &err), 0);
        assert_int_equal(table.places[0] == PLAN_NOWHERE, frames > PLACE_FRAMES);
        if (frames > PLACE_FRAMES)
            assert_string_equal(table.reasons[0], "a call chain has 16 frames at most");
        plan_table_free(&table);
        placement_plan_free(&plan);
        topology_free(topology);
        strcat(what, " > a_function_of_this_program");
    }
}

static void other_machines(void **state)
{
    (void)state;
    struct placement_plan plan;
    struct plan_table table;
    struct error err = {0};
    const char *text = "numalens plan 1\nnodes 0-7\nfile x @ bind 5\n";
    assert_true(make(&table, &plan, text, false, &err) < 0);
    assert_non_null(strstr(err.text, "p, line 3: there is no node 5 here"));
    placement_plan_free(&plan);
    assert_int_equal(make(&table, &plan, text, true, &err), 0);
    assert_int_equal(place_entries(table.shared)[0].part_nodes[0], 1);
    plan_table_free(&table);
    placement_plan_free(&plan);
}

static char *flexmalloc_text(const struct placement_plan *plan, const struct plan_allocators *allocators)
{
    char *text;
    size_t size;
    FILE *out = mem_stream(&text, &size);
    flexmalloc_write(out, plan, allocators);
    mem_stream_end(out, &text);
    return text;
}

static void flexmalloc_comes_back(void **state)
{
    (void)state;
    static const char locations[] = "# 72.5% remote\n"
                                    "libtester.c:6 > main+free.c:9 @ memkind/pmem\n"
                                    "store.c:54 @ split 0:16,1:48\n";
    static const char also[] = "# 72.5% remote\n"
                               "/src/libtester.c:6 > /src/main+free.c:9 > libc-start.c:342 @ MEMKIND/PMEM\n"
                               "libtester.c:6 > main+free.c:9 > Unresolved:0 > _NOT_Found:0 @ memkind/pmem\n"
                               "kept.c:1 @ posix\n\n"
                               "store.c:54 @ split 0:16,1:48";
    static const char *const texts[] = {locations, also};
    struct plan_allocators allocators = {0};
    struct error err = {0};
    assert_int_equal(plan_allocators_add(&allocators, "memkind/pmem=preferred  1", &err), 0);
    for (unsigned i = 0; i < 2; i++) {
        struct placement_plan plan;
        assert_int_equal(plan_read_text(&plan, "p", texts[i], &allocators, &err), 0);
        assert_int_equal(plan.entries.count, 2);
        assert_string_equal(plan.entries.items[0].what, "libtester.c:6 > main+free.c:9");
        assert_int_equal(plan.entries.items[0].policy, PLACE_PREFERRED);
        assert_int_equal(plan.entries.items[0].line, 2);
        char *text = flexmalloc_text(&plan, &allocators);
        assert_string_equal(text, locations);
        free(text);
        placement_plan_free(&plan);
    }
    plan_allocators_free(&allocators);
}

struct code_page {
    unsigned long offset, addr; /* in this program's file, and by its own addresses */
};

static struct code_page own_code_page(void)
{
    extern const char __ehdr_start[];
    char line[4096], rights[8];
    unsigned long start, end, offset, here = (unsigned long)own_code_page;
    struct code_page page = {0};
    FILE *maps = fopen("/proc/self/maps", "r");
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx %7s %lx", &start, &end, rights, &offset) == 4 && start <= here && here < end)
            page = (struct code_page){offset, start - (unsigned long)__ehdr_start};
    fclose(maps);
    assert_true(page.addr);
    return page;
}

static void flexmalloc_offsets(void **state)
{
    (void)state;
    struct placement_plan plan;
    struct error err = {0};
    /* Bytes of the file, as the kernel says where they are: FlexMalloc looks into /proc/self/maps. */
    struct code_page page = own_code_page();
    char *text = mem_format("/proc/self/exe!%lx > /proc/self/exe!0x%lx @ local\n", page.offset + 0x1a, page.offset);
    assert_int_equal(plan_read_text(&plan, "p", text, NULL, &err), 0);
    free(text);
    text = mem_format("exe!0x%lx > exe!0x%lx", page.addr + 0x1a, page.addr);
    assert_string_equal(plan.entries.items[0].what, text);
    assert_non_null(flexmalloc_refuses(&plan, 0));
    free(text);
    /* Two sites that lines do not distinguish, as two vectors that one line makes: a file with both would contradict itself. */
    placement_plan_add(&plan, PLACE_SITE, "exe!0x1", PLACE_LOCAL)->lines = mem_strdup("a.c:1 > b.c:2");
    placement_plan_add(&plan, PLACE_SITE, "exe!0x2", PLACE_INTERLEAVE)->lines = mem_strdup("a.c:1 > b.c:2");
    text = flexmalloc_text(&plan, NULL);
    assert_string_equal(text, "a.c:1 > b.c:2 @ local\n");
    free(text);
    placement_plan_free(&plan);
}

static void bad_locations(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"a.c:1 @ memkind/hbwmalloc\n", "p, line 1: what the allocator memkind/hbwmalloc means is not known"},
        {"a.c:1 @ bind\n", "p, line 1: bind wants its nodes"},
        {"a.c:1 @\n", "p, line 1: a call chain, '@'"},
        {"# c\na.c:1 @ local\nb.c:2\n", "p, line 3: a call chain, '@'"},
        {"a.c:1 > main @ local\n", "p, line 1: 'main' is no frame"},
        {"a.c:1 > @ local\n", "p, line 1: '' is no frame"},
        {"a.c:1 @ local\na.c:1 @ bind 0\n", "p, line 2: site a.c:1 is placed in line 1 already"},
        {"Unresolved:0 > a.c:1 @ local\n", "p, line 1: the innermost frame has no name"},
        {"/no/such/file!12 @ local\n", "p, line 1: /no/such/file cannot be read"},
        {"a.c:1 @ local\na!xyz @ local\n", "p, line 2: 'a!xyz' is no frame"},
        {"site a.c:1 @ local\n", "p, line 1: this is no plan"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct placement_plan plan;
        struct error err = {0};
        assert_true(plan_read_text(&plan, "p", cases[i].text, NULL, &err) < 0);
        if (strncmp(err.text, cases[i].says, strlen(cases[i].says)) != 0)
            fail_msg("'%s' says '%s', not '%s'", cases[i].text, err.text, cases[i].says);
    }
    static const char *const wrong[] = {"pmem", "=bind 0", "pmem=", "pmem=bnd 0", "pmem=node 1"};
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct plan_allocators allocators = {0};
        struct error err = {0};
        assert_true(plan_allocators_add(&allocators, wrong[i], &err) < 0);
        assert_int_equal(allocators.items.count, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comes_back),
        cmocka_unit_test(bad_lines),
        cmocka_unit_test(hostile_names_come_back),
        cmocka_unit_test(long_names),
        cmocka_unit_test(large),
        cmocka_unit_test(programs_are_checked),
        cmocka_unit_test(weights_of_all_nodes),
        cmocka_unit_test(names_are_found),
        cmocka_unit_test(too_many_frames),
        cmocka_unit_test(other_machines),
        cmocka_unit_test(flexmalloc_comes_back),
        cmocka_unit_test(flexmalloc_offsets),
        cmocka_unit_test(bad_locations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
