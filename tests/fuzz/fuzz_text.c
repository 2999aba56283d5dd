/* fuzz_text.c - any bytes as the texts that traces, options and ranks of a job carry: topologies, calibrations, functions that the
 * user names, summaries of ranks, and names that go to a terminal. The first byte says which. */
#include "base/text.h"
#include "capture/agent/custom_spec.h"
#include "compare/job/rank_pack.h"
#include "input_text.h"
#include "topology/calibration.h"
#include "topology/topology.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void topology(const char *text)
{
    struct error err = {0};
    struct topology *read = topology_from_text(text, &err);
    if (!read) {
        if (err.code >= 0 || !*err.text)
            abort();
        return;
    }
    char *written = topology_to_text(read);
    struct topology *again = topology_from_text(written, &err);
    if (!again || again->node_count != read->node_count || again->cpu_count != read->cpu_count)
        abort();
    for (uint32_t i = 0; i < 8; i++) {
        int node = topology_home_of_page(read, i << 12, 0);
        if (topology_assign_cpu(read, i) >= (read->cpu_count ? read->cpu_count : 1) || node >= (int)read->node_count)
            abort();
    }
    topology_parse_home(read, text, &err);
    topology_set_assign(read, text, &err);
    topology_free(again);
    topology_free(read);
    free(written);
}

static void calibration(const char *text)
{
    struct error err = {0};
    struct calibration *read = calibration_from_text(text, &err);
    if (!read)
        return;
    char *written = calibration_to_text(read);
    struct calibration *again = calibration_from_text(written, &err);
    if (!again || again->node_count != read->node_count || calibration_level(read, 100) > 4)
        abort();
    calibration_beyond_caches(read);
    calibration_shows(read);
    calibration_free(again);
    calibration_free(read);
    free(written);
}

static void custom(const char *text)
{
    static struct custom_specs specs;
    struct error err = {0};
    specs.count = 0;
    for (unsigned option = CUSTOM_ALLOC_FN; option <= CUSTOM_POOL_FN; option++)
        if (custom_spec_add(&specs, (enum custom_option)option, text, &err) < 0 && !*err.text)
            abort();
    free(custom_spec_names(specs.items, specs.count));
}

static void rank(const uint8_t *data, size_t size)
{
    size_t at = 0;
    struct rank_summary *summary;
    struct rank_bytes packed = {0};
    while ((summary = rank_unpack((const char *)data, size, &at))) {
        rank_pack(&packed, summary);
        rank_summary_free(summary);
        if (at > size)
            abort();
    }
    array_free(&packed.bytes);
}

static void name(const char *text)
{
    char *safe = text_safe_fit(text, 20);
    for (const char *at = safe; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 127)
            abort();
    if (text_width(safe) > 20)
        abort();
    free(safe);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    uint8_t which = data[0];
    data++;
    size--;
    char *text = input_text(data, size);
    if (which == 't')
        topology(text);
    else if (which == 'c')
        calibration(text);
    else if (which == 'f')
        custom(text);
    else if (which == 'r')
        rank((uint8_t *)text, size);
    else
        name(text);
    free(text);
    return 0;
}
