#include "capture/agent/handover.h"

#include "capture/process/procfs.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 128, PATIENCE_S = 1 };

static uint32_t parent_of(uint32_t pid)
{
    char line[256];
    uint32_t parent = 0;
    FILE *file = procfs_open(pid, "status");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "PPid: %u", &parent) == 1)
            break;
    if (file)
        fclose(file);
    return parent;
}

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
    if (sendmsg(fd, &message, MSG_NOSIGNAL) < 0)
        return; /* it went away: its program is not recorded, which is found out by its absence */
}

static void serve(const struct handover *handover, int fd)
{
    struct timeval patience = {.tv_sec = PATIENCE_S};
    struct wire_hello hello;
    struct ucred who;
    socklen_t size = sizeof who;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (recv(fd, &hello, sizeof hello, 0) != sizeof hello ||
        hello.token != wire_token(handover->region->map->nonce, WIRE_TOKEN_HELLO) ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) < 0 || who.pid <= 0)
        return;
    struct wire_answer answer = {(uint32_t)who.pid, parent_of((uint32_t)who.pid)};
    send_answer(fd, handover->region->fd, &answer);
}

static void *listen_on(void *argument)
{
    struct handover *handover = argument;
    for (;;) {
        struct pollfd watched[] = {{.fd = handover->stop, .events = POLLIN},
                                   {.fd = handover->listener, .events = POLLIN}};
        if (poll(watched, 2, -1) < 0)
            continue; /* signals are blocked here: only memory may be short for a moment */
        if (watched[0].revents)
            return NULL;
        int fd = accept4(handover->listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0)
            continue;
        serve(handover, fd);
        close(fd);
    }
}

bool handover_start(struct handover *handover, const struct capture_region *region)
{
    *handover = (struct handover){.region = region, .listener = -1, .stop = -1};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t length =
        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + wire_socket_name(address.sun_path, region->map->nonce));
    handover->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    handover->stop = eventfd(0, EFD_CLOEXEC);
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    handover->running = handover->listener >= 0 && handover->stop >= 0 &&
                        bind(handover->listener, (struct sockaddr *)&address, length) == 0 &&
                        listen(handover->listener, BACKLOG) == 0 &&
                        pthread_create(&handover->thread, NULL, listen_on, handover) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
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
