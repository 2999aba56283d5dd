/* measure.c - time and memory of the flow and of the facts of one trace, on a simulated machine of four nodes.
 *     measure FILE
 * Prints "samples N objects N flow_s T facts_s T findings_s T flow_bytes N peak_bytes N": CPU seconds; memory resident
 * when the flow is built, and at most. */
#include "analysis/findings/findings.h"

#include <stdio.h>
#include <sys/resource.h>

static double cpu_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

static unsigned long peak_bytes(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (unsigned long)usage.ru_maxrss * 1024;
}

int main(int argc, char **argv)
{
    struct error err = {0};
    if (argc != 2) {
        fprintf(stderr, "usage: measure FILE\n");
        return 2;
    }
    struct trace_reader *reader = trace_reader_open(argv[1], &err);
    struct topology *topology = topology_simulate("numa:4 core:2", ASSIGN_PACKED, &err);
    struct symbols *symbols = symbols_new();
    struct flow *flow = NULL;
    struct facts *facts = NULL;
    struct findings *findings = NULL;
    double start = cpu_seconds(), flow_end, facts_end;
    if (reader && topology)
        flow = flow_build(reader, symbols, &(struct flow_options){.topology = topology}, &err);
    flow_end = cpu_seconds();
    unsigned long flow_bytes = peak_bytes();
    if (flow)
        facts = facts_make(flow, &err);
    facts_end = cpu_seconds();
    if (facts) {
        findings = findings_make(facts);
        printf("samples %lu objects %zu flow_s %.4f facts_s %.4f findings_s %.4f flow_bytes %lu peak_bytes %lu\n",
               (unsigned long)facts->totals.samples, facts->objects.count, flow_end - start, facts_end - flow_end,
               cpu_seconds() - facts_end, flow_bytes, peak_bytes());
    } else {
        fprintf(stderr, "measure: %s\n", err.text);
    }
    findings_free(findings);
    facts_free(facts);
    flow_free(flow);
    symbols_free(symbols);
    topology_free(topology);
    trace_reader_close(reader);
    return facts ? 0 : 1;
}
