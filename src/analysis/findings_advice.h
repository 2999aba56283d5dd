/* analysis/findings_advice.h - what all advice on one finding needs; private to src/analysis. */
#ifndef NUMALENS_ANALYSIS_FINDINGS_ADVICE_H
#define NUMALENS_ANALYSIS_FINDINGS_ADVICE_H

#include "analysis/findings_internal.h"

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
    bool fortran, is_static;
};

#define text(it, ...) findings_text((it)->findings, __VA_ARGS__)

/* findings_code.c: lines of code for the language of its file, or a command. */
const char *code_near(struct consult *it);
const char *code_migrate(struct consult *it);
const char *code_touch(struct consult *it);
const char *code_duplicate(struct consult *it);
const char *code_interleave(struct consult *it);
const char *code_interleave_all(struct consult *it);
const char *code_pin(struct consult *it);
const char *code_arena(struct consult *it);
const char *code_pad(struct consult *it);

#endif
