#include "capture/count/count_machine.h"

#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static char *read_line(const char *path)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return NULL;
    char *line = NULL;
    size_t size = 0;
    ssize_t length = getline(&line, &size, file);
    fclose(file);
    if (length < 0) {
        free(line);
        return NULL;
    }
    line[strcspn(line, "\n")] = 0;
    return line;
}

char *count_machine_line(const struct count_machine *machine, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    char *relative = mem_vformat(format, list);
    va_end(list);
    char *path = mem_format("%s/%s", machine->root, relative);
    char *line = read_line(path);
    free(path);
    free(relative);
    return line;
}

int64_t count_machine_number(const struct count_machine *machine, int64_t otherwise, const char *path)
{
    char *line = count_machine_line(machine, "%s", path), *end = line;
    int64_t number = line ? strtoll(line, &end, 10) : otherwise;
    if (end == line)
        number = otherwise;
    free(line);
    return number;
}

bool count_machine_list(const char *text, void (*see)(void *context, uint32_t number), void *context)
{
    while (*text) {
        char *end;
        unsigned long first = strtoul(text, &end, 10), last = first;
        if (end == text)
            return false;
        if (*end == '-') {
            text = end + 1;
            last = strtoul(text, &end, 10);
            if (end == text)
                return false;
        }
        if (last < first || last >= COUNT_CPUS_MOST)
            return false;
        for (unsigned long number = first; number <= last; number++)
            see(context, (uint32_t)number);
        text = *end == ',' ? end + 1 : end;
        if (*end != ',' && *end)
            return false;
    }
    return true;
}

struct placing {
    struct count_machine *machine;
    int32_t node;
};

static void place(void *context, uint32_t number)
{
    struct placing *placing = context;
    struct count_machine *machine = placing->machine;
    while (machine->cpus.count <= number)
        array_push(&machine->cpus, (struct count_cpu){-1, -1, -1, -1});
    char path[128];
    struct count_cpu *cpu = &machine->cpus.items[number];
    cpu->node = placing->node;
    snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%u/topology/physical_package_id", number);
    cpu->package = (int32_t)count_machine_number(machine, -1, path);
    snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%u/topology/die_id", number);
    cpu->die = (int32_t)count_machine_number(machine, -1, path);
    snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%u/cache/index3/id", number);
    cpu->cache3 = (int32_t)count_machine_number(machine, -1, path);
}

static int compare(const void *a, const void *b)
{
    int32_t one = *(const int32_t *)a, other = *(const int32_t *)b;
    return (one > other) - (one < other);
}

void count_machine_load(struct count_machine *machine, const char *root)
{
    *machine = (struct count_machine){.root = root, .sysfs = mem_format("%s/sys", root)};
    char *path = mem_format("%s/devices/system/node", machine->sysfs);
    DIR *folder = opendir(path);
    struct dirent *entry;
    int32_t number;
    char rest;
    while (folder && (entry = readdir(folder)))
        if (sscanf(entry->d_name, "node%d%c", &number, &rest) == 1)
            array_push(&machine->nodes, number);
    if (folder)
        closedir(folder);
    free(path);
    array_sort(&machine->nodes, compare);
    for (size_t i = 0; i < machine->nodes.count; i++) {
        char *cpus = count_machine_line(machine, "sys/devices/system/node/node%d/cpulist", machine->nodes.items[i]);
        struct placing placing = {machine, (int32_t)i};
        if (cpus)
            count_machine_list(cpus, place, &placing);
        free(cpus);
    }
}

void count_machine_free(struct count_machine *machine)
{
    free(machine->sysfs);
    array_free(&machine->nodes);
    array_free(&machine->cpus);
}

void count_machine_rows_init(struct count_rows *rows, const struct count_machine *machine)
{
    rows->row_of = mem_alloc((machine->nodes.count + 1) * sizeof *rows->row_of);
    for (uint32_t i = 0; i < machine->nodes.count; i++)
        rows->row_of[i] = i;
}

void count_machine_rows_join(struct count_rows *rows, const struct count_machine *machine, uint32_t a, uint32_t b)
{
    uint32_t from = rows->row_of[a], to = rows->row_of[b];
    for (size_t i = 0; i < machine->nodes.count; i++)
        if (rows->row_of[i] == from)
            rows->row_of[i] = to;
}

void count_machine_rows_make(struct count_rows *rows, const struct count_machine *machine, struct count_plan *plan)
{
    uint32_t *number = mem_alloc((machine->nodes.count + 1) * sizeof *number);
    memset(number, 0xff, (machine->nodes.count + 1) * sizeof *number);
    for (size_t i = 0; i < machine->nodes.count; i++) {
        uint32_t group = rows->row_of[i];
        if (number[group] == UINT32_MAX) {
            number[group] = (uint32_t)plan->rows.count;
            array_push(&plan->rows, (struct count_row){0});
        }
        rows->row_of[i] = number[group];
        array_push(&plan->rows.items[number[group]].nodes, machine->nodes.items[i]);
    }
    free(number);
}
