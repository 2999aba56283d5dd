/* exchange/export/firefox_thread.h - the tables of one thread of a processed profile of the Firefox Profiler: a tree of stacks,
 * frames, functions, texts, each once. */
#pragma once

#include "base/array.h"
#include "base/map64.h"
#include "base/strtab.h"
#include "exchange/export/emitter.h"
#include "exchange/export/names.h"

/* The file's categories, in this order: colours of the timeline. */
enum firefox_category { FIREFOX_OTHER, FIREFOX_LOCAL, FIREFOX_REMOTE, FIREFOX_UNKNOWN, FIREFOX_CATEGORIES };

struct firefox_stack {
    uint32_t prefix, frame; /* prefix: FLOW_NONE for the outermost */
    uint8_t category;
};

struct firefox_frame {
    uint32_t function, line;
    uint64_t addr;
    bool has_addr;
    uint8_t category;
};

struct firefox_function {
    uint32_t name, file, resource; /* texts; file 0 and resource FLOW_NONE: none */
};

struct firefox_thread {
    struct names *names;
    struct strtab *libraries; /* of the whole file: numbers from 1 */
    struct strtab *texts, *function_keys, *resources;
    struct map64 stack_of, leaf_of, frame_of;
    array_of(struct firefox_stack) stacks;
    array_of(struct firefox_frame) frames;
    array_of(struct firefox_function) functions;
};

struct firefox_thread firefox_thread_new(struct names *names, struct strtab *libraries);
void firefox_thread_free(struct firefox_thread *thread);

/* The stack of an access: its chain, and below it what was accessed, in the category's colour. */
uint32_t firefox_stack_of(struct firefox_thread *thread, uint32_t chain, uint32_t thing,
                          enum firefox_category category);

/* "stackTable", "frameTable" and so on, with a comma before each. */
void firefox_put_tables(const struct firefox_thread *thread, struct emit *emit);
