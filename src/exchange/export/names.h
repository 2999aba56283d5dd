/* exchange/export/names.h - what accesses are called in exports: call chains with every frame once, objects by what the
 * source calls them, processes and threads. Each is worked out once, when it is first asked for. */
#pragma once

#include "flow/flow.h"

struct names;

struct names *names_new(const struct flow *flow);
void names_free(struct names *names);

struct names_frame {
    const char *function; /* "module+0x120" when it has no name */
    const char *file, *module;
    uint64_t addr, offset; /* in the module; in the function */
    uint32_t line;
    bool named; /* the function has a name */
    bool inlined;
};

/* Frames are numbered from 0 on. */
size_t names_frame_count(const struct names *names);
struct names_frame names_frame(const struct names *names, uint32_t frame);

/* A call chain by its number: 0 is the one of which nothing is known, with no frames. Innermost frame first. */
uint32_t names_chain(struct names *names, const struct flow_access *access);
size_t names_chain_count(const struct names *names);
size_t names_chain_frames(const struct names *names, uint32_t chain, const uint32_t **frames);

/* What an access went to by its number: a site with all its objects, a variable, a file, the stacks of a process. 0 is
 * "[unknown]", of accesses that no object is known of. */
struct names_thing {
    const char *name;  /* as the source calls it, else its symbol, else the function that allocated it */
    const char *label; /* name(file:line), as the report has it */
    const char *site;  /* "function (file:line)" that allocated it; "" when no call did */
    const char *kind;  /* "heap" and so on; "" for [unknown] */
    const char *file;  /* "" when not known */
    uint32_t line;
    uint32_t first; /* an object of it; FLOW_NONE for [unknown] */
};
uint32_t names_thing_of(struct names *names, uint32_t object);
size_t names_thing_count(const struct names *names);
struct names_thing names_thing(const struct names *names, uint32_t thing);

/* "worker"; "thread 12" for one without a name; "[unknown]" for FLOW_NONE. Lives as long as `names`. */
const char *names_thread(struct names *names, uint32_t thread);

/* The program's name without folders; "[unknown]" for FLOW_NONE. */
const char *names_process(struct names *names, uint32_t process);

/* Of a thread that may be FLOW_NONE. */
uint32_t names_process_of(const struct names *names, uint32_t thread);
