#include "agent/process/own_maps.h"

#include "base/sys.h"

#include <string.h>

/* Small, because it is on the stack of whichever thread asks; a longer path is cut. */
enum { BUFFER = 1024 };

static uint64_t hex(const char **at)
{
    uint64_t value = 0;
    for (;; ++*at) {
        char digit = **at;
        if (digit >= '0' && digit <= '9')
            value = value << 4 | (uint64_t)(digit - '0');
        else if (digit >= 'a' && digit <= 'f')
            value = value << 4 | (uint64_t)(digit - 'a' + 10);
        else
            return value;
    }
}

static void skip_field(const char **at)
{
    while (**at && **at != ' ')
        ++*at;
    while (**at == ' ')
        ++*at;
}

/* "start-end perms offset device inode   path" */
static void parse(const char *at, struct maps_line *line)
{
    line->start = hex(&at);
    if (*at == '-')
        at++;
    line->end = hex(&at);
    if (*at == ' ')
        at++;
    line->prot = 0;
    line->shared = false;
    for (; *at && *at != ' '; at++) {
        line->prot |= *at == 'r' ? PROT_READ : *at == 'w' ? PROT_WRITE : *at == 'x' ? PROT_EXEC : 0;
        line->shared |= *at == 's';
    }
    skip_field(&at);
    line->offset = hex(&at);
    skip_field(&at);
    skip_field(&at);
    skip_field(&at);
    line->path = at;
}

bool maps_find(bool (*visit)(const struct maps_line *line, void *data), void *data)
{
    int fd = sys_open_read("/proc/self/maps");
    if (fd < 0)
        return false;
    char buffer[BUFFER];
    size_t filled = 0;
    bool found = false, skipping = false;
    while (!found) {
        long got = sys_read(fd, buffer + filled, sizeof buffer - 1 - filled);
        if (got == -EINTR)
            continue;
        if (got <= 0)
            break;
        filled += (size_t)got;
        char *begin = buffer, *end = buffer + filled, *newline;
        while (!found && ((newline = memchr(begin, '\n', (size_t)(end - begin))) || filled == sizeof buffer - 1)) {
            /* Without a newline in a full buffer, the line is cut here and its rest skipped. */
            if (!newline && begin != buffer)
                break;
            char *stop = newline ? newline : end;
            *stop = '\0';
            struct maps_line line;
            if (!skipping) {
                parse(begin, &line);
                found = visit(&line, data);
            }
            skipping = !newline;
            begin = newline ? newline + 1 : end;
            if (!newline)
                break;
        }
        filled = (size_t)(end - begin);
        memmove(buffer, begin, filled);
    }
    sys_close(fd);
    return found;
}
