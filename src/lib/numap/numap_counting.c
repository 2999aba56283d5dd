/* lib/numap/numap_counting.c - numap.h: memory traffic of each node. The first of the descriptors that nobody needs here holds the
 * counting. */
#include "base/units.h"
#include "numap.h"
#include "lib/numap/numap_measure.h"

#include <string.h>

int numap_counting_init_measure(struct numap_counting_measure *measure)
{
    nlens_error err;
    memset(measure, 0, sizeof *measure);
    nlens_counting *counting = nlens_counting_new(&err);
    if (!counting) {
        measure_set_reason(err.text);
        return ERROR_NUMAP_NOT_NUMA;
    }
    size_t nodes = nlens_counting_nodes(counting);
    measure->nb_nodes = nodes < MAX_NB_NUMA_NODES ? (int)nodes : MAX_NB_NUMA_NODES;
    for (int i = 0; i < measure->nb_nodes; i++)
        measure->is_valid[i] = 1;
    measure->fd_reads[0] = (long)counting;
    return 0;
}

int numap_counting_start(struct numap_counting_measure *measure)
{
    nlens_error err;
    if (measure->started)
        return ERROR_NUMAP_ALREADY_STARTED;
    nlens_counting *counting = (nlens_counting *)measure->fd_reads[0];
    if (!counting) {
        measure_set_reason("numap_counting_init_measure failed or was not called");
        return ERROR_NUMAP_NOT_NUMA;
    }
    if (nlens_counting_start(counting, &err) < 0) {
        measure_set_reason(err.text);
        return ERROR_PERF_EVENT_OPEN;
    }
    measure->started = 1;
    return 0;
}

int numap_counting_stop(struct numap_counting_measure *measure)
{
    nlens_error err;
    if (!measure->started)
        return ERROR_NUMAP_STOP_BEFORE_START;
    measure->started = 0;
    nlens_counting *counting = (nlens_counting *)measure->fd_reads[0];
    nlens_counting_stop(counting, NULL);
    for (int i = 0; i < measure->nb_nodes; i++) {
        nlens_traffic traffic;
        if (nlens_counting_read(counting, (size_t)i, &traffic, &err) < 0) {
            measure_set_reason(err.text);
            return ERROR_READ;
        }
        measure->is_valid[i] = traffic.reads_known || traffic.writes_known;
        measure->reads_count[i] = (long long)(traffic.reads / CACHE_LINE);
        measure->writes_count[i] = (long long)(traffic.writes / CACHE_LINE);
    }
    return 0;
}
