/* exchange/export/firefox.c - a processed profile of the Firefox Profiler (version 48 of its format): each thread's samples in
 * time, local, remote and unknown in colours of their own. */
#include "analysis/facts/accesses.h"
#include "exchange/export/export.h"
#include "exchange/export/firefox_thread.h"
#include "exchange/export/walk.h"

struct sample {
    uint64_t time;
    uint32_t chain, thing;
    uint32_t thread; /* the last one stands for what is not known */
    uint32_t value;
    uint8_t category;
};

struct firefox {
    const struct flow *flow;
    enum tally_value value;
    struct names *names;
    struct strtab *libraries;
    struct emit *emit;
    array_of(struct sample) samples;
    uint32_t *first; /* of each thread, in `order`; one more behind the last */
    uint32_t *order;
    uint32_t threads;
};

static uint32_t value_of(const struct flow_access *access, enum tally_value value)
{
    bool known = access->home >= 0 || access->remote;
    return value == TALLY_REMOTE    ? access->remote
           : value == TALLY_LATENCY ? access->latency
           : value == TALLY_TIMED   ? access->has_latency
           : value == TALLY_SAMPLES ? 1
                                    : known;
}

static void note(void *context, const struct flow_access *access)
{
    struct firefox *firefox = context;
    struct sample sample = {.time = access->time,
                            .chain = names_chain(firefox->names, access),
                            .thing = names_thing_of(firefox->names, access->object),
                            .thread = access->thread == FLOW_NONE ? firefox->threads - 1 : access->thread,
                            .value = value_of(access, firefox->value),
                            .category = access->remote      ? FIREFOX_REMOTE
                                        : access->home >= 0 ? FIREFOX_LOCAL
                                                            : FIREFOX_UNKNOWN};
    array_push(&firefox->samples, sample);
}

/* By thread, each in order of time: a counting sort. */
static void distribute(struct firefox *firefox)
{
    uint32_t sum = 0, *next;
    firefox->first = mem_zalloc((firefox->threads + 2ul) * sizeof *firefox->first);
    firefox->order = mem_alloc((firefox->samples.count + 1) * sizeof *firefox->order);
    next = firefox->first + 1;
    array_each (&firefox->samples, const struct sample, sample)
        next[sample->thread]++;
    for (uint32_t i = 0; i < firefox->threads; i++) {
        uint32_t count = next[i];
        next[i] = sum;
        sum += count;
    }
    for (uint32_t i = 0; i < firefox->samples.count; i++)
        firefox->order[next[firefox->samples.items[i].thread]++] = i;
}

static void put_time(struct firefox *firefox, uint64_t time)
{
    uint64_t start = flow_start(firefox->flow);
    if (time == UINT64_MAX)
        emit_text(firefox->emit, "null");
    else
        emit_nanoseconds(firefox->emit, time > start ? time - start : 0, 6);
}

static void put_weight(struct firefox *firefox, uint32_t value)
{
    if (firefox->value == TALLY_LATENCY && strcmp(accesses_unit(firefox->flow), "ns") == 0)
        emit_nanoseconds(firefox->emit, value, 6);
    else
        emit_number(firefox->emit, value);
}

static void put_samples(struct firefox *firefox, struct firefox_thread *tables, uint32_t thread)
{
    struct emit *emit = firefox->emit;
    uint32_t first = firefox->first[thread], end = firefox->first[thread + 1];
    bool in_ms = firefox->value == TALLY_LATENCY && strcmp(accesses_unit(firefox->flow), "ns") == 0;
    emit_text(emit, ",\n\"samples\":{\"length\":");
    emit_number(emit, end - first);
    emit_text(emit, in_ms ? ",\"weightType\":\"tracing-ms\",\"stack\":[" : ",\"weightType\":\"samples\",\"stack\":[");
    for (uint32_t i = first; i < end; i++) {
        const struct sample *sample = &firefox->samples.items[firefox->order[i]];
        if (i > first)
            emit_char(emit, ',');
        emit_number(emit, firefox_stack_of(tables, sample->chain, sample->thing, sample->category));
    }
    emit_text(emit, "],\"time\":[");
    for (uint32_t i = first; i < end; i++) {
        if (i > first)
            emit_char(emit, ',');
        put_time(firefox, firefox->samples.items[firefox->order[i]].time);
    }
    if (firefox->value == TALLY_SAMPLES) {
        emit_text(emit, "],\"weight\":null}");
        return;
    }
    emit_text(emit, "],\"weight\":[");
    for (uint32_t i = first; i < end; i++) {
        if (i > first)
            emit_char(emit, ',');
        put_weight(firefox, firefox->samples.items[firefox->order[i]].value);
    }
    emit_text(emit, "]}");
}

static void put_field(struct emit *emit, const char *name, const char *text)
{
    emit_text(emit, ",\"");
    emit_text(emit, name);
    emit_text(emit, "\":");
    emit_json(emit, text);
}

