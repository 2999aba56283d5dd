#include "agent/region/reach.h"

#include "agent/region/thread_ring.h"
#include "base/sys.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

enum { PATIENCE_S = 2 }; /* for a recorder that is stopped */

static bool region_fits(const struct wire_region *region, uint64_t bytes, uint64_t nonce)
{
    if (region->magic != WIRE_MAGIC || region->version != WIRE_VERSION || region->header_bytes != sizeof *region ||
        region->nonce != nonce || region->region_bytes > bytes)
        return false;
    uint64_t rings = (uint64_t)region->ring_count * sizeof(struct wire_ring);
    uint64_t data = (uint64_t)region->ring_count * region->ring_bytes;
    uint32_t size = region->ring_bytes;
    uint64_t custom = (uint64_t)region->config.custom_count * sizeof(struct wire_custom);
    return region->ring_count > 0 && region->config.custom_count <= WIRE_CUSTOM_MOST && size >= WIRE_PAGE &&
           (size & (size - 1)) == 0 && region->rings_offset >= sizeof *region + custom &&
           region->rings_offset % 64 == 0 && region->data_offset % 8 == 0 && region->data_offset <= bytes &&
           data <= bytes - region->data_offset && region->rings_offset <= region->data_offset &&
           rings <= region->data_offset - region->rings_offset;
}

static void *map_shared(int fd, uint64_t bytes)
{
    long mapped = sys_call(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0L);
    return sys_failed(mapped) ? NULL : (void *)mapped;
}

/* Closes `fd`. */
static struct wire_region *map(int fd, uint64_t nonce)
{
    struct wire_region head, *region = NULL;
    struct stat file;
    if (fd < 0)
        return NULL;
    if (sys_call(SYS_fstat, fd, &file) == 0 && sys_call(SYS_pread64, fd, &head, sizeof head, 0L) == (long)sizeof head &&
        region_fits(&head, (uint64_t)file.st_size, nonce))
        region = map_shared(fd, ring_prefix(&head)); /* rings are mapped when they are claimed */
    sys_close(fd);
    return region;
}

static int open_by_proc(const struct environment_region *where)
{
    char path[64] = "/proc/", digits[24];
    char *at = path + strlen(path);
    const uint64_t numbers[] = {where->pid, where->fd};
    for (unsigned i = 0; i < 2; i++) {
        uint64_t value = numbers[i];
        unsigned count = 0;
        do {
            digits[count++] = (char)('0' + value % 10);
            value /= 10;
        } while (value);
        while (count)
            *at++ = digits[--count];
        if (i == 0) {
            memcpy(at, "/fd/", 4);
            at += 4;
        }
    }
    *at = '\0';
    return (int)sys_call(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0);
}

/* The answer's descriptor, or -1. */
static int receive(int fd, struct wire_answer *answer)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec part = {answer, sizeof *answer};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    memset(&control, 0, sizeof control);
    if (sys_call(SYS_recvmsg, fd, &message, MSG_CMSG_CLOEXEC) != (long)sizeof *answer)
        return -1;
    const struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    int got = -1;
    if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS &&
        head->cmsg_len == CMSG_LEN(sizeof got))
        memcpy(&got, CMSG_DATA(head), sizeof got);
    return got;
}

static int ask(uint64_t nonce, struct wire_answer *answer)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct wire_hello hello = {wire_token(nonce, WIRE_TOKEN_HELLO)};
    struct timeval patience = {.tv_sec = PATIENCE_S};
    int fd = (int)sys_call(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), got = -1;
    if (fd < 0)
        return -1;
    unsigned length = (unsigned)offsetof(struct sockaddr_un, sun_path) + wire_socket_name(address.sun_path, nonce);
    sys_call(SYS_setsockopt, fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    sys_call(SYS_setsockopt, fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (sys_call(SYS_connect, fd, &address, length) == 0 &&
        sys_call(SYS_sendto, fd, &hello, sizeof hello, MSG_NOSIGNAL, NULL, 0) == (long)sizeof hello)
        got = receive(fd, answer);
    sys_close(fd);
    return got;
}

struct wire_region *reach_region(const struct environment_region *where, struct reached *reached)
{
    *reached = (struct reached){0};
    struct wire_region *region = map(open_by_proc(where), where->nonce);
    if (region)
        reached->proc_device = reach_proc_device();
    else
        region = map(ask(where->nonce, &reached->answer), where->nonce);
    return region;
}

struct wire_region *reach_header(const struct environment_region *where)
{
    struct wire_region head, *region = NULL;
    int fd = open_by_proc(where);
    if (fd < 0)
        return NULL;
    if (sys_read(fd, &head, sizeof head) == (long)sizeof head && region_fits(&head, head.region_bytes, where->nonce))
        region = map_shared(fd, sizeof head);
    sys_close(fd);
    return region;
}

bool reach_ask(uint64_t nonce, struct wire_answer *answer)
{
    int fd = ask(nonce, answer);
    if (fd >= 0)
        sys_close(fd);
    return fd >= 0 && answer->pid;
}

uint64_t reach_proc_device(void)
{
    struct stat file;
    return sys_call(SYS_newfstatat, AT_FDCWD, "/proc", &file, 0) == 0 ? (uint64_t)file.st_dev : 0;
}
