#include "trace/file.h"

#include "base/link.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int explain(const char *path, int code, struct error *err)
{
    const char *remedy = code == -EACCES || code == -EROFS || code == -ENOENT ? "; name another file with -o" : "";
    return error_set(err, code, "cannot create %s: %s%s", path, strerror(-code), remedy);
}

static const char *kind_of(mode_t mode)
{
    return S_ISFIFO(mode)   ? "a FIFO or pipe"
           : S_ISSOCK(mode) ? "a socket"
           : S_ISDIR(mode)  ? "a directory"
                            : "a block device";
}

/* Character devices are written to as they are, /dev/null among them. Who opens or fills a FIFO waits for its reader,
 * and the program would wait with us; nor could a report read it, which goes back and forth in the file. */
static int open_special(const char *path, mode_t mode, struct error *err)
{
    if (!S_ISCHR(mode))
        return error_set(err, -EINVAL,
                         "cannot create %s: it is %s, and a recording is a regular file; name another with -o", path,
                         kind_of(mode));
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    return fd < 0 ? explain(path, -errno, err) : fd;
}

int trace_file_create(const char *path, struct error *err)
{
    struct stat old;
    char *followed = link_follow(path, err);
    if (!followed)
        return err ? err->code : -EACCES;
    bool exists = stat(path, &old) == 0;
    if (exists && !S_ISREG(old.st_mode)) {
        free(followed);
        return open_special(path, old.st_mode, err);
    }
    /* Renaming over a symbolic link would replace the link: the file it leads to is meant. */
    char *target = exists ? mem_strdup(followed) : mem_strdup(path);
    free(followed);
    char *fresh = mem_format("%s.%d.new", target, (int)getpid());
    int fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0 && rename(fresh, target) < 0) {
        int code = -errno;
        unlink(fresh);
        close(fd);
        fd = explain(path, code, err);
    } else if (fd < 0 && errno == EACCES && exists) {
        /* A directory that may not be changed, with a file in it that may: as a last resort write into that. */
        fd = open(target, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0)
            fd = explain(path, -errno, err);
    } else if (fd < 0) {
        fd = explain(path, -errno, err);
    }
    free(fresh);
    free(target);
    return fd;
}

int trace_file_append(int fd, uint64_t at, const void *bytes, size_t size)
{
    const char *from = bytes;
    size_t remaining = size;
    while (remaining) {
        ssize_t written = write(fd, from, remaining);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0) {
            int code = written < 0 ? -errno : -EIO;
            /* A reader would reject half a block, but a smaller last block may use the space. */
            if (ftruncate(fd, (off_t)at) == 0)
                lseek(fd, (off_t)at, SEEK_SET);
            return code;
        }
        from += written;
        remaining -= (size_t)written;
    }
    return 0;
}

void trace_file_remove(const char *path)
{
    struct stat status;
    if (stat(path, &status) == 0 && S_ISREG(status.st_mode))
        unlink(path);
}
