/* analysis/reuse/watches.h - lines that were waited for behind long bursts (agent/sampling/watch.h): reuse times longer than any burst.
 *
 * A watch is of one line that the burst left in use: it is waited for from the age that it has then. So it says nothing of
 * younger lines, and of older ones only while it lasts (Kaplan and Meier with late entry). Two words are waited for, and their line
 * may be used by its six others. Where w, the word that was used last before, is always among the words that a visit uses, the
 * first of the two is the line's first. Where it is not, words change from visit to visit, and others are used as often as the
 * other word alone: so often is the line used sooner. */
#pragma once

#include "analysis/reuse/reuse_curve.h"

struct watch {
    uint64_t subject;
    uint32_t burst; /* its index */
    double age;     /* accesses since the line's last use, when the watch began */
    double ns;      /* CPU time that it lasted */
    uint8_t flags;  /* enum reuse_flag */
};

/* How often which of the words was used first. */
struct watched_words {
    double last, other, both;
};
void watched_words_add(struct watched_words *words, const struct watch *watch);

/* How many times as often a line is used as one of its two words. `all`: of all watches, followed where there are few; NULL: none. */
double watched_words_factor(const struct watched_words *words, const struct watched_words *all);

/* A watch that stands for `weight`, of a thread that makes `rate` accesses per ns. */
void reuse_watched_add(struct reuse_watched *watched, const struct watch *watch, double weight, double rate,
                       double factor);
