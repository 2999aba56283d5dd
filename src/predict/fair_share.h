/* predict/fair_share.h - bandwidth of memory and links, shared max-min fair among threads that run at the same time.
 *
 * Every thread's bandwidth rises alike until something it uses is full, or until it has what it wants; the others go on. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct share_machine { /* bytes per second */
    uint32_t node_count;
    double *memory; /* of each node */
    double
        *link; /* node_count * node_count, from the CPUs of one node to the memory of another; its own: not looked at */
};

struct share_user {
    uint32_t node;
    bool active;
    double limit;        /* bytes per second that it can use at most */
    const double *parts; /* of its bytes, by memory node; the sum is 1 */
    double rate;         /* set: bytes per second that it gets */
    int full;            /* set: what is full; SHARE_NOTHING: it has its limit */
};

enum { SHARE_NOTHING = -1 }; /* else a node, or node_count + from * node_count + to for a link */

void share_bandwidth(const struct share_machine *machine, struct share_user *users, uint32_t count);
