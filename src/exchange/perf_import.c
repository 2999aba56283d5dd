#include "exchange/perf_import.h"

#include "base/progress.h"
#include "exchange/perf_spe.h"
#include "exchange/perf_tasks.h"
#include "exchange/perf_weights.h"
#include "perf/ibs.h"
#include "perf/input.h"
#include "perf/memory_access.h"
#include "topology/topology.h"
#include "trace/file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STACK_MEMORY = 256 << 20, MAX_DEPTH = 512, RECORD_AUXTRACE = 71, FLAG_COLLISION = 8 };

struct importing {
    struct perf_import *result;
    struct perf_file *file;
    struct perf_tasks tasks;
    struct symbols *symbols;
    struct sink sink;
    struct process_table processes;
    uint64_t first_time, last_time;
    struct map64 users; /* pid << 32 | tid of the threads that have samples */
    struct perf_spe *spe;
    struct perf_weights weights;
    struct ibs_cpu ibs;
    bool ibs_known; /* asked for */
    bool by_faults; /* there are no memory accesses: page faults stand for them */
    uint64_t faults;
};

/* Registers say more than data_src, which kernels before 6.1 leave empty. */
static bool access_by_registers(struct importing *importing, const struct perf_file_event *event,
                                const struct perf_sample *sample, struct memory_access *access)
{
    if (!sample->raw || !strstr(event->name, "ibs_op"))
        return false;
    if (!importing->ibs_known)
        importing->ibs_known = ibs_cpu_of(perf_file_facts(importing->file)->cpuid, &importing->ibs);
    return importing->ibs_known && memory_from_ibs(access, sample, &importing->ibs);
}

static bool access_by_fault(const struct perf_file_event *event, const struct perf_sample *sample,
                            struct memory_access *access)
{
    uint64_t config = event->attr.config;
    if (event->attr.type != PERF_TYPE_SOFTWARE || !(sample->present & PERF_SAMPLE_TID) || sample->addr >> 63 ||
        (config != PERF_COUNT_SW_PAGE_FAULTS && config != PERF_COUNT_SW_PAGE_FAULTS_MIN &&
         config != PERF_COUNT_SW_PAGE_FAULTS_MAJ))
        return false;
    return memory_from_fault(access, sample);
}

/* The memory access of a sample record; false when there is none, and counted why. */
static bool access_of(struct importing *importing, const struct perf_file_record *record, struct perf_sample *sample,
                      struct memory_access *access)
{
    struct perf_import *result = importing->result;
    if (!record->event || !perf_sample_parse(sample, &record->event->layout, record->bytes, record->size)) {
        result->unreadable++;
        return false;
    }
    importing->weights.by_registers = access_by_registers(importing, record->event, sample, access);
    if (importing->weights.by_registers || memory_from_sample(access, sample))
        return true;
    bool fault = access_by_fault(record->event, sample, access);
    importing->faults += fault;
    if (fault && importing->by_faults)
        return true;
    result->other++;
    return false;
}

static uint64_t time_of(const struct perf_file_record *record)
{
    struct perf_sample id;
    if (!record->event || !perf_sample_parse_id(&id, &record->event->layout, record->bytes, record->size))
        return 0;
    return id.present & PERF_SAMPLE_TIME && id.time != UINT64_MAX ? id.time : 0;
}

static void note_time(struct importing *importing, uint64_t time)
{
    if (time == 0)
        return;
    if (importing->first_time == 0 || time < importing->first_time)
        importing->first_time = time;
    if (time > importing->last_time)
        importing->last_time = time;
}

/* Hands every record to `take`; an end before the end is kept as damage. */
static void each_record(struct importing *importing,
                        void (*take)(struct importing *importing, const struct perf_file_record *record))
{
    struct perf_file_record record;
    struct error damage = {0};
    int more;
    while ((more = perf_file_next(importing->file, &record, &damage)) > 0) {
        take(importing, &record);
        progress_set(record.offset);
    }
    if (more < 0)
        snprintf(importing->result->damage, sizeof importing->result->damage, "%s", damage.text);
}

/* Records that the kernel had no room for, or the processor, as this one reports. */
static uint64_t lost_by(const struct perf_file_record *record)
{
    struct perf_walk walk = {record->bytes + sizeof *record->header, record->bytes + record->size, false};
    uint32_t type = record->header->type;
    if (type != PERF_RECORD_LOST && type != PERF_RECORD_LOST_SAMPLES)
        return 0;
    if (type == PERF_RECORD_LOST)
        perf_walk64(&walk); /* the event's id */
    uint64_t count = perf_walk64(&walk);
    return walk.short_of ? 0 : count;
}

