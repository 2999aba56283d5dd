/* Names: this program is its own target. Its functions make chains with real return addresses, its own binary and the
 * C library are the modules, its variables the static objects. */
#include "feeding.h"
#include "flow/wrappers.h"

#include <execinfo.h>
#include <gnu/libc-version.h>
#include <link.h>

static struct feeding f;
static uint64_t next_addr;
static uint32_t next_stack;
static int keep; /* written after calls, so that none becomes a jump */

static struct {
    uint64_t frames[32];
    uint32_t id;
    int depth;
} seen[64];

/* Stands for malloc: the chain begins at its caller. */
static __attribute__((noinline)) uint64_t made(size_t size)
{
    void *all[40], **frames = all;
    int depth = backtrace(all, 40);
    while (depth > 0 && *frames != __builtin_return_address(0)) { /* sanitizers put frames of their own before it */
        frames++;
        depth--;
    }
    assert_true(depth > 0 && depth <= 32);
    uint32_t id = 0;
    for (uint32_t i = 0; i < next_stack && !id; i++) {
        if (seen[i].depth == depth && memcmp(seen[i].frames, frames, (size_t)depth * 8) == 0)
            id = seen[i].id;
    }
    if (!id) {
        memcpy(seen[next_stack].frames, frames, (size_t)depth * 8);
        seen[next_stack].depth = depth;
        id = seen[next_stack].id = next_stack + 1;
        next_stack++;
        feed_stack(&f, id, (uint16_t)depth, seen[id - 1].frames);
    }
    next_addr += (size + 4095) / 4096 * 4096;
    feed_alloc(&f, next_addr, size, id);
    feed_read(&f, next_addr);
    return next_addr;
}

static __attribute__((noinline, noclone)) uint64_t xmalloc(size_t size)
{
    uint64_t block = made(size);
    keep++;
    return block;
}

static __attribute__((noinline, noclone)) uint64_t matrix_new(size_t rows)
{
    uint64_t block = xmalloc(rows * 8);
    keep++;
    return block;
}

static __attribute__((noinline, noclone)) uint64_t lonely_new(size_t rows)
{
    uint64_t block = xmalloc(rows * 16);
    keep++;
    return block;
}

static __attribute__((noinline, noclone)) void handle(size_t size)
{
    made(size);
    keep++;
}

static __attribute__((noinline, noclone)) void *fetched(size_t size)
{
    uint64_t block = made(size);
    keep++;
    return (void *)(uintptr_t)block;
}

static __attribute__((noinline, noclone)) void build_tree(int depth)
{
    made(24);
    if (depth > 0) {
        build_tree(depth - 1);
        build_tree(depth - 1);
    }
    keep++;
}

static int note_module(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    (void)context;
    uint64_t start = UINT64_MAX, end = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type != PT_LOAD)
            continue;
        uint64_t low = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr, high = low + info->dlpi_phdr[i].p_memsz;
        start = low < start ? low : start;
        end = high > end ? high : end;
    }
    const char *path = info->dlpi_name && *info->dlpi_name ? info->dlpi_name : "/proc/self/exe";
    if (end && path[0] == '/')
        feed(&f, (struct event){.kind = EVENT_MODULE_LOAD,
                                .module = {.bias = info->dlpi_addr, .start = start, .end = end, .path = path}});
    return 0;
}

static int begin(void **state)
{
    (void)state;
    f = feeding_new(NULL, ASSIGN_PACKED);
    next_addr = 0x10000000;
    next_stack = 0;
    feed_start(&f, PID, 1, false);
    dl_iterate_phdr(note_module, NULL);
    return 0;
}

static int end(void **state)
{
    (void)state;
    feeding_free(&f);
    return 0;
}

static const struct flow_site *site_at(uint64_t addr)
{
    const struct flow_object *object = flow_object_at(f.flow, 0, addr, f.time);
    assert_non_null(object);
    assert_true(object->site != FLOW_NONE);
    return flow_site(f.flow, object->site);
}

