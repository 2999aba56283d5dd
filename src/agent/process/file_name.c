#include "agent/process/file_name.h"

#include "base/sys.h"
#include "base/units.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define DEVICE_ZERO makedev(1, 5)

/* A file is the same while none of these changes. An inode's number is used again when its file was deleted, but then
 * the time of its last change is another; a new name changes that time too. */
struct identity {
    dev_t device;
    ino_t inode;
    struct timespec changed;
};

/* Any thread writes, one at a time: `version` is odd while it does. Who finds it odd, or changed when he has read, has
 * found nothing; a handler that interrupts a writer too. */
struct kept {
    alignas(CACHE_LINE) _Atomic uint32_t version; /* with a short name, all is in two cache lines */
    uint32_t length;
    struct identity identity;
    char path[FILE_NAME_BYTES];
};

enum { KEPT = 64, SETTLED_SECONDS = 2 };
static struct kept table[KEPT];

static struct kept *place_of(const struct identity *identity)
{
    uint64_t key = (uint64_t)identity->inode * 0x9e3779b97f4a7c15u ^ (uint64_t)identity->device;
    return &table[(key >> 32) % KEPT];
}

static bool recall(const struct identity *identity, char *path)
{
    struct kept *kept = place_of(identity);
    uint32_t version = atomic_load_explicit(&kept->version, memory_order_acquire);
    if (version == 0 || version & 1 || memcmp(&kept->identity, identity, sizeof *identity) != 0)
        return false;
    uint32_t length = kept->length < FILE_NAME_BYTES ? kept->length : FILE_NAME_BYTES - 1;
    memcpy(path, kept->path, length);
    path[length] = '\0';
    atomic_thread_fence(memory_order_acquire);
    return atomic_load_explicit(&kept->version, memory_order_relaxed) == version;
}

static void keep(const struct identity *identity, const char *path)
{
    struct kept *kept = place_of(identity);
    uint32_t version = atomic_load_explicit(&kept->version, memory_order_relaxed);
    if (version & 1 || !atomic_compare_exchange_strong(&kept->version, &version, version + 1))
        return;
    atomic_thread_fence(memory_order_release);
    kept->identity = *identity;
    kept->length = (uint32_t)strnlen(path, FILE_NAME_BYTES - 1);
    memcpy(kept->path, path, kept->length);
    atomic_store_explicit(&kept->version, version + 2, memory_order_release);
}

/* The kernel's clock for files advances in steps: what was changed just now may be changed again, or deleted and its
 * number another file's, without a new time. What is kept was settled then: each change since gave it another time. */
static bool settled(const struct stat *file)
{
    struct timespec now;
    return clock_gettime(CLOCK_REALTIME_COARSE, &now) == 0 && now.tv_sec - file->st_ctim.tv_sec > SETTLED_SECONDS;
}

static void ask(int fd, char *path)
{
    char link[32] = "/proc/self/fd/", digits[12];
    unsigned count = 0;
    size_t at = strlen(link);
    for (unsigned value = (unsigned)fd; count == 0 || value; value /= 10)
        digits[count++] = (char)('0' + value % 10);
    while (count)
        link[at++] = digits[--count];
    link[at] = '\0';
    memset(path, 0, FILE_NAME_BYTES);
    sys_readlink(link, path, FILE_NAME_BYTES);
}

void file_name_find(int fd, bool wanted, struct file_name *name)
{
    struct stat file;
    bool known = sys_call(SYS_fstat, fd, &file) == 0;
    name->device = !known || (S_ISCHR(file.st_mode) && file.st_rdev != DEVICE_ZERO);
    name->path[0] = '\0';
    if (!wanted)
        return;
    struct identity identity;
    memset(&identity, 0, sizeof identity); /* it is compared as bytes */
    if (known) {
        identity.device = file.st_dev;
        identity.inode = file.st_ino;
        identity.changed = file.st_ctim;
    }
    /* Several names may lead to one file: which one was opened, only /proc knows. */
    bool single = known && S_ISREG(file.st_mode) && file.st_nlink == 1;
    if (single && recall(&identity, name->path))
        return;
    ask(fd, name->path);
    if (single && settled(&file))
        keep(&identity, name->path);
}
