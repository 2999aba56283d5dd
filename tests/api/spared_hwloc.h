/* spared_hwloc.h - with failing_malloc.h: nothing fails inside hwloc. */
#ifndef NUMALENS_TESTS_SPARED_HWLOC_H
#define NUMALENS_TESTS_SPARED_HWLOC_H

#include <dlfcn.h>

/* hwloc has assertions in place of checks: numalens sees that there is memory before it calls it. There, nothing fails. */
void hwloc_topology_destroy(void *topology);
void hwloc_topology_destroy(void *topology)
{
    failing_paused++;
    void (*next)(void *) = (void (*)(void *))dlsym(RTLD_NEXT, "hwloc_topology_destroy");
    next(topology);
    failing_paused--;
}

#define without_failing(type, name, declared, ...)                                                                     \
    type name declared;                                                                                                \
    type name declared                                                                                                 \
    {                                                                                                                  \
        failing_paused++;                                                                                              \
        type(*next) declared = (type(*) declared)dlsym(RTLD_NEXT, #name);                                              \
        type result = next(__VA_ARGS__);                                                                               \
        failing_paused--;                                                                                              \
        return result;                                                                                                 \
    }
without_failing(int, hwloc_topology_init, (void **topology), topology)
    without_failing(int, hwloc_topology_set_flags, (void *topology, unsigned long flags), topology, flags)
        without_failing(int, hwloc_topology_set_cache_types_filter, (void *topology, int filter), topology, filter)
            without_failing(int, hwloc_topology_set_synthetic, (void *topology, const char *text), topology, text)
                without_failing(int, hwloc_topology_load, (void *topology), topology)
                    without_failing(int, hwloc_distances_get_by_type,
                                    (void *topology, int type, unsigned *count, void **distances, unsigned long kind,
                                     unsigned long flags),
                                    topology, type, count, distances, kind, flags)

#endif
