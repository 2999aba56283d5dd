#include "cli/harmless_stderr.h"

#include "base/text.h"
#include "cli/progress_line.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LONGEST_LINE = 2000 };

/* Longer than any line: the kernel gives no argument of more than 128 KiB. So lines come whole, and no character is torn
 * apart. Only stdio uses it. */
static char buffer[256 << 10];

static int write_all(const char *text, size_t size)
{
    while (size) {
        ssize_t written = write(STDERR_FILENO, text, size);
        if (written < 0 && errno != EINTR)
            return -1;
        text += written > 0 ? written : 0;
        size -= written > 0 ? (size_t)written : 0;
    }
    return 0;
}

static int write_line(const char *line, size_t size)
{
    char *text = strndup(line, size); /* a line with a NUL ends there */
    char *safe = text ? text_safe_fit(text, LONGEST_LINE) : NULL;
    int failed = safe ? write_all(safe, strlen(safe)) : -1;
    free(safe);
    free(text);
    return failed;
}

static ssize_t write_safely(void *cookie, const char *data, size_t size)
{
    /* When memory runs out, text_safe says so here: that message has no names in it. */
    static bool inside;
    (void)cookie;
    if (inside)
        return write_all(data, size) < 0 ? 0 : (ssize_t)size;
    inside = true;
    progress_line_end();
    int failed = 0;
    for (size_t at = 0; at < size && !failed;) {
        const char *end = memchr(data + at, '\n', size - at);
        size_t length = end ? (size_t)(end - data) - at : size - at;
        failed = write_line(data + at, length) < 0 || (end && write_all("\n", 1) < 0);
        at += length + (end != NULL);
    }
    inside = false;
    return failed ? 0 : (ssize_t)size;
}

void harmless_stderr(void)
{
    FILE *safe = fopencookie(NULL, "w", (cookie_io_functions_t){.write = write_safely});
    if (!safe)
        return;
    setvbuf(safe, buffer, _IOLBF, sizeof buffer);
    stderr = safe;
}
