/* exchange/moca_reader.h - reads what MOCA writes: lines T, C, A of its task files.
 *
 *     T internalId pid [pagesize]                      a task; the first one gives the page size
 *     C id N start end cpumask                         a chunk of it: one interval
 *     A @virt @phys reads writes cpumask               N of them: a page each
 *
 * Addresses are hexadecimal, with 0x or without. A mask is binary, the highest CPU first, as wide as it likes to be; with
 * 0x before it, it is hexadecimal. Nothing else is taken: an error names the line. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { MOCA_MASK_WORDS = 1024 };

struct moca_mask {
    uint16_t words;                 /* without empty ones at the end */
    uint64_t bits[MOCA_MASK_WORDS]; /* `words` of them count */
};

enum moca_kind { MOCA_TASK, MOCA_CHUNK, MOCA_ACCESS };

struct moca_item {
    enum moca_kind kind;
    uint64_t line;
    uint32_t task;              /* internal id */
    uint32_t pid;               /* MOCA_TASK */
    uint64_t page_size;         /* MOCA_TASK: 0 when not reported */
    uint64_t chunk, count;      /* MOCA_CHUNK: its id, and how many accesses follow */
    uint64_t start, end;        /* of the chunk */
    uint64_t virtual, physical; /* MOCA_ACCESS */
    uint32_t reads, writes;
    struct moca_mask mask; /* of a chunk or access */
};

struct moca_reader;

/* Reads from `in`, which stays the caller's. `name` is for errors. */
struct moca_reader *moca_reader_new(FILE *in, const char *name);
void moca_reader_free(struct moca_reader *reader);

/* 1 with the next item, 0 at the end, or negative: what is wrong, and in which line. */
int moca_reader_next(struct moca_reader *reader, struct moca_item *item, struct error *err);
