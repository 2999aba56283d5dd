/* analysis/facts/subject_pages.c - which pages a subject is on, who brought them in, which moved, and which it shares with objects
 * that belong to threads of other nodes.
 *
 * Pages are brought in by page faults, which flows know exactly. Where faults were not recorded, the first sampled access
 * to a page stands for its first touch. */
#include "base/units.h"
#include "analysis/facts/facts_work.h"

enum { BLOCK_SHIFT = PAGE_UNIT_SHIFT + 6 };

/* Whether the page is new to the subject. */
static bool page_add(struct map64 *set, uint32_t subject, uint64_t addr)
{
    uint64_t bit = 1ul << (addr >> PAGE_UNIT_SHIFT & 63);
    uint64_t *pages = map64_insert(set, pair_key(subject, addr >> BLOCK_SHIFT), NULL);
    bool is_new = !(*pages & bit);
    *pages |= bit;
    return is_new;
}

void pages_begin(struct work *work, const struct flow_object *object)
{
    uint64_t last = object->size ? object->addr + object->size - 1 : object->addr;
    work->first_page = object->addr >> PAGE_UNIT_SHIFT;
    work->last_page = (last < object->addr ? UINT64_MAX : last) >> PAGE_UNIT_SHIFT;
    work->small = object->kind != OBJECT_STACK && work->last_page - work->first_page < 2;
    work->heap = object->kind == OBJECT_HEAP;
}

void pages_add(struct gathering *gathering, uint32_t index, struct user_work *user, const struct flow_access *access)
{
    struct work *work = &gathering->objects[index];
    uint64_t page = access->addr >> PAGE_UNIT_SHIFT;
    unsigned edge = page == work->first_page ? 1 : page == work->last_page ? 2 : 0;
    if (edge)
        work->edge_remote[edge - 1] += access->remote;
    if (work->small && edge) {
        if (work->edges_seen & edge)
            return;
        work->edges_seen |= (uint8_t)edge;
    } else if (!page_add(&gathering->pages, index, access->addr)) {
        return;
    }
    work->pages++;
    user->first_pages++;
    struct site_work *site = site_of(gathering, index);
    if (site && work->small)
        site->work.pages += page_add(
            &gathering->pages, gathering->object_count + gathering->facts->objects.items[index].site, access->addr);
}

uint32_t pages_initialiser(const struct flow *flow, uint32_t object)
{
    const struct flow_touched *rows;
    size_t count = flow_object_touched(flow, object, &rows);
    uint32_t thread = FLOW_NONE, most = 0;
    for (size_t i = 0; i < count; i++) {
        if (rows[i].fresh > most) {
            most = rows[i].fresh;
            thread = rows[i].thread;
        }
    }
    return thread;
}

void pages_touched(struct gathering *gathering, uint32_t object)
{
    uint32_t index = gathering->subject_of[object];
    struct work *work = &gathering->objects[index];
    const struct flow_touched *rows;
    size_t count = flow_object_touched(gathering->flow, object, &rows);
    for (size_t i = 0; i < count; i++) {
        users_find(gathering, work, index, rows[i].thread)->touched += rows[i].pages;
        work->touched += rows[i].pages;
    }
}

void pages_finish(const struct gathering *gathering, uint32_t object)
{
    struct work *work = &gathering->objects[object];
    struct facts_subject *subject = &gathering->facts->objects.items[object];
    if (work->touched == 0) {
        array_each (&work->users, struct user_work, user)
            user->touched = user->first_pages;
    }
    subject->pages = work->pages > work->touched ? work->pages : work->touched;
    subject->pages_moved = flow_object_moved(gathering->flow, object);
}

/* Whether an object is known to be private. One that was seen once only is taken for what its site's others are; when
 * those were not seen more often either, for private if its user allocated it. */
static bool surely_private(const struct gathering *gathering, const struct facts_subject *object)
{
    if (object->sharing != SHARING_THREAD || object->instances == 0)
        return false;
    if (object->bursts > 1 || object->site == FLOW_NONE)
        return true;
    const struct site_work *site = &gathering->sites[object->site];
    return site->looked_at ? site->looked_private >= thresholds.mostly * site->looked_at
                           : object->alloc_thread == object->main_user;
}

struct tenancy { /* of a page: private objects of one node, or of several, that live at the same time */
    uint64_t end;
    int16_t node;
    bool mixed;
};

