/* statics.c - static objects of every kind a C program has, each read as often as the others.
 *     statics [--plugin=0] [--rounds=N]        the plugin is found beside the program
 * Truth: `everyone` (global), `table` of statics.c and `table` of statics_other.c (two file-scope statics of one name),
 * `inner` (local to a function), `mine` (thread-local, one for main and one for a thread), `library_table` (in a shared
 * library) and `plugin_table` (in a library loaded with dlopen) get 1/8 of the accesses each, `mine` 2/8. */
#include "statics.h"

#include <dlfcn.h>
#include <libgen.h>

volatile long everyone[ITEMS] = {1, 2, 3}; /* site: everyone */
static volatile long table[ITEMS];         /* site: table */
static __thread volatile long mine[ITEMS]; /* site: mine */

static __attribute__((noinline)) long inside(void)
{
    static volatile long inner[ITEMS]; /* site: inner */
    inner[0]++;
    return walk(inner, ITEMS, PASSES);
}

static long rounds;

static void *in_thread(void *argument)
{
    (void)argument;
    long total = 0;
    for (long round = 0; round < rounds; round++)
        total += walk(mine, ITEMS, PASSES);
    return (void *)total;
}

static long (*load_plugin(const char *program))(void)
{
    char path[4096];
    snprintf(path, sizeof path, "%s", program);
    char *folder = dirname(path);
    char *name = NULL;
    example_need(asprintf(&name, "%s/libstatics_plugin.so", folder) > 0, "asprintf");
    void *library = dlopen(name, RTLD_NOW);
    free(name);
    example_need(library, "dlopen");
    return (long (*)(void))dlsym(library, "in_plugin");
}

int main(int argc, char **argv)
{
    rounds = example_work(argc, argv, "rounds", 4000);
    long (*plugin)(void) = example_option(argc, argv, "plugin", 1) ? load_plugin(argv[0]) : inside;
    example_need(plugin, "dlsym");
    table[0] = mine[0] = 1;
    pthread_t thread = example_thread(in_thread, NULL);
    long total = 0;
    for (long round = 0; round < rounds; round++)
        total += walk(everyone, ITEMS, PASSES) + walk(table, ITEMS, PASSES) + walk(mine, ITEMS, PASSES) + inside() +
                 other_file() + in_library() + plugin();
    void *theirs;
    pthread_join(thread, &theirs);
    printf("total %ld\n", total + (long)theirs);
    return 0;
}
