/* analysis/findings/findings_advice.h - what all advice on one finding needs; private to src/analysis. */
#ifndef NUMALENS_ANALYSIS_FINDINGS_FINDINGS_ADVICE_H
#define NUMALENS_ANALYSIS_FINDINGS_FINDINGS_ADVICE_H

#include "analysis/findings/findings_internal.h"

enum language { LANGUAGE_C, LANGUAGE_CXX, LANGUAGE_FORTRAN, LANGUAGE_OTHER };

struct consult {
    struct findings *findings;
    struct finding *finding;
    const struct facts *facts;
    const struct facts_subject *subject; /* NULL of a node */
    const char *name;                    /* as code can use it */
    const char *address;                 /* likewise, of its first byte */
    const char *app;                     /* the command that was recorded */
    double writes;                       /* percent */
    int home, user;                      /* the kernel's numbers of the nodes it lies on, and is used from */
    uint32_t nodes;
    enum language language;
    bool is_static;
    bool is_container; /* of C++: what allocates is inside it, it is no pointer */
    bool
        whole; /* most of the remote traffic is this finding's, and it is no small thing: all of the program may change */
};

#define text(it, ...) findings_text((it)->findings, __VA_ARGS__)

/* findings_code.c: lines of code for the language of its file, or a command. */
/* C or C++: there are lines of code for it. */
static inline bool is_c(const struct consult *it)
{
    return it->language == LANGUAGE_C || it->language == LANGUAGE_CXX;
}

const char *code_near(struct consult *it);
const char *code_own_memory(struct consult *it);
const char *code_migrate(struct consult *it);
const char *code_touch(struct consult *it);
const char *code_duplicate(struct consult *it);
const char *code_interleave(struct consult *it);
const char *code_own_copy(struct consult *it);
const char *code_interleave_all(struct consult *it);
const char *code_pin(struct consult *it);
const char *code_pin_thread(struct consult *it, int node);
const char *code_allocator(struct consult *it);
const char *code_prove(struct consult *it); /* the run that shows which pages are written */
const char *code_arena(struct consult *it);
const char *code_pad(struct consult *it);

#endif
