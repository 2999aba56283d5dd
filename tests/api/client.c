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
    const nlens_verdict *verdict = nlens_get_verdict(trace);
    static const char *const words[] = {"undecided", "not", "matters"};
    printf("%s grade=%s bottleneck=%s machine=%s against=%s asked=%.0f low=%.0f high=%.0f can=%.0f then=%.0f "
           "bytes=%.0f remote=%.4f "
           "time=%.4f..%.4f bursts=%lu bound=%d\n%s\n",
           words[verdict->matters], verdict->grade, verdict->bottleneck, verdict->machine, verdict->against,
           verdict->asked_bytes_s, verdict->low, verdict->high, verdict->can_bytes_s, verdict->then_asked_bytes_s,
           verdict->bytes_s, verdict->remote_bytes_share, verdict->remote_time_low, verdict->remote_time_high,
           (unsigned long)verdict->evidence_bursts, nlens_numa_bound(trace, NULL), verdict->text);
    printf("libnumalens %s, %s\n", nlens_version(), nlens_next_finding(trace, NULL) ? "found" : "nothing");
    nlens_close(trace);
    return 0;
}
