/* trace_dump FILE - the trace as text, for tests: keys, then every event, then "damage: ..." when there is some. Exits
 * with 1 and one line on stderr when the file cannot be read. With --count: events by kind only. */
#include "trace/reader.h"
#include "trace/event_text.h"

#include <stdio.h>
#include <string.h>

static void print_session(const char *name, const struct trace_session *session)
{
    for (size_t i = 0; session && i < trace_session_count(session); i++)
        printf("%s %s=%s\n", name, trace_session_key(session, i),
               trace_session_get(session, trace_session_key(session, i)));
}

int main(int argc, char **argv)
{
    struct error err;
    bool count_only = argc == 3 && strcmp(argv[1], "--count") == 0;
    struct trace_reader *reader = argc > 1 ? trace_reader_open(argv[argc - 1], &err) : NULL;
    if (!reader) {
        fprintf(stderr, "%s\n", argc > 1 ? err.text : "usage: trace_dump [--count] FILE");
        return 1;
    }
    print_session("session", trace_reader_session(reader));
    print_session("ending", trace_reader_ending(reader));
    if (trace_reader_damage(reader))
        printf("damage: %s\n", trace_reader_damage(reader));
    uint64_t counts[EVENT_KINDS] = {0};
    struct event event;
    int more;
    while ((more = trace_reader_next(reader, &event, &err)) == 1) {
        counts[event.kind]++;
        if (count_only)
            continue;
        event_print(stdout, &event);
        putchar('\n');
    }
    for (unsigned kind = 1; kind < EVENT_KINDS; kind++)
        printf("count %u=%llu\n", kind, (unsigned long long)counts[kind]);
    if (more < 0)
        fprintf(stderr, "%s\n", err.text);
    trace_reader_close(reader);
    return more < 0;
}
