#include "base/link.h"

#include "base/mem.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINKS_MOST = 40 }; /* as the kernel */

struct walk {
    char *done; /* resolved: no links in it. "" is the working directory */
    char *rest; /* to be resolved */
    unsigned links;
};

static bool trusted(const char *directory, const struct stat *link)
{
    struct stat folder;
    if (stat(*directory ? directory : ".", &folder) != 0)
        return false;
    bool open_to_all = (folder.st_mode & (S_ISVTX | S_IWOTH)) == (S_ISVTX | S_IWOTH);
    return !open_to_all || link->st_uid == geteuid() || link->st_uid == folder.st_uid;
}

static char *joined(const char *directory, const char *name)
{
    size_t length = strlen(directory);
    return mem_format("%s%s%s", directory, length && directory[length - 1] != '/' ? "/" : "", name);
}

/* Puts a link's text before what is left. */
static int enter(struct walk *walk, const char *link, const struct stat *status, struct error *err)
{
    char text[PATH_MAX];
    if (!trusted(walk->done, status))
        return error_set(err, -EACCES,
                         "%s is a symbolic link of user %u in a directory that everybody may write to: it is not "
                         "followed; name another file",
                         link, (unsigned)status->st_uid);
    ssize_t length = readlink(link, text, sizeof text - 1);
    if (length < 0 || ++walk->links > LINKS_MOST)
        return error_set(err, length < 0 ? -errno : -ELOOP, "%s cannot be followed: %s", link,
                         strerror(length < 0 ? errno : ELOOP));
    text[length] = 0;
    char *rest = mem_format("%s/%s", text, walk->rest);
    free(walk->rest);
    walk->rest = rest;
    if (*text == '/') {
        free(walk->done);
        walk->done = mem_strdup("/");
    }
    return 0;
}

/* One part of the path. 0, 1 when there is no more to resolve, or a negative code. */
static int step(struct walk *walk, struct error *err)
{
    char *name = walk->rest + strspn(walk->rest, "/");
    size_t length = strcspn(name, "/");
    if (length == 0)
        return 1;
    char *part = mem_format("%.*s", (int)length, name), *rest = mem_strdup(name + length);
    char *next = joined(walk->done, part);
    free(part);
    free(walk->rest);
    walk->rest = rest;
    struct stat status;
    int code = 0;
    if (lstat(next, &status) == 0 && S_ISLNK(status.st_mode)) {
        code = enter(walk, next, &status, err);
        free(next);
    } else {
        free(walk->done);
        walk->done = next;
    }
    return code;
}

char *link_follow(const char *path, struct error *err)
{
    struct walk walk = {mem_strdup(*path == '/' ? "/" : ""), mem_strdup(path), 0};
    int code;
    while ((code = step(&walk, err)) == 0)
        ;
    free(walk.rest);
    if (code > 0)
        return walk.done;
    free(walk.done);
    return NULL;
}
