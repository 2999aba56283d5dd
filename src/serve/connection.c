#include "serve/connection.h"

#include "base/clock.h"
#include "base/mem.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SECOND 1000000000ul

enum { HEAD_ROOM = 1024 };
static const uint64_t READ_TIME = 10 * SECOND, WRITE_TIME = 30 * SECOND, LINGER_TIME = 2 * SECOND;

enum phase { READING, WRITING, LINGERING, ENDED };

struct connection {
    int file;
    enum phase phase;
    uint64_t opened, deadline;
    char text[REQUEST_MOST];
    size_t size;
    struct answer answer;
    char head[HEAD_ROOM];
    size_t head_size, written; /* of head and body together */
};

struct connection *connection_new(int file)
{
    struct connection *connection = mem_zalloc(sizeof *connection);
    connection->file = file;
    connection->opened = clock_now_ns();
    connection->deadline = connection->opened + READ_TIME;
    return connection;
}

void connection_close(struct connection *connection)
{
    close(connection->file);
    free(connection->answer.owned);
    free(connection);
}

struct pollfd connection_poll(const struct connection *connection)
{
    return (struct pollfd){.fd = connection->file, .events = connection->phase == WRITING ? POLLOUT : POLLIN};
}

/* The other side has the answer; what it still sends is not read by anybody. Closing at once would tear the answer away. */
static void linger(struct connection *connection)
{
    char ignored[4096];
    ssize_t got;
    while ((got = recv(connection->file, ignored, sizeof ignored, 0)) > 0)
        ;
    if (got == 0 || (errno != EAGAIN && errno != EINTR))
        connection->phase = ENDED;
}

enum connection_state connection_read(struct connection *connection, const char **text, size_t *size)
{
    if (connection->phase == LINGERING)
        linger(connection);
    if (connection->phase != READING)
        return CONNECTION_WAITS;
    ssize_t got =
        recv(connection->file, connection->text + connection->size, sizeof connection->text - connection->size, 0);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
        connection->phase = ENDED;
    if (got <= 0)
        return CONNECTION_WAITS;
    connection->size += (size_t)got;
    *text = connection->text;
    *size = request_length(connection->text, connection->size);
    if (*size)
        return CONNECTION_ASKED;
    return connection->size == sizeof connection->text ? CONNECTION_TOO_MUCH : CONNECTION_WAITS;
}

static const char *reason_of(int status)
{
    static const struct {
        int status;
        const char *reason;
    } reasons[] = {{200, "OK"},
                   {400, "Bad Request"},
                   {403, "Forbidden"},
                   {404, "Not Found"},
                   {405, "Method Not Allowed"},
                   {414, "URI Too Long"},
                   {431, "Request Header Fields Too Large"},
                   {505, "HTTP Version Not Supported"}};
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (reasons[i].status == status)
            return reasons[i].reason;
    return "Internal Server Error";
}

/* The page's script and style are in the page, its data comes from here, and it has no business anywhere else. */
void connection_answer(struct connection *connection, const struct answer *answer)
{
    connection->answer = *answer;
    connection->head_size = (size_t)snprintf(
        connection->head, sizeof connection->head,
        "HTTP/1.1 %d %s\r\n"
        "Content-Type: %s\r\n"
        "Content-Length: %zu\r\n"
        "Connection: close\r\n"
        "Cache-Control: no-store\r\n"
        "X-Content-Type-Options: nosniff\r\n"
        "Referrer-Policy: no-referrer\r\n"
        "Cross-Origin-Resource-Policy: same-origin\r\n"
        "Content-Security-Policy: default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
        "img-src data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"
        "%s\r\n",
        answer->status, reason_of(answer->status), answer->type, answer->size,
        answer->status == 405 ? "Allow: GET\r\n" : "");
    connection->phase = WRITING;
    connection_write(connection);
}

void connection_write(struct connection *connection)
{
    const struct answer *answer = &connection->answer;
    size_t all = connection->head_size + answer->size;
    while (connection->written < all) {
        bool in_head = connection->written < connection->head_size;
        const char *from = in_head ? connection->head + connection->written
                                   : (const char *)answer->body + (connection->written - connection->head_size);
        size_t remaining = in_head ? connection->head_size - connection->written : all - connection->written;
        ssize_t sent = send(connection->file, from, remaining, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && errno != EAGAIN) {
            connection->phase = ENDED;
            return;
        }
        connection->deadline = clock_now_ns() + WRITE_TIME;
        if (sent < 0)
            return;
        connection->written += (size_t)sent;
    }
    shutdown(connection->file, SHUT_WR);
    connection->phase = LINGERING;
    connection->deadline = clock_now_ns() + LINGER_TIME;
    linger(connection);
}

uint64_t connection_expendable(const struct connection *connection)
{
    return connection->phase == WRITING ? 0 : connection->opened;
}

bool connection_ended(const struct connection *connection, uint64_t now)
{
    return connection->phase == ENDED || now > connection->deadline;
}
