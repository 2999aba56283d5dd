/* serve/connection.h - one connection: a request comes in, an answer goes out, it is closed. Never waits. Private to src/serve. */
#pragma once

#include "serve/server.h"

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

struct connection;

enum connection_state {
    CONNECTION_WAITS,
    CONNECTION_ASKED,    /* a whole head is there */
    CONNECTION_TOO_MUCH, /* more than a head may take */
};

struct connection *connection_new(int file); /* owns the descriptor */
void connection_close(struct connection *connection);

struct pollfd connection_poll(const struct connection *connection);

/* Reads what is there. `text` is good until the answer is given. */
enum connection_state connection_read(struct connection *connection, const char **text, size_t *size);

/* Takes over what the answer owns, and writes as much as goes at once; the rest when it can be written. */
void connection_answer(struct connection *connection, const struct answer *answer);
void connection_write(struct connection *connection);

/* When it was opened, or 0 while an answer is being written: who has the secret is never given up for somebody else. */
uint64_t connection_expendable(const struct connection *connection);

/* Everything is written, or the other side has closed, or is too slow. `now`: clock_now_ns(). */
bool connection_ended(const struct connection *connection, uint64_t now);
