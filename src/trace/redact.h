/* trace/redact.h - a trace without what names people, machines and projects (docs/security.md has the table).
 *
 * Paths, names of threads and the like become marks: equal texts have equal marks within one process, and nobody can compute a
 * text from its mark, since the marks' key is this process's own random number (AT_RANDOM) and is kept nowhere. What the system
 * itself installs keeps its path, as do build IDs: with the same binaries functions and lines are found again. */
#pragma once

#include "base/error.h"
#include "trace/session.h"
#include "wire/event.h"

enum { REDACT_TEXT = 64 };

#define REDACT_KEY "redacted" /* of a session: a trace_writer of such a session redacts whatever it is given */

struct redacted {
    struct event event;
    char texts[2][REDACT_TEXT];
};

/* The event itself where it has no text, else a copy in `to`. */
const struct event *redact_event(struct redacted *to, const struct event *event);

/* The caller frees it. */
struct trace_session *redact_session(const struct trace_session *session);

/* Writes a redacted copy of one trace. Refuses a file that repeats what earlier ones of its run had, and leaves nothing then. */
int trace_redact(const char *path, const char *output, struct error *err);
