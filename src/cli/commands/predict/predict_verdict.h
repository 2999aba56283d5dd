/* cli/commands/predict/predict_verdict.h - the verdict on one machine (predict/first_line.h), kept when the flow is freed. */
#pragma once

#include "base/error.h"
#include "base/json.h"

struct flow;
struct model;

struct predict_verdict {
    unsigned matters;                /* enum matters */
    char *text, *grade, *bottleneck; /* its first sentence; the others: NULL when not known */
};

/* Negative with `err` when the recording cannot be read again; freed either way. */
int predict_verdict_make(struct predict_verdict *verdict, const struct flow *flow, const struct model *machine,
                         struct error *err);
void predict_verdict_put(const struct predict_verdict *verdict, struct json *json);
void predict_verdict_free(struct predict_verdict *verdict);