static void put_thread_head(struct firefox *firefox, uint32_t index)
{
    struct emit *emit = firefox->emit;
    bool known = index + 1 < firefox->threads;
    const struct flow_thread *thread = known ? flow_thread(firefox->flow, index) : NULL;
    const struct flow_process *process = thread ? flow_process(firefox->flow, thread->process) : NULL;
    char pid[16];
    snprintf(pid, sizeof pid, "%u", thread ? thread->pid : 0);
    emit_text(
        emit,
        "{\"processType\":\"default\",\"pausedRanges\":[],\"showMarkersInTimeline\":false,\"processStartupTime\":");
    put_time(firefox, process ? process->start : flow_start(firefox->flow));
    emit_text(emit, ",\"processShutdownTime\":");
    put_time(firefox, process ? process->end : UINT64_MAX);
    emit_text(emit, ",\"registerTime\":");
    put_time(firefox, thread ? thread->start : flow_start(firefox->flow));
    emit_text(emit, ",\"unregisterTime\":");
    put_time(firefox, thread ? thread->end : UINT64_MAX);
    put_field(emit, "name", names_thread(firefox->names, known ? index : FLOW_NONE));
    put_field(emit, "processName", names_process(firefox->names, thread ? thread->process : FLOW_NONE));
    put_field(emit, "pid", pid);
    emit_text(emit, ",\"tid\":");
    emit_number(emit, thread ? thread->tid : 0);
    emit_text(emit, thread && thread->tid == thread->pid ? ",\"isMainThread\":true" : ",\"isMainThread\":false");
}

static void put_threads(struct firefox *firefox)
{
    bool any = false;
    emit_text(firefox->emit, "\"threads\":[");
    for (uint32_t i = 0; i < firefox->threads; i++) {
        if (firefox->first[i] == firefox->first[i + 1])
            continue;
        struct firefox_thread tables = firefox_thread_new(firefox->names, firefox->libraries);
        emit_text(firefox->emit, any ? ",\n" : "\n");
        put_thread_head(firefox, i);
        put_samples(firefox, &tables, i);
        firefox_put_tables(&tables, firefox->emit);
        emit_text(firefox->emit,
                  ",\n\"markers\":{\"length\":0,\"category\":[],\"data\":[],\"endTime\":[],\"name\":[],\"phase\":[],"
                  "\"startTime\":[]}}");
        firefox_thread_free(&tables);
        any = true;
    }
    emit_text(firefox->emit, "],\n");
}

/* After the threads, which use them. */
static void put_libraries(struct firefox *firefox)
{
    struct emit *emit = firefox->emit;
    emit_text(emit, "\"libs\":[");
    for (uint32_t i = 1; i < strtab_count(firefox->libraries); i++) {
        const char *name = strtab_text(firefox->libraries, i);
        emit_text(emit, i > 1 ? ",\n{\"arch\":\"\",\"breakpadId\":\"\",\"codeId\":null"
                              : "{\"arch\":\"\",\"breakpadId\":\"\",\"codeId\":null");
        put_field(emit, "name", name);
        put_field(emit, "path", name);
        put_field(emit, "debugName", name);
        put_field(emit, "debugPath", name);
        emit_char(emit, '}');
    }
    emit_text(emit, "],\n");
}

static void put_meta(struct firefox *firefox)
{
    struct emit *emit = firefox->emit;
    const char *command = trace_session_get(flow_session(firefox->flow), "command");
    emit_text(
        emit,
        "\"meta\":{\"version\":24,\"preprocessedProfileVersion\":48,\"interval\":1,\"startTime\":0,\"processType\":0,"
        "\"stackwalk\":1,\"debug\":false,\"symbolicated\":true,\"markerSchema\":[],\"usesOnlyOneStackType\":true,"
        "\"doesNotUseFrameImplementation\":true,\"sourceCodeIsNotOnSearchfox\":true,"
        "\"importedFrom\":\"numalens " NUMALENS_VERSION "\",\n\"sampleUnits\":{\"time\":\"ms\",\"eventDelay\":\"ms\","
        "\"threadCPUDelta\":\"ns\"},\n\"categories\":["
        "{\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]},"
        "{\"name\":\"Local\",\"color\":\"green\",\"subcategories\":[\"Other\"]},"
        "{\"name\":\"Remote\",\"color\":\"red\",\"subcategories\":[\"Other\"]},"
        "{\"name\":\"Home not known\",\"color\":\"yellow\",\"subcategories\":[\"Other\"]}]");
    put_field(emit, "product", command ? command : "numalens");
    emit_text(emit, "},\n");
}

int export_firefox(const struct flow *flow, const struct export_options *options, FILE *out, struct error *err)
{
    struct firefox firefox = {.flow = flow,
                              .value = options->value,
                              .names = names_new(flow),
                              .libraries = strtab_new(),
                              .threads = (uint32_t)flow_thread_count(flow) + 1};
    array_reserve(&firefox.samples, flow_totals(flow).samples + 1);
    int failed = walk_in_time(flow, note, &firefox, err);
    if (failed == 0) {
        distribute(&firefox);
        firefox.emit = emit_new(out);
        emit_text(firefox.emit, "{");
        put_meta(&firefox);
        put_threads(&firefox);
        put_libraries(&firefox);
        emit_text(firefox.emit, "\"pages\":[],\"counters\":[]}\n");
        emit_free(firefox.emit);
    }
    free(firefox.first);
    free(firefox.order);
    array_free(&firefox.samples);
    strtab_free(firefox.libraries);
    names_free(firefox.names);
    return failed;
}
