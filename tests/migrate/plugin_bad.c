/* A policy that does what HOW says: stops, hangs, or makes invalid requests. */
#include <numalens/policy.h>

#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

static int decide_stop(void *self, const struct nlens_view *view, const struct nlens_plan *plan)
{
    (void)self;
    (void)view;
    (void)plan;
    return 1;
}

static int decide_hang(void *self, const struct nlens_view *view, const struct nlens_plan *plan)
{
    (void)self;
    (void)view;
    (void)plan;
    while (pause() != 0)
        ;
    return 0;
}

static int decide_nonsense(void *self, const struct nlens_view *view, const struct nlens_plan *plan)
{
    (void)self;
    nlens_move(plan, view->page_count, 0);
    nlens_move_around(plan, SIZE_MAX, 0, UINT32_MAX, UINT32_MAX);
    for (size_t i = 0; i < view->page_count; i++)
        nlens_move(plan, i, view->machine->node_count + (uint32_t)i);
    for (unsigned i = 0; i < 100; i++) {
        char text[200];
        snprintf(text, sizeof text,
                 "%d: much ado about nothing, in a text that is longer than anyone could ever want to "
                 "read, let alone keep",
                 i);
        nlens_note(plan, text, 1);
    }
    return 0;
}

const struct nlens_policy *nlens_policy(void)
{
    static const struct nlens_policy policy = {
        .version = NLENS_POLICY_VERSION, .size = sizeof policy, .name = "bad", .summary = "bad", .decide = HOW};
    return &policy;
}

/* All three are used in some build. */
int (*const plugin_bad_all[])(void *, const struct nlens_view *, const struct nlens_plan *);
int (*const plugin_bad_all[])(void *, const struct nlens_view *, const struct nlens_plan *) = {decide_stop, decide_hang,
                                                                                               decide_nonsense};
