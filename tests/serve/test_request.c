/* Requests as browsers send them are understood; everything else is refused, and nothing breaks. */
#include "serve/request.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static int parse(struct request *request, const char *text)
{
    return request_parse(request, text, strlen(text));
}

static void a_browser_is_understood(void **state)
{
    (void)state;
    struct request request;
    const char *text = "GET /0af/window?run=0&t0=1.5&a0=281473096691712 HTTP/1.1\r\n"
                       "Host: 127.0.0.1:8080\r\n"
                       "User-Agent: Mozilla/5.0 (X11; Linux x86_64)\r\n"
                       "Accept: */*\r\n\r\n";
    assert_int_equal(request_length(text, strlen(text)), strlen(text));
    assert_int_equal(parse(&request, text), 0);
    assert_string_equal(request.path, "/0af/window");
    assert_string_equal(request.query, "run=0&t0=1.5&a0=281473096691712");
    assert_string_equal(request.host, "127.0.0.1:8080");
    double seconds = 0;
    uint64_t number = 9;
    bool bad = false;
    assert_true(request_number(&request, "t0", &seconds, &bad));
    assert_true(seconds == 1.5);
    assert_true(request_integer(&request, "a0", &number, &bad));
    assert_true(number == 281473096691712u);
    assert_true(request_integer(&request, "run", &number, &bad));
    assert_int_equal(number, 0);
    assert_false(request_integer(&request, "un", &number, &bad));
    assert_false(bad);
}

static void a_head_may_come_in_pieces(void **state)
{
    (void)state;
    const char *text = "GET / HTTP/1.1\r\nHost: a\r\n\r\nmore";
    size_t whole = strlen(text) - 4;
    for (size_t size = 0; size < whole; size++)
        assert_int_equal(request_length(text, size), 0);
    assert_int_equal(request_length(text, strlen(text)), whole);
}

static void what_is_no_plain_get_is_refused(void **state)
{
    (void)state;
    static const struct {
        int status;
        const char *text;
    } tries[] = {
        {405, "POST / HTTP/1.1\r\nHost: a\r\n\r\n"},
        {405, "get / HTTP/1.1\r\nHost: a\r\n\r\n"},
        {405, "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n"},
        {505, "GET / HTTP/2.0\r\nHost: a\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\nHost: a\r\ntransfer-encoding: chunked\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\nHost : a\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n"},
        {400, "GET / HTTP/1.1\nHost: a\n\n\r\n\r\n"},
        {400, "GET http://127.0.0.1/ HTTP/1.1\r\nHost: a\r\n\r\n"},
        {400, "GET /%2e%2e/ HTTP/1.1\r\nHost: a\r\n\r\n"},
        {400, "GET /\\..\\ HTTP/1.1\r\nHost: a\r\n\r\n"},
        {400, "GET / /x HTTP/1.1\r\nHost: a\r\n\r\n"},
        {400, "GET /\r\nHost: a\r\n\r\n"},
        {400, "GET\r\nHost: a\r\n\r\n"},
        {400, "\r\n\r\n"},
        {400, ""},
    };
    struct request request;
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        int status = parse(&request, tries[i].text);
        if (status != tries[i].status)
            print_message("%s\n", tries[i].text);
        assert_int_equal(status, tries[i].status);
    }
    static const char with_nul[] = "GET /a\0b HTTP/1.1\r\nHost: a\r\n\r\n";
    assert_int_equal(request_parse(&request, with_nul, sizeof with_nul - 1), 400);
    char longer[REQUEST_MOST];
    snprintf(longer, sizeof longer, "GET /%0*d HTTP/1.1\r\nHost: a\r\n\r\n", REQUEST_PATH, 0);
    assert_int_equal(parse(&request, longer), 414);
    snprintf(longer, sizeof longer, "GET / HTTP/1.1\r\nHost: %0*d\r\n\r\n", REQUEST_HOST, 0);
    assert_int_equal(parse(&request, longer), 400);
}

static void odd_numbers_are_bad(void **state)
{
    (void)state;
    static const char *const numbers[] = {
        "t0=", "t0=x", "t0=-1", "t0=inf", "t0=nan", "t0=1&t0=2", "t0=1e300", "t0=0x10", "t0=1111111111111111111111111"};
    static const char *const integers[] = {"a0=", "a0=1.5", "a0=-1", "a0=18446744073709551616", "a0=0x10", "a0=+1"};
    double seconds;
    uint64_t number;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct request request = {0};
        bool bad = false;
        snprintf(request.query, sizeof request.query, "%s", numbers[i]);
        assert_false(request_number(&request, "t0", &seconds, &bad));
        assert_true(bad);
    }
    for (size_t i = 0; i < sizeof integers / sizeof *integers; i++) {
        struct request request = {0};
        bool bad = false;
        snprintf(request.query, sizeof request.query, "%s", integers[i]);
        assert_false(request_integer(&request, "a0", &number, &bad));
        assert_true(bad);
    }
    struct request most = {.query = "a0=18446744073709551615"};
    bool bad = false;
    assert_true(request_integer(&most, "a0", &number, &bad) && number == UINT64_MAX && !bad);
}

/* Bytes of every kind, cut and changed anywhere: sanitizers see whether it reads beyond them. */
static void random_bytes_do_no_harm(void **state)
{
    (void)state;
    static const char good[] = "GET /0af/window?run=0&t0=1.5 HTTP/1.1\r\nHost: 127.0.0.1:80\r\nA: b\r\n\r\n";
    uint64_t random = 1;
    for (unsigned round = 0; round < 20000; round++) {
        char text[sizeof good];
        memcpy(text, good, sizeof good);
        for (unsigned change = 0; change < 1 + round % 5; change++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            text[(random >> 33) % (sizeof good - 1)] = (char)(random >> 20);
        }
        struct request request;
        bool bad = false;
        double number;
        size_t size = (random >> 40) % sizeof good;
        request_length(text, size);
        if (request_parse(&request, text, size) == 0)
            request_number(&request, "t0", &number, &bad);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_browser_is_understood),         cmocka_unit_test(a_head_may_come_in_pieces),
        cmocka_unit_test(what_is_no_plain_get_is_refused), cmocka_unit_test(odd_numbers_are_bad),
        cmocka_unit_test(random_bytes_do_no_harm),
    };
    return cmocka_run_group_tests_name("request", tests, NULL, NULL);
}
