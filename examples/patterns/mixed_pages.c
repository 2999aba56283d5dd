/* mixed_pages.c - each thread allocates, fills and uses small records of its own.
 *
 * bad: all threads get them from one arena of malloc and take turns, so that each page holds records of every thread.
 * It is on the node of the thread that touched it first, and is remote to the others.
 * good: the same turns, but malloc has an arena for each thread, as it has by default: no page holds records of two. */
#include "team.h"

#include <malloc.h>

enum { RECORDS = 1024, BATCH = 2, WORDS = 33 }; /* of a thread, of a thread's turn; of a record: about 15 in a page */

struct record {
    struct record *next;
    long words[WORDS];
};

/* Walks the thread's own list. */
__attribute__((noinline)) static long use(struct record *first, long rounds)
{
    long total = 0;
    for (long round = 0; round < rounds; round++) {
        for (struct record *record = first; record; record = record->next) {
            volatile long *words = record->words;
            for (size_t i = 0; i < WORDS; i++)
                total += words[i];
            words[round % WORDS] = round;
        }
    }
    return total;
}

__attribute__((noinline)) static struct record *push_record(struct record *first)
{
    struct record *record = malloc(sizeof *record); /* site: record */
    example_need(record, "malloc");
    memset(record, 0, sizeof *record);
    record->next = first;
    return record;
}

static long work(size_t number)
{
    struct record *first = NULL;
    for (size_t i = 0; i < RECORDS; i++) {
        if (i % BATCH == 0)
            team_await_turn(number);
        first = push_record(first);
        if (i % BATCH == BATCH - 1)
            team_give_turn(team_next(number));
    }
    return use(first, team.rounds);
}

int main(int argc, char **argv)
{
    team_init(argc, argv, "bad|good", 4000);
    if (team_mode("bad"))
        mallopt(M_ARENA_MAX, 1);
    team_run(work);
    return 0;
}
