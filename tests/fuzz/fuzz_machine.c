/* fuzz_machine.c - any bytes as a model of a machine, or as what Intel's Memory Latency Checker printed. What was understood can be
 * written, and is understood again. */
#include "input_text.h"
#include "machine/mlc.h"
#include "machine/model.h"
#include "topology/topology.h"

#include <hwloc.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(const struct model *machine)
{
    struct error err = {0};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    model_write(machine, out);
    fclose(out);
    FILE *in = fmemopen(text, size, "r");
    struct model *again = model_read(in, "again", &err);
    fclose(in);
    if (!again || again->node_count != machine->node_count)
        abort();
    model_free(again);
    free(text);
    struct model_summary summary = model_summary(machine);
    if (!(summary.local_ns > 0) || !(model_loaded(machine, 0.7) >= 1))
        abort();
    struct topology *topology = model_topology(machine, &err);
    if (!topology)
        abort();
    topology_free(topology);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static hwloc_topology_t kept; /* or hwloc would load its plug-ins each time */
    struct error err = {0};
    if (!kept && hwloc_topology_init(&kept) != 0)
        abort();
    if (size < 2)
        return 0;
    FILE *in = input_stream(data + 1, size - 1);
    struct model *machine = data[0] == 'm' ? model_from_mlc(in, "fuzz", 4, &err) : model_read(in, "fuzz", &err);
    if (machine)
        use(machine);
    else if (err.code >= 0 || !*err.text)
        abort();
    model_free(machine);
    fclose(in);
    return 0;
}
