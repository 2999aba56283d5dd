/* view/check/check_source.c - names of source files, as the compiler wrote them, as URIs that a code-review tool can open. */
#include "view/check/check_view.h"

#include <stdlib.h>
#include <string.h>

/* "a/./b/../c" -> "a/c", in place. Of a relative path the steps up in front go too. */
static void shorten(char *path)
{
    bool absolute = path[0] == '/';
    char *out = path + absolute;
    const char *first = out;
    for (const char *at = path; *at;) {
        size_t size = strcspn(at, "/");
        if (size == 2 && at[0] == '.' && at[1] == '.') {
            while (out > first && *--out != '/') {
            }
        } else if (size && !(size == 1 && at[0] == '.')) {
            if (out > first)
                *out++ = '/';
            memmove(out, at, size);
            out += size;
        }
        at += size;
        at += strspn(at, "/");
    }
    *out = '\0';
}

static char *encoded(const char *scheme, const char *path)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/+@,";
    size_t used = strlen(scheme);
    char *text = mem_alloc(used + 3 * strlen(path) + 1);
    memcpy(text, scheme, used);
    for (; *path; path++) {
        if (strchr(plain, *path))
            text[used++] = *path;
        else
            used += (size_t)sprintf(text + used, "%%%02X", (unsigned char)*path);
    }
    text[used] = '\0';
    return text;
}

char *check_source_uri(const struct source_file *file, const char *root)
{
    char *found = sources_path(file), *path = found ? realpath(found, NULL) : NULL;
    free(found);
    if (!path) {
        path = mem_strdup(file->path);
        shorten(path);
    }
    size_t length = strlen(root);
    bool below = strncmp(path, root, length) == 0 && path[length] == '/' && path[length + 1];
    char *uri = encoded(path[0] == '/' && !below ? "file://" : "", below ? path + length + 1 : path);
    free(path);
    return uri;
}
