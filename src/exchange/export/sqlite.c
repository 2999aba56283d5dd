/* exchange/export/sqlite.c - a recording as an SQLite database: the tables are documented in docs/export.md.
 *
 * SQLite opens files that have a name. So the database begins in a folder of its own under TMPDIR, loses its name once it is
 * open, so that nothing is left whatever happens, and is copied at the end. It needs no journal: a database that was not
 * finished is never seen. */
#include "analysis/facts/accesses.h"
#include "exchange/export/emitter.h"
#include "exchange/export/export.h"
#include "exchange/export/known_traffic.h"
#include "exchange/export/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

static const char schema[] =
    "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;"
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;"
    "CREATE TABLE processes (id INTEGER PRIMARY KEY, pid INTEGER, parent INTEGER, exe TEXT, command TEXT, start_s REAL,"
    "  end_s REAL, exit_status INTEGER);"
    "CREATE TABLE threads (id INTEGER PRIMARY KEY, process INTEGER REFERENCES processes, tid INTEGER, name TEXT,"
    "  node INTEGER, start_s REAL, end_s REAL, bytes_s REAL);"
    "CREATE TABLE things (id INTEGER PRIMARY KEY, label TEXT, name TEXT, kind TEXT, site TEXT, file TEXT, line INTEGER,"
    "  bytes_s REAL);"
    "CREATE TABLE objects (id INTEGER PRIMARY KEY, thing INTEGER REFERENCES things, process INTEGER REFERENCES "
    "processes,"
    "  addr INTEGER, size INTEGER, start_s REAL, end_s REAL);"
    "CREATE TABLE frames (id INTEGER PRIMARY KEY, function TEXT, file TEXT, line INTEGER, module TEXT, addr INTEGER,"
    "  inlined INTEGER);"
    "CREATE TABLE stacks (id INTEGER, depth INTEGER, frame INTEGER REFERENCES frames, PRIMARY KEY (id, depth))"
    "  WITHOUT ROWID;"
    "CREATE TABLE samples (time_ns INTEGER, thread INTEGER REFERENCES threads, cpu INTEGER, node INTEGER, home INTEGER,"
    "  remote INTEGER, op TEXT, addr INTEGER, size INTEGER, latency INTEGER, level TEXT, object INTEGER REFERENCES "
    "objects,"
    "  stack INTEGER);"
    "CREATE TABLE traffic (node INTEGER, home INTEGER, bytes_s REAL);"
    "BEGIN;";

struct base {
    const struct flow *flow;
    struct names *names;
    struct traffic *traffic;
    sqlite3 *db;
    sqlite3_stmt *row; /* of the table that is being filled */
    int column;
    int code; /* the first failure: what comes after it does nothing */
};

static void keep(struct base *base, int code)
{
    if (base->code == SQLITE_OK && code != SQLITE_OK && code != SQLITE_DONE)
        base->code = code;
}

static void table_begin(struct base *base, const char *insert)
{
    base->row = NULL;
    base->column = 0;
    if (base->code == SQLITE_OK)
        keep(base, sqlite3_prepare_v2(base->db, insert, -1, &base->row, NULL));
}

static void table_end(struct base *base)
{
    sqlite3_finalize(base->row);
    base->row = NULL;
}

static void put_row(struct base *base)
{
    if (base->code == SQLITE_OK) {
        keep(base, sqlite3_step(base->row));
        keep(base, sqlite3_reset(base->row));
    }
    base->column = 0;
}

static void put_null(struct base *base)
{
    sqlite3_bind_null(base->row, ++base->column);
}

static void put_number(struct base *base, bool known, uint64_t number)
{
    if (known)
        sqlite3_bind_int64(base->row, ++base->column, (int64_t)number);
    else
        put_null(base);
}

static void put_real(struct base *base, bool known, double number)
{
    if (known)
        sqlite3_bind_double(base->row, ++base->column, number);
    else
        put_null(base);
}

/* "" is what is not known. */
static void put_text(struct base *base, const char *text)
{
    if (text && *text)
        sqlite3_bind_text(base->row, ++base->column, emit_utf8(text), -1, free);
    else
        put_null(base);
}

/* One of a few that are constants. */
static void put_word(struct base *base, const char *text)
{
    if (*text)
        sqlite3_bind_text(base->row, ++base->column, text, -1, SQLITE_STATIC);
    else
        put_null(base);
}

static void put_time(struct base *base, uint64_t time)
{
    uint64_t start = flow_start(base->flow);
    put_real(base, time != UINT64_MAX, time > start ? (double)(time - start) * 1e-9 : 0);
}

static void put_node(struct base *base, int index)
{
    const struct topology *topology = flow_topology(base->flow);
    bool known = index >= 0 && (unsigned)index < topology->node_count;
    put_number(base, known, known ? (uint64_t)topology->nodes[index].os_index : 0);
}

static void put_meta_row(struct base *base, const char *key, const char *value)
{
    put_text(base, key);
    put_text(base, value);
    put_row(base);
}

