#include "capture/count/count_session.h"

#include "base/clock.h"
#include "base/small_file.h"
#include "capture/count/plan_make.h"
#include "capture/count/count_reader.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

struct count_session {
    struct count_plans plans;
    const struct count_plan *plan;
    uint32_t whats; /* columns with counters that could be opened */
    array_of(struct count_reader) readers;
    array_of(struct count_refusal) refusals;
    array_of(char *) reasons; /* the refusals' own */
};

static char *explain(const struct count_counter *counter, int code, const char *root)
{
    const char *name = counter->name;
    int level = (int)small_file_number(2, "%s/proc/sys/kernel/perf_event_paranoid", root);
    switch (-code) {
    case EACCES:
    case EPERM:
        if (counter->path)
            return mem_format("%s may not be read by this user; run as root", name);
        if (level > 0)
            return mem_format("counting for the whole machine is refused (kernel.perf_event_paranoid is %d): run as "
                              "root or with CAP_PERFMON, or sysctl kernel.perf_event_paranoid=0",
                              level);
        return mem_format("perf_event_open is refused (%s): a container's seccomp profile or kernel lockdown, most "
                          "likely; run outside of it",
                          strerror(-code));
    case ENOSYS:
        return mem_strdup("this kernel has no perf_event_open; CONFIG_PERF_EVENTS would bring it");
    case EMFILE:
    case ENFILE:
        return mem_format("too many open files for all its counters; raise the limit with ulimit -n");
    case EBUSY:
        return mem_format("%s is in use by others: another profiler, or the firmware; end it and try again", name);
    case ENOENT:
    case ENODEV:
    case ENXIO:
    case EINVAL:
    case EOPNOTSUPP:
        return mem_format(
            "the kernel lists %s and does not open it (%s): a virtual machine without these counters, or a "
            "driver that lacks the event, which a newer kernel may have",
            name, strerror(-code));
    default:
        return mem_format("%s cannot be opened: %s", name, strerror(-code));
    }
}

/* A large machine has more counters than a process may have files by default. What is open stays open when the limit is
 * as before again, which the program that is started later must find so. */
static struct rlimit raise_limit(void)
{
    struct rlimit before = {0, 0};
    if (getrlimit(RLIMIT_NOFILE, &before) == 0)
        setrlimit(RLIMIT_NOFILE, &(struct rlimit){before.rlim_max, before.rlim_max});
    return before;
}

static void close_readers(struct count_session *session)
{
    array_each (&session->readers, struct count_reader, reader)
        count_reader_close(reader);
    session->readers.count = 0;
}

/* What is optional comes whole or not at all: a ratio of half of its counters would be wrong. */
static void drop_optional(struct count_session *session)
{
    size_t kept = 0;
    for (size_t i = 0; i < session->readers.count; i++) {
        struct count_reader *reader = &session->readers.items[i];
        if (reader->counter->optional)
            count_reader_close(reader);
        else
            session->readers.items[kept++] = *reader;
    }
    session->readers.count = kept;
}

/* Keeps `reason`; the same one twice in a row is reported once. */
static void refuse(struct count_session *session, enum count_source source, const char *devices, char *reason)
{
    size_t last = session->reasons.count;
    if (last > 0 && strcmp(session->reasons.items[last - 1], reason) == 0) {
        free(reason);
        return;
    }
    array_push(&session->reasons, reason);
    array_push(&session->refusals, (struct count_refusal){source, devices, reason});
}

/* NULL when the plan's counters run, else why not. */
static char *open_plan(struct count_session *session, const struct count_plan *plan, const char *root)
{
    char *optional_reason = NULL;
    if (plan->lacks)
        return mem_strdup(plan->lacks);
    array_each (&plan->counters, struct count_counter, counter) {
        struct count_reader reader;
        if (counter->optional && optional_reason)
            continue;
        int code = count_reader_open(&reader, counter);
        if (code == 0) {
            array_push(&session->readers, reader);
        } else if (counter->optional) {
            optional_reason = explain(counter, code, root);
        } else {
            close_readers(session);
            free(optional_reason);
            return explain(counter, code, root);
        }
    }
    if (optional_reason) {
        drop_optional(session);
        refuse(session, plan->source, "the counters of local and remote requests", optional_reason);
    }
    session->whats = 0;
    array_each (&session->readers, struct count_reader, reader)
        session->whats |= 1u << reader->counter->what;
    session->whats = count_plan_derived(session->whats);
    session->plan = plan;
    return NULL;
}

