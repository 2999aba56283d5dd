/* report map of made-up runs: what is drawn where, and that nothing gets out of its lines. */
#include "../analysis/bursts.h"
#include "base/text.h"
#include "view/view.h"

enum { PAGE = 4096, PAGES = 256, ARRAY = HEAP, WIDTH = 80 };

/* main sweeps an array from its first page to its last; then a thread with a nasty name reads all of it. */
static struct feeding sweep_and_read(void)
{
    struct feeding f = run_begin();
    feed_thread(&f, PID + 9, "\033[31mred\n\u202e", 0, 0);
    feed_alloc(&f, ARRAY, PAGES * PAGE, CHAIN);
    for (unsigned i = 0; i < PAGES; i++) {
        f.time += MS;
        feed_burst(&f, (struct burst_of){.addr = ARRAY + i * PAGE, .step = 8, .flags = SAMPLE_WRITE});
    }
    for (unsigned i = 0; i < PAGES * 2; i++) {
        f.time += MS / 2;
        feed_burst(&f, (struct burst_of){.thread = 9, .addr = ARRAY + dice(PAGES) * PAGE, .step = 8});
    }
    feeding_build(&f);
    return f;
}

static char *drawn(const struct feeding *f, struct view_options options)
{
    struct error err = {0};
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    options.width = options.width ? options.width : WIDTH;
    options.filter.kind = options.filter.kind ? options.filter.kind : -1;
    options.path = "made-up.data";
    assert_int_equal(view_map(f->flow, &options, out, &err), 0);
    fclose(out);
    return text;
}

/* Row `row` of the picture from behind its axis on, or NULL. */
static const char *plot_row(const char *text, const char *axis, unsigned row)
{
    for (const char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        const char *end = strchr(line, '\n'), *at = NULL;
        if (end && end - line > 21 && strncmp(line + 21, axis, strlen(axis)) == 0)
            at = line + 21 + strlen(axis);
        if (at && row-- == 0)
            return at;
    }
    return NULL;
}

static void fits(const char *text, unsigned width)
{
    for (const char *line = text; *line;) {
        const char *end = strchr(line, '\n');
        assert_non_null(end);
        char *copy = strndup(line, (size_t)(end - line));
        assert_true(text_width(copy) <= width);
        free(copy);
        line = end + 1;
    }
}

static void a_sweep_is_a_diagonal(void **state)
{
    (void)state;
    struct feeding f = sweep_and_read();
    char *text = drawn(&f, (struct view_options){.ascii = true, .height = 16, .to_s = 0.256});
    fits(text, WIDTH);
    unsigned last = 0, rows = 0;
    for (const char *row;
         (row = plot_row(text, rows ? "|" : "+", rows ? rows - 1 : 1 /* behind the phases */)) && rows < 16; rows++) {
        unsigned first = (unsigned)strspn(row, " ");
        unsigned marks = (unsigned)strcspn(row + first, " \n");
        assert_true(marks > 0 && marks < 8);
        assert_true(rows == 0 ? first == 0 : first > last);
        last = first;
    }
    assert_int_equal(rows, 16);
    for (const char *at = text; *at; at++)
        assert_true((unsigned char)*at < 128);
    free(text);
    feeding_free(&f);
}

static void two_phases_are_reported(void **state)
{
    (void)state;
    struct feeding f = sweep_and_read();
    char *text = drawn(&f, (struct view_options){.height = 8});
    fits(text, WIDTH);
    assert_non_null(strstr(text, "main writes"));
    assert_non_null(strstr(text, "┬2─"));
    assert_null(strstr(text, "\033")); /* neither colours nor the thread's */
    assert_null(strstr(text, "\u202e"));
    free(text);
    feeding_free(&f);
}

static void threads_have_their_own_rows(void **state)
{
    (void)state;
    struct feeding f = sweep_and_read();
    char *text = drawn(&f, (struct view_options){.gantt = true, .height = 12});
    fits(text, WIDTH);
    assert_null(strstr(text, "\033"));
    assert_non_null(strstr(text, "33.3% of the accesses"));
    assert_non_null(strstr(text, "66.7% of the accesses"));
    free(text);
    feeding_free(&f);
}

static void any_size_will_do(void **state)
{
    (void)state;
    struct feeding f = sweep_and_read();
    for (unsigned width = 1; width < 300; width += 23) {
        for (unsigned height = 1; height < 60; height += 13) {
            for (unsigned kind = 0; kind < 8; kind++) {
                char *text = drawn(&f, (struct view_options){.width = width,
                                                             .height = height,
                                                             .color = kind & 1,
                                                             .gantt = kind & 2,
                                                             .ascii = kind & 4,
                                                             .by = 1 + (enum view_map_by)(kind % 3)});
                assert_true(strlen(text) > 0);
                free(text);
            }
        }
    }
    feeding_free(&f);
}

static void filters_leave_out(void **state)
{
    (void)state;
    struct feeding f = sweep_and_read();
    char *text = drawn(&f, (struct view_options){.filter = {.kind = OBJECT_STACK}});
    assert_non_null(strstr(text, "Not shown because of --filter: 100% of the accesses"));
    free(text);
    text = drawn(&f, (struct view_options){.physical = true});
    assert_non_null(strstr(text, "No access has a physical address"));
    free(text);
    feeding_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sweep_is_a_diagonal),       cmocka_unit_test(two_phases_are_reported),
        cmocka_unit_test(threads_have_their_own_rows), cmocka_unit_test(any_size_will_do),
        cmocka_unit_test(filters_leave_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
