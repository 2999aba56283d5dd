#include "../skip.h"

#include "base/json.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

static void writes_what_a_reader_can_read(void **state)
{
    (void)state;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    struct json *json = json_new(out);
    struct error err = {0};
    json_object(json, NULL);
    json_text(json, "quote \" and \\", "tab\t, bell\a, bad \xff, good \xc3\xa9, del \x7f");
    json_text(json, "none", NULL);
    json_array(json, "list");
    json_number(json, NULL, UINT64_MAX);
    json_integer(json, NULL, -5);
    json_real(json, NULL, 0.125, 3);
    json_real(json, NULL, NAN, 3);
    json_bool(json, NULL, true);
    json_end(json);
    json_object(json, "empty");
    json_end(json);
    json_null(json, "null");
    json_number_if(json, "unknown", false, 7);
    json_number_if(json, "known", true, 7);
    assert_int_equal(json_finish(json, &err), 0);
    fclose(out);
    assert_string_equal(text, "{\n"
                              "  \"quote \\\" and \\\\\": \"tab\\u0009, bell\\u0007, bad \xef\xbf\xbd, good \xc3\xa9, "
                              "del \\u007f\",\n"
                              "  \"none\": null,\n"
                              "  \"list\": [\n"
                              "    18446744073709551615,\n"
                              "    -5,\n"
                              "    0.125,\n"
                              "    null,\n"
                              "    true\n"
                              "  ],\n"
                              "  \"empty\": {},\n"
                              "  \"null\": null,\n"
                              "  \"unknown\": null,\n"
                              "  \"known\": 7\n"
                              "}\n");
    free(text);
}

static void a_full_disk_is_reported(void **state)
{
    (void)state;
    FILE *full = fopen("/dev/full", "w");
    if (!full)
        skip_test("there is no /dev/full");
    struct json *json = json_new(full);
    struct error err = {0};
    json_object(json, NULL);
    assert_true(json_finish(json, &err) < 0);
    fclose(full);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_what_a_reader_can_read),
        cmocka_unit_test(a_full_disk_is_reported),
    };
    return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
