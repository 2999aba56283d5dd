/* analysis/findings/findings_advice.h - what patterns share to write a finding: its evidence, gain, advice and code; private to src/analysis. */
#pragma once

#include "analysis/findings/findings_internal.h"

enum language { LANGUAGE_C, LANGUAGE_CXX, LANGUAGE_FORTRAN, LANGUAGE_PYTHON, LANGUAGE_OTHER };

/* Who starts the program's threads: code for one of them is no use in a program of another. */
enum threads { THREADS_OWN, THREADS_OPENMP, THREADS_TBB };

struct consult {
    struct judging *judging;
    struct findings *findings;
    struct finding *finding;
    const struct facts *facts;
    const struct facts_subject *subject; /* NULL where it is on something else */
    const char *name;                    /* as code can use it */
    const char *address;                 /* likewise, of its first byte */
    const char *app;                     /* the command that was recorded */
    double writes;                       /* percent */
    int home, user;                      /* the kernel's numbers of its home node and of the node it is used from */
    uint32_t nodes;
    int pin; /* the kernel's number of the node that threads are to run on */
    enum language language;
    enum threads threads;
    bool is_static, is_stack;
    bool parts;        /* each thread uses its own part of it */
    bool is_runtime;   /* a runtime's heap: no line of the program allocates or touches it first */
    bool is_container; /* of C++: what allocates is inside it, it is no pointer */
    bool
        whole; /* most of the remote traffic is this finding's, and it is no small thing: all of the program may change */
};

#define text(it, ...) findings_text((it)->findings, __VA_ARGS__)

/* findings_evidence.c: phrases of evidence. */
enum { WHO = 64 };
const char *thread_text(const struct facts *facts, uint32_t thread, char text[WHO]); /* "thread worker 3" */
const char *on_node_text(struct consult *it, int node);                              /* " on node 2"; "": not known */
const char *so_many(struct consult *it, uint32_t part, uint32_t whole);              /* "all 8", "7 of 8" */
const char *separated_text(struct consult *it); /* " (93% separated)"; "" where too few pairs of accesses show it */
const char *written_how(struct consult *it);    /* "it is written (20% writes)" */
const char *unit_of(const struct facts *facts); /* of latencies */
double remote_part(const struct consult *it);   /* of its accesses, in percent */

/* The gain when all its accesses become local: what a finding has whose pattern sets none. `known`: what else is said where it is
 * measured and not next to nothing, NULL: else. */
const char *gain_local(struct consult *it);
const char *gain_known(struct consult *it, const char *known);
const char *
gain_assumed(struct consult *it); /* "past the caches, remote takes 1.50 times as long as local, as measured" */

/* findings_advice.c: to do something and not to do it; advice that several patterns give. */
void advise_to(struct consult *it, enum action action, const char *code, const char *why, ...)
    __attribute__((format(printf, 4, 5)));
void advise_against(struct consult *it, enum action action, const char *why, ...) __attribute__((format(printf, 3, 4)));
void advise_against_interleaving(struct consult *it);
void advise_duplicate(struct consult *it);         /* where is_proved */
void advise_against_duplicate(struct consult *it); /* where it is not */
void advise_pin_or_not(struct consult *it);
void advise_pin_processes(struct consult *it, struct by_process by);
void advise_own_copy(struct consult *it); /* of what threads share of a stack */
double spread_part(const struct consult *it);
bool may_duplicate(const struct consult *it);
bool is_proved(const struct consult *it);

/* findings_code.c: lines of code for the language of its file, or a command. */
/* C or C++: there are lines of code for it. */
static inline bool is_c(const struct consult *it)
{
    return it->language == LANGUAGE_C || it->language == LANGUAGE_CXX;
}

/* Everything that advice prints as code, so that a test compiles all of it. */
#define CODE_LIST(X)                                                                                                   \
    X(near)                                                                                                            \
    X(own_memory)                                                                                                      \
    X(touch)                                                                                                           \
    X(migrate)                                                                                                         \
    X(migrate_all)                                                                                                     \
    X(duplicate)                                                                                                       \
    X(interleave)                                                                                                      \
    X(interleave_all)                                                                                                  \
    X(spread)                                                                                                          \
    X(own_copy)                                                                                                        \
    X(pin)                                                                                                             \
    X(pin_thread)                                                                                                      \
    X(pin_all)                                                                                                         \
    X(pin_processes)                                                                                                   \
    X(pin_evenly)                                                                                                      \
    X(allocator)                                                                                                       \
    X(arena)                                                                                                           \
    X(pad)                                                                                                             \
    X(java)                                                                                                            \
    X(runtime)                                                                                                         \
    X(prove) /* the run that shows which pages are written */
#define CODE(name) const char *code_##name(struct consult *it);
CODE_LIST(CODE)
#undef CODE