static void put_meta_number(struct base *base, const char *key, uint64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    put_meta_row(base, key, text);
}

static void put_meta(struct base *base)
{
    struct flow_totals totals = flow_totals(base->flow);
    table_begin(base, "INSERT INTO meta VALUES (?, ?)");
    put_meta_row(base, "numalens", NUMALENS_VERSION);
    put_meta_row(base, "schema", "1");
    put_meta_row(base, "command", trace_session_get(flow_session(base->flow), "command"));
    put_meta_row(base, "source", trace_session_get(flow_session(base->flow), "source"));
    put_meta_row(base, "latency_unit", accesses_unit(base->flow));
    put_meta_number(base, "nodes", flow_topology(base->flow)->node_count);
    put_meta_number(base, "simulated", flow_topology(base->flow)->simulated);
    put_meta_number(base, "samples", totals.samples);
    put_meta_number(base, "remote", totals.remote);
    put_meta_number(base, "home_known", totals.home_known);
    put_meta_number(base, "latency_sum", totals.latency_sum);
    put_meta_number(base, "timed", totals.latency_count);
    put_meta_number(base, "duration_ns", flow_end(base->flow) - flow_start(base->flow));
    table_end(base);
}

static void put_processes(struct base *base)
{
    table_begin(base, "INSERT INTO processes VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
    for (uint32_t i = 0; i < flow_process_count(base->flow); i++) {
        const struct flow_process *process = flow_process(base->flow, i);
        put_number(base, true, i);
        put_number(base, true, process->pid);
        put_number(base, process->parent, process->parent);
        put_text(base, process->exe);
        put_text(base, process->command);
        put_time(base, process->start);
        put_time(base, process->end);
        put_number(base, process->exit_status >= 0, (uint64_t)process->exit_status);
        put_row(base);
    }
    table_end(base);
}

static void put_bytes(struct base *base, const struct traffic_bytes *bytes)
{
    bool known = bytes && bytes->is_rated;
    put_real(base, known, known ? traffic_total(bytes) : 0);
}

static void put_threads(struct base *base)
{
    table_begin(base, "INSERT INTO threads VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
    for (uint32_t i = 0; i < flow_thread_count(base->flow); i++) {
        const struct flow_thread *thread = flow_thread(base->flow, i);
        const struct traffic_thread *traffic = base->traffic ? traffic_of_thread(base->traffic, i) : NULL;
        put_number(base, true, i);
        put_number(base, true, thread->process);
        put_number(base, thread->tid, thread->tid);
        put_text(base, thread->name);
        put_node(base, flow_thread_node(base->flow, i));
        put_time(base, thread->start);
        put_time(base, thread->end);
        put_bytes(base, traffic ? &traffic->bytes : NULL);
        put_row(base);
    }
    table_end(base);
}

static void put_things(struct base *base)
{
    table_begin(base, "INSERT INTO things VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
    for (uint32_t i = 1; i < names_thing_count(base->names); i++) {
        struct names_thing thing = names_thing(base->names, i);
        const struct traffic_object *traffic = base->traffic ? traffic_of_object(base->traffic, thing.first) : NULL;
        put_number(base, true, i);
        put_text(base, thing.label);
        put_text(base, thing.name);
        put_text(base, thing.kind);
        put_text(base, thing.site);
        put_text(base, thing.file);
        put_number(base, thing.line, thing.line);
        put_bytes(base, traffic ? &traffic->bytes : NULL);
        put_row(base);
    }
    table_end(base);
}

/* Those with samples. */
static void put_objects(struct base *base)
{
    table_begin(base, "INSERT INTO objects VALUES (?, ?, ?, ?, ?, ?, ?)");
    for (uint32_t i = 0; i < flow_sampled_object_count(base->flow); i++) {
        struct flow_object object = flow_object_copy(base->flow, i);
        put_number(base, true, i);
        put_number(base, true, names_thing_of(base->names, i));
        put_number(base, object.process != FLOW_NONE, object.process);
        put_number(base, true, object.addr);
        put_number(base, true, object.size);
        put_time(base, object.start);
        put_time(base, object.end);
        put_row(base);
    }
    table_end(base);
}

static void put_sample(void *context, const struct flow_access *access)
{
    struct base *base = context;
    uint64_t start = flow_start(base->flow);
    unsigned both = access->flags & (SAMPLE_READ | SAMPLE_WRITE);
    uint32_t chain = names_chain(base->names, access);
    if (base->code != SQLITE_OK)
        return;
    put_number(base, true, access->time > start ? access->time - start : 0);
    put_number(base, access->thread != FLOW_NONE, access->thread);
    put_number(base, access->cpu != UINT16_MAX, access->cpu);
    put_node(base, access->from);
    put_node(base, access->home);
    put_number(base, access->remote || access->home >= 0, access->remote);
    put_word(base, !both ? "" : both == SAMPLE_READ ? "read" : both == SAMPLE_WRITE ? "write" : "update");
    put_number(base, true, access->addr);
    put_number(base, access->size, access->size);
    put_number(base, access->has_latency, access->latency);
    put_word(base, access->level == LEVEL_UNKNOWN ? "" : sample_level_name(access->level));
    put_number(base, access->object != FLOW_NONE, access->object);
    put_number(base, chain, chain);
    put_row(base);
}

static int put_samples(struct base *base, struct error *err)
{
    table_begin(base, "INSERT INTO samples VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    int failed = walk_in_time(base->flow, put_sample, base, err);
    table_end(base);
    return failed;
}

/* After the samples, which number them. */
static void put_stacks(struct base *base)
{
    table_begin(base, "INSERT INTO frames VALUES (?, ?, ?, ?, ?, ?, ?)");
    for (uint32_t i = 0; i < names_frame_count(base->names); i++) {
        struct names_frame frame = names_frame(base->names, i);
        put_number(base, true, i);
        put_text(base, frame.function);
        put_text(base, frame.file);
        put_number(base, frame.line, frame.line);
        put_text(base, strcmp(frame.module, "?") == 0 ? "" : frame.module);
        put_number(base, true, frame.addr);
        put_number(base, true, frame.inlined);
        put_row(base);
    }
    table_end(base);
    table_begin(base, "INSERT INTO stacks VALUES (?, ?, ?)");
    for (uint32_t chain = 1; chain < names_chain_count(base->names); chain++) {
        const uint32_t *frames;
        size_t count = names_chain_frames(base->names, chain, &frames);
        for (size_t i = 0; i < count; i++) {
            put_number(base, true, chain);
            put_number(base, true, i);
            put_number(base, true, frames[i]);
            put_row(base);
        }
    }
    table_end(base);
}

static void put_traffic(struct base *base)
{
    const struct traffic *traffic = base->traffic;
    table_begin(base, "INSERT INTO traffic VALUES (?, ?, ?)");
    for (uint32_t from = 0; traffic && from < traffic->node_count; from++)
        for (uint32_t to = 0; to < traffic->node_count; to++) {
            put_node(base, (int)from);
            put_node(base, (int)to);
            put_real(base, traffic->all.is_rated, traffic->node_pairs[from * traffic->node_count + to]);
            put_row(base);
        }
    table_end(base);
}

static int put_all(struct base *base, struct error *err)
{
    put_meta(base);
    put_processes(base);
    put_threads(base);
    put_objects(base);
    put_things(base);
    int failed = put_samples(base, err);
    if (failed < 0)
        return failed;
    put_stacks(base);
    put_traffic(base);
    if (base->code == SQLITE_OK)
        keep(base, sqlite3_exec(base->db, "COMMIT", NULL, NULL, NULL));
    return 0;
}

static int fill(struct base *base, const char *folder, struct error *err)
{
    base->names = names_new(base->flow);
    base->traffic = known_traffic(base->flow);
    int failed = put_all(base, err);
    if (failed == 0 && base->code != SQLITE_OK)
        failed = error_set(err, -EIO, "cannot write a database in %s: %s; TMPDIR names another folder for it", folder,
                           sqlite3_errstr(base->code));
    names_free(base->names);
    traffic_free(base->traffic);
    return failed;
}

static int copy(int file, FILE *out, struct error *err)
{
    enum { PIECE = 1 << 20 };
    char *piece = mem_alloc(PIECE);
    ssize_t got;
    off_t at = 0;
    while ((got = pread(file, piece, PIECE, at)) > 0 && fwrite(piece, 1, (size_t)got, out) == (size_t)got)
        at += got;
    free(piece);
    return got < 0 ? error_set(err, -errno, "cannot read the database again: %s", strerror(errno)) : 0;
}

/* The database, empty, and a descriptor of its file, which has no name any more. */
static int begin(struct base *base, const char *parent, struct error *err)
{
    char *folder = mem_format("%s/numalens-XXXXXX", parent), *path = NULL;
    int file = -1;
    if (mkdtemp(folder)) {
        path = mem_format("%s/samples.db", folder);
        file = open(path, O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        int why = errno;
        if (file >= 0) {
            keep(base, sqlite3_open_v2(path, &base->db, SQLITE_OPEN_READWRITE, NULL));
            if (base->code == SQLITE_OK)
                keep(base, sqlite3_exec(base->db, schema, NULL, NULL, NULL));
            unlink(path);
        }
        rmdir(folder);
        errno = why;
    }
    if (file < 0)
        error_set(err, -errno, "cannot make a database in %s: %s; TMPDIR names another folder for it", parent,
                  strerror(errno));
    free(path);
    free(folder);
    return file;
}

int export_sqlite(const struct flow *flow, const struct export_options *options, FILE *out, struct error *err)
{
    (void)options;
    const char *parent = getenv("TMPDIR");
    struct base base = {.flow = flow};
    parent = parent && *parent ? parent : "/tmp";
    int file = begin(&base, parent, err);
    if (file < 0)
        return -EIO;
    int failed = fill(&base, parent, err);
    sqlite3_close(base.db);
    if (failed == 0)
        failed = copy(file, out, err);
    close(file);
    return failed;
}
