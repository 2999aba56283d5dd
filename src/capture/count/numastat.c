/* capture/count/numastat.c - the plan that always works: what the kernel's page allocator counts for each node. */
#include "base/small_file.h"
#include "capture/count/plan_make.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void add_field(struct count_plan *plan, const char *root, int32_t node, const char *file, const char *field,
                      enum count_what what, double scale)
{
    char *path = mem_format("%s/sys/devices/system/node/node%d/%s", root, node, file);
    if (access(path, R_OK) != 0) {
        free(path);
        return;
    }
    struct count_counter counter = {
        .what = what, .row = (uint32_t)plan->rows.count, .scale = scale, .cpu = -1, .path = path, .field = field};
    snprintf(counter.name, sizeof counter.name, "node%d/%s %s", node, file, field);
    array_push(&plan->counters, counter);
}

void count_numastat_plans(struct count_plans *plans, const struct count_machine *machine)
{
    struct count_plan *plan = count_plan_new(COUNT_NUMASTAT, COUNT_AT_ALLOCATION);
    plan->devices = mem_strdup("the kernel's page allocator");
    array_each (&machine->nodes, int32_t, node) {
        static const struct {
            const char *field;
            enum count_what what;
        } fields[] = {{"numa_hit", COUNT_HIT},
                      {"numa_miss", COUNT_MISS},
                      {"numa_foreign", COUNT_FOREIGN},
                      {"local_node", COUNT_NEAR},
                      {"other_node", COUNT_FAR}};
        for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
            add_field(plan, machine->root, *node, "numastat", fields[i].field, fields[i].what, 1);
        add_field(plan, machine->root, *node, "vmstat", "nr_free_pages", COUNT_NET, -(double)sysconf(_SC_PAGESIZE));
        struct count_row row = {0};
        array_push(&row.nodes, *node);
        array_push(&plan->rows, row);
    }
    count_plan_finish(plan);
    if (plan->counters.count == 0)
        plan->lacks = mem_strdup("no /sys/devices/system/node/node*/numastat: this kernel was built without NUMA, or "
                                 "/sys is not mounted");
    else if (small_file_number(1, "%s/proc/sys/vm/numa_stat", machine->root) == 0)
        plan->note = mem_strdup("vm.numa_stat is 0, so the kernel does not count allocations; an administrator can "
                                "switch it on with sysctl vm.numa_stat=1");
    array_push(&plans->list, plan);
}
