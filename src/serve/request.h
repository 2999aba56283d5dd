/* serve/request.h - one HTTP request, understood strictly: what is not a plain GET of ours is refused. Knows no sockets.
 *
 * Whatever a browser, another program or another page in the browser sends is hostile input. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { REQUEST_MOST = 8192, REQUEST_PATH = 512, REQUEST_HOST = 128 };

struct request {
    char path[REQUEST_PATH];  /* "/token/data", without the query */
    char query[REQUEST_PATH]; /* "run=0&t0=1.5", or "" */
    char host[REQUEST_HOST];  /* of the Host header */
};

/* How many bytes the head takes with its empty line, or 0 when its end is not there yet. */
size_t request_length(const char *text, size_t size);

/* Understands a whole head. 0, or the HTTP status that refuses it: 400, 405, 414, 505. */
int request_parse(struct request *request, const char *text, size_t size);

/* The value of a key in the query as a number; false when it is not there. A value that is no plain number of at least 0, or a
 * key that is there twice, makes `*bad` true. */
bool request_number(const struct request *request, const char *key, double *number, bool *bad);
bool request_integer(const struct request *request, const char *key, uint64_t *number, bool *bad);
