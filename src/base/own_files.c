#include "base/own_files.h"

#include "base/mem.h"

#include <limits.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
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

bool self_may(int capability)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {0};
    return syscall(SYS_capget, &head, sets) == 0 && sets[capability / 32].effective >> capability % 32 & 1;
}
