#include "capture/process/proc.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

bool proc_map_parse(char *line, struct proc_map *map)
{
    char rights[5] = "";
    int path = 0;
    *map = (struct proc_map){0};
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %n", &map->start, &map->end, rights, &map->offset,
               &path) < 4 ||
        path == 0)
        return false;
    map->prot = (rights[0] == 'r' ? PROT_READ : 0u) | (rights[1] == 'w' ? PROT_WRITE : 0u) |
                (rights[2] == 'x' ? PROT_EXEC : 0u);
    map->flags = rights[3] == 's' ? MAP_SHARED : MAP_PRIVATE;
    line[path + (int)strcspn(line + path, "\n")] = '\0';
    map->path = line + path;
    return true;
}

enum map_kind proc_map_kind(const char *path, uint32_t flags)
{
    if (strncmp(path, "[heap", 5) == 0)
        return MAP_KIND_BRK;
    if (strncmp(path, "[stack", 6) == 0)
        return MAP_KIND_STACK;
    if (path[0] == '[')
        return MAP_KIND_OTHER;
    if (path[0] == '/' && strncmp(path, "//anon", 6) != 0 && strncmp(path, "/anon_hugepage", 14) != 0 &&
        strncmp(path, "/dev/zero", 9) != 0)
        return MAP_KIND_FILE;
    return flags & MAP_SHARED ? MAP_KIND_SHARED : MAP_KIND_ANONYMOUS;
}

void proc_place_module(struct symbols *symbols, struct event_module *module, const struct event_map *map)
{
    module->bias = map->addr - map->offset;
    module->start = map->addr;
    module->end = map->addr + map->size;
    struct symbols_module *binary = symbols_module(symbols, module->path, module->build_id, module->build_id_size);
    uint64_t addr, low, high;
    if (symbols_module_trouble(binary) || !symbols_address_of_offset(binary, map->offset, &addr) ||
        !symbols_extent(binary, &low, &high))
        return;
    module->bias = map->addr - addr;
    module->start = module->bias + low;
    module->end = module->bias + high;
}

void proc_report_map(struct sink *sink, struct symbols *symbols, uint32_t pid, uint64_t time, struct event_map map)
{
    struct event event = {.time = time, .pid = pid, .tid = pid, .kind = EVENT_MAP};
    const char *path = map.path;
    map.map_kind = (uint8_t)proc_map_kind(path, map.flags);
    if (map.map_kind == MAP_KIND_ANONYMOUS || map.map_kind == MAP_KIND_SHARED)
        map.path = "";
    event.map = map;
    sink_put(sink, &event);
    if (map.map_kind != MAP_KIND_FILE || !(map.prot & PROT_EXEC))
        return;
    struct event_module module = {.path = path};
    proc_place_module(symbols, &module, &map);
    event.kind = EVENT_MODULE_LOAD;
    event.module = module;
    sink_put(sink, &event);
}

/* A file of /proc/PID, or of one of its threads, with its end cut off; returns how many bytes it had. */
static size_t read_text(uint32_t pid, const char *name, char *text, size_t size)
{
    char path[96];
    snprintf(path, sizeof path, "/proc/%u/%s", pid, name);
    FILE *file = fopen(path, "re");
    size_t count = file ? fread(text, 1, size - 1, file) : 0;
    if (file)
        fclose(file);
    text[count] = '\0';
    return count;
}

void proc_thread_name(uint32_t pid, uint32_t tid, char name[static 32])
{
    char path[48];
    snprintf(path, sizeof path, "task/%u/comm", tid);
    read_text(pid, path, name, 32);
    name[strcspn(name, "\n")] = '\0';
}

void proc_each_thread(uint32_t pid, void (*visit)(uint32_t tid, void *context), void *context)
{
    char path[48];
    snprintf(path, sizeof path, "/proc/%u/task", pid);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        uint32_t tid = (uint32_t)strtoul(entry->d_name, NULL, 10);
        if (tid)
            visit(tid, context);
    }
    if (folder)
        closedir(folder);
}

static void report_maps(struct sink *sink, struct symbols *symbols, uint32_t pid, uint64_t time)
{
    char path[32], *line = NULL;
    size_t room = 0;
    struct proc_map map;
    snprintf(path, sizeof path, "/proc/%u/maps", pid);
    FILE *file = fopen(path, "re");
    while (file && getline(&line, &room, file) > 0)
        if (proc_map_parse(line, &map))
            proc_report_map(sink, symbols, pid, time,
                            (struct event_map){.addr = map.start,
                                               .size = map.end - map.start,
                                               .offset = map.offset,
                                               .prot = map.prot,
                                               .flags = map.flags,
                                               .path = map.path});
    free(line);
    if (file)
        fclose(file);
}

void proc_program(uint32_t pid, const char *name, struct proc_program *program)
{
    char link[32];
    snprintf(link, sizeof link, "/proc/%u/exe", pid);
    ssize_t length = readlink(link, program->exe, sizeof program->exe - 1);
    program->exe[length > 0 ? length : 0] = '\0';
    if (length <= 0)
        snprintf(program->exe, sizeof program->exe, "%s", name);
    size_t size = read_text(pid, "cmdline", program->command, sizeof program->command);
    for (size_t i = 0; i + 1 < size; i++)
        program->command[i] = program->command[i] ? program->command[i] : ' ';
    if (size == 0) /* ended, or the kernel's own */
        snprintf(program->command, sizeof program->command, "%s", name);
}

struct capture_process *proc_report(struct process_table *processes, struct symbols *symbols, uint32_t pid,
                                    uint64_t time)
{
    char name[32];
    struct proc_program program;
    proc_thread_name(pid, pid, name);
    proc_program(pid, name, &program);
    struct event event = {.time = time, .pid = pid, .tid = pid, .kind = EVENT_PROCESS_START};
    event.process = (struct event_process){.exe = program.exe, .command = program.command};
    struct capture_process *process = process_start(processes, &event, 0);
    report_maps(processes->sink, symbols, pid, time);
    return process;
}
