#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void safe(const char *text, const char *expected)
{
    char *made = text_safe(text);
    assert_string_equal(made, expected);
    free(made);
}

static void hostile_texts_become_harmless(void **state)
{
    (void)state;
    safe("plain Größe 測", "plain Größe 測");
    safe("\033[2Jx\a\n\t", "\\x1b[2Jx\\x07\\x0a\\x09");
    safe("a\xff\xc3", "a\\xff\\xc3");
    safe("\xc2\x9b"
         "31m",
         "\\xc2\\x9b31m");                                     /* C1: an escape sequence in one character */
    safe("x\xe2\x80\xaey", "x\\u{202e}y");                     /* reverses the direction of writing */
    safe("\xc0\xaf\xed\xa0\x80", "\\xc0\\xaf\\xed\\xa0\\x80"); /* overlong; surrogate */
    safe("\x7f", "\\x7f");
    safe("a\xe2\x80\x8b\xc2\xad\xef\xbb\xbf"
         "b",
         "a\\u{200b}\\u{ad}\\u{feff}b"); /* cannot be seen */
    safe("e\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81.",
         "e\xcc\x81\xcc\x81\xcc\x81\xcc\x81\\u{301}."); /* a pile of marks */
    safe("", "");
}

static void texts_are_cut_in_the_middle(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t width;
        const char *expected;
    } cases[] = {{"short", 5, "short"}, {"longer one", 5, "lo…ne"}, {"abc", 1, "…"},
                 {"abc", 0, ""},        {"測測測測", 5, "測…測"},   {"測a測測測", 7, "測a…測"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *fit = text_fit(cases[i].text, cases[i].width);
        assert_string_equal(fit, cases[i].expected);
        assert_true(text_width(fit) <= cases[i].width);
        free(fit);
    }
    char *fit = text_safe_fit("one\033two", 7);
    assert_string_equal(fit, "one…two");
    free(fit);
    fit = text_safe_fit("\033", 0);
    assert_string_equal(fit, "\\x1b");
    free(fit);
    assert_int_equal(text_width("Größe"), 5);
    assert_int_equal(text_width("e\xcc\x81"), 1);
}

/* Last: nothing takes it back. */
static void cut_in_ascii(void **state)
{
    (void)state;
    text_ascii_only();
    char *fit = text_fit("simulation", 5);
    assert_string_equal(fit, "si~on");
    free(fit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(hostile_texts_become_harmless),
                                       cmocka_unit_test(texts_are_cut_in_the_middle), cmocka_unit_test(cut_in_ascii)};
    return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
