#include "migrate/survey.h"

#include "base/mem.h"
#include "capture/process/procfs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void find_processes(struct survey *survey)
{
    size_t room = 0;
    for (size_t i = 0; i < survey->page_count; i++) {
        if (survey->process_count && survey->processes[survey->process_count - 1].pid == survey->pages[i].pid) {
            survey->processes[survey->process_count - 1].count++;
            continue;
        }
        if (survey->process_count == room) {
            room = room ? room * 2 : 4;
            survey->processes = mem_resize(survey->processes, room * sizeof *survey->processes);
        }
        struct survey_process *process = &survey->processes[survey->process_count++];
        memset(process, 0, sizeof *process);
        process->pid = survey->pages[i].pid;
        process->first = i;
        process->count = 1;
    }
}

/* Sums of `from` into those of `into`, whose accesses have room behind them for as many. Lists are short. */
static void merge_accesses(struct nlens_policy_page *into, const struct nlens_policy_page *from)
{
    struct nlens_policy_access *list = (struct nlens_policy_access *)into->accesses;
    for (uint32_t i = 0; i < from->access_count; i++) {
        const struct nlens_policy_access *one = &from->accesses[i];
        uint32_t at = 0;
        while (at < into->access_count && (list[at].thread != one->thread || list[at].node != one->node))
            at++;
        if (at == into->access_count) {
            list[into->access_count++] = *one; /* never past what is read: lists only get shorter together */
            continue;
        }
        list[at].reads += one->reads;
        list[at].writes += one->writes;
        list[at].timed += one->timed;
        list[at].latency += one->latency;
        list[at].lines = list[at].lines + one->lines < 64 ? list[at].lines + one->lines : 64;
    }
}

/* Pages of one huge page become one, at the place of the first. */
static size_t merge_huge(struct survey *survey, struct survey_process *process, const bool *huge, size_t to)
{
    size_t first = to;
    if (process->ranges.count == 0 && first == process->first)
        return to + process->count; /* nothing is known, nothing has moved up */
    for (size_t i = 0; i < process->count; i++) {
        struct nlens_policy_page page = survey->pages[process->first + i];
        const struct range *range = ranges_find(&process->ranges, page.address);
        uint64_t bytes = huge[i] ? process->ranges.huge_bytes : range ? range->page_bytes : page.bytes;
        if (range && range->file)
            page.flags |= NLENS_PAGE_FILE;
        if (bytes > page.bytes) {
            page.address &= ~(bytes - 1);
            page.bytes = bytes;
            page.flags |= NLENS_PAGE_HUGE;
        }
        struct nlens_policy_page *last = to > first ? &survey->pages[to - 1] : NULL;
        if (last && page.flags & NLENS_PAGE_HUGE && last->flags & NLENS_PAGE_HUGE && last->address == page.address) {
            merge_accesses(last, &page);
            continue;
        }
        survey->huge += (page.flags & NLENS_PAGE_HUGE) != 0;
        survey->pages[to++] = page;
    }
    process->first = first;
    process->count = to - first;
    return to;
}

static void read_about(struct survey *survey, struct survey_process *process, const struct topology *topology,
                       uint64_t *addresses, bool *huge)
{
    process->ended = ranges_read(&process->ranges, process->pid) < 0;
    procfs_open_nodes(process->pid, topology, process->open);
    for (size_t i = 0; i < process->count; i++)
        addresses[i] = survey->pages[process->first + i].address;
    ranges_huge(&process->ranges, process->pid, addresses, process->count, huge);
}

static void locate(struct survey *survey, struct survey_process *process, const struct memory *memory,
                   uint64_t *addresses, int32_t *homes)
{
    for (size_t i = 0; i < process->count; i++)
        addresses[i] = survey->pages[process->first + i].address;
    struct error err = {0};
    if (memory->locate(memory->context, process->pid, addresses, process->count, homes, &err) < 0) {
        process->ended = true;
        if (err.code != -ESRCH && !survey->failure.code)
            survey->failure = err;
        survey->homeless += process->count;
        return;
    }
    for (size_t i = 0; i < process->count; i++) {
        survey->pages[process->first + i].home = homes[i] >= 0 ? homes[i] : NLENS_NOWHERE;
        survey->homeless += homes[i] < 0;
    }
}

static void count(struct survey *survey, uint32_t node_count)
{
    for (size_t i = 0; i < survey->page_count; i++) {
        const struct nlens_policy_page *page = &survey->pages[i];
        for (uint32_t j = 0; j < page->access_count; j++) {
            const struct nlens_policy_access *access = &page->accesses[j];
            uint64_t times = nlens_policy_accesses(access);
            survey->accesses += times;
            if (page->home == NLENS_NOWHERE || access->node >= node_count)
                continue;
            survey->known += times;
            survey->remote += access->node != (uint32_t)page->home ? times : 0;
        }
    }
}

void survey_make(struct survey *survey, struct page_map *map, const struct memory *memory,
                 const struct topology *topology, bool kernel)
{
    struct nlens_policy_access *accesses;
    *survey = (struct survey){0};
    page_map_survey(map, &survey->pages, &survey->page_count, &accesses);
    find_processes(survey);
    uint64_t *addresses = mem_alloc((survey->page_count + 1) * sizeof *addresses);
    int32_t *homes = mem_alloc((survey->page_count + 1) * sizeof *homes);
    bool *huge = mem_zalloc((survey->page_count + 1) * sizeof *huge);
    size_t to = 0;
    for (size_t i = 0; i < survey->process_count; i++) {
        struct survey_process *process = &survey->processes[i];
        if (kernel)
            read_about(survey, process, topology, addresses, huge);
        else
            memset(process->open, true, sizeof process->open);
        to = merge_huge(survey, process, huge, to);
        locate(survey, process, memory, addresses, homes);
    }
    survey->page_count = to;
    count(survey, topology->node_count);
    free(addresses);
    free(homes);
    free(huge);
}

void survey_free(struct survey *survey)
{
    for (size_t i = 0; i < survey->process_count; i++)
        ranges_free(&survey->processes[i].ranges);
    free(survey->processes);
    *survey = (struct survey){0};
}

const struct survey_process *survey_process_of(const struct survey *survey, uint32_t pid)
{
    for (size_t i = 0; i < survey->process_count; i++)
        if (survey->processes[i].pid == pid)
            return &survey->processes[i];
    return NULL;
}
