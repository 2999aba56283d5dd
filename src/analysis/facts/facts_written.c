/* analysis/facts/facts_written.c - whether pages of an object were written after its initialisation, as write protection saw it.
 *
 * Samples give a bound on the share of writes, never a proof that there are none. Where pages were recorded beside the samples
 * (--faults) and the mechanism sees every page that is written, they do: of the pages that an object has to itself. Those
 * that it shares with its neighbours at its ends are skipped. */
#include "analysis/facts/facts_second_pass.h"

#include "analysis/thresholds.h"
#include "base/map64.h"

#include <string.h>

enum {
    LATE = 2, /* intervals after the initialisation that do not count: a page may be reported one interval late */
};

struct written {
    struct facts *facts;
    struct map64 pages; /* object and page -> 1: written */
    uint64_t first_wp;  /* when pages were protected first; UINT64_MAX: never */
    uint64_t last;      /* end of the last interval */
    uint64_t interval;
};

static bool sees_writes(uint8_t mechanism)
{
    return mechanism == PAGE_UFFD_WP || mechanism == PAGE_SOFT_DIRTY;
}

static void visit(void *context, const struct flow_page *page)
{
    struct written *written = context;
    struct facts *facts = written->facts;
    if (sees_writes(page->mechanism)) {
        written->first_wp = page->time < written->first_wp ? page->time : written->first_wp;
    }
    written->last = page->until > written->last ? page->until : written->last;
    if (page->object >= facts->objects.count || page->writes + page->unknown == 0)
        return;
    struct facts_subject *subject = &facts->objects.items[page->object];
    struct flow_object object = flow_object_copy(facts->flow, page->object);
    if (page->time < subject->init_end + LATE * written->interval || page->page < object.addr ||
        page->page + page->size > object.addr + object.size)
        return;
    bool is_new;
    map64_insert(&written->pages, page->page * 31 + page->object, &is_new);
    subject->written_pages += is_new;
}

static void judge(const struct written *written, struct facts_subject *subject)
{
    uint64_t from = subject->init_end > written->first_wp ? subject->init_end : written->first_wp;
    if (subject->totals.samples == 0)
        return;
    if (subject->written_pages)
        subject->proof = PROOF_WRITTEN;
    else if (written->first_wp != UINT64_MAX &&
             (double)written->last > (double)from + thresholds.proof_intervals * (double)written->interval)
        subject->proof = PROOF_READ_ONLY;
}

/* A site's is what all its objects' are. */
static void join_site(struct facts_subject *site, const struct facts_subject *object, bool *begun)
{
    site->written_pages += object->written_pages;
    if (!*begun || object->proof == PROOF_WRITTEN)
        site->proof = object->proof;
    else if (site->proof != PROOF_WRITTEN && object->proof == PROOF_NONE)
        site->proof = PROOF_NONE;
    *begun = true;
}

int facts_find_written(struct facts *facts, struct error *err)
{
    const struct trace_session *session = flow_session(facts->flow);
    struct written written = {.facts = facts, .first_wp = UINT64_MAX};
    if (flow_page_count(facts->flow) == 0 || !session)
        return 0;
    written.interval = trace_session_number(session, "interval_ns", 50000000);
    int failed = flow_each_page(facts->flow, visit, &written, err);
    bool *begun = mem_zalloc(facts->sites.count + 1);
    for (size_t i = 0; failed == 0 && i < facts->objects.count; i++) {
        struct facts_subject *object = &facts->objects.items[i];
        judge(&written, object);
        if (object->site < facts->sites.count && object->totals.samples)
            join_site(&facts->sites.items[object->site], object, &begun[object->site]);
    }
    free(begun);
    map64_free(&written.pages);
    return failed;
}
