/* test_export_text.c - folded stacks, CSV and text of a trace whose samples are known: every name comes out as one name, and
 * what is not known is never a number. */
#include "exchange/export/fields.h"
#include "made_trace.h"

#include <errno.h>

static void totals_are_the_flows(void **state)
{
    (void)state;
    struct made made = made_open();
    struct flow_totals totals = flow_totals(made.flow);
    assert_int_equal(totals.samples, MADE_SAMPLES);
    assert_int_equal(totals.remote, MADE_REMOTE);
    assert_int_equal(totals.home_known, MADE_KNOWN);
    assert_int_equal(totals.latency_sum, MADE_LATENCY);
    assert_int_equal(totals.latency_count, MADE_TIMED);
    struct names *names = names_new(made.flow);
    struct tally tally;
    uint64_t sums[TALLY_VALUES] = {0};
    assert_int_equal(tally_make(&tally, made.flow, names, true, NULL), 0);
    array_each (&tally.rows, const struct tally_row, row)
        for (unsigned i = 0; i < TALLY_VALUES; i++)
            sums[i] += row->values[i];
    assert_int_equal(sums[TALLY_SAMPLES], totals.samples);
    assert_int_equal(sums[TALLY_REMOTE], totals.remote);
    assert_int_equal(sums[TALLY_LATENCY], totals.latency_sum);
    assert_int_equal(sums[TALLY_TIMED], totals.latency_count);
    assert_int_equal(sums[TALLY_HOME_KNOWN], totals.home_known);
    tally_free(&tally);
    names_free(names);
    made_close(&made);
}

#define CHAIN  "l:i\\x09b,\"x.so+0x1ff;l:i\\x09b,\"x.so+0x100"
#define OUTER  "l:i\\x09b,\"x.so+0x300"
#define BLOCK  "[l:i\\x09b,\"x.so+0x3ff]"
#define WORKER "a:b \"c\";w:o\\x0ar\"k\\xff;"

/* The first access and the second one are in one line. A semicolon in a name would end the frame. */
static void folded_stacks(void **state)
{
    (void)state;
    char *text = made_export(export_folded, (struct export_options){0}, NULL);
    assert_string_equal(text, "a:b \"c\";main;" CHAIN ";" BLOCK " 2\n"
                              "a:b \"c\";main;" OUTER ";[a,\"b\"\\x0ac:d] 1\n" /* threads are in blocks of their own */
                        WORKER CHAIN ";" BLOCK " 1\n" WORKER OUTER ";" BLOCK " 1\n" WORKER "[unknown];[unknown] 1\n");
    free(text);
    text = made_export(export_folded, (struct export_options){.value = TALLY_LATENCY}, NULL);
    assert_string_equal(text, "a:b \"c\";main;" CHAIN ";" BLOCK " 100\n" WORKER CHAIN ";" BLOCK " 200\n" WORKER
                              "[unknown];[unknown] 50\n");
    free(text);
}

#undef BLOCK
#define BLOCK  "\"l;i\tb,\"\"x.so+0x3ff\""
#define THREAD "\"w;o\nr\"\"k\xef\xbf\xbd\""

static void csv(void **state)
{
    (void)state;
    char *text = made_export(export_csv, (struct export_options){0}, NULL);
    assert_string_equal(
        text, "comm,pid,tid,time,cpu,node,home,remote,op,addr,size,latency,level,kind,object,name,sym,srcline\r\n"
              "main,100,100,0.000001000,0,0,0,0,read,0x10010,8,100,,heap,0," BLOCK ",,\r\n"
              "main,100,100,0.000001001,0,0,0,0,write,0x10018,4,,,heap,0," BLOCK ",,\r\n" THREAD
              ",100,101,0.000001002,1,1,0,1,read,0x10020,8,200,,heap,0," BLOCK ",,\r\n" THREAD
              ",100,101,0.000001003,1,1,0,1,update,0x10028,,,,heap,0," BLOCK ",,\r\n" THREAD
              ",100,101,0.000001004,1,1,1,0,read,0x20000,8,50,,,,,,\r\n"
              "main,100,100,0.000001005,,,,,,0x30008,8,,,file,1,\"a,\"\"b\"\"\nc;d\",,\r\n");
    free(text);
}

static void csv_for_terminals(void **state)
{
    (void)state;
    struct export_options options = {.fields = "comm,name,tid", .for_terminal = true};
    char *text = made_export(export_csv, options, NULL);
    assert_non_null(strstr(text, "\"w;o\\x0ar\"\"k\\xff\",\"l;i\\x09b,\"\"x.so+0x3ff\",101\r\n"));
    assert_non_null(strstr(text, "main,\"a,\"\"b\"\"\\x0ac;d\",100\r\n"));
    free(text);
}

static void text_with_tabs(void **state)
{
    (void)state;
    struct export_options options = {.fields = "tid,comm,cpu,home,remote,latency,op,offset,name,first,phys_addr,stack"};
    char *text = made_export(export_text, options, NULL);
    assert_string_equal(text,
                        "# tid\tcomm\tcpu\thome\tremote\tlatency\top\toffset\tname\tfirst\tphys_addr\tstack\n"
                        "100\tmain\t0\t0\t0\t100\tread\t0x10\tl;i\\x09b,\"x.so+0x3ff\t1\t-\t" CHAIN "\n"
                        "100\tmain\t0\t0\t0\t-\twrite\t0x18\tl;i\\x09b,\"x.so+0x3ff\t0\t-\t" CHAIN "\n"
                        "101\tw;o\\x0ar\"k\\xff\t1\t0\t1\t200\tread\t0x20\tl;i\\x09b,\"x.so+0x3ff\t0\t-\t" CHAIN "\n"
                        "101\tw;o\\x0ar\"k\\xff\t1\t0\t1\t-\tupdate\t0x28\tl;i\\x09b,\"x.so+0x3ff\t0\t-\t" OUTER "\n"
                        "101\tw;o\\x0ar\"k\\xff\t1\t1\t0\t50\tread\t-\t-\t0\t-\t-\n"
                        "100\tmain\t-\t-\t-\t-\t-\t0x8\ta,\"b\"\\x0ac;d\t0\t-\t" OUTER "\n");
    free(text);
    options.without_head = true;
    options.fields = "time";
    text = made_export(export_text, options, NULL);
    assert_int_equal(strlen(text), MADE_SAMPLES * strlen("0.000001000\n"));
    free(text);
}

static void fields_that_do_not_exist_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"", "time,", ",time", "tim", "times", "time,,tid", "time tid"};
    struct fields fields;
    struct error err;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(fields_parse(&fields, wrong[i], &err), -EINVAL);
        assert_non_null(strstr(err.text, "the fields are comm, pid, tid,"));
        assert_non_null(strstr(err.text, ", stack"));
    }
    assert_int_equal(fields_parse(&fields, "stack,time,stack", &err), 0);
    assert_int_equal(fields.count, 3);
    assert_string_equal(field_name(fields.items[0]), "stack");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(totals_are_the_flows),
        cmocka_unit_test(folded_stacks),
        cmocka_unit_test(csv),
        cmocka_unit_test(csv_for_terminals),
        cmocka_unit_test(text_with_tabs),
        cmocka_unit_test(fields_that_do_not_exist_are_refused),
    };
    return cmocka_run_group_tests_name("export_text", tests, NULL, NULL);
}
