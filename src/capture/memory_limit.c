#include "capture/memory_limit.h"

#include "base/small_file.h"

#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

/* Beside what --memory is shared out for: the writer's compressor, tables of the session, fragments. */
enum { LEAST_MIB = 16, BESIDE_MIB = 12 };

/* Of this process's address space, in bytes; 0 when that is not known. */
static size_t in_use(void)
{
    return (size_t)small_file_number(0, "/proc/self/statm") * (size_t)sysconf(_SC_PAGESIZE);
}

int memory_limit_fit(size_t *memory, char *note, size_t room, struct error *err)
{
    struct rlimit limit;
    *note = '\0';
    if (getrlimit(RLIMIT_AS, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
        return 0;
    size_t used = in_use() + ((size_t)BESIDE_MIB << 20);
    size_t free_bytes = limit.rlim_cur > used ? (size_t)limit.rlim_cur - used : 0;
    if (free_bytes / 3 * 2 >= *memory)
        return 0;
    if (free_bytes / 3 * 2 < (size_t)LEAST_MIB << 20)
        return error_set(err, -ENOMEM,
                         "the limit for address space (ulimit -v, %zu MiB) is too low to record: %zu MiB are needed",
                         (size_t)limit.rlim_cur >> 20, (used >> 20) + LEAST_MIB * 3 / 2 + 1);
    *memory = free_bytes / 3 * 2;
    snprintf(note, room, "recorded with %zu MiB of memory, for the limit of address space (ulimit -v)", *memory >> 20);
    return 0;
}