static void look(struct importing *importing, const struct perf_file_record *record)
{
    struct perf_sample sample;
    struct memory_access access;
    if (record->header->type == PERF_RECORD_SAMPLE) {
        if (!access_of(importing, record, &sample, &access))
            return;
        importing->result->samples++;
        note_time(importing, sample.time);
        perf_tasks_sampled(&importing->tasks, sample.pid);
        return;
    }
    uint64_t time = time_of(record);
    importing->result->lost += lost_by(record);
    note_time(importing, time);
    perf_tasks_keep(&importing->tasks, record, time);
    perf_spe_learn(importing->spe, record);
}

static void look_at_access(void *context, const struct memory_access *access)
{
    struct importing *importing = context;
    if (access->pid == 0) {
        importing->result->unreadable++;
        return;
    }
    importing->result->samples++;
    note_time(importing, access->time);
    perf_tasks_sampled(&importing->tasks, access->pid);
}

static void look_at_packets(struct importing *importing, const struct perf_file_record *record)
{
    if (record->header->type == RECORD_AUXTRACE)
        perf_spe_decode(importing->spe, importing->file, record, look_at_access, importing);
}

/* Where it happened, and the frames of the program: markers and the kernel's callers are skipped. */
static uint16_t frames_of(const struct perf_sample *sample, uint64_t frames[MAX_DEPTH])
{
    const uint64_t kernel = 1ULL << 63;
    uint16_t depth = 0;
    if (sample->present & PERF_SAMPLE_IP && sample->ip & kernel)
        frames[depth++] = sample->ip;
    for (uint64_t i = 0; i < sample->callchain_count && depth < MAX_DEPTH; i++) {
        uint64_t frame = perf_sample_frame(sample, i);
        if (!(frame & kernel))
            frames[depth++] = frame;
    }
    if (depth == 0 && sample->present & PERF_SAMPLE_IP)
        frames[depth++] = sample->ip;
    return depth;
}

static uint8_t source_number(const char *name)
{
    return strcmp(name, "ibs") == 0      ? SOURCE_IBS
           : strcmp(name, "spe") == 0    ? SOURCE_SPE
           : strcmp(name, "faults") == 0 ? SOURCE_FAULTS
                                         : SOURCE_PEBS;
}

struct perf_chain {
    const uint64_t *frames;
    uint16_t depth;
    bool cut;
};

static uint64_t own_time(const struct importing *importing, uint64_t time)
{
    return time ? time : importing->first_time;
}

static void put_access(struct importing *importing, const struct memory_access *access, const struct perf_chain *chain)
{
    struct event event = {
        .time = own_time(importing, access->time), .pid = access->pid, .tid = access->tid, .kind = EVENT_SAMPLE};
    event.sample = (struct event_sample){
        .addr = access->addr,
        .physical = access->physical,
        .latency = access->latency,
        .period = access->period,
        .cpu = access->has_cpu ? access->cpu : UINT16_MAX,
        .size = access->size,
        .source = importing->weights.source,
        .level = access->level,
        .flags = access->flags,
    };
    bool is_new;
    map64_insert(&importing->users, (uint64_t)access->pid << 32 | access->tid, &is_new);
    importing->result->threads += is_new;
    importing->result->samples++;
    importing->result->loads += (access->flags & SAMPLE_READ) != 0;
    importing->result->stores += (access->flags & SAMPLE_WRITE) != 0;
    struct capture_process *process =
        perf_tasks_process(&importing->tasks, &importing->processes, event.time, access->pid, access->tid);
    if (chain->depth)
        event.sample.stack = process_stack(&importing->processes, process, chain->frames, chain->depth, chain->cut);
    sink_put(&importing->sink, &event);
}

static void put_sample(struct importing *importing, const struct perf_file_record *record)
{
    struct perf_sample sample;
    struct memory_access access;
    uint64_t frames[MAX_DEPTH];
    if (!access_of(importing, record, &sample, &access))
        return;
    access.time = sample.time;
    access.period = perf_weight(&importing->weights, record->event, &sample, &access);
    uint16_t depth = frames_of(&sample, frames);
    put_access(importing, &access, &(struct perf_chain){frames, depth, false});
}

static void put_packet(void *context, const struct memory_access *access)
{
    struct importing *importing = context;
    if (access->pid == 0) {
        importing->result->unreadable++;
        return;
    }
    struct memory_access weighed = *access;
    weighed.period = perf_weight_packet(&importing->weights, importing->file);
    put_access(importing, &weighed, &(struct perf_chain){&access->ip, access->ip >> 63 ? 0 : 1, true});
}

static void put_aux_loss(struct importing *importing, const struct perf_file_record *record)
{
    struct perf_walk walk = {record->bytes + sizeof *record->header, record->bytes + record->size, false};
    perf_walk64(&walk); /* offset */
    perf_walk64(&walk); /* size */
    uint64_t flags = perf_walk64(&walk), time = own_time(importing, time_of(record));
    sink_loss(&importing->sink, time, 0, 0, LOSS_AUX_FULL, !!(flags & PERF_AUX_FLAG_TRUNCATED));
    sink_loss(&importing->sink, time, 0, 0, LOSS_COLLISION, !!(flags & FLAG_COLLISION));
}