static uint32_t move_in(struct gathering *gathering, const struct flow_object *object, uint64_t page, int16_t node)
{
    bool is_new;
    uint64_t *place = map64_insert(&gathering->tenancy_of, pair_key(object->process, page), &is_new);
    struct tenancy *tenancy = is_new ? NULL : &gathering->tenancies.items[*place];
    if (!tenancy || tenancy->end <= object->start) {
        *place = gathering->tenancies.count;
        array_push(&gathering->tenancies, (struct tenancy){.end = object->end, .node = node});
        return (uint32_t)*place;
    }
    tenancy->mixed |= tenancy->node != node;
    tenancy->end = object->end > tenancy->end ? object->end : tenancy->end;
    return (uint32_t)*place;
}

static void count_mixed(struct gathering *gathering, uint32_t object, uint32_t tenancy, unsigned edge)
{
    struct facts_subject *subject = &gathering->facts->objects.items[object];
    if (tenancy == FLOW_NONE || !gathering->tenancies.items[tenancy].mixed)
        return;
    subject->mixed_pages++;
    subject->mixed_remote += gathering->objects[object].edge_remote[edge];
    if (subject->site == FLOW_NONE || gathering->facts->sites.items[subject->site].instances < 2)
        return;
    struct facts_subject *site = &gathering->facts->sites.items[subject->site];
    bool is_new;
    map64_insert(&gathering->mixed_of_site, (uint64_t)subject->site << 32 | tenancy, &is_new);
    site->mixed_pages += is_new;
    site->mixed_remote += gathering->objects[object].edge_remote[edge];
}

/* Whether another thread brought the object's pages in, though it belongs to the one that allocated it. An allocator
 * writes beside what it gives away, so the page was there before: something of that other thread is, or was, in it.
 * Seldom are both objects sampled. */
static bool moved_in_with_another(const struct gathering *gathering, uint32_t index)
{
    const struct facts_subject *object = &gathering->facts->objects.items[index];
    const struct flow_touched *rows;
    size_t count = flow_object_touched(gathering->flow, index, &rows);
    if (object->alloc_thread != object->main_user || !gathering->objects[index].small)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (rows[i].thread != object->main_user)
            return true;
    }
    return false;
}

/* Remote pages of such an object are the other's. */
static void note_other_tenant(struct gathering *gathering, uint32_t index, const uint32_t tenancies[2])
{
    if (!moved_in_with_another(gathering, index))
        return;
    for (unsigned edge = 0; edge < 2; edge++) {
        if (tenancies[edge] != FLOW_NONE && gathering->objects[index].edge_remote[edge])
            gathering->tenancies.items[tenancies[edge]].mixed = true;
    }
}

void pages_finish_all(struct gathering *gathering)
{
    struct facts *facts = gathering->facts;
    array_each (&facts->objects, const struct facts_subject, object) {
        if (object->site == FLOW_NONE || object->bursts < 2)
            continue;
        gathering->sites[object->site].looked_at++;
        gathering->sites[object->site].looked_private += object->sharing == SHARING_THREAD;
    }
    uint32_t *tenancies = mem_alloc((gathering->object_count + 1ul) * 2 * sizeof *tenancies);
    for (uint32_t i = 0; i < gathering->object_count; i++) { /* in order of allocation */
        const struct facts_subject *subject = &facts->objects.items[i];
        struct work *work = &gathering->objects[i];
        tenancies[2 * i] = tenancies[2 * i + 1] = FLOW_NONE;
        work->surely_private = surely_private(gathering, subject);
        if (!work->heap || !work->surely_private || subject->main_user_node < 0)
            continue;
        struct flow_object object = flow_object_copy(gathering->flow, i);
        tenancies[2 * i] = move_in(gathering, &object, work->first_page, subject->main_user_node);
        if (work->last_page != work->first_page)
            tenancies[2 * i + 1] = move_in(gathering, &object, work->last_page, subject->main_user_node);
        note_other_tenant(gathering, i, &tenancies[2 * i]);
    }
    for (uint32_t i = 0; i < gathering->object_count; i++) {
        count_mixed(gathering, i, tenancies[2 * i], 0);
        count_mixed(gathering, i, tenancies[2 * i + 1], 1);
    }
    free(tenancies);
}

void pages_add_to_site(struct gathering *gathering, uint32_t object, struct facts_subject *site)
{
    const struct facts_subject *subject = &gathering->facts->objects.items[object];
    if (!gathering->objects[object].small)
        site->pages += subject->pages;
    site->pages_moved += subject->pages_moved;
    site->private_instances += gathering->objects[object].surely_private;
}

void pages_free_all(struct gathering *gathering)
{
    map64_free(&gathering->pages);
    map64_free(&gathering->tenancy_of);
    map64_free(&gathering->mixed_of_site);
    array_free(&gathering->tenancies);
}
