/* serve/server.h - a small HTTP server for one reader on this machine: loopback only, GET only, a secret in the path.
 *
 * Requests are answered one after another; a few connections may wait or be written to at once, each with a deadline, so that
 * one that stalls holds up nobody; where there is no room, the oldest that is not being answered makes it. The Host header must name this server: a foreign page whose name was pointed at loopback
 * (DNS rebinding) is refused. */
#pragma once

#include "base/error.h"
#include "serve/request.h"

#include <stdint.h>

struct answer {
    int status;       /* 200, 400, 404, 500 */
    const char *type; /* of the body */
    const void *body; /* a text of one line where there is none */
    size_t size;
    void *owned; /* freed once it is sent, or NULL */
};

/* `path`: what stands behind "/token/". */
typedef void server_answer(void *context, const char *path, const struct request *request, struct answer *answer);

struct server;

/* Port 0: any that is free. NULL with `err`. */
struct server *server_open(uint16_t port, struct error *err);
void server_close(struct server *server);

const char *server_address(const struct server *server); /* "http://127.0.0.1:8080/TOKEN/" */

/* Until SIGINT or SIGTERM. */
int server_run(struct server *server, server_answer *answer, void *context, struct error *err);
