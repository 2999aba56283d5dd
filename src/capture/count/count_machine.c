#include "capture/count/count_machine.h"

#include "base/number_list.h"
#include "base/order.h"
#include "base/small_file.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    const char *sysfs = machine->sysfs;
    machine->cpus.items[number] = (struct count_cpu){
        .node = placing->node,
        .package =
            (int32_t)small_file_number(-1, "%s/devices/system/cpu/cpu%u/topology/physical_package_id", sysfs, number),
        .die = (int32_t)small_file_number(-1, "%s/devices/system/cpu/cpu%u/topology/die_id", sysfs, number),
        .cache3 = (int32_t)small_file_number(-1, "%s/devices/system/cpu/cpu%u/cache/index3/id", sysfs, number)};
}

ORDER_BY(compare, int32_t, ORDER(*a, *b))

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
        char *cpus = small_file_line("%s/devices/system/node/node%d/cpulist", machine->sysfs, machine->nodes.items[i]);
        struct placing placing = {machine, (int32_t)i};
        if (cpus)
            number_list_each(cpus, COUNT_CPUS_MOST, place, &placing);
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
