/* A policy of another version. */
#include <numalens/policy.h>

const struct nlens_policy *nlens_policy(void)
{
    static const struct nlens_policy policy = {.version = 77, .name = "old"};
    return &policy;
}
