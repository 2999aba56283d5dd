/* analysis/findings/patterns/pattern_remote_after_allocation.c - allocated, and touched first, by one thread, used by one on another node. */
#include "analysis/findings/findings_advice.h"

static bool judge(struct judging *judging, const struct finding *about, struct verdict *verdict)
{
    const struct facts_subject *subject = about->subject;
    bool private = subject_private(subject);
    if (!placement_may_matter(judging->facts, subject))
        return false;
    if (!private && (subject->main_user_node == subject->main_home ||
                     (subject->sharing == SHARING_ALL && use_of_one(subject, false) < thresholds.mostly)))
        return false;
    claim_one_user(verdict, subject);
    if (private && subject->mixed_remote)
        claim_pages_mixed(verdict, subject, false);
    claim_remote(verdict, subject);
    return true;
}

/* Threads of a simulated topology stay on the CPU that they are assigned to. */
static bool has_moved(const struct consult *it)
{
    return !it->finding->is_site && it->subject->toucher != FLOW_NONE &&
           it->subject->toucher == it->subject->main_user && !flow_topology(it->facts->flow)->simulated;
}

static const char *explain(struct consult *it)
{
    const struct facts *facts = it->facts;
    const struct facts_subject *subject = it->subject;
    char maker[WHO], user[WHO];
    uint32_t first = subject->toucher != FLOW_NONE ? subject->toucher : subject->alloc_thread;
    const char *first_on = on_node_text(it, subject->main_home), *home = *first_on ? first_on : " not known";
    thread_text(facts, first, maker);
    thread_text(facts, subject->main_user, user);
    if (it->finding->is_site)
        return text(it,
                    "Of %u objects, %s are used by one thread each; %s touched most of them first, so their "
                    "home is%s. %.0f%% of the accesses are remote.",
                    subject->instances, so_many(it, subject->private_instances, subject->instances), maker, home,
                    remote_part(it));
    if (subject->instances > 1 && subject_thread_local(facts, subject))
        return text(it,
                    "Each of %u threads has its own; %s touched most of them first, so their home is%s. "
                    "%.0f%% of the accesses are remote.",
                    subject->instances, maker, home, remote_part(it));
    if (subject->sharing != SHARING_THREAD && subject->using_threads > 1)
        return text(it,
                    "First touched by %s, so its home is%s; %u threads use it, most of all %s%s. %.0f%% of "
                    "the accesses are remote.",
                    maker, home, subject->using_threads, user, on_node_text(it, subject->main_user_node),
                    remote_part(it));
    if (first == subject->main_user && has_moved(it))
        return text(it,
                    "First touched by %s%s, which has since moved to another node. %.0f%% of the accesses are remote.",
                    user, first_on, remote_part(it));
    if (first == subject->main_user)
        return text(it,
                    "%s%s uses it, but most of what it uses has its home%s: another thread touched these pages before. "
                    "%.0f%% of the accesses are remote.",
                    user, on_node_text(it, subject->main_user_node), first_on, remote_part(it));
    return text(it,
                "First touched by %s, so its home is%s; %s%s makes %.0f%% of the accesses. %.0f%% of all are remote.",
                maker, home, user, on_node_text(it, subject->main_user_node),
                subject->users.count ? 100 * share_of(subject->users.items[0].samples, subject->totals.samples) : 0,
                remote_part(it));
}

/* Part of a heap object's pages that were touched before it was allocated: the C library had them from an earlier use. */
static double recycled_part(const struct consult *it)
{
    const struct flow_touched *rows;
    size_t count = flow_object_touched(it->facts->flow, it->subject->object, &rows);
    uint64_t pages = 0, fresh = 0;
    for (size_t i = 0; i < count; i++) {
        pages += rows[i].pages;
        fresh += rows[i].fresh;
    }
    return share_of(pages - fresh, pages);
}

