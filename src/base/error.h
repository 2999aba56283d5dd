/* base/error.h - errors that name the cause and the remedy.
 *
 * A function that can fail returns 0 or a negative errno-like code and takes a `struct error *` last. The text is
 * made where the failure is understood; callers pass it on unchanged or prefix it. Only `main` prints it. */
#pragma once

struct error {
    int code; /* 0, or the negative code that was returned */
    char text[512];
};

/* Fills `err` (which may be NULL) and returns `code`, so that a failing function can `return error_set(...)`. */
int error_set(struct error *err, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Puts "prefix: " before the text that is already there. Returns the code in it. */
int error_prefix(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));
