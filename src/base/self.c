#include "base/self.h"

#include "base/mem.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *self_find(const char *path)
{
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length < 0 ? 0 : length] = 0;
    char *slash = strrchr(self, '/');
    if (slash)
        *slash = 0;
    char *whole = mem_format("%s/%s", self, path);
    char *resolved = realpath(whole, NULL);
    free(whole);
    return resolved;
}
