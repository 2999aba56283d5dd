#include "topology/home.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel copies 16 pages at a time whatever the count; larger batches only save entries into the kernel. */
enum { BATCH = 4096 };

static int explain(struct error *err, pid_t pid, int cause)
{
    switch (cause) {
    case EPERM:
    case EACCES:
        return error_set(err, -cause,
                         "the kernel does not return the nodes of process %d's pages (%s): run as the same user, or in "
                         "a container with --cap-add SYS_PTRACE or a seccomp profile that allows move_pages",
                         pid, strerror(cause));
    case ESRCH:
    case EINVAL: /* it has no memory any more: it is just ending */
        return error_set(err, -ESRCH, "process %d has ended", pid);
    case ENOSYS:
        return error_set(err, -ENOSYS,
                         "this kernel has no move_pages (built without CONFIG_NUMA and CONFIG_MIGRATION): the only "
                         "node is every page's home node");
    default:
        return error_set(err, -cause, "move_pages on process %d: %s", pid, strerror(cause));
    }
}

int home_query(pid_t pid, const uint64_t *pages, size_t count, int32_t *nodes, struct error *err)
{
    _Static_assert(sizeof(void *) == sizeof *pages && sizeof(int) == sizeof *nodes,
                   "move_pages reads these as they are");
    for (size_t done = 0; done < count;) {
        size_t batch = count - done < BATCH ? count - done : BATCH;
        if (syscall(SYS_move_pages, pid, batch, pages + done, NULL, nodes + done, 0) != 0)
            return explain(err, pid, errno);
        done += batch;
    }
    return 0;
}
