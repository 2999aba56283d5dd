#include "serve/server.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/mem.h"
#include "serve/connection.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CONNECTIONS = 32, BACKLOG = 128, TOKEN_BYTES = 16, TOKEN_LETTERS = 2 * TOKEN_BYTES, WAIT_MS = 1000 };

struct server {
    int listener;
    uint16_t port;
    char token[TOKEN_LETTERS + 1];
    char address[96];
    struct connection *connections[CONNECTIONS]; /* the first `count` */
    unsigned count;
    server_answer *answer;
    void *context;
};

static volatile sig_atomic_t asked_to_end; /* written by the handler, read between requests */

static void on_signal(int number)
{
    (void)number;
    asked_to_end = 1;
}

static int make_token(struct server *server, struct error *err)
{
    uint8_t bytes[TOKEN_BYTES];
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
        return error_set(err, -EIO, "the kernel gives no random numbers: %s", strerror(errno));
    for (unsigned i = 0; i < TOKEN_BYTES; i++)
        snprintf(server->token + 2 * i, 3, "%02x", bytes[i]);
    return 0;
}

static int listen_on(struct server *server, uint16_t port, struct error *err)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int yes = 1;
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (server->listener < 0)
        return error_set(err, -errno, "cannot open a socket: %s", strerror(errno));
    setsockopt(server->listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(server->listener, (struct sockaddr *)&address, sizeof address) < 0)
        return error_set(err, -errno, "cannot listen on 127.0.0.1 port %u: %s%s", port, strerror(errno),
                         errno == EADDRINUSE ? "; another port: --port N, or none for one that is free" : "");
    if (listen(server->listener, BACKLOG) < 0 || getsockname(server->listener, (struct sockaddr *)&address, &size) < 0)
        return error_set(err, -errno, "cannot listen on 127.0.0.1: %s", strerror(errno));
    server->port = ntohs(address.sin_port);
    return 0;
}

struct server *server_open(uint16_t port, struct error *err)
{
    struct server *server = mem_zalloc(sizeof *server);
    server->listener = -1;
    if (make_token(server, err) < 0 || listen_on(server, port, err) < 0) {
        server_close(server);
        return NULL;
    }
    snprintf(server->address, sizeof server->address, "http://127.0.0.1:%u/%s/", server->port, server->token);
    return server;
}

void server_close(struct server *server)
{
    if (!server)
        return;
    for (unsigned i = 0; i < server->count; i++)
        connection_close(server->connections[i]);
    if (server->listener >= 0)
        close(server->listener);
    free(server);
}

const char *server_address(const struct server *server)
{
    return server->address;
}

/* Every letter is looked at, so that time says nothing of how many are right. */
static bool is_token(const struct server *server, const char *path)
{
    unsigned different = 0;
    if (strnlen(path, TOKEN_LETTERS) < TOKEN_LETTERS)
        return false;
    for (unsigned i = 0; i < TOKEN_LETTERS; i++)
        different |= (unsigned)(path[i] ^ server->token[i]);
    return different == 0;
}

static bool is_host(const struct server *server, const char *host)
{
    char named[32], numbered[32];
    snprintf(named, sizeof named, "localhost:%u", server->port);
    snprintf(numbered, sizeof numbered, "127.0.0.1:%u", server->port);
    return strcmp(host, named) == 0 || strcmp(host, numbered) == 0;
}

static void refuse(struct answer *answer, int status, const char *text)
{
    *answer = (struct answer){.status = status, .type = "text/plain", .body = text, .size = strlen(text)};
}

static void answer_head(struct server *server, const char *text, size_t size, struct answer *answer)
{
    struct request request;
    int refused = request_parse(&request, text, size);
    if (refused) {
        refuse(answer, refused, "this server does not understand that\n");
        return;
    }
    if (!is_host(server, request.host)) {
        refuse(answer, 403, "this server answers under its own address only\n");
        return;
    }
    const char *path = request.path + 1;
    if (!is_token(server, path) || path[TOKEN_LETTERS] != '/') {
        refuse(answer, 404, "there is nothing here\n");
        return;
    }
    refuse(answer, 404, "there is nothing here\n");
    server->answer(server->context, path + TOKEN_LETTERS + 1, &request, answer);
}

