/* trace/session_text.h - a session as the payload of a block: key, NUL, value, NUL, and so on. Private to src/trace. */
#pragma once

#include "trace/session.h"

/* The caller frees it. */
char *trace_session_to_text(const struct trace_session *session, size_t *size);

/* NULL when the bytes are no such text. */
struct trace_session *trace_session_from_text(const char *text, size_t size);
