#include "capture/process/runtime_names.h"

#include "base/clock.h"
#include "base/mem.h"
#include "capture/process/procfs.h"
#include "symbols/runtime/runtime_code.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    LOOKS_MOST = 64,        /* processes a look, on average */
    CHUNK_BYTES = 1 << 20,  /* read at once; an entry is at most that long */
    FILE_BYTES = 256 << 20, /* of one file */
    LOOK_BYTES = 4 << 20,   /* of all files a look, that others wait some 10 ms at most */
    LINKS_MOST = 8,
};

struct growing { /* a file that the target writes; zeroed: none */
    FILE *file;
    uint64_t at; /* up to where its entries were taken */
    bool refused;
};

struct followed { /* a process with its files */
    uint32_t pid, local;
    uint64_t image, looked; /* looked: at the file, before this time */
    bool apart;             /* its files are not found by our own root */
    uid_t user;
    struct growing map, dump;
    struct jitdump jitdump;
    char *dump_path;
};

struct runtime_names {
    struct sink *sink;
    const struct process_table *processes;
    struct map64 by_pid; /* to struct followed * */
    uint64_t count, most, lost;
    uint64_t left; /* bytes that may be read at this look */
    size_t rested;
    uint8_t *chunk;
};

struct taking { /* of one look */
    struct runtime_names *names;
    const struct followed *followed;
    uint64_t since;
    int64_t clock; /* from CLOCK_MONOTONIC to the trace's */
};

struct runtime_names *runtime_names_new(struct sink *sink, const struct process_table *processes, uint64_t most)
{
    struct runtime_names *names = mem_zalloc(sizeof *names);
    names->sink = sink;
    names->processes = processes;
    names->most = most;
    return names;
}

static void take(void *context, const struct runtime_name *name)
{
    const struct taking *taking = context;
    struct runtime_names *names = taking->names;
    if (names->count >= names->most) {
        names->lost++;
        return;
    }
    names->count++;
    struct event event = {.time = taking->followed->image,
                          .pid = taking->followed->pid,
                          .tid = taking->followed->pid,
                          .kind = EVENT_RUNTIME_CODE};
    event.code = (struct event_runtime_code){.addr = name->addr,
                                             .size = name->size,
                                             .since = name->time ? name->time + (uint64_t)taking->clock : taking->since,
                                             .line = name->line,
                                             .name = name->name,
                                             .file = name->file};
    sink_put(names->sink, &event);
}

/* What a link says that root has made in a folder's place, as of /tmp; false: it is none. */
static bool read_link(int link, char text[static PATH_MAX])
{
    struct stat status;
    ssize_t length = fstat(link, &status) == 0 && S_ISLNK(status.st_mode) && status.st_uid == 0
                         ? readlinkat(link, "", text, PATH_MAX - 1)
                         : -1;
    text[length > 0 ? length : 0] = '\0';
    return length > 0;
}

/* Below `root`, through no link but those; -1 when there is none. Each folder is opened by itself, so that no link leads out of `root`. */
static int open_below(const char *root, const char *path)
{
    const int folders = O_PATH | O_CLOEXEC;
    int at = open(root, folders);
    char *rest = mem_strdup(path), *name = rest, link[PATH_MAX];
    bool is_file = false;
    for (unsigned links = 0; at >= 0 && !is_file;) {
        name += strspn(name, "/");
        char *end = strchrnul(name, '/');
        is_file = !*end;
        *end = '\0';
        int flags = is_file ? O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY : folders;
        int next = strcmp(name, "..") == 0 ? -1 : openat(at, name, flags | O_NOFOLLOW);
        name = end + 1;
        if (next >= 0 && !is_file && read_link(next, link)) {
            char *longer = mem_format("%s/%s", link, name);
            close(next);
            next = links++ == LINKS_MOST ? -1 : *link == '/' ? open(root, folders) : openat(at, ".", folders);
            free(rest);
            name = rest = longer;
        }
        close(at);
        at = next;
    }
    free(rest);
    return at;
}

static void open_file(const struct followed *followed, struct growing *growing, const char *path, bool ended)
{
    char root[32] = "/";
    struct stat status;
    if (!ended)
        snprintf(root, sizeof root, "/proc/%u/root", followed->pid);
    else if (followed->apart)
        return;
    int fd = open_below(root, path);
    if (fd < 0)
        return;
    bool good =
        fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && (status.st_uid == followed->user || status.st_uid == 0);
    growing->refused = !good;
    growing->file = good ? fdopen(fd, "r") : NULL;
    if (!growing->file)
        close(fd);
}

/* Takes what the file has got since the last look. One that became shorter was written from its start again. False: there is more, for
 * the next look. */
static bool follow(struct growing *growing, struct taking *taking, struct jitdump *dump)
{
    struct stat status;
    struct runtime_names *names = taking->names;
    int fd = fileno(growing->file);
    if (fstat(fd, &status) < 0)
        return true;
    if ((uint64_t)status.st_size < growing->at)
        growing->at = 0;
    if (!names->chunk)
        names->chunk = mem_alloc(CHUNK_BYTES);
    while (growing->at < (uint64_t)status.st_size && growing->at < FILE_BYTES) {
        if (names->left < CHUNK_BYTES)
            return false;
        ssize_t got = pread(fd, names->chunk, CHUNK_BYTES, (off_t)growing->at);
        if (got <= 0)
            return true;
        size_t used = dump ? jitdump_read(dump, names->chunk, (size_t)got, take, taking)
                           : perf_map_read((const char *)names->chunk, (size_t)got, take, taking);
        if (used == 0 && got == CHUNK_BYTES)
            used = CHUNK_BYTES; /* no entry is that long */
        if (used == 0)
            return true;
        growing->at += used;
        names->left -= used;
    }
    return true;
}