static void wrappers_are_looked_through(void **state)
{
    (void)state;
    uint64_t direct = xmalloc(100);
    uint32_t direct_line = __LINE__ - 1;
    uint64_t first = matrix_new(50);
    uint32_t first_line = __LINE__ - 1;
    uint64_t second = matrix_new(60);
    uint32_t second_line = __LINE__ - 1;
    uint64_t lonely = lonely_new(70);
    flow_finish(f.flow);

    assert_string_equal(site_at(direct)->function, "wrappers_are_looked_through");
    assert_int_equal(site_at(direct)->line, direct_line);
    assert_string_equal(site_at(direct)->via, "xmalloc");
    /* Two lines call it, and it is named like a constructor: they are what distinguishes the blocks. */
    assert_int_equal(site_at(first)->line, first_line);
    assert_int_equal(site_at(second)->line, second_line);
    assert_string_equal(site_at(second)->via, "xmalloc < matrix_new");
    /* Only one line calls this: nothing speaks against its own. */
    assert_string_equal(site_at(lonely)->function, "lonely_new");
    assert_non_null(strstr(site_at(lonely)->file, "test_sites.c"));
    assert_non_null(strstr(site_at(lonely)->label, "lonely_new (test_sites.c:"));
    struct symbol_frame frames[32];
    size_t count = flow_stack_frames(f.flow, site_at(second)->process, site_at(second)->stack, frames, 32);
    assert_true(count > 3);
    assert_string_equal(frames[0].function, "xmalloc");
    assert_string_equal(frames[1].function, "matrix_new");
}

static void two_blocks_of_one_line_are_distinguished(void **state)
{
    (void)state;
    uint64_t left = made(100), right = made(200); /* one line */
    flow_finish(f.flow);
    assert_int_equal(site_at(left)->line, site_at(right)->line);
    assert_string_not_equal(site_at(left)->label, site_at(right)->label);
    assert_non_null(strstr(site_at(left)->label, " #1"));
    assert_non_null(strstr(site_at(right)->label, " #2"));
}

static void one_line_run_often_is_one_site(void **state)
{
    (void)state;
    uint64_t first = 0;
    for (int i = 0; i < 10; i++) {
        uint64_t block = made(64);
        first = first ? first : block;
    }
    flow_finish(f.flow);
    assert_int_equal(site_at(first)->count, 10);
    assert_int_equal(site_at(first)->live_peak, 10);
    assert_int_equal(site_at(first)->totals.samples, 10);
    assert_null(strchr(site_at(first)->label, '#'));
}

static void a_function_that_calls_itself_is_no_wrapper(void **state)
{
    (void)state;
    build_tree(3);
    flow_finish(f.flow);
    assert_int_equal(flow_site_count(f.flow), 1);
    assert_string_equal(flow_site(f.flow, 0)->function, "build_tree");
    assert_int_equal(flow_site(f.flow, 0)->count, 15);
}

static void what_returns_a_pointer_is_its_callers(void **state)
{
    (void)state;
    /* `fetched` is not named like a constructor, but gives away what it allocates. */
    void *one = fetched(100);
    uint32_t one_line = __LINE__ - 1;
    void *two = fetched(100);
    uint32_t two_line = __LINE__ - 1;
    flow_finish(f.flow);
    assert_int_equal(site_at((uint64_t)(uintptr_t)one)->line, one_line);
    assert_int_equal(site_at((uint64_t)(uintptr_t)two)->line, two_line);
    assert_string_equal(site_at((uint64_t)(uintptr_t)two)->via, "fetched");
}

static void use_decides_nothing(void **state)
{
    (void)state;
    handle(100);
    uint64_t one = next_addr;
    handle(900);
    uint64_t two = next_addr;
    for (int i = 0; i < 100; i++) {
        feed_access(&f, one, 0, SAMPLE_READ, 50);
        feed_access(&f, two, 0, SAMPLE_WRITE, 500);
    }
    flow_finish(f.flow);
    assert_string_equal(site_at(one)->function, "handle");
    assert_ptr_equal(site_at(one), site_at(two));
    assert_int_equal(site_at(one)->count, 2);
}

static void a_site_has_the_name_of_its_variable(void **state)
{
    (void)state;
    uint64_t grid = xmalloc(100);
    uint64_t left = made(100), right = made(200);
    uint64_t both[2];
    for (unsigned k = 0; k < 2; k++)
        both[k] = k ? xmalloc(50) : xmalloc(60);
    flow_finish(f.flow);
    assert_string_equal(site_at(grid)->variable, "grid");
    assert_string_equal(site_at(grid)->name, "grid");
    assert_string_equal(site_at(left)->name, "left");
    assert_string_equal(site_at(right)->name, "right");
    assert_string_equal(site_at(both[0])->variable, "both[k]");
    assert_string_equal(site_at(both[0])->name, "both[k] #1");
    assert_string_equal(site_at(both[1])->name, "both[k] #2");
}

static void many_chains_are_many_sites(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 500; i++) {
        uint64_t frames[] = {0x1000 + i * 16, 0x800000 + i * 48, 0x900000 + i % 7 * 16};
        feed_stack(&f, 1000 + i, 3, frames);
        feed_alloc(&f, 0x10000000 + i * 64, 64, 1000 + i);
        feed_read(&f, 0x10000000 + i * 64);
    }
    flow_finish(f.flow);
    assert_int_equal(flow_site_count(f.flow), 500);
    for (uint32_t i = 0; i < 500; i++)
        assert_int_equal(flow_site(f.flow, i)->totals.samples, 1);
}

