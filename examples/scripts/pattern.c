/* pattern.c - who uses an object or a type when: a line of time for each thread
 *
 * usage: numalens script pattern [FILE...] -- CONDITION... [COLUMNS]
 *     numalens script pattern -- object=12          one object
 *     numalens script pattern -- site='make_grid*'  one type
 *
 * A letter is a stretch of time in which the thread made accesses: r only reads, w writes too; R and W when most of
 * them were remote. Without a condition: everything. */
#include <numalens/script.h>

struct cell {
    unsigned count, writes, remote;
};

static int script(nlens_trace *trace, nlens_group *group, int argc, char **argv)
{
    size_t threads, columns = script_number(argc > 1 ? argv[1] : NULL, 72);
    const nlens_thread *const *list = nlens_group_threads(group, NLENS_BY_ID, &threads);
    if (threads == 0 || columns == 0) {
        puts("no access fits");
        return 0;
    }
    uint64_t start = NLENS_FOREVER, end = 0;
    nlens_foreach_group_access (group, a) {
        start = a->time < start ? a->time : start;
        end = a->time;
    }
    uint32_t last = list[threads - 1]->id;
    struct cell *cells = calloc((last + 1) * columns, sizeof *cells);
    if (!cells)
        return 1;
    nlens_foreach_group_access (group, a) {
        size_t column = (size_t)((double)(a->time - start) / (double)(end - start + 1) * (double)columns);
        struct cell *cell = &cells[a->thread->id * columns + column];
        cell->count++;
        cell->writes += a->write;
        cell->remote += a->remote;
    }
    printf("%lu accesses from %s to %s, %s a column; r reads, w writes, capital: mostly remote\n\n",
           nlens_group_totals(group)->samples, script_time(start - nlens_start(trace)),
           script_time(end - nlens_start(trace)), script_time((end - start) / columns));
    for (size_t i = 0; i < threads; i++) {
        putchar('|');
        for (size_t column = 0; column < columns; column++) {
            const struct cell *cell = &cells[list[i]->id * columns + column];
            const char *letters = cell->writes ? "wW" : "rR";
            putchar(cell->count ? letters[2 * cell->remote > cell->count] : ' ');
        }
        printf("| %s (%u)\n", list[i]->name, list[i]->tid);
    }
    free(cells);
    return 0;
}