static int64_t clock_difference(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)(clock_now_ns() - ((uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec));
}

/* False: there is more, for the next look. */
static bool look_at(struct runtime_names *names, struct followed *followed, uint64_t now, bool ended)
{
    char path[64];
    struct taking taking = {names, followed, followed->looked, clock_difference()};
    snprintf(path, sizeof path, "/tmp/perf-%u.map", followed->local);
    if (!followed->map.file && !followed->map.refused)
        open_file(followed, &followed->map, path, ended);
    if (followed->dump_path && !followed->dump.file && !followed->dump.refused)
        open_file(followed, &followed->dump, followed->dump_path, ended);
    bool all = !followed->map.file || follow(&followed->map, &taking, NULL);
    all = (!followed->dump.file || follow(&followed->dump, &taking, &followed->jitdump)) && all;
    if (all)
        followed->looked = now;
    return all;
}

static void forget(struct followed *followed)
{
    if (followed->map.file)
        fclose(followed->map.file);
    if (followed->dump.file)
        fclose(followed->dump.file);
    jitdump_free(&followed->jitdump);
    free(followed->dump_path);
    free(followed);
}

static struct followed *follow_process(struct runtime_names *names, const struct capture_process *process)
{
    bool is_new;
    uint64_t *place = map64_insert(&names->by_pid, process->pid, &is_new);
    struct followed *followed = (struct followed *)(uintptr_t)*place;
    if (!is_new && followed->image == process->start)
        return followed;
    if (!is_new) { /* another program by now */
        names->left = UINT64_MAX;
        look_at(names, followed, followed->looked, false);
        forget(followed);
    }
    followed = mem_zalloc(sizeof *followed);
    followed->pid = process->pid;
    followed->local = process->local ? process->local : process->pid;
    followed->image = process->start;
    followed->apart = procfs_is_apart(process->pid, "mnt");
    char directory[32];
    struct stat status;
    snprintf(directory, sizeof directory, "/proc/%u", process->pid);
    followed->user = stat(directory, &status) == 0 ? status.st_uid : geteuid();
    *place = (uintptr_t)followed;
    return followed;
}

static void tend(void *context, uint64_t now)
{
    struct runtime_names *names = context;
    const struct map64 *map = &names->processes->by_pid;
    if (++names->rested * LOOKS_MOST < map->count)
        return;
    names->rested = 0;
    names->left = LOOK_BYTES;
    map64_each (map, i) {
        const struct capture_process *process = (const struct capture_process *)(uintptr_t)map->values[i];
        if (!process->ended)
            look_at(names, follow_process(names, process), now, false);
    }
    struct map64 kept = {0};
    map64_each (&names->by_pid, i) {
        struct followed *followed = (struct followed *)(uintptr_t)names->by_pid.values[i];
        const struct capture_process *process = process_find(names->processes, followed->pid);
        if ((process && !process->ended) || !look_at(names, followed, now, true))
            *map64_insert(&kept, followed->pid, NULL) = (uintptr_t)followed;
        else
            forget(followed);
    }
    map64_free(&names->by_pid);
    names->by_pid = kept;
}

static void finish(void *context)
{
    struct runtime_names *names = context;
    uint64_t now = clock_now_ns();
    const struct map64 *map = &names->processes->by_pid;
    map64_each (map, i) {
        const struct capture_process *process = (const struct capture_process *)(uintptr_t)map->values[i];
        if (!process->ended)
            follow_process(names, process);
    }
    names->left = UINT64_MAX;
    map64_each (&names->by_pid, i) {
        struct followed *followed = (struct followed *)(uintptr_t)names->by_pid.values[i];
        look_at(names, followed, now, false);
        if (!followed->map.file && !followed->map.refused)
            look_at(names, followed, now, true);
    }
    sink_loss(names->sink, now, names->processes->first, 0, LOSS_MEMORY, names->lost);
    names->lost = 0;
}

void runtime_names_mapped(struct runtime_names *names, uint32_t pid, const char *path)
{
    const char *base = strrchr(path, '/');
    size_t length = base ? strlen(base) : 0;
    if (length < strlen("/jit-1.dump") || strncmp(base, "/jit-", 5) != 0 || strcmp(base + length - 5, ".dump") != 0)
        return;
    const struct capture_process *process = process_find(names->processes, pid);
    if (!process)
        return;
    struct followed *followed = follow_process(names, process);
    if (!followed->dump_path)
        followed->dump_path = mem_strdup(path);
}

static void close_names(void *context)
{
    struct runtime_names *names = context;
    map64_each (&names->by_pid, i)
        forget((struct followed *)(uintptr_t)names->by_pid.values[i]);
    map64_free(&names->by_pid);
    free(names->chunk);
    free(names);
}

struct source runtime_names_source(struct runtime_names *names)
{
    return (struct source){
        .kind = FROM_RUNTIMES, .context = names, .tend = tend, .finish = finish, .close = close_names};
}