/* Its user allocates it already, and still it is far: the allocator gave out pages that another thread had touched. */
static bool is_recycled(const struct consult *it)
{
    const struct facts_subject *subject = it->subject;
    return subject_kind(it->facts, subject) == OBJECT_HEAP && recycled_part(it) >= thresholds.majority &&
           share_of(subject->alloc_thread_samples, subject->totals.samples - subject->init_samples) >=
               thresholds.mostly;
}

static void on_recycled(struct consult *it)
{
    advise_to(
        it, ACTION_SEPARATE_PAGES, code_allocator(it),
        "the thread that uses it allocates it already, but %.0f%% of its pages are recycled: the allocator had "
        "them from another thread, which touched them first; an allocator with arenas that keep their pages, or a free "
        "in the thread that allocates, keeps them apart",
        100 * recycled_part(it));
    advise_against(it, ACTION_ALLOCATE_NEAR, "not another place to allocate it: its user allocates it");
    advise_against_interleaving(it);
}

/* The pages of a stack are its thread's own, but the first: it is far when the thread was moved. */
static void on_stack(struct consult *it)
{
    it->pin = it->user;
    advise_to(it, ACTION_PIN_TOGETHER, code_pin_thread(it),
              "a stack is on the node where its thread began: keep the thread there, or let it move before it works");
    advise_against(it, ACTION_INTERLEAVE, "not interleaving, nor any other place: a stack is its thread's own");
}

/* The C library clears a thread-local variable in the thread that creates its thread; a thread that has moved since touched its copy
 * itself. */
static bool is_cleared_elsewhere(const struct consult *it)
{
    return subject_thread_local(it->facts, it->subject) && it->subject->toucher != it->subject->alloc_thread;
}

static void on_thread_local(struct consult *it)
{
    advise_to(
        it, ACTION_ALLOCATE_NEAR, code_own_memory(it),
        "it is thread-local: the C library clears it in the thread that creates its thread, and so on that one's node; "
        "what a thread allocates itself and touches first is local to it");
    advise_to(it, ACTION_MIGRATE, code_migrate_all(it),
              "when the program cannot change; each thread's pages are migrated once");
    advise_against_interleaving(it);
    advise_against(it, ACTION_DUPLICATE, "not duplication: each thread has its own already");
}

static void advise(struct consult *it)
{
    const struct facts_subject *subject = it->subject;
    if (is_cleared_elsewhere(it)) {
        on_thread_local(it);
        return;
    }
    if (is_recycled(it)) {
        on_recycled(it);
        return;
    }
    bool site = it->finding->is_site;
    bool moved = has_moved(it);
    double remote = 100 * share_of(subject->totals.remote, subject->totals.home_known);
    if (moved)
        advise_to(it, ACTION_PIN_TOGETHER, code_pin_thread(it),
                  "its thread touched it first and has moved to another node since: keep it on the first");
    else if (site)
        advise_to(it, ACTION_ALLOCATE_NEAR, code_near(it),
                  "%u of %u are used by one thread only, and what a thread allocates and touches first is local to it",
                  subject->private_instances, subject->instances);
    else
        advise_to(it, ACTION_ALLOCATE_NEAR, code_near(it), "node %d uses it, and %.0f%% of the accesses are remote",
                  it->user, remote);
    advise_to(it, ACTION_MIGRATE, code_migrate(it),
              "when the node that will use it is not known at allocation; pays off when it is used for long");
    advise_against_interleaving(it);
    if (may_duplicate(it))
        advise_against(it, ACTION_DUPLICATE, "not duplication: no second node uses it");
    else
        advise_against(it, ACTION_DUPLICATE,
                       "not duplication: no second node uses it, and %.0f%% of its accesses are writes", it->writes);
    if (!site && !moved)
        advise_pin_or_not(it);
}

PATTERN_ROW(remote_after_allocation, "remote-after-allocation", "allocated on one node, used from another", on_subject,
            .rule = PATTERN_SUREST, .on_stack = on_stack);
