/* page/parts/parts.h - the parts of a run's container and what they share. Private to src/page.
 *
 * Collectors see every access once, in one of two passes (gather.c); then each puts its own columns or tables. */
#pragma once

#include "analysis/facts/stalls.h"
#include "analysis/findings/findings.h"
#include "page/container.h"
#include "page/parts/frame_table.h"
#include "page/page.h"
#include "page/parts/rank.h"

enum { PAGE_CHAIN_SLICES = 64 };
enum { PAGE_SERIES_SLICES = 100, PAGE_SERIES_ROWS = 150000, PAGE_FLAME_NODES = 20000, PAGE_LINES = 2000 };

struct parts {
    const struct page_run *run;
    const struct flow *flow;
    struct facts *facts;
    const struct findings *findings;
    struct rank objects, sites;
    struct traffic *traffic; /* bytes from memory, where they were recorded, or NULL */
    struct frames *frames;
    struct type_uses *types;
};

/* A thread's number in 16 bits. */
static inline uint16_t parts_thread(uint32_t thread)
{
    return thread < UINT16_MAX ? (uint16_t)thread : UINT16_MAX;
}

/* series.c: who used each object when, and its home nodes; latencies of everything */
struct series;
struct series *series_new(const struct parts *parts);
void series_note(struct series *series, const struct flow_access *access);
void series_put(struct series *series, struct container *container);  /* "series_slices", s.* */
uint64_t *series_homes(const struct series *series, uint32_t object); /* samples by node; the page's object */
void series_free(struct series *series);

/* latencies.c */
struct latencies;
struct latencies *latencies_new(const struct flow *flow);
void latencies_note(struct latencies *latencies, const struct flow_access *access);
void latencies_put(const struct latencies *latencies, struct json *json); /* "latency" */
void latencies_free(struct latencies *latencies);

/* flame.c: stall time of remote accesses by call chain */
struct flame;
struct flame *flame_new(const struct flow *flow);
uint32_t flame_note(struct flame *flame, const struct flow_access *access); /* the number of its call chain */
void flame_note_stall(struct flame *flame, uint32_t chain, double share);   /* of run time */
void flame_put(struct flame *flame, struct frames *frames, struct container *container); /* f.* */
void flame_free(struct flame *flame);

/* chains.c: functions and flame graph by time, thread and object. Places of the call chains are of the flame graph. */
struct chains;
struct chain_place {
    uint32_t node, function, line; /* in f.*, in the tables of functions and lines; or FLOW_NONE for the latter */
};
struct chains *chains_new(const struct parts *parts);
void chains_note(struct chains *chains, uint32_t chain, const struct flow_access *access);
void chains_note_stall(struct chains *chains, const struct stall *stall, double share); /* its tag: the chain */
void chains_put(struct chains *chains, const struct chain_place *places, struct container *container); /* c.* */
void chains_free(struct chains *chains);
struct chain_place *flame_places(const struct flame *flame); /* after flame_put; by chain; the caller frees */

/* run_facts.c: "run", "totals", "nodes", "distances", "matrix", "matrix_bytes_s" */
void run_put(const struct parts *parts, struct json *json);

/* tables.c: "processes", "threads", "functions", "lines" */
void tables_put(const struct parts *parts, struct json *json);

/* things.c: "objects", "sites". `map`: where objects are, or NULL */
struct memory_map;
void things_put(const struct parts *parts, const struct series *series, const struct memory_map *map,
                struct json *json);

/* types_put.c: "types". The type of an object's items: its "id" there, or FLOW_NONE */
int types_begin(struct parts *parts, struct error *err);
void types_end(struct parts *parts);
uint32_t types_of(const struct parts *parts, uint32_t object);
void types_put(const struct parts *parts, struct json *json);

/* verdicts.c: "verdict", "findings" */
void verdicts_put(const struct parts *parts, struct json *json);

/* source_text.c: "sources": the source around the lines of the page, where it is at hand */
void sources_put(const struct parts *parts, struct json *json);

/* lines.c: l.* */
void lines_put(const struct parts *parts, struct container *container);
