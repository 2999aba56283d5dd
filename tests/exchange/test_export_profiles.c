/* test_export_profiles.c - callgrind, speedscope and pprof of a trace whose samples are known: hostile names stay inside their
 * lines and quotes. */
#include "exchange/export/emitter.h"
#include "exchange/export/protobuf.h"
#include "made_trace.h"

static void callgrind(void **state)
{
    (void)state;
    char *text = made_export(export_callgrind, (struct export_options){0}, NULL);
    const char *costs = strstr(text, "positions: line\n");
    assert_memory_equal(text, "# callgrind format\nversion: 1\n", 30);
    assert_non_null(costs);
    assert_non_null(strstr(costs, "\nevents: Samples Remote Latency Timed\nsummary: 6 2 350 3\n"));
    assert_non_null(strstr(costs, "\ntotals: 6 2 350 3\n"));
    /* The inner function with its own cost, then the outer one with what it calls. */
    assert_non_null(strstr(costs, "\nob=(2) l;i\\x09b,\"x.so\nfl=(1) ???\nfn=(3) l;i\\x09b,\"x.so+0x100\n0 3 1 300 2\n"
                                  "\nob=(2)\nfl=(1)\nfn=(4) l;i\\x09b,\"x.so+0x1ff\n"
                                  "cob=(2)\ncfi=(1)\ncfn=(3)\ncalls=3 0\n0 3 1 300 2\n"));
    assert_non_null(strstr(costs, "[unknown]\n0 1 0 50 1\n"));
    free(text);
}

static void speedscope(void **state)
{
    (void)state;
    char *text = made_export(export_speedscope, (struct export_options){0}, NULL);
    assert_non_null(strstr(text, "{\"name\":\"[unknown]\"},\n{\"name\":\"l;i\\u0009b,\\\"x.so+0x100\"}"));
    assert_non_null(strstr(text, "{\"name\":\"w;o\\u000ar\\\"k\xef\xbf\xbd\"}"));
    assert_non_null(strstr(text, "{\"name\":\"[a,\\\"b\\\"\\u000ac;d]\"}"));
    assert_non_null(strstr(text, "\"name\":\"remote accesses\",\"unit\":\"none\""));
    assert_non_null(strstr(text, "\"endValue\":350}]}\n"));
    free(text);
}

static void pprof(void **state)
{
    (void)state;
    size_t size;
    char *bytes = made_export(export_pprof, (struct export_options){0}, &size);
    assert_non_null(memmem(bytes, size, "\x32\x0aw;o\nr\"k\xef\xbf\xbd", 12)); /* string_table, 10 bytes */
    assert_non_null(memmem(bytes, size, "\x12\x05\x02\x00\x64\x01\x02",
                           7)); /* values of the first row: two samples, one of them timed */
    free(bytes);
}

/* Under sanitizers: each holds nothing when it ends. */
static void every_format(void **state)
{
    (void)state;
    for (const struct export_format *format = export_formats; format->name; format++) {
        size_t size = 0;
        assert_ptr_equal(export_format_named(format->name), format);
        if (!format->write) {
            assert_int_equal((format->missing != NULL) + (format->write_pages != NULL) + (format->write_events != NULL),
                             1);
            continue;
        }
        free(made_export(format->write, (struct export_options){0}, &size));
        assert_true(size > 100);
    }
    assert_null(export_format_named("none"));
}

static void numbers(void **state)
{
    (void)state;
    struct protobuf message = {0}, inner = {0};
    protobuf_number(&message, 1, 150);
    protobuf_number(&message, 16, UINT64_MAX);
    protobuf_double(&message, 2, 1.0);
    protobuf_text(&inner, 1, "");
    protobuf_message(&message, 3, &inner);
    static const uint8_t expected[] = {0x08, 0x96, 0x01, 0x80, 0x01, 0xff, 0xff, 0xff, 0xff, 0xff,
                                       0xff, 0xff, 0xff, 0xff, 0x01, 0x11, 0,    0,    0,    0,
                                       0,    0,    0xf0, 0x3f, 0x1a, 0x02, 0x0a, 0x00};
    assert_int_equal(message.count, sizeof expected);
    assert_memory_equal(message.items, expected, sizeof expected);
    array_free(&message);
    array_free(&inner);
}

/* However long a text is, and wherever the room ends in it. */
static void emitting(void **state)
{
    (void)state;
    char *text = NULL, *name = mem_alloc(3 * EMIT_ROOM);
    size_t size;
    FILE *out = open_memstream(&text, &size);
    struct emit *emit = emit_new(out);
    memset(name, 'x', 3 * EMIT_ROOM - 1);
    name[3 * EMIT_ROOM - 1] = '\0';
    emit_number(emit, 0);
    emit_number(emit, UINT64_MAX);
    emit_integer(emit, INT64_MIN);
    emit_hex(emit, 0);
    emit_hex(emit, UINT64_MAX);
    emit_nanoseconds(emit, 1000000042, 9);
    emit_text(emit, name);
    emit_csv(emit, name);
    for (unsigned i = 0; i < EMIT_ROOM; i++)
        emit_char(emit, 'y');
    emit_csv(emit, " a");
    emit_csv(emit, "b ");
    emit_json(emit, "\x01\\\"\x7f\xc2\x85\xe2\x80\xae");
    emit_free(emit);
    fclose(out);
    static const char head[] = "018446744073709551615-92233720368547758080x00xffffffffffffffff1.000000042";
    static const char tail[] = "\" a\"\"b \"\"\\u0001\\\\\\\"\\u007f\\u0085\\u202e\"";
    assert_int_equal(size, sizeof head - 1 + 7 * EMIT_ROOM - 2 + sizeof tail - 1);
    assert_memory_equal(text, head, sizeof head - 1);
    assert_string_equal(text + size - (sizeof tail - 1), tail);
    assert_int_equal(strspn(text + sizeof head - 1, "x"), 6 * EMIT_ROOM - 2);
    free(text);
    free(name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(callgrind),    cmocka_unit_test(speedscope), cmocka_unit_test(pprof),
        cmocka_unit_test(every_format), cmocka_unit_test(numbers),    cmocka_unit_test(emitting),
    };
    return cmocka_run_group_tests_name("export_profiles", tests, NULL, NULL);
}
