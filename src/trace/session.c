#include "trace/session.h"

#include "base/array.h"
#include "trace/session_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct pair {
    char *key, *value;
};

struct trace_session {
    array_of(struct pair) pairs;
};

struct trace_session *trace_session_new(void)
{
    return mem_zalloc(sizeof(struct trace_session));
}

void trace_session_free(struct trace_session *session)
{
    if (!session)
        return;
    array_each (&session->pairs, struct pair, pair) {
        free(pair->key);
        free(pair->value);
    }
    array_free(&session->pairs);
    free(session);
}

static struct pair *find(const struct trace_session *session, const char *key)
{
    array_each (&session->pairs, struct pair, pair)
        if (strcmp(pair->key, key) == 0)
            return pair;
    return NULL;
}

void trace_session_set(struct trace_session *session, const char *key, const char *value)
{
    struct pair *pair = find(session, key);
    if (pair) {
        char *copy = mem_strdup(value);
        free(pair->value);
        pair->value = copy;
    } else {
        array_push(&session->pairs, (struct pair){mem_strdup(key), mem_strdup(value)});
    }
}

void trace_session_setf(struct trace_session *session, const char *key, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = mem_vformat(format, args);
    va_end(args);
    trace_session_set(session, key, text);
    free(text);
}

const char *trace_session_get(const struct trace_session *session, const char *key)
{
    const struct pair *pair = session ? find(session, key) : NULL;
    return pair ? pair->value : NULL;
}

uint64_t trace_session_number(const struct trace_session *session, const char *key, uint64_t otherwise)
{
    const char *text = trace_session_get(session, key);
    if (!text || *text < '0' || *text > '9')
        return otherwise;
    char *end;
    uint64_t value = strtoull(text, &end, 10);
    return *end ? otherwise : value;
}

size_t trace_session_count(const struct trace_session *session)
{
    return session->pairs.count;
}

const char *trace_session_key(const struct trace_session *session, size_t index)
{
    return index < session->pairs.count ? session->pairs.items[index].key : NULL;
}

char *trace_session_to_text(const struct trace_session *session, size_t *size)
{
    *size = 0;
    array_each (&session->pairs, struct pair, pair)
        *size += strlen(pair->key) + strlen(pair->value) + 2;
    char *text = mem_alloc(*size + 1), *at = text;
    array_each (&session->pairs, struct pair, counted) {
        at = stpcpy(at, counted->key) + 1;
        at = stpcpy(at, counted->value) + 1;
    }
    return text;
}

struct trace_session *trace_session_from_text(const char *text, size_t size)
{
    struct trace_session *session = trace_session_new();
    const char *end = text + size;
    while (text < end) {
        const char *value = memchr(text, 0, (size_t)(end - text));
        const char *next = value && value + 1 < end ? memchr(value + 1, 0, (size_t)(end - value - 1)) : NULL;
        if (!next) {
            trace_session_free(session);
            return NULL;
        }
        /* Not looked for among those before it: in a session of millions that takes for ever. Of two the first counts. */
        array_push(&session->pairs, (struct pair){mem_strdup(text), mem_strdup(value + 1)});
        text = next + 1;
    }
    return session;
}
