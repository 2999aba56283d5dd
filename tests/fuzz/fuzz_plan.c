/* fuzz_plan.c - any bytes as a plan or a location file of FlexMalloc: read, made into what the agent follows, written again and read again. */
#include "input_text.h"
#include "no_binary.h"
#include "plan/flexmalloc.h"
#include "plan/plan_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void follow(const struct placement_plan *plan, bool maps)
{
    static struct topology *topology;
    static struct placement_limits limits;
    struct error err = {0};
    struct plan_table table;
    if (!topology) {
        topology = topology_simulate("numa:4(memory=1GB) core:2", ASSIGN_PACKED, &err);
        memset(&limits.nodes, 0xff, sizeof limits.nodes);
        memset(&limits.cpus, 0xff, sizeof limits.cpus);
    }
    struct plan_machine machine = {topology, &limits, maps};
    if (plan_table_make(&table, plan, "/opt/store", &machine, &err) < 0)
        return;
    for (size_t i = 0; i < plan->entries.count; i++) {
        struct plan_result result = plan_result(&table, plan, i);
        if (result.applied) /* by nobody */
            abort();
        free(result.reason);
    }
    plan_table_free(&table);
}

/* What was written is read as the same number of entries: of the plan, or of a FlexMalloc file all that can be in one. */
static void come_back(const struct placement_plan *plan, bool flexmalloc)
{
    struct error err = {0};
    struct placement_plan again;
    char *text;
    size_t bytes, wanted = 0;
    FILE *out = mem_stream(&text, &bytes);
    for (size_t i = 0; i < plan->entries.count; i++)
        wanted += !flexmalloc || !flexmalloc_refuses(plan, i);
    if (flexmalloc)
        flexmalloc_write(out, plan, NULL);
    else
        plan_write(out, plan);
    mem_stream_end(out, &text);
    if (!flexmalloc || wanted) {
        if (plan_read_text(&again, "again", text, NULL, &err) < 0 ? !flexmalloc : again.entries.count > wanted)
            abort();
        if (err.code == 0)
            placement_plan_free(&again);
    }
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error err = {0};
    struct placement_plan plan;
    struct plan_allocators allocators = {0};
    char *text = input_text(data, size);
    plan_allocators_add(&allocators, "memkind/pmem=preferred 1", &err);
    char *behind = strchr(text, '\n');
    if (behind && strncmp(text, "--", 2) == 0) { /* its first line: an allocator's meaning */
        *behind = '\0';
        plan_allocators_add(&allocators, text + 2, &err);
        memmove(text, behind + 1, strlen(behind + 1) + 1);
    }
    err = (struct error){0};
    int code = plan_read_text(&plan, "fuzz", text, &allocators, &err);
    if (code < 0 && (err.code != code || !*err.text))
        abort();
    if (code == 0) {
        follow(&plan, size & 1);
        come_back(&plan, false);
        come_back(&plan, true);
        placement_plan_free(&plan);
    }
    plan_allocators_free(&allocators);
    free(text);
    return 0;
}
