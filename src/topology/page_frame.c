#include "topology/page_frame.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BATCH = 512, FRAME_BITS = 55 };

#define PRESENT (UINT64_C(1) << 63)
#define FRAME   ((UINT64_C(1) << FRAME_BITS) - 1)

static int open_map(pid_t pid, struct error *err)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/pagemap", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return error_set(err, -ESRCH, "process %d has ended, or this kernel has no %s", pid, path);
    if (fd < 0)
        return error_set(err, -errno, "%s: %s", path, strerror(errno));
    return fd;
}

int frame_query(pid_t pid, const uint64_t *pages, size_t count, uint64_t *frames, struct error *err)
{
    uint64_t entries[BATCH], size = (uint64_t)sysconf(_SC_PAGESIZE);
    int fd = open_map(pid, err);
    if (fd < 0)
        return fd;
    for (size_t done = 0; done < count;) {
        size_t run = 1;
        while (run < BATCH && done + run < count && pages[done + run] == pages[done] + run * size)
            run++;
        ssize_t got = pread(fd, entries, run * sizeof *entries, (off_t)(pages[done] / size * sizeof *entries));
        for (size_t i = 0; i < run; i++) {
            bool known = got >= 0 && (i + 1) * sizeof *entries <= (size_t)got && (entries[i] & PRESENT);
            frames[done + i] = known ? (entries[i] & FRAME) * size : 0;
        }
        done += run;
    }
    close(fd);
    return 0;
}

int frame_allowed(struct error *err)
{
    volatile char touched = 1;
    uint64_t size = (uint64_t)sysconf(_SC_PAGESIZE), frame = 0;
    uint64_t page = (uint64_t)(uintptr_t)&touched / size * size;
    int code = frame_query(getpid(), &page, 1, &frame, err);
    if (code < 0)
        return code;
    /* Since Linux 4.2 the number of the frame reads as 0 without the privilege. */
    if (frame == 0)
        return error_set(err, -EPERM, "the kernel shows page frames to root (CAP_SYS_ADMIN) only");
    return 0;
}
