#include "cli/harmless_stderr.h"

#include "base/text.h"
#include "cli/progress_line.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { LONGEST_LINE = 2000, HANGING = 2 };

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

/* Columns of the terminal, of another one where a user says so; 0: in a file a line is a line. */
static size_t columns(void)
{
    struct winsize size;
    const char *said = getenv("COLUMNS");
    if (isatty(STDERR_FILENO) && ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col)
        return size.ws_col;
    return said && atoi(said) > 0 ? (size_t)atoi(said) : 0;
}

/* Bytes up to the next place for a break: not in what a shell's quotes hold, nor in a command that is to be copied. */
static size_t unbroken(const char *text, const char *line)
{
    static const char command[] = "next: ";
    const size_t before = sizeof command - 1;
    if (text >= line + before && strncmp(text - before, command, before) == 0)
        return strlen(text);
    size_t at = 0;
    while (text[at] && text[at] != ' ') {
        bool opens = text[at] == '\'' && (at == 0 || strchr("='(", text[at - 1]));
        const char *closing = opens ? strchr(text + at + 1, '\'') : NULL;
        bool escapes = text[at] == '\\' && text[at + 1];
        at = closing ? (size_t)(closing - text) + 1 : at + 1 + escapes;
    }
    return at;
}

/* Broken between words; what is wider than the terminal by itself, a path, stays whole. */
static int write_folded(char *line, size_t width)
{
    size_t column = 0;
    int failed = 0;
    for (char *at = line; *at && !failed;) {
        size_t size = unbroken(at, line), blank = at != line;
        char *next = at + size, after = *next;
        *next = '\0';
        size_t taken = text_width(at);
        bool breaks = blank && column > HANGING && column + 1 + taken > width;
        failed = breaks ? write_all("\n  ", 1 + HANGING) : blank ? write_all(" ", 1) : 0;
        failed = failed || write_all(at, size) < 0 ? -1 : 0;
        column = taken + (breaks ? HANGING : column + blank);
        *next = after;
        at = next + (after == ' ');
    }
    return failed;
}

static int write_line(const char *line, size_t size)
{
    char *text = strndup(line, size); /* a line with a NUL ends there */
    char *safe = text ? text_safe_fit(text, LONGEST_LINE) : NULL;
    size_t width = safe ? columns() : 0;
    int failed = !safe                               ? -1
                 : width && text_width(safe) > width ? write_folded(safe, width)
                                                     : write_all(safe, strlen(safe));
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
