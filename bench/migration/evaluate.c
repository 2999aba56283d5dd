/* evaluate.c - what it costs to decide about very many sampled pages.
 *     evaluate POLICY PAGES [fill|spread]
 * PAGES pages of one process on a simulated machine of four nodes, each with two samples: half of them used by one thread
 * from another node than their home node, a quarter from their home node, a quarter used from two nodes. Prints
 * "pages N moves N fill_ms T locate_ms T evaluate_ms T memory_mib N", CPU time of the thread and the most that was resident. With `fill` it ends before it
 * evaluates: the difference in instructions is the evaluation's. With `spread` the pages are as many samples of 1 TiB on one node, each
 * quarter of which is used from another. */
#include "migrate/policies/policy_machine.h"
#include "migrate/page_map.h"
#include "migrate/move_plan.h"
#include "migrate/policies/policies.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { PID = 42, NODES = 4 };

static double now_ms(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec * 1e-6;
}

static void fill(struct page_map *map, const struct memory *memory, size_t pages)
{
    for (size_t i = 0; i < pages; i++) {
        uint64_t addr = 0x7f0000000000u + ((uint64_t)i << page_shift());
        uint32_t home = (uint32_t)(i % NODES), kind = (uint32_t)(i / NODES % 4);
        uint32_t user = kind == 2 ? home : (home + 1) % NODES;
        memory_touch(memory, PID, addr, home, true);
        struct page_access access = {
            .addr = addr, .pid = PID, .thread = PID + user, .node = user, .timed = true, .latency = 100};
        page_map_add(map, &access);
        access.addr += 64;
        if (kind == 3)
            access.thread = PID + (access.node = home);
        page_map_add(map, &access);
    }
}

static void fill_spread(struct page_map *map, const struct memory *memory, size_t pages)
{
    for (size_t i = 0; i < pages; i++) {
        uint64_t addr = 0x7e0000000000u + (((uint64_t)1 << 40) / pages * i >> page_shift() << page_shift());
        uint32_t user = (uint32_t)(i * NODES / pages);
        memory_touch(memory, PID, addr, 0, true);
        struct page_access access = {.addr = addr, .pid = PID, .thread = PID + user, .node = user};
        page_map_add(map, &access);
    }
}

int main(int argc, char **argv)
{
    struct error err = {0};
    if (argc < 3) {
        fprintf(stderr, "usage: evaluate POLICY PAGES [fill|spread]\n");
        return 2;
    }
    size_t pages = strtoul(argv[2], NULL, 10);
    bool spread = argc > 3 && strcmp(argv[3], "spread") == 0;
    struct topology *topology = topology_simulate("numa:4 core:2", ASSIGN_PACKED, &err);
    struct policy policy;
    if (!topology) {
        fprintf(stderr, "evaluate: %s\n", err.text);
        return 1;
    }
    struct nlens_machine *machine = machine_new(topology);
    if (policy_open(&policy, argv[1], machine, &err) < 0) {
        fprintf(stderr, "evaluate: %s\n", err.text);
        return 1;
    }
    struct memory memory = memory_simulated(topology);
    struct page_map *map = page_map_new(pages + 1);
    struct history *history = history_new(pages + 1);
    struct plan_limits limits = {.pages = 16384, .bytes = (uint64_t)256 << 20, .min_accesses = 1};
    struct survey survey;
    struct plan plan = {0};
    double start = now_ms();
    if (spread)
        fill_spread(map, &memory, pages);
    else
        fill(map, &memory, pages);
    double filled = now_ms();
    if (argc > 3 && !spread)
        return 0;
    survey_make(&survey, map, &memory, topology, false);
    double located = now_ms();
    plan_make(&plan, policy.type, policy.self, machine, &survey, &memory, history, &limits, 1, 1000000000);
    double evaluated = now_ms();
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("pages %zu moves %zu fill_ms %.1f locate_ms %.1f evaluate_ms %.1f memory_mib %.1f\n", survey.page_count,
           plan.count, filled - start, located - filled, evaluated - located, (double)usage.ru_maxrss / 1024);
    plan_free(&plan);
    survey_free(&survey);
    page_map_free(map);
    history_free(history);
    policy_close(&policy);
    memory.close(memory.context);
    machine_free(machine);
    topology_free(topology);
    return 0;
}
