/* agent/process/file_name.h - the name of a file that is being mapped, for one cheap system call as a rule.
 *
 * A server maps a file for each request, the same few again and again. To ask /proc for the name of a descriptor takes
 * microseconds, fstat a fraction of one; so names are kept by what fstat reports of a file. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { FILE_NAME_BYTES = 512 };

struct file_name {
    bool device;                /* memory of a device, other than /dev/zero's; or nothing is known of it */
    char path[FILE_NAME_BYTES]; /* "" when it cannot be known */
};

/* Safe in handlers; keeps errno. Without `wanted` the path stays "". */
void file_name_find(int fd, bool wanted, struct file_name *name);
