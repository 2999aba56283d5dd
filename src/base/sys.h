/* base/sys.h - system calls made by the agent itself: past its own hooks, and without a trace in errno.
 *
 * Each returns what the kernel returned: a negative errno on failure. All may be used in signal handlers. */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The program has restricted itself (agent/process/restrict.h): from then on no system call is made here, and each fails with
 * EPERM. Written once, by any thread. */
__attribute__((weak, visibility("hidden"))) volatile bool sys_restricted;

/* Past libc, whose syscall() the agent stands in front of. */
static inline long sys_raw(long number, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
    register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c,
                     x3 __asm__("x3") = d, x4 __asm__("x4") = e, x5 __asm__("x5") = f;
    __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
#else
#error "sys_raw: this architecture is not supported"
#endif
}

static inline long sys_gated(long number, long a, long b, long c, long d, long e, long f)
{
    return __builtin_expect(sys_restricted, 0) ? -EPERM : sys_raw(number, a, b, c, d, e, f);
}

#define SYS_SEVEN(number, a, b, c, d, e, f, ...)                                                                       \
    (long)(number), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f)
#define SYS_PASS(call, ...) call(__VA_ARGS__)

/* sys_call(SYS_..., arguments): of the agent's own. sys_call_asked: one that the program asked for. */
#define sys_call(...)       SYS_PASS(sys_gated, SYS_SEVEN(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0))
#define sys_call_asked(...) SYS_PASS(sys_raw, SYS_SEVEN(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0))

/* Whether a result that is an address when all is well is an errno. */
static inline bool sys_failed(long result)
{
    return result < 0 && result > -4096;
}

/* Fresh private memory, or NULL. */
static inline void *sys_pages(size_t size)
{
    long at = sys_call(SYS_mmap, NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);
    return sys_failed(at) ? NULL : (void *)at;
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
