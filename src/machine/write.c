/* machine/write.c - a model as text. */
#include "machine/model.h"

static void write_rows(const struct model *machine, const char *key, const double *matrix, FILE *out)
{
    for (uint32_t from = 0; from < machine->node_count; from++) {
        fprintf(out, "%-9s %u", key, from);
        for (uint32_t to = 0; to < machine->node_count; to++)
            fprintf(out, " %.6g", matrix[from * machine->node_count + to]);
        fputc('\n', out);
    }
}

void model_write(const struct model *machine, FILE *out)
{
    fprintf(out, "title     %s\nsource    %s\n", machine->title, machine->source);
    if (machine->licence)
        fprintf(out, "licence   %s\n", machine->licence);
    fprintf(out, "topology  %s\n", machine->topology);
    for (uint32_t i = 0; i < machine->cache_count; i++) {
        const struct model_cache *cache = &machine->caches[i];
        fprintf(out, "cache     %u %lluK %u\n", cache->level, (unsigned long long)cache->bytes / 1024, cache->cores);
    }
    fputs("# ns of a dependent load, from the CPUs of a node to the memory of each\n", out);
    write_rows(machine, "latency", machine->latency, out);
    fputs("# GB/s, all CPUs of a node reading from the memory of each\n", out);
    write_rows(machine, "read", machine->read, out);
    if (machine->mixed > 0)
        fprintf(out, "mixed     %.6g\n", machine->mixed);
    if (machine->core > 0)
        fprintf(out, "core      %.6g\n", machine->core);
    array_each (&machine->loads, const struct model_load, load)
        fprintf(out, "loaded    %.6g %.6g\n", load->use, load->factor);
}
