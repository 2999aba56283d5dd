#include "capture/faults/rundir.h"

#include "base/small_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void name_directory(char *path, size_t room)
{
    const char *named = getenv("NUMALENS_RUN_DIR"), *runtime = getenv("XDG_RUNTIME_DIR");
    if (named && *named)
        snprintf(path, room, "%s", named);
    else if (geteuid() == 0)
        snprintf(path, room, "/run/numalens");
    else if (runtime && *runtime)
        snprintf(path, room, "%s/numalens", runtime);
    else
        snprintf(path, room, "/tmp/numalens-%u", (unsigned)geteuid());
}

/* A descriptor of the directory, or -errno. In /tmp anyone may have put something there first. */
static int open_directory(bool make)
{
    char path[512];
    struct stat info;
    name_directory(path, sizeof path);
    if (make && mkdir(path, 0700) < 0 && errno != EEXIST)
        return -errno;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    if (fstat(fd, &info) < 0 || info.st_uid != geteuid() || info.st_mode & 022) {
        close(fd);
        return -EPERM;
    }
    return fd;
}

int rundir_write(const char *name, const char *text, size_t length, struct error *err)
{
    char temporary[64], path[512];
    int directory = open_directory(true), code = directory < 0 ? directory : 0, file = -1;
    snprintf(temporary, sizeof temporary, "%.40s.new", name);
    if (code == 0) {
        unlinkat(directory, temporary, 0);
        file = openat(directory, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (file < 0 || write(file, text, length) != (ssize_t)length || fsync(file) < 0 ||
            renameat(directory, temporary, directory, name) < 0)
            code = errno ? -errno : -EIO;
    }
    if (file >= 0)
        close(file);
    if (directory >= 0)
        close(directory);
    if (code == 0)
        return 0;
    name_directory(path, sizeof path);
    return error_set(err, code, "%.400s/%s cannot be written: %s", path, name, strerror(-code));
}

ssize_t rundir_read(const char *name, char *text, size_t room)
{
    struct stat info;
    ssize_t got = -1;
    int directory = open_directory(false);
    int file = directory < 0 ? -1 : openat(directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (file >= 0 && fstat(file, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid())
        got = read(file, text, room - 1);
    text[got > 0 ? got : 0] = 0;
    if (file >= 0)
        close(file);
    if (directory >= 0)
        close(directory);
    return got;
}

void rundir_remove(const char *name)
{
    int directory = open_directory(false);
    if (directory < 0)
        return;
    unlinkat(directory, name, 0);
    close(directory);
}

void rundir_boot_id(char *text, size_t room)
{
    char *line = small_file_line("/proc/sys/kernel/random/boot_id");
    snprintf(text, room, "%s", line ? line : "");
    free(line);
}
