#include "capture/process/proc.h"

#include "base/mem.h"
#include "base/text.h"
#include "capture/process/procfs.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* Go's runtime asks for its arenas here, where the kernel puts nothing by itself (mallocinit of runtime/malloc.go). Goroutines have their stacks in them, too.
 * What is reserved only, without any right, is to be part of them. */
#define GO_ARENAS     0xc000000000u
#define GO_ARENAS_END 0x10000000000u

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
    if (!*map->path && map->start >= GO_ARENAS && map->end <= GO_ARENAS_END && !(map->prot & PROT_EXEC))
        map->path = PROC_GO_HEAP;
    return true;
}

struct proc_maps proc_maps_of(uint32_t pid)
{
    return (struct proc_maps){.file = procfs_open(pid, "maps")};
}

bool proc_maps_next(struct proc_maps *maps, struct proc_map *map)
{
    while (maps->file && getline(&maps->line, &maps->room, maps->file) > 0)
        if (proc_map_parse(maps->line, map))
            return true;
    proc_maps_close(maps);
    return false;
}

void proc_maps_close(struct proc_maps *maps)
{
    if (maps->file)
        fclose(maps->file);
    free(maps->line);
    *maps = (struct proc_maps){0};
}

/* A JVM puts a heap of less than 32 GiB below this address, so that a pointer to it has 32 bits. */
#define JAVA_HEAP_END 0x800000000u

bool proc_is_java(uint32_t pid)
{
    struct proc_map map;
    bool is = false;
    struct proc_maps maps = proc_maps_of(pid);
    while (!is && proc_maps_next(&maps, &map))
        is = strstr(map.path, "/libjvm.so") != NULL;
    proc_maps_close(&maps);
    return is;
}

void proc_map_name(struct proc_map *map, bool is_java)
{
    if (is_java && !*map->path && map->end <= JAVA_HEAP_END)
        map->path = "[Java heap]";
}

bool proc_map_is_device(uint32_t pid, const struct proc_map *map)
{
    struct stat file;
    if (text_begins(map->path, "anon_inode:") || text_begins(map->path, "/dmabuf:") ||
        text_begins(map->path, "/sys/") || text_begins(map->path, "/proc/"))
        return true;
    bool in_dev = text_begins(map->path, "/dev/");
    if (text_begins(map->path, "/dev/dax")) /* plain memory, as of CXL */
        return false;
    if (map->path[0] != '/' || !(in_dev || map->flags & MAP_SHARED))
        return false;
    char *path = mem_format("/proc/%u/root%s", pid, map->path);
    bool known = stat(path, &file) == 0;
    free(path);
    if (known)
        return S_ISCHR(file.st_mode) && file.st_rdev != makedev(1, 5); /* /dev/zero */
    return in_dev && !text_begins(map->path, "/dev/zero") && !text_begins(map->path, "/dev/shm/") &&
           !text_begins(map->path, "/dev/hugepages");
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

void proc_report_map(struct sink *sink, struct symbols *symbols, const char *root, uint32_t pid, uint64_t time,
                     struct event_map map)
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
    char *file = mem_format("%s%s", root, path);
    struct event_module module = {.path = file};
    proc_place_module(symbols, &module, &map);
    struct symbols_module *binary = symbols_module(symbols, file, NULL, 0);
    module.build_id_size = (uint8_t)symbols_build_id(binary, module.build_id, sizeof module.build_id);
    if (module.build_id_size) /* by which it is found again: a file without one has its place only */
        module.path = path;
    event.kind = EVENT_MODULE_LOAD;
    event.module = module;
    sink_put(sink, &event);
    free(file);
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

bool proc_code_has(const struct proc_code *code, uint64_t pc)
{
    array_each (&code->ranges, const struct proc_range, range)
        if (pc >= range->start && pc < range->end)
            return true;
    return false;
}

static void report_maps(struct sink *sink, struct symbols *symbols, const char *root, uint32_t pid, uint64_t time,
                        struct proc_code *code, bool all)
{
    struct proc_map map;
    bool is_java = proc_is_java(pid);
    for (struct proc_maps maps = proc_maps_of(pid); proc_maps_next(&maps, &map);) {
        proc_map_name(&map, is_java);
        bool is_new = map.prot & PROT_EXEC && !proc_code_has(code, map.start);
        if (is_new)
            array_push(&code->ranges, ((struct proc_range){map.start, map.end}));
        if (is_new || all)
            proc_report_map(sink, symbols, root, pid, time,
                            (struct event_map){.addr = map.start,
                                               .size = map.end - map.start,
                                               .offset = map.offset,
                                               .prot = map.prot,
                                               .flags = map.flags,
                                               .path = map.path});
    }
}

void proc_report_code(struct sink *sink, struct symbols *symbols, const char *root, uint32_t pid, uint64_t time,
                      struct proc_code *code)
{
    report_maps(sink, symbols, root, pid, time, code, false);
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

struct capture_process *proc_report(struct process_table *processes, struct symbols *symbols, const char *root,
                                    uint32_t pid, uint64_t time, struct proc_code *code)
{
    char name[32];
    struct proc_program program;
    proc_thread_name(pid, pid, name);
    proc_program(pid, name, &program);
    struct event event = {.time = time, .pid = pid, .tid = pid, .kind = EVENT_PROCESS_START};
    event.process = (struct event_process){.exe = program.exe, .command = program.command};
    struct capture_process *process = process_start(processes, &event, 0);
    process->local = procfs_local(pid);
    code->ranges.count = 0;
    report_maps(processes->sink, symbols, root, pid, time, code, true);
    return process;
}
