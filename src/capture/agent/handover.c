#include "capture/agent/handover.h"

#include "capture/process/procfs.h"
#include "capture/side_thread.h"

#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 128, CLIENTS = 64 };

static void send_answer(int fd, int region, const struct wire_answer *answer)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec part = {(void *)answer, sizeof *answer};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    memset(&control, 0, sizeof control);
    control.head.cmsg_level = SOL_SOCKET;
    control.head.cmsg_type = SCM_RIGHTS;
    control.head.cmsg_len = CMSG_LEN(sizeof region);
    memcpy(CMSG_DATA(&control.head), &region, sizeof region);
    if (sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        return; /* it went away: its program is not recorded, which is found out by its absence */
}

static void serve(const struct handover *handover, int fd)
{
    struct wire_hello hello;
    struct ucred who;
    socklen_t size = sizeof who;
    if (recv(fd, &hello, sizeof hello, MSG_DONTWAIT) != sizeof hello || hello.token != handover->token ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) < 0 || who.pid <= 0)
        return;
    struct wire_answer answer = {(uint32_t)who.pid, procfs_parent((uint32_t)who.pid)};
    send_answer(fd, handover->region_fd, &answer);
}

/* Anybody may connect and say nothing: nobody waits for that, and where there is no room the oldest makes it. */
static void admit(int fd, struct pollfd *clients, unsigned *count)
{
    if (*count == CLIENTS) {
        close(clients[0].fd);
        memmove(clients, clients + 1, --*count * sizeof *clients);
    }
    clients[(*count)++] = (struct pollfd){.fd = fd, .events = POLLIN};
}

/* Those that have said something, or hung up, leave; the others stay in the order of their coming. */
static void serve_those_who_asked(const struct handover *handover, struct pollfd *clients, unsigned *count)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < *count; i++) {
        if (!clients[i].revents) {
            clients[kept++] = clients[i];
            continue;
        }
        serve(handover, clients[i].fd);
        close(clients[i].fd);
    }
    *count = kept;
}

static void *listen_on(void *argument)
{
    struct handover *handover = argument;
    struct pollfd watched[2 + CLIENTS] = {{.fd = handover->stop, .events = POLLIN},
                                          {.fd = handover->listener, .events = POLLIN}};
    unsigned count = 0;
    do {
        if (poll(watched, 2 + count, -1) < 0)
            continue; /* signals are blocked here: only memory may be short for a moment */
        serve_those_who_asked(handover, watched + 2, &count);
        int fd = watched[1].revents ? accept4(handover->listener, NULL, NULL, SOCK_CLOEXEC) : -1;
        if (fd >= 0)
            admit(fd, watched + 2, &count);
    } while (!watched[0].revents);
    for (unsigned i = 0; i < count; i++)
        close(watched[2 + i].fd);
    return NULL;
}

bool handover_start(struct handover *handover, const struct capture_region *region)
{
    *handover = (struct handover){
        .region_fd = region->fd, .token = wire_token(region->map->nonce, WIRE_TOKEN_HELLO), .listener = -1, .stop = -1};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t length =
        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + wire_socket_name(address.sun_path, region->map->nonce));
    handover->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    handover->stop = eventfd(0, EFD_CLOEXEC);
    handover->running = handover->listener >= 0 && handover->stop >= 0 &&
                        bind(handover->listener, (struct sockaddr *)&address, length) == 0 &&
                        listen(handover->listener, BACKLOG) == 0 &&
                        side_thread_start(&handover->thread, listen_on, handover);
    if (!handover->running) {
        close(handover->listener);
        close(handover->stop);
    }
    return handover->running;
}

void handover_stop(struct handover *handover)
{
    if (!handover->running)
        return;
    eventfd_write(handover->stop, 1);
    pthread_join(handover->thread, NULL);
    close(handover->listener);
    close(handover->stop);
    handover->running = false;
}
