/* A policy with an argument: all pages go to the last node. */
#include <numalens/policy.h>

#include <stdio.h>
#include <string.h>

static int start(const struct nlens_machine *machine, const char *arguments, void **self, char *why, size_t why_bytes)
{
    (void)machine;
    *self = NULL;
    if (strcmp(arguments, "right") == 0)
        return 0;
    snprintf(why, why_bytes, "it wants 'right', not '%s'", arguments);
    return 1;
}

static int decide(void *self, const struct nlens_view *view, const struct nlens_plan *plan)
{
    (void)self;
    for (size_t i = 0; i < view->page_count; i++)
        nlens_move(plan, i, view->machine->node_count - 1);
    return 0;
}

const struct nlens_policy *nlens_policy(void)
{
    static const struct nlens_policy policy = {.version = NLENS_POLICY_VERSION,
                                               .size = sizeof policy,
                                               .name = "picky",
                                               .summary = "all pages to the last node",
                                               .start = start,
                                               .decide = decide};
    return &policy;
}
