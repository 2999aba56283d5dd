/* client.c - a program outside the project, in strict C99: prints an object's label and what MemProf's Figure 3 counts. */
#include <numalens/findings.h>
#include <numalens/flow.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    nlens_error err;
    nlens_trace *trace = nlens_open(argc > 1 ? argv[1] : "numalens.data", &err);
    if (!trace) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    nlens_foreach_object (trace, o) {
        unsigned long last_tid = 0, switches = 0;
        nlens_foreach_object_access (o, a) {
            switches += last_tid && a->tid != last_tid;
            last_tid = a->tid;
        }
        printf("%s: %lu switches\n", nlens_kind_name(o->kind), switches);
    }
    printf("libnumalens %s, %s\n", nlens_version(), nlens_next_finding(trace, NULL) ? "found" : "nothing");
    nlens_close(trace);
    return 0;
}
