#include "base/json.h"

#include "base/mem.h"
#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 32 };

struct json {
    FILE *out;
    unsigned depth;
    bool compact;
    bool any[MAX_DEPTH + 1]; /* something was written at that depth */
    char close[MAX_DEPTH + 1];
};

struct json *json_new(FILE *out)
{
    struct json *json = mem_zalloc(sizeof *json);
    json->out = out;
    return json;
}

struct json *json_new_compact(FILE *out)
{
    struct json *json = json_new(out);
    json->compact = true;
    return json;
}

static void new_line(struct json *json)
{
    if (!json->compact)
        fprintf(json->out, "\n%*s", (int)json->depth * 2, "");
}

static void write_text(struct json *json, const char *text)
{
    FILE *out = json->out;
    fputc('"', out);
    while (*text) {
        uint32_t code;
        unsigned length = text_utf8(text, &code);
        if (length == 0)
            fputs("\xef\xbf\xbd", out);
        else if (code == '"' || code == '\\')
            fprintf(out, "\\%c", (int)code);
        else if (code < 0x20 || (code >= 0x7f && code < 0xa0) || (code < 0x10000 && text_deceives(code)))
            fprintf(out, "\\u%04x", code);
        else
            fwrite(text, 1, length, out);
        text += length ? length : 1;
    }
    fputc('"', out);
}

/* What goes before every value: comma, new line, indentation, key. */
static void lead(struct json *json, const char *key)
{
    if (json->any[json->depth])
        fputc(',', json->out);
    json->any[json->depth] = true;
    if (json->depth)
        new_line(json);
    if (key) {
        write_text(json, key);
        fputs(json->compact ? ":" : ": ", json->out);
    }
}

static void open(struct json *json, const char *key, const char *brackets)
{
    lead(json, key);
    fputc(brackets[0], json->out);
    if (json->depth == MAX_DEPTH)
        abort();
    json->depth++;
    json->any[json->depth] = false;
    json->close[json->depth] = brackets[1];
}

void json_object(struct json *json, const char *key)
{
    open(json, key, "{}");
}

void json_array(struct json *json, const char *key)
{
    open(json, key, "[]");
}

void json_end(struct json *json)
{
    char close = json->close[json->depth];
    bool any = json->any[json->depth];
    json->depth--;
    if (any)
        new_line(json);
    fputc(close, json->out);
}

void json_text(struct json *json, const char *key, const char *text)
{
    lead(json, key);
    if (text)
        write_text(json, text);
    else
        fputs("null", json->out);
}

void json_number(struct json *json, const char *key, uint64_t number)
{
    lead(json, key);
    fprintf(json->out, "%" PRIu64, number);
}

void json_integer(struct json *json, const char *key, int64_t number)
{
    lead(json, key);
    fprintf(json->out, "%" PRId64, number);
}

void json_real(struct json *json, const char *key, double number, int decimals)
{
    lead(json, key);
    if (!isfinite(number)) {
        fputs("null", json->out);
        return;
    }
    /* The C locale's point, whatever the user's locale is. */
    char text[64];
    snprintf(text, sizeof text, "%.*f", decimals, number);
    for (char *at = text; *at; at++) {
        if (*at == ',')
            *at = '.';
    }
    fputs(text, json->out);
}

void json_bool(struct json *json, const char *key, bool value)
{
    lead(json, key);
    fputs(value ? "true" : "false", json->out);
}

void json_null(struct json *json, const char *key)
{
    lead(json, key);
    fputs("null", json->out);
}

int json_finish(struct json *json, struct error *err)
{
    while (json->depth)
        json_end(json);
    fputc('\n', json->out);
    bool failed = fflush(json->out) != 0 || ferror(json->out);
    free(json);
    return failed ? error_set(err, -EIO, "cannot write the report: %s", strerror(errno)) : 0;
}
