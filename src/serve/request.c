#include "serve/request.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { BAD_REQUEST = 400, NOT_ALLOWED = 405, TOO_LONG = 414, BAD_VERSION = 505, DIGITS = 24 };

size_t request_length(const char *text, size_t size)
{
    const char *end = memmem(text, size, "\r\n\r\n", 4);
    return end ? (size_t)(end - text) + 4 : 0;
}

/* Letters of our own addresses; percent signs are not among them, so nothing has to be decoded. */
static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("/._-?=&+", c);
}

static bool copy(char *to, size_t room, const char *from, size_t size)
{
    if (size >= room)
        return false;
    memcpy(to, from, size);
    to[size] = '\0';
    return true;
}

static int parse_target(struct request *request, const char *target, size_t size)
{
    const char *question = memchr(target, '?', size);
    size_t path = question ? (size_t)(question - target) : size;
    if (size == 0 || target[0] != '/')
        return BAD_REQUEST;
    for (size_t i = 0; i < size; i++)
        if (target[i] == '\0' || !is_plain(target[i]))
            return BAD_REQUEST;
    if (!copy(request->path, sizeof request->path, target, path) ||
        !copy(request->query, sizeof request->query, question ? question + 1 : "", question ? size - path - 1 : 0))
        return TOO_LONG;
    return 0;
}

static int parse_first_line(struct request *request, const char *line, size_t size)
{
    const char *first = memchr(line, ' ', size);
    const char *second = first ? memchr(first + 1, ' ', size - (size_t)(first + 1 - line)) : NULL;
    if (!second)
        return BAD_REQUEST;
    const char *version = second + 1;
    size_t version_size = size - (size_t)(version - line);
    if (version_size != 8 || memcmp(version, "HTTP/", 5) != 0)
        return BAD_REQUEST;
    if (memcmp(version, "HTTP/1.1", 8) != 0 && memcmp(version, "HTTP/1.0", 8) != 0)
        return BAD_VERSION;
    if (first - line != 3 || memcmp(line, "GET", 3) != 0)
        return NOT_ALLOWED;
    return parse_target(request, first + 1, (size_t)(second - first - 1));
}

static int parse_header(struct request *request, const char *line, size_t size)
{
    const char *colon = memchr(line, ':', size);
    size_t name = colon ? (size_t)(colon - line) : 0;
    if (name == 0 || line[0] == ' ' || line[0] == '\t' || colon[-1] == ' ' || colon[-1] == '\t')
        return BAD_REQUEST;
    /* A GET of ours has no body; one that announces it wants something else. */
    if ((name == 14 && strncasecmp(line, "content-length", name) == 0) ||
        (name == 17 && strncasecmp(line, "transfer-encoding", name) == 0))
        return BAD_REQUEST;
    if (name != 4 || strncasecmp(line, "host", 4) != 0)
        return 0;
    const char *value = colon + 1, *end = line + size;
    while (value < end && (*value == ' ' || *value == '\t'))
        value++;
    while (end > value && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    if (*request->host || value == end || memchr(value, '\0', (size_t)(end - value)) ||
        !copy(request->host, sizeof request->host, value, (size_t)(end - value)))
        return BAD_REQUEST;
    return 0;
}

int request_parse(struct request *request, const char *text, size_t size)
{
    *request = (struct request){0};
    bool first = true;
    const char *at = text, *end = text + size;
    while (at < end) {
        const char *stop = memmem(at, (size_t)(end - at), "\r\n", 2);
        if (!stop || memchr(at, '\n', (size_t)(stop - at)))
            return BAD_REQUEST;
        size_t length = (size_t)(stop - at);
        if (length == 0)
            break;
        int refused = first ? parse_first_line(request, at, length) : parse_header(request, at, length);
        if (refused)
            return refused;
        first = false;
        at = stop + 2;
    }
    return first || !*request->host ? BAD_REQUEST : 0;
}

/* The value behind "key=", copied; false when the key is not there. */
static bool find(const struct request *request, const char *key, char value[DIGITS + 1], bool *bad)
{
    size_t length = strlen(key);
    bool found = false;
    for (const char *at = request->query; *at;) {
        size_t part = strcspn(at, "&");
        if (part > length && strncmp(at, key, length) == 0 && at[length] == '=') {
            *bad |= found || part - length - 1 > DIGITS || part == length + 1;
            if (*bad)
                return false;
            memcpy(value, at + length + 1, part - length - 1);
            value[part - length - 1] = '\0';
            found = true;
        }
        at += part + (at[part] == '&');
    }
    return found;
}

bool request_integer(const struct request *request, const char *key, uint64_t *number, bool *bad)
{
    char value[DIGITS + 1];
    if (!find(request, key, value, bad))
        return false;
    uint64_t sum = 0;
    for (const char *at = value; *at; at++) {
        if (*at < '0' || *at > '9' || __builtin_mul_overflow(sum, 10, &sum) ||
            __builtin_add_overflow(sum, (uint64_t)(*at - '0'), &sum)) {
            *bad = true;
            return false;
        }
    }
    *number = sum;
    return true;
}

bool request_number(const struct request *request, const char *key, double *number, bool *bad)
{
    char value[DIGITS + 1];
    if (!find(request, key, value, bad))
        return false;
    char *end;
    double parsed = strtod(value, &end);
    if (*end || strspn(value, "0123456789.e-+") != strlen(value) || !(parsed >= 0 && parsed < 1e18)) {
        *bad = true;
        return false;
    }
    *number = parsed;
    return true;
}
