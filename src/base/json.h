/* base/json.h - writes JSON to a stream: commas, indentation and escapes are its business.
 *
 *     struct json *json = json_new(stdout);
 *     json_object(json, NULL);
 *     json_number(json, "version", JSON_VERSION);
 *     json_array(json, "rows");
 *     json_end(json);
 *     return json_finish(json, &err);
 *
 * `key` is NULL inside an array. Texts may hold any bytes: what is not UTF-8 comes out as U+FFFD. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json;

struct json *json_new(FILE *out);
struct json *json_new_compact(FILE *out); /* without blanks and lines: for what only programs read */

void json_object(struct json *json, const char *key);
void json_array(struct json *json, const char *key);
void json_end(struct json *json); /* of the innermost object or array */

void json_text(struct json *json, const char *key, const char *text); /* NULL: null */
void json_number(struct json *json, const char *key, uint64_t number);
void json_integer(struct json *json, const char *key, int64_t number);
void json_real(struct json *json, const char *key, double number, int decimals); /* not finite: null */
void json_bool(struct json *json, const char *key, bool value);
void json_null(struct json *json, const char *key);

/* null when it is not known; then `value` is not evaluated. */
#define json_number_if(json, key, known, value)  ((known) ? json_number(json, key, value) : json_null(json, key))
#define json_integer_if(json, key, known, value) ((known) ? json_integer(json, key, value) : json_null(json, key))
#define json_real_if(json, key, known, value, decimals)                                                                \
    ((known) ? json_real(json, key, value, decimals) : json_null(json, key))
#define json_bool_if(json, key, known, value) ((known) ? json_bool(json, key, value) : json_null(json, key))

/* The version of every JSON report (docs/json.md). */
enum { JSON_VERSION = 3 };

/* Ends what is open, writes the last newline, frees. Negative with `err` when the stream failed. */
int json_finish(struct json *json, struct error *err);
