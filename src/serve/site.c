#include "serve/site.h"

#include "analysis/memory_map/memory_map.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_SLICES = 4096, MOST_LEAVES = 20000, MOST_CELLS = 400000 };

struct site {
    const struct page_run *run;
    struct container_bytes page, data;
};

struct site *site_new(const struct page_run *run, struct error *err)
{
    struct site *site = mem_zalloc(sizeof *site);
    site->run = run;
    if (page_served(1, &site->page, err) == 0 && page_container(run, &site->data, err) == 0)
        return site;
    site_free(site);
    return NULL;
}

void site_free(struct site *site)
{
    if (!site)
        return;
    free(site->page.data);
    free(site->data.data);
    free(site);
}

static void say(struct answer *answer, int status, const char *text)
{
    *answer = (struct answer){.status = status, .type = "text/plain", .body = text, .size = strlen(text)};
}

static bool is_run(const struct request *request, bool *bad)
{
    uint64_t run = 0;
    request_integer(request, "run", &run, bad);
    return run == 0;
}

/* Seconds since the start as a time; the end of the run for what is beyond it. */
static uint64_t time_of(const struct flow *flow, double seconds)
{
    double lasted = (double)(flow_end(flow) - flow_start(flow)) * 1e-9;
    return seconds >= lasted ? flow_end(flow) + 1 : flow_start(flow) + (uint64_t)(seconds * 1e9);
}

static bool window_of(const struct flow *flow, const struct request *request, struct memory_map_options *window)
{
    bool bad = false;
    double from = 0, to = 1e17;
    uint64_t slices = 0, leaves = 0, thread = FLOW_NONE, process = FLOW_NONE, physical = 0;
    *window = MEMORY_MAP_WHOLE;
    request_number(request, "t0", &from, &bad);
    request_number(request, "t1", &to, &bad);
    request_integer(request, "a0", &window->low, &bad);
    request_integer(request, "a1", &window->high, &bad);
    request_integer(request, "slices", &slices, &bad);
    request_integer(request, "leaves", &leaves, &bad);
    request_integer(request, "thread", &thread, &bad);
    request_integer(request, "process", &process, &bad);
    request_integer(request, "physical", &physical, &bad);
    if (bad || from >= to || (window->high && window->low >= window->high) || slices > MOST_SLICES ||
        leaves > MOST_LEAVES || thread > FLOW_NONE || process > FLOW_NONE || physical > 1)
        return false;
    window->start = time_of(flow, from);
    window->end = time_of(flow, to);
    window->slices = (uint32_t)slices;
    window->max_leaves = (uint32_t)leaves;
    window->max_cells = MOST_CELLS;
    window->thread = (uint32_t)thread;
    window->process = (uint32_t)process;
    window->physical = physical;
    return window->start < window->end;
}

static void answer_window(struct site *site, const struct request *request, struct answer *answer)
{
    struct memory_map_options window;
    struct container_bytes bytes = {0};
    struct error err = {0};
    if (!window_of(site->run->flow, request, &window)) {
        say(answer, 400, "that is no window of this run\n");
        return;
    }
    if (page_window(site->run->flow, &window, &bytes, &err) < 0) {
        say(answer, 500, "the trace cannot be read any more\n");
        return;
    }
    *answer = (struct answer){
        .status = 200, .type = "application/octet-stream", .body = bytes.data, .size = bytes.size, .owned = bytes.data};
}

void site_answer(void *context, const char *path, const struct request *request, struct answer *answer)
{
    struct site *site = context;
    bool bad = false, run = is_run(request, &bad);
    if (bad)
        say(answer, 400, "that is no run\n");
    else if (!run)
        say(answer, 404, "there is no such run\n");
    else if (strcmp(path, "") == 0)
        *answer = (struct answer){
            .status = 200, .type = "text/html; charset=utf-8", .body = site->page.data, .size = site->page.size};
    else if (strcmp(path, "data") == 0)
        *answer = (struct answer){
            .status = 200, .type = "application/octet-stream", .body = site->data.data, .size = site->data.size};
    else if (strcmp(path, "window") == 0)
        answer_window(site, request, answer);
}
