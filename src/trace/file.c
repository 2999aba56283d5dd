#include "trace/file.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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

/* Renaming over a symbolic link would replace the link: the file it leads to is meant. */
static char *follow_link(const char *path)
{
    char *target = realpath(path, NULL);
    return target ? target : mem_strdup(path);
}

int trace_file_create(const char *path, struct error *err)
{
    struct stat old;
    bool exists = stat(path, &old) == 0;
    if (exists && !S_ISREG(old.st_mode)) {
        int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
        return fd < 0 ? explain(path, -errno, err) : fd;
    }
    char *target = exists ? follow_link(path) : mem_strdup(path);
    char *fresh = mem_format("%s.%d.new", target, (int)getpid());
    int fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0 && rename(fresh, target) < 0) {
        int code = -errno;
        unlink(fresh);
        close(fd);
        fd = explain(path, code, err);
    } else if (fd < 0 && errno == EACCES && exists) {
        /* A directory that may not be changed, with a file in it that may: as a last resort write into that. */
        fd = open(target, O_WRONLY | O_TRUNC | O_CLOEXEC);
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
    size_t left = size;
    while (left) {
        ssize_t written = write(fd, from, left);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0) {
            int code = written < 0 ? -errno : -EIO;
            /* Half a block would be told from a whole one, but the space is better left to a smaller last block. */
            if (ftruncate(fd, (off_t)at) == 0)
                lseek(fd, (off_t)at, SEEK_SET);
            return code;
        }
        from += written;
        left -= (size_t)written;
    }
    return 0;
}

void trace_file_remove(const char *path)
{
    struct stat status;
    if (stat(path, &status) == 0 && S_ISREG(status.st_mode))
        unlink(path);
}
