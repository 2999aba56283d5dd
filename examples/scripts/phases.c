/* phases.c - the remote share, slice by slice, and where it changes
 *
 * usage: numalens script phases [FILE...] -- [CONDITION...] [SLICES [POINTS]]      (20 and 20)
 *
 * A new phase begins where the remote share differs by more than POINTS percentage points from that of the phase so
 * far. Slices without accesses belong to the phase before. */
#include <numalens/script.h>

struct slice {
    uint64_t samples, known, remote;
};

static int script(nlens_trace *trace, nlens_group *group, int argc, char **argv)
{
    size_t slices = script_number(argc > 1 ? argv[1] : NULL, 20);
    double points = (double)script_number(argc > 2 ? argv[2] : NULL, 20);
    uint64_t start = nlens_start(trace), span = nlens_end(trace) - start + 1;
    if (slices == 0)
        slices = 1;
    struct slice *slice = calloc(slices, sizeof *slice), phase = {0, 0, 0};
    if (!slice)
        return 1;
    nlens_foreach_group_access (group, a) {
        struct slice *s = &slice[(size_t)((double)(a->time - start) / (double)span * (double)slices)];
        s->samples++;
        s->known += a->home >= 0;
        s->remote += a->remote;
    }
    unsigned number = 1;
    printf("%10s %10s %8s\n", "from", "accesses", "remote");
    for (size_t i = 0; i < slices; i++) {
        double share = script_percent(slice[i].remote, slice[i].known);
        double difference = share - script_percent(phase.remote, phase.known);
        bool changes = slice[i].known && phase.known && (difference > points || difference < -points);
        if (changes) {
            number++;
            phase.known = phase.remote = 0;
        }
        phase.known += slice[i].known;
        phase.remote += slice[i].remote;
        printf("%10s %10lu %7.1f%% |%.*s%*s|", script_time((uint64_t)((double)span / (double)slices * (double)i)),
               slice[i].samples, share, (int)(share / 2.5), "########################################",
               40 - (int)(share / 2.5), "");
        printf(changes || i == 0 ? " phase %u\n" : "\n", number);
    }
    printf("%u phase%s\n", number, number == 1 ? "" : "s");
    free(slice);
    return 0;
}