static long zeroed_table[512];
static long filled_table[4] = {1, 2, 3, 4};

static void static_objects_and_sections_have_names(void **state)
{
    (void)state;
    uint32_t zeroed = feed_read(&f, (uint64_t)&zeroed_table[511]), again = feed_read(&f, (uint64_t)zeroed_table);
    uint32_t filled = feed_read(&f, (uint64_t)&filled_table[1]);
    uint32_t code = feed_read(&f, (uint64_t)(uintptr_t)&static_objects_and_sections_have_names);
    uint32_t libc = feed_read(&f, (uint64_t)(uintptr_t)&gnu_get_libc_version);
    flow_finish(f.flow);
    assert_int_equal(object_of(&f, zeroed)->kind, OBJECT_STATIC);
    assert_string_equal(object_of(&f, zeroed)->name, "zeroed_table");
    assert_int_equal(object_of(&f, zeroed)->addr, (uint64_t)zeroed_table);
    assert_int_equal(object_of(&f, zeroed)->size, sizeof zeroed_table);
    assert_ptr_equal(object_of(&f, again), object_of(&f, zeroed));
    assert_string_equal(object_of(&f, filled)->name, "filled_table");
    assert_int_equal(object_of(&f, filled)->site, FLOW_NONE);
    assert_int_equal(object_of(&f, code)->kind, OBJECT_SECTION);
    assert_non_null(strstr(object_of(&f, code)->name, ".text"));
    assert_int_equal(object_of(&f, libc)->kind, OBJECT_SECTION);
    assert_non_null(strstr(object_of(&f, libc)->name, "libc"));
}

static void the_same_site_in_a_fork_and_at_another_address_is_one(void **state)
{
    (void)state;
    uint64_t block = made(64);
    const struct stack *stack = &f.flow->stacks.items[0];
    uint64_t frames[32];
    /* Another run of the same binary, which the loader put elsewhere. */
    uint64_t shift = 0x100000000;
    for (uint16_t i = 0; i < stack->depth; i++)
        frames[i] = f.flow->chain.items[stack->first + i] + shift;
    uint16_t depth = stack->depth;
    const struct module_list *list = f.flow->processes.items[0]->modules;
    feed_start(&f, 300, 1, false);
    f.pid = f.tid = 300;
    for (uint32_t i = 0; i < list->count; i++)
        feed(&f, (struct event){.kind = EVENT_MODULE_LOAD,
                                .module = {.bias = list->places[i].bias + shift,
                                           .start = list->places[i].start + shift,
                                           .end = list->places[i].end + shift,
                                           .path = f.flow->modules.items[list->places[i].module].path}});
    feed_stack(&f, 1, depth, frames);
    feed_alloc(&f, 0x5000, 64, 1);
    uint32_t sample = feed_read(&f, 0x5000);
    flow_finish(f.flow);
    assert_int_equal(flow_site_count(f.flow), 1);
    assert_int_equal(object_of(&f, sample)->process, 1);
    assert_ptr_equal(flow_site(f.flow, object_of(&f, sample)->site), site_at(block));
    assert_int_equal(site_at(block)->count, 2);
}

static void functions_come_from_the_innermost_frame(void **state)
{
    (void)state;
    uint64_t frames[] = {(uint64_t)(uintptr_t)&xmalloc, (uint64_t)(uintptr_t)&handle + 4};
    feed_stack(&f, 7, 2, frames);
    for (int i = 0; i < 3; i++)
        feed(&f, (struct event){.kind = EVENT_SAMPLE,
                                .sample = {.ordinal = f.ordinal++,
                                           .stack = 7,
                                           .flags = SAMPLE_READ | SAMPLE_HAS_LATENCY,
                                           .latency = 10}});
    flow_finish(f.flow);
    assert_int_equal(flow_function_count(f.flow), 1);
    assert_string_equal(flow_function(f.flow, 0)->function, "xmalloc");
    assert_int_equal(flow_function(f.flow, 0)->totals.samples, 3);
    assert_int_equal(flow_function(f.flow, 0)->totals.latency_sum, 30);
}

static void the_kernel_is_one_function(void **state)
{
    (void)state;
    uint64_t here[] = {0xffffffff81000010, (uint64_t)(uintptr_t)&handle + 4}, there[] = {0xffffffff82000020};
    feed_stack(&f, 7, 2, here);
    feed_stack(&f, 8, 1, there);
    for (uint32_t stack = 7; stack <= 8; stack++)
        feed(&f, (struct event){.kind = EVENT_SAMPLE,
                                .sample = {.ordinal = f.ordinal++, .stack = stack, .flags = SAMPLE_READ}});
    flow_finish(f.flow);
    assert_int_equal(flow_function_count(f.flow), 1);
    assert_string_equal(flow_function(f.flow, 0)->function, "[kernel]");
    assert_int_equal(flow_function(f.flow, 0)->totals.samples, 2);
}

