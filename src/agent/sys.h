/* agent/sys.h - system calls made by the agent itself: past its own hooks, and without a trace in errno.
 *
 * Each returns what the kernel returned: a negative errno on failure. All may be used in signal handlers. */
#ifndef NUMALENS_AGENT_SYS_H
#define NUMALENS_AGENT_SYS_H

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define sys_call(...)                                                                                                  \
    ({                                                                                                                 \
        int sys_errno_ = errno;                                                                                        \
        long sys_result_ = syscall(__VA_ARGS__);                                                                       \
        if (sys_result_ == -1)                                                                                         \
            sys_result_ = -errno;                                                                                      \
        errno = sys_errno_;                                                                                            \
        sys_result_;                                                                                                   \
    })

/* Fresh private memory, or NULL. */
static inline void *sys_pages(size_t size)
{
    long at = sys_call(SYS_mmap, NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);
    return at < 0 && at > -4096 ? NULL : (void *)at;
}

static inline void sys_unmap(void *at, size_t size)
{
    sys_call(SYS_munmap, at, size);
}

static inline int sys_open_read(const char *path)
{
    return (int)sys_call(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
}

static inline long sys_read(int fd, void *bytes, size_t size)
{
    return sys_call(SYS_read, fd, bytes, size);
}

static inline void sys_close(int fd)
{
    sys_call(SYS_close, fd);
}

/* The link's text, cut and closed with NUL; "" on failure. */
static inline size_t sys_readlink(const char *path, char *text, size_t size)
{
    long length = sys_call(SYS_readlinkat, AT_FDCWD, path, text, size - 1);
    if (length < 0)
        length = 0;
    text[length] = '\0';
    return (size_t)length;
}

/* Between processes: without FUTEX_PRIVATE_FLAG. */
static inline long sys_futex_wait(void *word, uint32_t value, uint64_t timeout_ns)
{
    struct timespec timeout = {.tv_sec = (time_t)(timeout_ns / 1000000000u),
                               .tv_nsec = (long)(timeout_ns % 1000000000u)};
    return sys_call(SYS_futex, word, FUTEX_WAIT, value, &timeout, NULL, 0);
}

/* `within`: who waits is in this process, and says so to the kernel. */
static inline void sys_futex_wake(void *word, bool within)
{
    sys_call(SYS_futex, word, FUTEX_WAKE | (within ? FUTEX_PRIVATE_FLAG : 0), 1, NULL, NULL, 0);
}

#endif