/* Gives a connection what it asked for, once its request is whole. */
static void take(struct server *server, struct connection *connection)
{
    const char *text;
    size_t size;
    struct answer answer;
    enum connection_state state = connection_read(connection, &text, &size);
    if (state == CONNECTION_ASKED) {
        answer_head(server, text, size, &answer);
        connection_answer(connection, &answer);
    } else if (state == CONNECTION_TOO_MUCH) {
        refuse(&answer, 431, "that request is too long\n");
        connection_answer(connection, &answer);
    }
}

/* The longest open of those that may be closed for a new one, or `count` when all are being answered. A reader's request comes
 * at once; those who say nothing grow old. */
static unsigned oldest_expendable(const struct server *server)
{
    unsigned oldest = server->count;
    uint64_t earliest = UINT64_MAX;
    for (unsigned i = 0; i < server->count; i++) {
        uint64_t opened = connection_expendable(server->connections[i]);
        if (opened && opened < earliest) {
            earliest = opened;
            oldest = i;
        }
    }
    return oldest;
}

static bool has_room(const struct server *server)
{
    return server->count < CONNECTIONS || oldest_expendable(server) < server->count;
}

static void accept_one(struct server *server)
{
    int file = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (file < 0)
        return;
    if (server->count == CONNECTIONS) {
        unsigned oldest = oldest_expendable(server);
        connection_close(server->connections[oldest]);
        server->connections[oldest] = server->connections[--server->count];
    }
    server->connections[server->count++] = connection_new(file);
}

static void drop_ended(struct server *server)
{
    uint64_t now = clock_now_ns();
    for (unsigned i = 0; i < server->count;) {
        if (!connection_ended(server->connections[i], now)) {
            i++;
            continue;
        }
        connection_close(server->connections[i]);
        server->connections[i] = server->connections[--server->count];
    }
}

/* One wait and what came of it. */
static int serve_once(struct server *server, const sigset_t *open_mask, struct error *err)
{
    struct pollfd polled[CONNECTIONS + 1];
    const struct timespec patience = {WAIT_MS / 1000, WAIT_MS % 1000 * 1000000};
    unsigned count = server->count;
    for (unsigned i = 0; i < count; i++)
        polled[i] = connection_poll(server->connections[i]);
    /* With as many as there may be, and all of them being answered, the others wait in the kernel. */
    polled[count] = (struct pollfd){.fd = has_room(server) ? server->listener : -1, .events = POLLIN};
    if (ppoll(polled, count + 1, &patience, open_mask) < 0)
        return errno == EINTR ? 0 : error_set(err, -errno, "cannot wait for requests: %s", strerror(errno));
    for (unsigned i = 0; i < count; i++) {
        if (polled[i].revents & POLLOUT)
            connection_write(server->connections[i]);
        else if (polled[i].revents)
            take(server, server->connections[i]);
    }
    if (polled[count].revents && has_room(server))
        accept_one(server);
    drop_ended(server);
    return 0;
}

int server_run(struct server *server, server_answer *answer, void *context, struct error *err)
{
    struct sigaction action = {.sa_handler = on_signal}, old_int, old_term;
    sigset_t held, old_mask, open_mask;
    server->answer = answer;
    server->context = context;
    asked_to_end = 0;
    sigemptyset(&held);
    sigaddset(&held, SIGINT);
    sigaddset(&held, SIGTERM);
    sigprocmask(SIG_BLOCK, &held, &old_mask); /* they come while it waits, never between looking and waiting */
    open_mask = old_mask;
    sigdelset(&open_mask, SIGINT);
    sigdelset(&open_mask, SIGTERM);
    sigaction(SIGINT, &action, &old_int);
    sigaction(SIGTERM, &action, &old_term);
    int failed = 0;
    while (!asked_to_end && failed == 0)
        failed = serve_once(server, &open_mask, err);
    sigaction(SIGINT, &old_int, NULL);
    sigaction(SIGTERM, &old_term, NULL);
    sigprocmask(SIG_SETMASK, &old_mask, NULL);
    return failed;
}
