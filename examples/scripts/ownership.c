/* ownership.c - who reads and who writes which object: objects down, threads across
 *
 * usage: numalens script ownership [FILE...] -- [CONDITION...] [OBJECTS [THREADS]]      (15 and 8)
 *
 * A cell is the thread's part of the object's accesses in percent, with w when it writes the object, a when it allocated
 * it. Threads are those with the most accesses; "rest" is what all others did. */
#include <numalens/script.h>

enum { MOST = 26 }; /* threads have letters */

struct row {
    uint64_t uses[MOST + 1], writes[MOST + 1]; /* the last: of the rest */
};

static size_t place_of(const nlens_thread *const *threads, size_t count, const nlens_thread *thread)
{
    size_t i = 0;
    while (i < count && threads[i] != thread)
        i++;
    return i;
}

static int script(nlens_trace *trace, nlens_group *group, int argc, char **argv)
{
    size_t objects, threads, rows = script_number(argc > 1 ? argv[1] : NULL, 15);
    size_t columns = script_number(argc > 2 ? argv[2] : NULL, 8);
    const nlens_object *const *object = nlens_group_objects(group, NLENS_BY_SAMPLES, &objects);
    const nlens_thread *const *thread = nlens_group_threads(group, NLENS_BY_SAMPLES, &threads);
    rows = rows < objects ? rows : objects;
    columns = columns < threads ? columns : threads;
    columns = columns < MOST ? columns : MOST;

    uint32_t ids = 0;
    nlens_foreach_object (trace, o)
        ids = o->id + 1;
    struct row *row = calloc(rows + 1, sizeof *row);
    size_t *row_of = calloc(ids + 1, sizeof *row_of); /* from 1; 0: not shown */
    if (!row || !row_of)
        return 1;
    for (size_t r = 0; r < rows; r++)
        row_of[object[r]->id] = r + 1;
    nlens_foreach_group_access (group, a) {
        if (!a->object || !row_of[a->object->id])
            continue;
        size_t column = place_of(thread, columns, a->thread);
        row[row_of[a->object->id] - 1].uses[column == columns ? MOST : column]++;
        row[row_of[a->object->id] - 1].writes[column == columns ? MOST : column] += a->write;
    }

    for (size_t c = 0; c < columns; c++)
        printf("%c = %s (%u)\n", (char)('A' + c), thread[c]->name, thread[c]->tid);
    puts("");
    for (size_t c = 0; c < columns; c++)
        printf("%6c  ", (char)('A' + c));
    printf("%6s   object\n", "rest");
    for (size_t r = 0; r < rows; r++) {
        uint64_t all = nlens_group_object_totals(group, object[r])->samples;
        for (size_t c = 0; c < columns; c++)
            printf("%5.0f%%%c%c", script_percent(row[r].uses[c], all), row[r].writes[c] ? 'w' : ' ',
                   object[r]->alloc_thread == thread[c] ? 'a' : ' ');
        printf("%5.0f%%%c  %s\n", script_percent(row[r].uses[MOST], all), row[r].writes[MOST] ? 'w' : ' ',
               nlens_fit(trace, object[r]->label, 60));
    }
    free(row);
    free(row_of);
    return 0;
}