static void names_of_wrappers(void **state)
{
    (void)state;
    static const char *const yes[] = {"malloc",
                                      "xmalloc",
                                      "je_malloc",
                                      "g_malloc0",
                                      "operator new(unsigned long)",
                                      "operator new[](unsigned long, std::align_val_t)",
                                      "xcalloc",
                                      "my_realloc",
                                      "std::vector<int, std::allocator<int> >::push_back(int const&)",
                                      "void std::vector<A>::_M_realloc_insert<B>(int)",
                                      "__gnu_cxx::new_allocator<char>::allocate(unsigned long, void const*)",
                                      "_gfortran_allocate",
                                      "pvector<int>::pvector(unsigned long, int)",
                                      "shop::Table<A<int>, 3>::Table(Table<A<int>, 3> const&)",
                                      "pvector<long>::resize(unsigned long)",
                                      "Vec<double>::operator=(Vec<double> const&)",
                                      "Vec<double>::operator=(std::list<double> const&)",
                                      "Eigen::internal::aligned_malloc(unsigned long)"};
    static const char *const no[] = {"Builder<int, true>::MakeCSR(pvector<int> const&)",
                                     "Builder<int>::insertion_sort(int)",
                                     "main",
                                     "make_grid",
                                     "Store::Store(std::vector<int>)",
                                     "allocate_all",
                                     "user_std::thing()",
                                     "malloc_stats_print",
                                     "compute"};
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
        assert_true(wrapper_by_name(yes[i], "/src/a.c"));
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        assert_false(wrapper_by_name(no[i], "/src/a.c"));
    assert_false(wrapper_by_name(">::resize(int)" + 1, "/src/a.c")); /* what is before a name is not looked at */
    assert_true(wrapper_by_name("allocate", "/usr/include/c++/12/bits/new_allocator.h"));
    assert_true(wrapper_by_module("libc.so.6"));
    assert_false(wrapper_by_module("libcrypto.so.3"));
    static const char *const builders[] = {"matrix_new",       "make_grid",
                                           "newNode",          "shop::Grid::Grid(int)",
                                           "pool_alloc",       "Grid<int>::Grid(unsigned long)",
                                           "Matrix::create()", "buffer_get"};
    static const char *const workers[] = {"main", "compute", "renewal", "Grid::step(int)", "handle", "forget"};
    for (size_t i = 0; i < sizeof builders / sizeof *builders; i++)
        assert_true(wrapper_like_constructor(builders[i]));
    for (size_t i = 0; i < sizeof workers / sizeof *workers; i++)
        assert_false(wrapper_like_constructor(workers[i]));
}

static void names_of_work(void **state)
{
    (void)state;
    static const struct {
        const char *function, *work;
    } cases[] = {
        {"qsort_r", "qsort_r"},
        {"void std::__parallel::sort<std::pair<int, long>*>(std::pair<int, long>*, std::pair<int, long>*)", "sort"},
        {"std::stable_sort<int*>(int*, int*)", "stable_sort"},
        {"std::vector<int, std::allocator<int> >::resize(unsigned long)", NULL},
        {"std::make_unique<int>()", NULL},
        {"operator new(unsigned long)", NULL},
        {"std::operator+(std::string const&, char const*)", NULL},
        {"Eigen::internal::aligned_malloc(unsigned long)", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char work[64] = "";
        assert_int_equal(wrapper_algorithm(cases[i].function, work, sizeof work), cases[i].work != NULL);
        assert_string_equal(work, cases[i].work ? cases[i].work : "");
    }
}

int main(void)
{
#define named(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        named(wrappers_are_looked_through),
        named(two_blocks_of_one_line_are_distinguished),
        named(one_line_run_often_is_one_site),
        named(a_function_that_calls_itself_is_no_wrapper),
        named(what_returns_a_pointer_is_its_callers),
        named(use_decides_nothing),
        named(a_site_has_the_name_of_its_variable),
        named(many_chains_are_many_sites),
        named(static_objects_and_sections_have_names),
        named(the_same_site_in_a_fork_and_at_another_address_is_one),
        named(functions_come_from_the_innermost_frame),
        named(the_kernel_is_one_function),
        cmocka_unit_test(names_of_wrappers),
        cmocka_unit_test(names_of_work),
    };
    return cmocka_run_group_tests_name("sites", tests, NULL, NULL);
}
