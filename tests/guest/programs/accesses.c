/* accesses.c - every access as a line of comma-separated values: the tests' own reader, over the public API
 *
 * usage: accesses TRACE [CONDITION...]
 *
 * Times are nanoseconds since the start of the recording; nodes are the numbers from 0, empty when not known. */
#include <numalens/script.h>

/* In quotes; a quote inside is doubled. A leading =, +, - or @ would be a formula to a spreadsheet: a blank goes before. */
static void put_text(const char *text)
{
    fputs(*text && strchr("=+-@", *text) ? ",\" " : ",\"", stdout);
    for (; *text; text++) {
        if (*text == '"')
            putchar('"');
        putchar(*text);
    }
    putchar('"');
}

/* Nothing for what is not known. */
static void put_number(bool known, int number)
{
    putchar(',');
    if (known)
        printf("%d", number);
}

static int script(nlens_trace *trace, nlens_group *group, int argc, char **argv)
{
    (void)argc, (void)argv;
    puts("time,pid,tid,thread,cpu,address,size,kind,object_id,object,offset,read,write,from,home,remote,latency,level,"
         "function");
    nlens_foreach_group_access (group, a) {
        const nlens_function *function = nlens_access_function(a);
        printf("%lu,%u,%u", a->time - nlens_start(trace), a->pid, a->tid);
        put_text(a->thread->name);
        put_number(a->cpu >= 0, a->cpu);
        printf(",0x%lx,%u", a->address, a->size);
        if (a->object) {
            printf(",%s,%u", nlens_kind_name(a->object->kind), a->object->id);
            put_text(a->object->label);
            printf(",%lu", a->address - a->object->address);
        } else {
            fputs(",,,,", stdout);
        }
        put_number(a->read || a->write, a->read);
        put_number(a->read || a->write, a->write);
        put_number(a->from >= 0, a->from);
        put_number(a->home >= 0, a->home);
        put_number(a->home >= 0 || a->remote, a->remote);
        putchar(',');
        if (a->has_latency)
            printf("%u", a->latency);
        printf(",%s", nlens_level_name(a->level));
        put_text(function ? function->name : "");
        puts("");
    }
    return 0;
}
