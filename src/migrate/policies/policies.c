#include "migrate/policies/policies.h"

#include "base/mem.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

const struct nlens_policy *const policies_builtin[] = {
#define POLICY(name) &policy_##name,
    POLICY_LIST(POLICY)
#undef POLICY
        NULL};

static const struct nlens_policy *find_builtin(const char *name, size_t length)
{
    for (unsigned i = 0; policies_builtin[i]; i++)
        if (strlen(policies_builtin[i]->name) == length && strncmp(policies_builtin[i]->name, name, length) == 0)
            return policies_builtin[i];
    return NULL;
}

static int load(struct policy *policy, const char *path, struct error *err)
{
    policy->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!policy->library)
        return error_set(err, -ENOENT, "policy %s cannot be loaded: %s", path, dlerror());
    const struct nlens_policy *(*entry)(void);
    *(void **)&entry = dlsym(policy->library, "nlens_policy");
    if (!entry)
        return error_set(err, -EINVAL, "%s is no policy: it has no function nlens_policy (see docs/migrate.md)", path);
    policy->type = entry();
    if (!policy->type)
        return error_set(err, -EINVAL, "%s: nlens_policy returned nothing", path);
    if (policy->type->version != NLENS_POLICY_VERSION)
        return error_set(err, -EINVAL,
                         "%s is for version %u of the policy interface, this is version %u: compile it "
                         "with the header that came with this numalens",
                         path, policy->type->version, NLENS_POLICY_VERSION);
    if (policy->type->size < sizeof *policy->type || !policy->type->name || !policy->type->decide)
        return error_set(err, -EINVAL,
                         "%s: its struct nlens_policy is not filled in (size, name and decide are needed)", path);
    return 0;
}

static char *all_names(void)
{
    char *names = mem_strdup("");
    for (unsigned i = 0; policies_builtin[i]; i++) {
        char *longer = mem_format("%s%s%s", names, i ? ", " : "", policies_builtin[i]->name);
        free(names);
        names = longer;
    }
    return names;
}

int policy_open(struct policy *policy, const char *spec, const struct nlens_machine *machine, struct error *err)
{
    *policy = (struct policy){0};
    const char *slash = strrchr(spec, '/'), *colon = strchr(slash ? slash : spec, ':');
    size_t length = colon ? (size_t)(colon - spec) : strlen(spec);
    char *name = mem_format("%.*s", (int)length, spec);
    int code = 0;
    if (slash) {
        code = load(policy, name, err);
    } else if (!(policy->type = find_builtin(spec, length))) {
        char *names = all_names();
        code = error_set(err, -EINVAL, "there is no policy '%.60s'; there are %s, or a library by its path: ./mine.so",
                         name, names);
        free(names);
    }
    char why[256] = "";
    if (code == 0 && policy->type->start &&
        policy->type->start(machine, colon ? colon + 1 : "", &policy->self, why, sizeof why) != 0) {
        why[sizeof why - 1] = 0;
        code = error_set(err, -EINVAL, "policy %.60s: %s", policy->type->name, *why ? why : "it cannot start");
        policy->type = NULL;
    }
    free(name);
    if (code < 0)
        policy_close(policy);
    return code;
}

void policy_close(struct policy *policy)
{
    if (policy->type && policy->type->stop)
        policy->type->stop(policy->self);
    if (policy->library)
        dlclose(policy->library);
    *policy = (struct policy){0};
}

uint64_t policy_count_nodes(const struct nlens_policy_page *page, const struct nlens_machine *machine, uint64_t *counts)
{
    uint64_t sum = 0;
    memset(counts, 0, machine->node_count * sizeof *counts);
    for (uint32_t i = 0; i < page->access_count; i++) {
        uint64_t times = nlens_policy_accesses(&page->accesses[i]);
        if (page->accesses[i].node >= machine->node_count)
            continue;
        counts[page->accesses[i].node] += times;
        sum += times;
    }
    return sum;
}

/* The group of `inside` at `level` with the most accesses; `home`'s own when it has as many. */
static uint32_t best_group(const struct nlens_machine *machine, const uint64_t *counts, uint32_t level,
                           const uint32_t *outer, uint32_t inside, int32_t home)
{
    const uint32_t *groups = machine->groups + (size_t)level * machine->node_count;
    uint64_t most = 0;
    uint32_t best = UINT32_MAX;
    bool at_home = false;
    for (uint32_t node = 0; node < machine->node_count; node++) {
        if (outer && outer[node] != inside)
            continue;
        uint64_t sum = 0;
        bool homely = false, counted = false;
        for (uint32_t other = 0; other < machine->node_count && !counted; other++) {
            if (groups[other] != groups[node])
                continue;
            counted = other < node; /* this group was counted at its first node */
            sum += counts[other];
            homely |= (int32_t)other == home;
        }
        if (counted || (best != UINT32_MAX && (sum < most || (sum == most && (at_home || !homely)))))
            continue;
        most = sum;
        best = groups[node];
        at_home = homely;
    }
    return best;
}

static uint32_t most_of_all(const struct nlens_machine *machine, const uint64_t *counts, int32_t home)
{
    uint32_t best = home >= 0 && (uint32_t)home < machine->node_count ? (uint32_t)home : 0;
    for (uint32_t node = 0; node < machine->node_count; node++)
        if (counts[node] > counts[best])
            best = node;
    return best;
}

uint32_t policy_descend(const struct nlens_machine *machine, const uint64_t *counts, int32_t home)
{
    if (machine->level_count < 2)
        return most_of_all(machine, counts, home);
    const uint32_t *outer = NULL;
    uint32_t inside = 0;
    for (uint32_t level = 0; level < machine->level_count; level++) {
        inside = best_group(machine, counts, level, outer, inside, home);
        outer = machine->groups + (size_t)level * machine->node_count;
    }
    for (uint32_t node = 0; node < machine->node_count; node++)
        if (outer && outer[node] == inside)
            return node;
    return 0;
}

static int decide_none(void *self, const struct nlens_view *view, const struct nlens_plan *plan)
{
    (void)self;
    (void)view;
    (void)plan;
    return 0;
}

const struct nlens_policy policy_none = {
    .version = NLENS_POLICY_VERSION,
    .size = sizeof(struct nlens_policy),
    .name = "none",
    .summary = "moves nothing: watches only",
    .decide = decide_none,
};
