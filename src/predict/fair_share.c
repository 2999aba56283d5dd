/* See fair_share.h. Progressive filling: at each step the lowest level is found at which something is full. Whoever wants no more than
 * that has it, which leaves more to the others; when nobody does, whoever uses what is full stops there. */
#include "predict/fair_share.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

struct resource {
    double free;   /* bytes per second that those who stopped leave */
    double weight; /* of those who have not: bytes here for each of their bytes */
};

static uint32_t link_of(const struct share_machine *machine, uint32_t from, uint32_t to)
{
    return machine->node_count * (1 + from) + to;
}

/* Adds to what a user uses: its weight while it rises, its bandwidth when it stops. */
static void add_use(const struct share_machine *machine, struct resource *all, const struct share_user *user,
                    double weight, double used)
{
    for (uint32_t to = 0; to < machine->node_count; to++) {
        all[to].weight += weight * user->parts[to];
        all[to].free -= used * user->parts[to];
        if (to == user->node)
            continue;
        struct resource *link = &all[link_of(machine, user->node, to)];
        link->weight += weight * user->parts[to];
        link->free -= used * user->parts[to];
    }
}

static double level_of(const struct resource *resource)
{
    if (resource->weight <= 0)
        return INFINITY;
    return resource->free > 0 ? resource->free / resource->weight : 0;
}

/* The first thing that this user uses and that is full at `level`; SHARE_NOTHING when nothing is. */
static int full_at(const struct share_machine *machine, const struct resource *all, const struct share_user *user,
                   double level)
{
    for (uint32_t to = 0; to < machine->node_count; to++) {
        if (user->parts[to] <= 0)
            continue;
        uint32_t link = link_of(machine, user->node, to);
        if (level_of(&all[to]) <= level)
            return (int)to;
        if (to != user->node && level_of(&all[link]) <= level)
            return (int)link;
    }
    return SHARE_NOTHING;
}

/* The lowest level at which something is full. */
static double full_level(const struct resource *all, uint32_t resources)
{
    const double rounding = 1e-12; /* a weight that was added and taken away again */
    double level = INFINITY;
    for (uint32_t i = 0; i < resources; i++)
        if (all[i].weight > rounding && level_of(&all[i]) < level)
            level = level_of(&all[i]);
    return level;
}

static bool has_enough(const struct share_user *user, double level)
{
    return user->limit <= level;
}

void share_bandwidth(const struct share_machine *machine, struct share_user *users, uint32_t count)
{
    const double same = 1 + 1e-9; /* what differs by less stops together */
    uint32_t resources = machine->node_count * (1 + machine->node_count), remaining = 0;
    struct resource *all = mem_zalloc(resources * sizeof *all);
    bool *rising = mem_zalloc((count + 1) * sizeof *rising);
    for (uint32_t i = 0; i < resources; i++)
        all[i].free = i < machine->node_count ? machine->memory[i] : machine->link[i - machine->node_count];
    for (uint32_t i = 0; i < count; i++) {
        rising[i] = users[i].active;
        users[i].rate = 0;
        users[i].full = SHARE_NOTHING;
        if (rising[i])
            add_use(machine, all, &users[i], 1, 0);
        remaining += rising[i];
    }
    while (remaining > 0) {
        double level = full_level(all, resources) * same;
        uint32_t before = remaining;
        bool enough = false;
        for (uint32_t i = 0; i < count; i++)
            enough |= rising[i] && has_enough(&users[i], level);
        for (uint32_t i = 0; i < count && !enough; i++)
            users[i].full = rising[i] ? full_at(machine, all, &users[i], level) : users[i].full;
        for (uint32_t i = 0; i < count; i++) {
            bool stops = enough ? has_enough(&users[i], level) : users[i].full != SHARE_NOTHING;
            if (!rising[i] || !stops)
                continue;
            users[i].rate = enough ? users[i].limit : level;
            add_use(machine, all, &users[i], -1, users[i].rate);
            rising[i] = false;
            remaining--;
        }
        if (remaining == before)
            break; /* cannot be: whoever rises uses something, or has its limit */
    }
    free(all);
    free(rising);
}
