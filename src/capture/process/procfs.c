#include "capture/process/procfs.h"

#include "base/small_file.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

FILE *procfs_open(uint32_t pid, const char *name)
{
    char path[384];
    snprintf(path, sizeof path, "/proc/%u/%s", pid, name);
    return fopen(path, "re");
}

/* The fields behind the name, which may hold anything; "" when there are none. */
static const char *read_stat(uint32_t pid, char *line, size_t room)
{
    FILE *file = procfs_open(pid, "stat");
    if (!file)
        return "";
    size_t length = fread(line, 1, room - 1, file);
    fclose(file);
    line[length] = 0;
    const char *end = strrchr(line, ')');
    return end && end[1] ? end + 2 : "";
}

uint64_t procfs_cpu_ns(uint32_t pid)
{
    char line[1024];
    unsigned long long user, system;
    long hz = sysconf(_SC_CLK_TCK);
    if (sscanf(read_stat(pid, line, sizeof line), "%*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu %llu", &user,
               &system) != 2 ||
        hz <= 0)
        return 0;
    return (user + system) * (1000000000u / (unsigned long long)hz);
}

uint64_t procfs_cpu_and_parent(uint32_t pid, uint32_t *parent)
{
    char line[1024];
    unsigned long long times[4];
    long hz = sysconf(_SC_CLK_TCK);
    *parent = 0;
    if (sscanf(read_stat(pid, line, sizeof line), "%*c %u %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu %llu %llu %llu",
               parent, &times[0], &times[1], &times[2], &times[3]) != 5 ||
        hz <= 0)
        return 0;
    return (times[0] + times[1] + times[2] + times[3]) * (1000000000u / (unsigned long long)hz);
}

uint32_t procfs_parent(uint32_t pid)
{
    uint32_t parent;
    procfs_cpu_and_parent(pid, &parent);
    return parent;
}

uint64_t procfs_start(uint32_t pid)
{
    char line[1024];
    unsigned long long start;
    bool known =
        sscanf(read_stat(pid, line, sizeof line),
               "%*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu", &start) == 1;
    return known ? start : 0;
}

/* The last number of a thread's "NSpid:" line: that in its own namespace; 0 when there is none. */
static uint32_t innermost(uint32_t pid, const char *task)
{
    char path[320];
    snprintf(path, sizeof path, "/proc/%u/task/%.255s/status", pid, task);
    char *text = small_file_field(path, "NSpid:");
    const char *last = text ? strrchr(text, '\t') : NULL;
    uint32_t number = text ? (uint32_t)strtoul(last ? last : text, NULL, 10) : 0;
    free(text);
    return number;
}

uint32_t procfs_local_thread(uint32_t pid, uint32_t tid)
{
    char text[16];
    snprintf(text, sizeof text, "%u", tid);
    return innermost(pid, text);
}

uint32_t procfs_local(uint32_t pid)
{
    return procfs_local_thread(pid, pid);
}

int64_t procfs_thread(uint32_t pid, uint32_t local)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%u/task", pid);
    DIR *tasks = opendir(path);
    if (!tasks)
        return -1;
    int64_t found = 0;
    for (struct dirent *task; !found && (task = readdir(tasks));)
        if (task->d_name[0] != '.' && innermost(pid, task->d_name) == local)
            found = strtol(task->d_name, NULL, 10);
    closedir(tasks);
    return found;
}

static uint64_t namespace_of(const char *process, const char *space)
{
    char path[64];
    struct stat file;
    snprintf(path, sizeof path, "/proc/%s/ns/%s", process, space);
    return stat(path, &file) == 0 ? (uint64_t)file.st_ino : 0;
}

bool procfs_is_apart(uint32_t pid, const char *space)
{
    char text[16];
    snprintf(text, sizeof text, "%u", pid);
    uint64_t own = namespace_of("self", space), other = namespace_of(text, space);
    return own && other && own != other;
}

static uint64_t files_of(const char *process)
{
    char path[64];
    struct stat root;
    snprintf(path, sizeof path, "/proc/%s/root", process);
    return stat(path, &root) == 0 ? namespace_of(process, "mnt") * 0x9e3779b97f4a7c15u ^ root.st_dev << 32 ^ root.st_ino
                                  : 0;
}

uint64_t procfs_files(uint32_t pid)
{
    char text[16];
    snprintf(text, sizeof text, "%u", pid);
    uint64_t own = files_of("self"), other = files_of(text);
    return own == other ? 0 : other;
}

uint64_t procfs_pid_namespace(void)
{
    return namespace_of("self", "pid");
}

/* "0-1,3" into the topology's nodes. */
static void parse_list(const char *text, const struct topology *topology, bool *open)
{
    memset(open, 0, topology->node_count * sizeof *open);
    while (*text >= '0' && *text <= '9') {
        char *end;
        long first = strtol(text, &end, 10), last = first;
        if (*end == '-')
            last = strtol(end + 1, &end, 10);
        for (uint32_t i = 0; i < topology->node_count; i++)
            open[i] |= topology->nodes[i].os_index >= first && topology->nodes[i].os_index <= last;
        text = *end == ',' ? end + 1 : end;
    }
}

void procfs_open_nodes(uint32_t pid, const struct topology *topology, bool *open)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%u/status", pid);
    char *list = small_file_field(path, "Mems_allowed_list:");
    memset(open, true, topology->node_count * sizeof *open);
    if (list)
        parse_list(list, topology, open);
    free(list);
    for (uint32_t i = 0; i < topology->node_count; i++)
        open[i] &= topology->nodes[i].memory > 0;
}

int64_t procfs_clock_ahead(void)
{
    long long seconds = 0, rest = 0;
    char *line = small_file_line("/proc/self/timens_offsets"); /* since Linux 5.6 */
    /* The file is about the namespace of children, which is this process's own too unless it has just asked for another. */
    bool known = line && sscanf(line, "monotonic %lld %lld", &seconds, &rest) == 2 &&
                 namespace_of("self", "time") == namespace_of("self", "time_for_children");
    free(line);
    return known ? seconds * 1000000000 + rest : 0;
}

int procfs_numa_balancing(void)
{
    return (int)small_file_number(-1, "/proc/sys/kernel/numa_balancing");
}
