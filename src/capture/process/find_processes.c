#include "capture/process/find_processes.h"

#include "base/array.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"
#include "capture/outside/attach_check.h"
#include "capture/process/procfs.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_NS = 100000000 }; /* ten of the kernel's clock ticks, by which it counts CPU time */

struct found {
    uint32_t pid;
    uint64_t cpu_ns, used_ns; /* used: of them, while it was looked at */
};

static bool is_called(uint32_t pid, const char *name)
{
    char line[4096] = "";
    FILE *file = procfs_open(pid, "comm");
    bool is = file && fgets(line, sizeof line, file) && strcspn(line, "\n") == strlen(name) &&
              strncmp(line, name, strlen(name)) == 0;
    if (file)
        fclose(file);
    file = is ? NULL : procfs_open(pid, "cmdline"); /* comm is cut at 15 letters */
    if (file && fread(line, 1, sizeof line - 1, file) > 0)
        is = strcmp(text_file_name(line), name) == 0;
    if (file)
        fclose(file);
    return is;
}

/* Lines are ID:CONTROLLERS:PATH, one with version 2. */
static bool is_within(uint32_t pid, const struct process_query *query)
{
    char line[4096];
    bool is = false;
    FILE *file = procfs_open(pid, "cgroup");
    while (file && !is && fgets(line, sizeof line, file)) {
        const char *path = strchr(line, ':');
        path = path ? strchr(path + 1, ':') : NULL;
        if (!path)
            continue;
        path++;
        const char *wanted = query->cgroup;
        size_t length = wanted ? strlen(wanted) : 0;
        while (length > 1 && wanted[length - 1] == '/')
            length--;
        is = query->container ? strstr(path, query->container) != NULL
                              : strncmp(path, wanted, length) == 0 && (length == 1 || strchr("/\n", path[length]));
    }
    if (file)
        fclose(file);
    return is;
}

bool process_query_given(const struct process_query *query)
{
    return query->name || query->cgroup || query->container;
}

static bool is_same_program(uint32_t pid)
{
    char path[32];
    struct stat own, other;
    snprintf(path, sizeof path, "/proc/%u/exe", pid);
    return stat("/proc/self/exe", &own) == 0 && stat(path, &other) == 0 && own.st_dev == other.st_dev &&
           own.st_ino == other.st_ino;
}

/* The recorder, its executors, and the screen that it records for: what these do is no answer. */
static bool is_ours(uint32_t pid)
{
    return pid == (uint32_t)getpid() || procfs_parent(pid) == (uint32_t)getpid() ||
           (pid == (uint32_t)getppid() && is_same_program(pid));
}

void processes_each(const struct process_query *query, void (*visit)(uint32_t pid, void *context), void *context)
{
    DIR *folder = opendir("/proc");
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        uint32_t pid = (uint32_t)strtoul(entry->d_name, NULL, 10);
        if (pid && (!query->name || is_called(pid, query->name)) &&
            ((!query->cgroup && !query->container) || is_within(pid, query)) && !is_ours(pid))
            visit(pid, context);
    }
    if (folder)
        closedir(folder);
}

ORDER_BY(by_use, struct found, ORDER(b->used_ns, a->used_ns) ?: ORDER(b->cpu_ns, a->cpu_ns))

/* Version 2 has one tree; of version 1 each controller has its own, one folder below. */
static bool cgroup_is_there(const char *path)
{
    static const char mounted[] = "/sys/fs/cgroup";
    char *file = mem_format("%s%s", mounted, path);
    bool there = access(file, F_OK) == 0;
    free(file);
    DIR *folder = opendir(mounted);
    for (struct dirent *entry; !there && folder && (entry = readdir(folder));) {
        file = mem_format("%s/%s%s", mounted, entry->d_name, path);
        there = entry->d_name[0] != '.' && access(file, F_OK) == 0;
        free(file);
    }
    if (folder)
        closedir(folder);
    return there;
}

static void none(const struct process_query *query, struct error *err)
{
    if (query->container)
        error_set(err, -ESRCH,
                  "no process here is in a container %s: its ID is wanted, 12 letters or more, on its host",
                  query->container);
    else if (query->name)
        error_set(err, -ESRCH, "no process%s%s is called '%s'", query->cgroup ? " in cgroup " : "",
                  query->cgroup ? query->cgroup : "", query->name);
    else if (query->cgroup)
        error_set(err, -ESRCH, "no process here is in cgroup %s: %s", query->cgroup,
                  cgroup_is_there(query->cgroup) ? "it is empty"
                                                 : "there is no such one; a path as in /proc/PID/cgroup is wanted");
    else
        error_set(err, -ESRCH, "no process runs that may be looked at: name one with -p");
}

typedef array_of(struct found) found_list;

static void add_found(uint32_t pid, void *context)
{
    found_list *all = context;
    array_push(all, ((struct found){.pid = pid, .cpu_ns = procfs_cpu_ns(pid)}));
}

uint32_t processes_busiest(const struct process_query *query, struct error *err)
{
    found_list all = {0};
    uint32_t busiest = 0;
    struct error refused = {0};
    processes_each(query, add_found, &all);
    nanosleep(&(struct timespec){0, LOOK_NS}, NULL);
    array_each (&all, struct found, found) {
        uint64_t before = found->cpu_ns;
        found->cpu_ns = procfs_cpu_ns(found->pid);
        found->used_ns = found->cpu_ns > before ? found->cpu_ns - before : 0;
    }
    array_sort(&all, by_use);
    for (size_t i = 0; i < all.count && !busiest; i++) {
        struct error why = {0};
        if (attach_check(all.items[i].pid, &why) == 0)
            busiest = all.items[i].pid;
        else if (!refused.code)
            refused = why;
    }
    array_free(&all);
    if (!busiest && refused.code)
        *err = refused;
    else if (!busiest)
        none(query, err);
    return busiest;
}
