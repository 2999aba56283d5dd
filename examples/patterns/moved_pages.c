/* moved_pages.c - an array whose pages are moved to another node half-way. Needs a machine with two nodes or more.
 *
 * moved: after half the run the pages go to node 1.
 * stays: they stay on node 0, where they are put at the beginning in both cases.
 * Each half lasts 1.5 s of CPU time, or --rounds=MS: the kernel is asked every second for the home nodes of hot pages.
 * Ends with status 77 where there is no node 1. */
#include "team.h"

#include <sys/syscall.h>

enum { PAGES = 16, COUNT = PAGES * PAGE / sizeof(long), MOVE_MINE = 2, POLICY_BIND = 2 };

/* How many of the pages are on `node` afterwards. */
static size_t move_to(char *pages, int node)
{
    void *addresses[PAGES];
    int nodes[PAGES], status[PAGES];
    for (size_t i = 0; i < PAGES; i++) {
        addresses[i] = pages + i * PAGE;
        nodes[i] = node;
    }
    if (syscall(SYS_move_pages, 0, (size_t)PAGES, addresses, nodes, status, MOVE_MINE) < 0)
        return 0;
    size_t there = 0;
    for (size_t i = 0; i < PAGES; i++)
        there += status[i] == node;
    return there;
}

int main(int argc, char **argv)
{
    team_init(argc, argv, "moved|stays", 1500);
    long *array = aligned_alloc(PAGE, PAGES * PAGE); /* site: array */
    example_need(array, "aligned_alloc");
    /* Both nodes are allowed, and the kernel is not to balance by itself. */
    unsigned long both = 3;
    syscall(SYS_mbind, array, (size_t)PAGES * PAGE, POLICY_BIND, &both, 8 * sizeof both, 0);
    char *trial = aligned_alloc(PAGE, PAGES * PAGE);
    example_need(trial, "aligned_alloc");
    memset(trial, 1, PAGES * PAGE);
    if (move_to(trial, 1) < PAGES) {
        fprintf(stderr, "moved_pages: pages cannot be put on node 1\n");
        return 77;
    }
    free(trial);
    team_fill(array, COUNT);
    example_need(move_to((char *)array, 0) == PAGES, "move_pages");
    team_use_for(team.rounds, array, COUNT, 1);
    if (team_mode("moved"))
        example_need(move_to((char *)array, 1) == PAGES, "move_pages");
    team_use_for(team.rounds, array, COUNT, 2);
    puts(team_mode("moved") ? "moved once" : "never moved");
    free(array);
    return 0;
}
