/* capture/count/resctrl.c - a plan from resctrl's memory-bandwidth monitoring.
 *
 * A monitoring group counts what its own tasks cause. A control group's figures hold those of the monitoring groups in
 * it, so the machine's whole traffic is the sum over the root group and all control groups. */
#include "capture/count/plan_make.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define RESCTRL "sys/fs/resctrl"

struct making {
    const struct count_machine *machine;
    struct count_plan *plan;
    struct count_rows rows;
};

static void add_file(struct making *making, const char *folder, const char *file, enum count_what what, uint32_t node)
{
    char *path = mem_format("%s/%s", folder, file);
    if (access(path, F_OK) != 0) {
        free(path);
        return;
    }
    struct count_counter counter = {.what = what, .row = node, .scale = 1, .cpu = -1, .path = path};
    size_t length = strlen(path), most = sizeof counter.name - 1;
    snprintf(counter.name, sizeof counter.name, "%s", length > most ? path + length - most : path);
    array_push(&making->plan->counters, counter);
}

static void add_domain(struct making *making, const char *folder, uint32_t node)
{
    add_file(making, folder, "mbm_total_bytes", COUNT_TOTAL, node);
    add_file(making, folder, "mbm_local_bytes", COUNT_LOCAL, node);
}

/* With sub-NUMA clusters each node has a folder of its own in that of the cache. */
static bool add_parts(struct making *making, const char *folder)
{
    DIR *parts = opendir(folder);
    struct dirent *entry;
    bool any = false;
    int number;
    while (parts && (entry = readdir(parts))) {
        if (sscanf(entry->d_name, "mon_sub_L3_%d", &number) != 1)
            continue;
        for (uint32_t i = 0; i < making->machine->nodes.count; i++) {
            if (making->machine->nodes.items[i] != number)
                continue;
            char *part = mem_format("%s/%s", folder, entry->d_name);
            add_domain(making, part, i);
            free(part);
            any = true;
        }
    }
    if (parts)
        closedir(parts);
    return any;
}

static void add_cache(struct making *making, const char *folder, int id)
{
    const struct count_machine *machine = making->machine;
    int32_t node = -1;
    if (add_parts(making, folder))
        return;
    array_each (&machine->cpus, struct count_cpu, cpu) {
        if (cpu->cache3 != id || cpu->node < 0)
            continue;
        if (node >= 0)
            count_machine_rows_join(&making->rows, machine, (uint32_t)cpu->node, (uint32_t)node);
        node = cpu->node;
    }
    if (node >= 0)
        add_domain(making, folder, (uint32_t)node);
}

/* A group's folder; `group` is "" for the root. */
static void add_group(struct making *making, const char *group)
{
    char *path = mem_format("%s/" RESCTRL "%s/mon_data", making->machine->root, group);
    DIR *domains = opendir(path);
    struct dirent *entry;
    int id;
    while (domains && (entry = readdir(domains))) {
        if (sscanf(entry->d_name, "mon_L3_%d", &id) != 1)
            continue;
        char *folder = mem_format("%s/%s", path, entry->d_name);
        add_cache(making, folder, id);
        free(folder);
    }
    if (domains)
        closedir(domains);
    free(path);
}

static void add_groups(struct making *making)
{
    static const char *const others[] = {".", "..", "info", "mon_data", "mon_groups"};
    char *path = mem_format("%s/" RESCTRL, making->machine->root);
    DIR *root = opendir(path);
    struct dirent *entry;
    add_group(making, "");
    while (root && (entry = readdir(root))) {
        bool group = entry->d_type == DT_DIR;
        for (size_t i = 0; i < sizeof others / sizeof *others; i++)
            group &= strcmp(entry->d_name, others[i]) != 0;
        char *name = group ? mem_format("/%s", entry->d_name) : NULL;
        if (name)
            add_group(making, name);
        free(name);
    }
    if (root)
        closedir(root);
    free(path);
}

static bool is_there(const struct count_machine *machine, const char *path)
{
    char *full = mem_format("%s/%s", machine->root, path);
    bool there = access(full, F_OK) == 0;
    free(full);
    return there;
}

void count_resctrl_plans(struct count_plans *plans, const struct count_machine *machine)
{
    struct count_plan *plan = count_plan_new(COUNT_RESCTRL, COUNT_AT_CPUS);
    struct making making = {machine, plan, {0}};
    plan->devices = mem_strdup("resctrl memory-bandwidth monitoring");
    plan->in_bytes = true;
    count_machine_rows_init(&making.rows, machine);
    add_groups(&making);
    count_machine_rows_make(&making.rows, machine, plan);
    array_each (&plan->counters, struct count_counter, counter)
        counter->row = making.rows.row_of[counter->row];
    free(making.rows.row_of);
    count_plan_finish(plan);
    if (!is_there(machine, RESCTRL))
        plan->lacks =
            mem_strdup("there is no /sys/fs/resctrl: the processor has no memory-bandwidth monitoring (Intel RDT, AMD "
                       "QoS, Arm MPAM), or a virtual machine hides it, or the kernel lacks CONFIG_X86_CPU_RESCTRL");
    else if (!is_there(machine, RESCTRL "/info"))
        plan->lacks =
            mem_strdup("resctrl is not mounted; an administrator can: mount -t resctrl resctrl /sys/fs/resctrl");
    else if (plan->counters.count == 0)
        plan->lacks = mem_strdup("resctrl is mounted, but this processor does not monitor memory bandwidth (no "
                                 "mbm_total_bytes in /sys/fs/resctrl/mon_data)");
    array_push(&plans->list, plan);
}
