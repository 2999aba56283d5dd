/* compare/renamed.c - which object is which when names differ: a fix often gives its object another name.
 *
 * An object of the second run that the first has not is what one of the first run was that the second has not, when it is about as large, and is
 * used by the same functions, and is allocated in the same file, or lives as long. Of several that fit, the one that fits best; of those that fit
 * alike, in order of lines. */
#include "analysis/thresholds.h"
#include "base/strtab.h"
#include "base/text.h"
#include "compare/difference_internal.h"

#include <math.h>
#include <string.h>

static bool same_file(const struct profile_entry *left, const struct profile_entry *right)
{
    return *left->file && strcmp(text_file_name(left->file), text_file_name(right->file)) == 0;
}

/* Puts the second run's side of row `from` into row `to`. */
static void join(struct difference_row *to, struct difference_row *from)
{
    to->sides[1] = from->sides[1];
    from->sides[1] = NULL;
}

/* Where the source is at hand for one run only, an object has two names, but one line. */
static void join_by_place(struct difference_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < count && rows[i].sides[0] && !rows[i].sides[1]; k++) {
            const struct profile_entry *left = rows[i].sides[0], *right = rows[k].sides[1];
            if (!rows[k].sides[0] && right && left->line && left->line == right->line && left->kind == right->kind &&
                same_file(left, right))
                join(&rows[i], &rows[k]);
        }
    }
}

static bool may_be_renamed(const struct profile_entry *entry)
{
    return entry && (entry->kind == OBJECT_HEAP || entry->kind == OBJECT_MAP || entry->kind == OBJECT_STATIC) &&
           entry->bytes && ratio_value(&entry->share) >= thresholds.changed_share;
}

/* How much of their accesses is by functions that use both, of 1. */
static double same_users(const struct difference *difference, const struct profile_entry *left,
                         const struct profile_entry *right)
{
    double both = 0;
    for (unsigned i = 0; i < PROFILE_USERS && left->users[i].share > 0; i++) {
        const char *function = strtab_text(difference->sides[0]->texts, left->users[i].function);
        for (unsigned k = 0; k < PROFILE_USERS && right->users[k].share > 0; k++)
            if (strcmp(function, strtab_text(difference->sides[1]->texts, right->users[k].function)) == 0)
                both += fmin(left->users[i].share, right->users[k].share);
    }
    return both;
}

/* How well they fit; 0: they are not the same. */
static double likeness(const struct difference *difference, const struct profile_entry *left,
                       const struct profile_entry *right)
{
    double size = fmin((double)left->bytes, (double)right->bytes) / fmax((double)left->bytes, (double)right->bytes);
    double users = same_users(difference, left, right);
    double life = fmax(fabs(left->from - right->from), fabs(left->until - right->until));
    bool lives = life <= thresholds.changed, place = same_file(left, right);
    if (size * thresholds.changed_factor < 1 || users * thresholds.changed_factor < 1 || !(lives || place))
        return 0;
    return size + users + (1 - life) + place;
}

static void join_by_likeness(const struct difference *difference, struct difference_row *rows, size_t count)
{
    for (;;) {
        struct difference_row *before = NULL, *after = NULL;
        double best = 0;
        for (size_t i = 0; i < count; i++) {
            for (size_t k = 0; k < count && !rows[i].sides[1] && may_be_renamed(rows[i].sides[0]); k++) {
                double like = !rows[k].sides[0] && may_be_renamed(rows[k].sides[1])
                                  ? likeness(difference, rows[i].sides[0], rows[k].sides[1])
                                  : 0;
                bool earlier =
                    before && like > 0 && like >= best - 1e-9 &&
                    (rows[i].sides[0]->line < before->sides[0]->line ||
                     (rows[i].sides[0] == before->sides[0] && rows[k].sides[1]->line < after->sides[1]->line));
                if (like > best + 1e-9 || earlier) {
                    best = like;
                    before = &rows[i];
                    after = &rows[k];
                }
            }
        }
        if (!before)
            return;
        join(before, after);
        before->renamed = true;
    }
}

void difference_join(struct difference *difference)
{
    struct difference_row *rows = difference->tables[PROFILE_OBJECTS].items;
    size_t count = difference->tables[PROFILE_OBJECTS].count, kept = 0;
    join_by_place(rows, count);
    join_by_likeness(difference, rows, count);
    for (size_t i = 0; i < count; i++)
        if (rows[i].sides[0] || rows[i].sides[1])
            rows[kept++] = rows[i];
    difference->tables[PROFILE_OBJECTS].count = kept;
}
