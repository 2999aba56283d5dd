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

static bool lines_find(const char *file, bool (*visit)(const char *text, void *data), void *data)
{
    int fd = sys_open_read(file);
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
            if (!skipping)
                found = visit(begin, data);
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

struct visitor {
    bool (*visit)(const struct maps_line *line, void *data);
    void *data;
    struct maps_line line;
};

static bool visit_map(const char *text, void *data)
{
    struct visitor *visitor = data;
    visitor->line.huge = 0;
    parse(text, &visitor->line);
    return visitor->visit(&visitor->line, visitor->data);
}

bool maps_find(bool (*visit)(const struct maps_line *line, void *data), void *data)
{
    struct visitor visitor = {.visit = visit, .data = data};
    return lines_find("/proc/self/maps", visit_map, &visitor);
}

static uint64_t kilobytes(const char *at)
{
    uint64_t value = 0;
    for (; *at == ' '; at++)
        ;
    for (; *at >= '0' && *at <= '9'; at++)
        value = value * 10 + (uint64_t)(*at - '0');
    return value << 10;
}

/* A map's line as in maps, then its fields, "VmFlags:" last. */
static bool visit_field(const char *text, void *data)
{
    static const char *const fields[] = {"AnonHugePages:", "ShmemPmdMapped:", "FilePmdMapped:"};
    struct visitor *visitor = data;
    if (*text < 'A' || *text > 'Z') {
        parse(text, &visitor->line);
        visitor->line.path = "";
        visitor->line.huge = 0;
        return false;
    }
    for (unsigned i = 0; i < sizeof fields / sizeof *fields; i++)
        if (strncmp(text, fields[i], strlen(fields[i])) == 0)
            visitor->line.huge += kilobytes(text + strlen(fields[i]));
    return strncmp(text, "VmFlags:", strlen("VmFlags:")) == 0 && visitor->visit(&visitor->line, visitor->data);
}

bool maps_find_huge(bool (*visit)(const struct maps_line *line, void *data), void *data)
{
    struct visitor visitor = {.visit = visit, .data = data};
    return lines_find("/proc/self/smaps", visit_field, &visitor);
}
