#include "cli/commands/compare/candidate.h"

#include "base/text.h"
#include "capture/faults/mechanism.h"
#include "capture/process/program.h"
#include "cli/commands/compare/balancing.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char plan_prefix[] = "plan:";
static const char *const balancing_names[] = {"balancing-off", "balancing-on"};

static int balancing_named(const char *name)
{
    for (int i = 0; i < 2; i++)
        if (strcmp(name, balancing_names[i]) == 0)
            return i;
    return -1;
}

static const char *plan_path(const char *name)
{
    size_t length = sizeof plan_prefix - 1;
    return strncmp(name, plan_prefix, length) == 0 && name[length] ? name + length : NULL;
}

bool candidate_is_name(const char *name)
{
    return placement_named(name) != PLACEMENTS || balancing_named(name) >= 0 || plan_path(name);
}

static void refuse(struct candidate *candidate, const char *why)
{
    candidate->placement.possible = false;
    snprintf(candidate->placement.text, sizeof candidate->placement.text, "%.*s",
             (int)sizeof candidate->placement.text - 1, why);
}

/* Threads and memory as without it. */
static void leave(struct candidate *candidate, const struct candidates_here *here)
{
    placement_work_out(&candidate->placement, PLACEMENT_LOCAL, here->topology, here->limits);
    candidate->as_is = true;
    if (here->topology->simulated)
        refuse(candidate, "it is for real nodes, and these are simulated");
}

int candidate_take_plan(struct candidate *candidate, const char *name, struct placement_plan *plan,
                        const struct candidates_here *here, struct error *err)
{
    struct plan_machine machine = {here->topology, here->limits, false};
    *candidate = CANDIDATE_NONE;
    candidate->name = mem_strdup(name);
    candidate->plan = *plan;
    *plan = (struct placement_plan){0};
    leave(candidate, here);
    if (!candidate->placement.possible)
        return 0;
    if (here->refused)
        refuse(candidate, here->refused);
    else
        snprintf(candidate->placement.text, sizeof candidate->placement.text,
                 "memory and threads where %s wants them, the rest where the kernel puts it", candidate->plan.name);
    return plan_table_make(&candidate->table, &candidate->plan, here->program, &machine, err);
}

int candidate_make(struct candidate *candidate, const char *name, const struct candidates_here *here, struct error *err)
{
    const char *path = plan_path(name);
    *candidate = CANDIDATE_NONE;
    if (path) {
        struct placement_plan plan;
        int code = plan_read(&plan, path, here->allocators, err);
        if (code < 0)
            return code;
        char *shown = mem_format("%s%s", plan_prefix, text_file_name(path));
        code = candidate_take_plan(candidate, shown, &plan, here, err);
        free(shown);
        return code;
    }
    candidate->name = mem_strdup(name);
    candidate->balancing = balancing_named(name);
    if (candidate->balancing < 0) {
        candidate->as_is = false;
        placement_work_out(&candidate->placement, placement_named(name), here->topology, here->limits);
        return 0;
    }
    leave(candidate, here);
    if (!candidate->placement.possible)
        return 0;
    if (*balancing_refused())
        refuse(candidate, balancing_refused());
    else
        snprintf(candidate->placement.text, sizeof candidate->placement.text,
                 "kernel.numa_balancing %s, threads and memory where the kernel puts them",
                 candidate->balancing ? "on" : "off");
    return 0;
}

void candidate_free(struct candidate *candidate)
{
    free(candidate->name);
    placement_plan_free(&candidate->plan);
    plan_table_free(&candidate->table);
    *candidate = CANDIDATE_NONE;
}

int candidate_agent(char **command, char **agent, char **refused, int *exit_status, struct error *err)
{
    struct error why = {0};
    *agent = *refused = NULL;
    if (program_check(command[0], exit_status, &why) < 0) {
        if (*exit_status == PROGRAM_REFUSED) {
            *refused = mem_strdup(why.text);
            return 0;
        }
        *err = why;
        return why.code;
    }
    if (program_apart(command[0]) != LOSS_CAUSES) {
        *refused = mem_strdup("the program runs under a sanitizer or valgrind, which place memory themselves");
        return 0;
    }
    *agent = program_agent_path(err);
    return *agent ? 0 : err->code;
}

int candidate_run(const struct candidate *candidate, struct compare_child *child, const struct placement *placement,
                  char **command, const char *agent, int out, int *status, double *seconds, struct error *err)
{
    const char *others = getenv("LD_PRELOAD");
    char *preload =
        mem_format("LD_PRELOAD=%s%s%s", agent ? agent : "", others && *others ? ":" : "", others ? others : "");
    char *where = mem_format("%s=%s", PLACE_ENVIRONMENT, candidate->table.path);
    const char *environment[] = {where, agent ? preload : NULL, NULL};
    struct balancing_hold hold = {.alive = -1};
    int code = candidate->balancing >= 0 ? balancing_hold(&hold, candidate->balancing, err) : 0;
    child->environment = plan_table_is_empty(&candidate->table) ? NULL : environment;
    if (child->environment)
        candidate->table.shared->filters = mechanism_filters();
    if (code == 0)
        code = compare_child_run(child, command, out, placement, status, seconds, err);
    balancing_release(&hold);
    child->environment = NULL;
    free(preload);
    free(where);
    return code;
}
