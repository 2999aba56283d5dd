/* view/problems/traffic_words.h - the sentences of report traffic; for traffic_report.c. */
#pragma once

#include "analysis/traffic/traffic.h"
#include "view/view.h"

struct json;

struct traffic_words { /* keeps texts with figures */
    char silence[320];
    char source[96];
};

static inline bool traffic_by_samples(const struct traffic *traffic)
{
    return traffic->source == TRAFFIC_DATA_SOURCES;
}

/* "bursts", "data-sources", "data-sources+memory-counters", or NULL. */
const char *traffic_source_name(const struct traffic *traffic, struct traffic_words *words);

/* Bytes per second; negative: not known. */
void traffic_put_rate(struct json *json, const char *key, double value);

/* Why there are no figures; NULL when there are. */
const char *traffic_silence(const struct traffic *traffic, const struct view_options *options,
                            struct traffic_words *words);

/* The sum, and what it is known from. */
void traffic_opening(const struct traffic *traffic, const struct view_options *options, FILE *out);