static void put_loss(struct importing *importing, const struct perf_file_record *record)
{
    bool throttled = record->header->type == PERF_RECORD_THROTTLE;
    uint64_t count = throttled ? 1 : lost_by(record);
    if (count)
        sink_loss(&importing->sink, own_time(importing, time_of(record)), 0, 0, throttled ? LOSS_THROTTLED : LOSS_PERF,
                  count);
}

static void put(struct importing *importing, const struct perf_file_record *record)
{
    switch (record->header->type) {
    case PERF_RECORD_SAMPLE:
        put_sample(importing, record);
        break;
    case PERF_RECORD_LOST:
    case PERF_RECORD_LOST_SAMPLES:
    case PERF_RECORD_THROTTLE:
        put_loss(importing, record);
        break;
    case PERF_RECORD_AUX:
        put_aux_loss(importing, record);
        break;
    case RECORD_AUXTRACE:
        perf_spe_decode(importing->spe, importing->file, record, put_packet, importing);
        break;
    default:
        break;
    }
}

static const char *source_of(const struct perf_file *file, bool spe)
{
    const struct perf_file_event *events;
    size_t count = perf_file_events(file, &events);
    for (size_t i = 0; i < count; i++) {
        if (strstr(events[i].name, "ibs"))
            return "ibs";
        if (strstr(events[i].name, "arm_spe"))
            return "spe";
    }
    if (spe)
        return "spe";
    const char *cpu = perf_file_facts(file)->cpuid;
    return strncmp(cpu, "GenuineIntel", 12) == 0 ? "pebs" : "perf";
}

static struct topology *topology_of(struct importing *importing)
{
    const struct perf_file_facts *facts = perf_file_facts(importing->file);
    struct perf_import *result = importing->result;
    struct topology_description nodes[TOPOLOGY_MAX_NODES];
    uint32_t count = (uint32_t)facts->node_count;
    struct topology *topology = NULL;
    for (uint32_t i = 0; i < count; i++)
        nodes[i] = (struct topology_description){(int32_t)facts->nodes[i].node, facts->nodes[i].memory_kib * 1024,
                                                 facts->nodes[i].cpus};
    if (count)
        topology = topology_described(nodes, count, NULL);
    if (topology) {
        snprintf(result->topology, sizeof result->topology, "%u node%s, %u CPUs, from the recording", count,
                 count == 1 ? "" : "s", topology->cpu_count);
        return topology;
    }
    char cpus[32];
    snprintf(cpus, sizeof cpus, "0-%u", facts->cpus_available ? facts->cpus_available - 1 : 0);
    nodes[0] = (struct topology_description){.cpus = cpus};
    snprintf(result->topology, sizeof result->topology, "one node: the recording has no NUMA topology");
    return topology_described(nodes, 1, NULL);
}

static struct trace_session *session_of(struct importing *importing)
{
    const struct perf_file_facts *facts = perf_file_facts(importing->file);
    struct trace_session *session = trace_session_new();
    struct topology *topology = topology_of(importing);
    char *text = topology_to_text(topology);
    trace_session_set(session, "version", NUMALENS_VERSION);
    trace_session_set(session, "command", facts->command);
    trace_session_set(session, "host", facts->hostname);
    trace_session_set(session, "kernel", facts->os_release);
    trace_session_set(session, "cpu_model", facts->cpu_desc);
    trace_session_set(session, "source", importing->result->source);
    trace_session_set(session, "imported", "perf.data");
    trace_session_set(session, "latency_unit", "cycles");
    trace_session_set(session, "accesses", "all");
    trace_session_set(session, "topology", text);
    trace_session_set(session, "homes", "unknown");
    trace_session_set(session, "homes_reason", "imported: local or remote as the hardware reported each access");
    free(text);
    topology_free(topology);
    return session;
}

static uint64_t file_size(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 ? (uint64_t)status.st_size : 0;
}

