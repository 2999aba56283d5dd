/* migrate/policies/policies.h - finds a policy by what --policy says: a built-in's name, or a shared library. */
#pragma once

#include "base/error.h"
#include "numalens/policy.h"

struct policy {
    const struct nlens_policy *type;
    void *self;
    void *library; /* of dlopen, or NULL */
};

/* `spec`: "access", "neighbours:8", "./mine.so", "./mine.so:words". A path has a slash. */
int policy_open(struct policy *policy, const char *spec, const struct nlens_machine *machine, struct error *err);
void policy_close(struct policy *policy);

/* The built-in ones, NULL at the end. */
extern const struct nlens_policy *const policies_builtin[];

/* --- for the built-in policies --- */

/* Accesses of a page by node, into counts[node_count] (zeroed first). Returns their sum. */
uint64_t policy_count_nodes(const struct nlens_policy_page *page, const struct nlens_machine *machine,
                            uint64_t *counts);

/* The paper's choice (equations 3 and 4) over any number of levels: at each, the group with the most, down to one node;
 * of equals the one that holds `home`. */
uint32_t policy_descend(const struct nlens_machine *machine, const uint64_t *counts, int32_t home);

/* policy_NAME of policy_NAME.c, in the order in which they are listed. */
#define POLICY_LIST(POLICY) POLICY(regions) POLICY(access) POLICY(latency) POLICY(neighbours) POLICY(none)

#define POLICY(name) extern const struct nlens_policy policy_##name;
POLICY_LIST(POLICY)
#undef POLICY
