#include "trace/redact.h"

#include "base/text.h"
#include "trace/event_rows.h"
#include "trace/file.h"
#include "trace/reader.h"
#include "trace/writer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

static const char AGENT[] = "libnumalens-agent.so";

static uint64_t turned(uint64_t value, unsigned bits)
{
    return value << bits | value >> (64 - bits);
}

static void sip_mix(uint64_t v[4])
{
    v[0] += v[1], v[1] = turned(v[1], 13) ^ v[0], v[0] = turned(v[0], 32);
    v[2] += v[3], v[3] = turned(v[3], 16) ^ v[2];
    v[0] += v[3], v[3] = turned(v[3], 21) ^ v[0];
    v[2] += v[1], v[1] = turned(v[1], 17) ^ v[2], v[2] = turned(v[2], 32);
}

/* SipHash-2-4 (Aumasson, Bernstein 2012): without the key, nobody finds a text by trying. */
static uint64_t mark_of(const char *text)
{
    uint64_t key[2] = {0}, v[4], length = strlen(text);
    const char *random = (const char *)getauxval(AT_RANDOM);
    if (random)
        memcpy(key, random, sizeof key);
    v[0] = key[0] ^ 0x736f6d6570736575u, v[1] = key[1] ^ 0x646f72616e646f6du;
    v[2] = key[0] ^ 0x6c7967656e657261u, v[3] = key[1] ^ 0x7465646279746573u;
    for (uint64_t at = 0; at <= length; at += 8) {
        uint64_t word = 0, part = length - at < 8 ? length - at : 8;
        memcpy(&word, text + at, part);
        if (part < 8)
            word |= length << 56;
        v[3] ^= word;
        sip_mix(v), sip_mix(v);
        v[0] ^= word;
    }
    v[2] ^= 0xff;
    for (unsigned i = 0; i < 4; i++)
        sip_mix(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* A library of the system's, directly in one of its folders: the same on every machine, and where symbols come from. */
static bool is_public(const char *path)
{
    static const char *const folders[] = {"/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        if (!text_begins(path, folders[i]))
            continue;
        const char *name = path + strlen(folders[i]), *slash = strchr(name, '/');
        bool triplet = slash && memmem(name, (size_t)(slash - name), "-linux-", 7);
        name = triplet ? slash + 1 : name;
        return !strchr(name, '/') && strstr(name, ".so");
    }
    return text_begins(path, "linux-vdso") || strcmp(path, "[heap]") == 0 || strcmp(path, "[vdso]") == 0 ||
           strcmp(path, "[vvar]") == 0 || (text_begins(path, "[stack") && !strchr(path, ' '));
}

static const char *redact_path(char *to, const char *path)
{
    if (!path || !*path || is_public(path))
        return path;
    if (strcmp(text_file_name(path), AGENT) == 0)
        snprintf(to, REDACT_TEXT, "/redacted/%s", AGENT);
    else
        snprintf(to, REDACT_TEXT, "/redacted/%016" PRIx64, mark_of(path));
    return to;
}

static const char *redact_name(char *to, const char *name)
{
    if (!name || !*name)
        return name;
    snprintf(to, REDACT_TEXT, "thread %08x", (unsigned)mark_of(name));
    return to;
}

/* A function of the program's source, which no file here has. */
static const char *redact_code(char *to, const char *name)
{
    snprintf(to, REDACT_TEXT, "code %08x", (unsigned)mark_of(name ? name : ""));
    return to;
}

/* By the field's name in its row (trace/event_rows.c). A text that is not listed is redacted as a path. */
static const struct {
    const char *field;
    const char *(*redact)(char *to, const char *text);
} not_paths[] = {{"thread.name", redact_name}, {"code.name", redact_code}};

static const char *redact_text(char *to, const char *text, const char *field)
{
    for (size_t i = 0; i < sizeof not_paths / sizeof *not_paths; i++)
        if (strcmp(not_paths[i].field, field) == 0)
            return not_paths[i].redact(to, text);
    return redact_path(to, text);
}

const struct event *redact_event(struct redacted *to, const struct event *event)
{
    const struct event_row *row = event_row(event->kind);
    unsigned texts = 0;
    to->event = *event;
    for (unsigned i = 0; row && i < row->field_count; i++) {
        const char **text = (const char **)((char *)&to->event + row->fields[i].offset);
        if (row->fields[i].code == CODE_TEXT)
            *text = redact_text(to->texts[texts++], *text, row->fields[i].name);
    }
    if (event->kind == EVENT_PROCESS_START) /* the program stands for its arguments too */
        to->event.process.command = to->event.process.exe;
    return texts ? &to->event : event;
}

static bool is_figure(const char *text)
{
    return text[strspn(text, "0123456789.,:+-TZ ")] == '\0';
}

/* Texts of numalens's own words and of the hardware; any other one may be anything. */
static bool is_kept(const char *key)
{
    static const char *const kept[] = {"version",      "kernel",     "cpu_model", "source", "tick",        "accesses",
                                       "latency_unit", "homes",      "frames",    "run",    "first_touch", "placement",
                                       "mechanism",    "traffic",    "launcher",  "stops",  "calibration", "signal",
                                       "topology",     "namespaces", REDACT_KEY};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (strcmp(key, kept[i]) == 0)
            return true;
    return false;
}

struct trace_session *redact_session(const struct trace_session *session)
{
    struct trace_session *redacted = trace_session_new();
    for (size_t i = 0; i < trace_session_count(session); i++) {
        const char *key = trace_session_key(session, i), *value = trace_session_get(session, key);
        size_t length = strlen(key);
        const char *spec = strcmp(key, "topology") == 0 ? strstr(value, " spec=") : NULL;
        if (spec && strstr(spec, ".xml")) /* the name of a file */
            trace_session_setf(redacted, key, "%.*s spec=redacted.xml", (int)(spec - value), value);
        else if (is_figure(value) || is_kept(key))
            trace_session_set(redacted, key, value);
        else if (length > 7 && strcmp(key + length - 7, "_reason") == 0 && !strchr(value, '/'))
            trace_session_set(redacted, key, value);
        else if (strcmp(key, "machine_model") != 0) /* a text with a grammar: none is better than a broken one */
            trace_session_set(redacted, key, "redacted");
    }
    trace_session_set(redacted, REDACT_KEY, "yes");
    return redacted;
}

static int copy_events(struct trace_reader *reader, struct trace_writer *writer, struct error *err)
{
    struct event event;
    int got, code = 0;
    while (code == 0 && (got = trace_reader_next(reader, &event, err)) != 0)
        code = got < 0 ? got : trace_writer_append(writer, &event, err);
    return code;
}

int trace_redact(const char *path, const char *output, struct error *err)
{
    struct trace_reader *reader = trace_reader_open(path, err);
    if (!reader)
        return err->code;
    int code = 0;
    if (trace_reader_partial(reader))
        code =
            error_set(err, -EINVAL,
                      "%s repeats what earlier files of its run had: redact them together (numalens merge --redact), "
                      "or record with --redact",
                      path);
    struct trace_session *session = redact_session(trace_reader_session(reader));
    struct trace_writer *writer = code < 0 ? NULL : trace_writer_open(output, session, err);
    trace_session_free(session);
    if (writer) {
        code = copy_events(reader, writer, err);
        int closed = trace_writer_close(writer, trace_reader_ending(reader), code < 0 ? NULL : err);
        code = code < 0 ? code : closed;
        if (code < 0)
            trace_file_remove(output);
    } else if (code == 0) {
        code = err->code;
    }
    trace_reader_close(reader);
    return code;
}
