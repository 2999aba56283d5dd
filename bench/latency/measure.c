/* measure.c - CPU time of the analyses behind report sharing, latency and balance on one trace, each from the flow.
 *     measure FILE
 * Prints "samples N flow_s T load_s T sharing_s T latency_s T balance_s T": CPU seconds; flow: the trace read and its flow
 * built; load: the accesses taken out of it. Both are done once for all three. */
#include "analysis/problems/balance.h"
#include "analysis/problems/latency.h"
#include "analysis/problems/sharing.h"

#include <stdio.h>
#include <time.h>

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
    static const uint32_t thresholds[] = {100, 300, 1000};
    struct error err = {0};
    if (argc != 2) {
        fprintf(stderr, "usage: measure FILE\n");
        return 2;
    }
    double began = cpu_seconds();
    struct trace_reader *reader = trace_reader_open(argv[1], &err);
    struct topology *topology = topology_simulate("numa:4 core:2", ASSIGN_PACKED, &err);
    struct symbols *symbols = symbols_new();
    struct flow *flow =
        reader && topology ? flow_build(reader, symbols, &(struct flow_options){.topology = topology}, &err) : NULL;
    double times[5] = {cpu_seconds()};
    struct accesses *accesses = flow ? accesses_load(flow, &err) : NULL;
    times[1] = cpu_seconds();
    if (accesses) {
        sharing_free(sharing_make(accesses));
        times[2] = cpu_seconds();
        latency_free(latency_make(accesses, thresholds, 3, NULL));
        times[3] = cpu_seconds();
        balance_free(balance_make(accesses, 0));
        times[4] = cpu_seconds();
        printf("samples %zu flow_s %.4f load_s %.4f sharing_s %.4f latency_s %.4f balance_s %.4f\n",
               accesses->items.count, times[0] - began, times[1] - times[0], times[2] - times[1], times[3] - times[2],
               times[4] - times[3]);
    } else {
        fprintf(stderr, "measure: %s\n", err.text);
    }
    accesses_free(accesses);
    flow_free(flow);
    symbols_free(symbols);
    topology_free(topology);
    trace_reader_close(reader);
    return accesses ? 0 : 1;
}