struct count_session *count_session_open(const struct count_request *request, struct error *err)
{
    struct count_session *session = mem_zalloc(sizeof *session);
    const char *root = request->root ? request->root : "";
    struct rlimit limit = raise_limit();
    count_plans_make(&session->plans, root);
    array_each (&session->plans.list, struct count_plan *, at) {
        const struct count_plan *plan = *at;
        if (request->source != COUNT_AUTO && plan->source != (enum count_source)request->source)
            continue;
        char *reason = open_plan(session, plan, root);
        if (!reason)
            break;
        refuse(session, plan->source, plan->devices, reason);
    }
    setrlimit(RLIMIT_NOFILE, &limit);
    if (session->plan)
        return session;
    /* The first that was tried is the one that was wanted most. */
    error_set(err, -ENODEV, "nothing can be counted here: %s",
              session->refusals.count ? session->refusals.items[0].reason : "there is no such source");
    count_session_close(session);
    return NULL;
}

void count_session_close(struct count_session *session)
{
    if (!session)
        return;
    close_readers(session);
    array_free(&session->readers);
    array_each (&session->reasons, char *, reason)
        free(*reason);
    array_free(&session->reasons);
    array_free(&session->refusals);
    count_plans_free(&session->plans);
    free(session);
}

const struct count_plan *count_session_plan(const struct count_session *session)
{
    return session->plan;
}

uint32_t count_session_whats(const struct count_session *session)
{
    return session->whats;
}

size_t count_session_refusals(const struct count_session *session, const struct count_refusal **refusals)
{
    *refusals = session->refusals.items;
    return session->refusals.count;
}

/* Sums that have no counter of their own. */
static void derive(struct count_cell *cells)
{
    struct count_cell *total = &cells[COUNT_TOTAL], *remote = &cells[COUNT_REMOTE];
    const struct count_cell *local = &cells[COUNT_LOCAL];
    if (!total->known && cells[COUNT_READ].known && cells[COUNT_WRITE].known)
        *total = (struct count_cell){cells[COUNT_READ].amount + cells[COUNT_WRITE].amount, true};
    if (!remote->known && local->known && total->known)
        *remote = (struct count_cell){total->amount - local->amount, true};
}

void count_session_read(struct count_session *session, struct count_reading *reading)
{
    size_t cells = session->plan->rows.count * COUNT_WHATS;
    if (!reading->cells)
        reading->cells = mem_alloc((cells + 1) * sizeof *reading->cells);
    memset(reading->cells, 0, cells * sizeof *reading->cells);
    struct count_file last = {.path = NULL};
    reading->time = clock_now_ns();
    array_each (&session->readers, struct count_reader, reader) {
        struct count_cell *cell = &reading->cells[reader->counter->row * COUNT_WHATS + reader->counter->what];
        count_reader_update(reader, &last);
        cell->amount += reader->sum;
        cell->known |= count_reader_known(reader);
    }
    for (size_t row = 0; row < session->plan->rows.count; row++)
        derive(reading->cells + row * COUNT_WHATS);
}

void count_reading_free(struct count_reading *reading)
{
    free(reading->cells);
    *reading = (struct count_reading){0};
}

double count_amount(const struct count_reading *from, const struct count_reading *to, size_t row, enum count_what what)
{
    const struct count_cell *before = &from->cells[row * COUNT_WHATS + what];
    const struct count_cell *after = &to->cells[row * COUNT_WHATS + what];
    if (!before->known || !after->known)
        return NAN;
    double amount = after->amount - before->amount;
    /* Total and local are not read at the same moment: without traffic a few bytes can seem to flow back. */
    return amount < 0 && what != COUNT_NET ? 0 : amount;
}

struct count_quality count_session_quality(const struct count_session *session)
{
    struct count_quality quality = {.running = 1, .counters = session->readers.count};
    array_each (&session->readers, struct count_reader, reader) {
        double all = (double)(reader->enabled - reader->first_enabled);
        double share = all > 0 ? (double)(reader->running - reader->first_running) / all : reader->starved ? 0 : 1;
        quality.shared += share < 1;
        quality.running = share < quality.running ? share : quality.running;
        quality.never += share == 0;
        quality.lost += reader->fd < 0;
        if (reader->fd < 0 && !quality.first_lost)
            quality.first_lost = reader->counter->name;
    }
    return quality;
}