static int write_trace(struct importing *importing, const char *path, const char *output, struct error *err)
{
    struct perf_import *result = importing->result;
    struct trace_session *session = session_of(importing);
    unsigned long threshold = perf_weights_threshold(importing->file);
    if (threshold)
        trace_session_setf(session, "latency_threshold_cycles", "%lu", threshold);
    importing->sink.writer = trace_writer_open(output, session, err);
    trace_session_free(session);
    if (!importing->sink.writer)
        return -1;
    process_table_init(&importing->processes, &importing->sink, STACK_MEMORY);
    perf_tasks_report(&importing->tasks, own_time(importing, 0), importing->file, importing->symbols,
                      &importing->processes);
    perf_file_close(importing->file);
    importing->file = perf_file_open(path, err);
    progress_begin("writing", file_size(path));
    if (importing->file) {
        perf_spe_rewind(importing->spe);
        result->samples = result->other = result->unreadable = 0;
        each_record(importing, put);
    }
    struct trace_session *ending = trace_session_new();
    trace_session_setf(ending, "duration_ns", "%" PRIu64, importing->last_time - importing->first_time);
    trace_session_setf(ending, "samples", "%" PRIu64, result->samples);
    process_table_free(&importing->processes);
    bool whole = importing->file && importing->sink.failure.code == 0;
    int failed = trace_writer_close(importing->sink.writer, whole ? ending : NULL, whole ? err : NULL);
    trace_session_free(ending);
    if (importing->sink.failure.code && err)
        *err = importing->sink.failure;
    if (whole && failed >= 0)
        return 0;
    trace_file_remove(output);
    return -1;
}

/* A pipe can be read but once: keep it in a file that nobody else can see. */
static int spool(char path[static 64], struct error *err)
{
    snprintf(path, 64, "/tmp/numalens-import-XXXXXX");
    int fd = mkstemp(path);
    if (fd < 0)
        return error_set(err, -errno, "cannot keep standard input in /tmp: %s", strerror(errno));
    char bytes[1 << 16];
    ssize_t count;
    while ((count = read(STDIN_FILENO, bytes, sizeof bytes)) > 0) {
        if (write(fd, bytes, (size_t)count) != count) {
            error_set(err, -errno, "cannot keep standard input in /tmp: %s", strerror(errno));
            close(fd);
            unlink(path);
            return -1;
        }
    }
    close(fd);
    return 0;
}

static int read_again(struct importing *importing, const char *path,
                      void (*take)(struct importing *importing, const struct perf_file_record *record),
                      struct error *err)
{
    perf_file_close(importing->file);
    importing->file = perf_file_open(path, err);
    if (!importing->file)
        return -1;
    each_record(importing, take);
    return 0;
}

static void look_for_faults(struct importing *importing, const struct perf_file_record *record)
{
    if (record->header->type == PERF_RECORD_SAMPLE)
        look(importing, record);
}

static int refuse(const struct perf_import *result, const char *path, struct error *err)
{
    char lost[48] = "";
    if (result->lost)
        snprintf(lost, sizeof lost, ", %" PRIu64 " lost", result->lost);
    return error_set(err, -ENODATA,
                     "%s has no memory samples (%" PRIu64
                     " samples of other kinds%s)%s%s; record it with 'perf mem record' or 'perf c2c record'",
                     path, result->other + result->unreadable, lost, *result->damage ? ": " : "", result->damage);
}

static int import_file(struct importing *importing, const char *path, const char *output, struct error *err)
{
    struct perf_import *result = importing->result;
    progress_begin("reading", file_size(path));
    importing->file = perf_file_open(path, err);
    if (!importing->file)
        return -1;
    each_record(importing, look);
    /* Buffers come before it is known who filled them. */
    if (perf_spe_present(importing->spe) && read_again(importing, path, look_at_packets, err) < 0)
        return -1;
    if (result->samples == 0 && importing->faults) {
        importing->by_faults = true;
        result->other = result->unreadable = 0;
        if (read_again(importing, path, look_for_faults, err) < 0)
            return -1;
    }
    if (result->samples == 0)
        return refuse(result, path, err);
    snprintf(result->source, sizeof result->source, "%s",
             importing->by_faults ? "faults" : source_of(importing->file, perf_spe_present(importing->spe)));
    importing->weights.source = source_number(result->source);
    result->skipped = importing->tasks.seen.count - importing->tasks.sampled.count;
    result->span_ns = importing->last_time - importing->first_time;
    return write_trace(importing, path, output, err);
}

int perf_import(const char *path, const char *symfs, const char *output, struct perf_import *result, struct error *err)
{
    *result = (struct perf_import){0};
    struct importing importing = {.result = result, .symbols = symbols_new(), .spe = perf_spe_new()};
    char spooled[64] = "";
    int failed = 0;
    perf_tasks_init(&importing.tasks);
    if (symfs)
        symbols_set_root(importing.symbols, symfs);
    if (strcmp(path, "-") == 0)
        failed = spool(spooled, err);
    if (failed == 0)
        failed = import_file(&importing, *spooled ? spooled : path, output, err);
    if (*spooled)
        unlink(spooled);
    perf_file_close(importing.file);
    perf_tasks_free(&importing.tasks);
    perf_spe_free(importing.spe);
    perf_weights_free(&importing.weights);
    map64_free(&importing.users);
    symbols_free(importing.symbols);
    return failed < 0 ? -1 : 0;
}
