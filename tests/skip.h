/* skip.h - skip_test("why"), in place of cmocka's skip(): TAP says "ok 3 - title # SKIP why".
 *
 * cmocka up to 1.1.7 says "not ok 3 # SKIP title", which Meson counts as a failure, and takes no reason. The line is
 * rewritten on its way out; anything else passes unchanged. */
#ifndef NUMALENS_TESTS_SKIP_H
#define NUMALENS_TESTS_SKIP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct {
    FILE *out; /* what stdout was */
    char reason[256];
} skip_state;

/* cmocka flushes every line: one write each. */
static ssize_t skip_write(void *cookie, const char *text, size_t size)
{
    (void)cookie;
    unsigned number = 0;
    int title = 0;
    char line[512];
    snprintf(line, sizeof line, "%.*s", (int)size, text);
    line[strcspn(line, "\n")] = 0;
    stdout = skip_state.out;
    if (sscanf(line, "not ok %u # SKIP %n", &number, &title) == 1 && title > 0)
        fprintf(stdout, "ok %u - %s # SKIP %s\n", number, line + title, skip_state.reason);
    else
        fprintf(stdout, "%s: %s\n", line, skip_state.reason);
    fflush(stdout);
    return (ssize_t)size;
}

__attribute__((noreturn, format(printf, 1, 2))) static void skip_test(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(skip_state.reason, sizeof skip_state.reason, format, arguments);
    va_end(arguments);
    skip_state.reason[strcspn(skip_state.reason, "\n")] = 0;
    fflush(stdout);
    skip_state.out = stdout;
    FILE *filter = fopencookie(NULL, "w", (cookie_io_functions_t){.write = skip_write});
    if (filter)
        stdout = filter;
    skip();
    abort(); /* skip() does not return */
}

#endif
