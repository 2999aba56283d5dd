/* moved.c - which thresholds decide about real recordings: each is moved by a fifth, down and up, and what changes is printed.
 *     moved FILE...
 * An answer is the kind of the first line with what limits it, and the findings by pattern and name with their first advice. A row for each
 * threshold: its name, how many recordings answer differently, and which. */
#include "analysis/thresholds.h"
#include "predict/first_line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct recording {
    const char *path;
    struct trace_reader *reader;
    struct symbols *symbols;
    struct flow *flow;
    char *answer;
};

static char *answer_of(const struct recording *recording)
{
    static const char *const kinds[] = {"undecided", "not", "slows"};
    struct error err = {0};
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    struct facts *facts = facts_make(recording->flow, &err);
    if (!out || !facts) {
        fprintf(stderr, "moved: %s: %s\n", recording->path, err.text);
        exit(1);
    }
    struct findings *findings = findings_judged(facts, NULL);
    fprintf(out, "%s%s%s", kinds[findings->matters], findings->grade ? ", " : "",
            findings->grade ? findings->grade : "");
    array_each (&findings->items, const struct finding, finding)
        fprintf(out, "; %s %s %s", pattern_name(finding->pattern), finding->name,
                finding->advice.count ? action_name(finding->advice.items[0].action) : "");
    array_each (&findings->undecided, const struct undecided, undecided)
        fprintf(out, "; undecided %s", undecided->finding.name);
    findings_free(findings);
    facts_free(facts);
    fclose(out);
    return text;
}

static void move(const struct threshold *threshold, const struct recording *recordings, int count)
{
    unsigned flips = 0;
    double value = *threshold->value;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    for (int i = 0; out && i < count; i++)
        for (int up = 0; up < 2; up++) {
            *threshold->value = value * (up ? 1.2 : 0.8);
            char *answer = answer_of(&recordings[i]);
            *threshold->value = value;
            const char *name = strrchr(recordings[i].path, '/');
            if (strcmp(answer, recordings[i].answer) != 0) {
                flips++;
                fprintf(out, "    %s %s: %s\n", up ? "+20%" : "-20%", name ? name + 1 : recordings[i].path, answer);
            }
            free(answer);
        }
    if (out)
        fclose(out);
    printf("%-18s %10g  %u\n%s", threshold->name, value, flips, text);
    fflush(stdout);
    free(text);
}

int main(int argc, char **argv)
{
    struct error err = {0};
    int count = argc - 1;
    if (count < 1) {
        fprintf(stderr, "usage: moved FILE...\n");
        return 2;
    }
    struct recording *recordings = mem_zalloc((size_t)count * sizeof *recordings);
    for (int i = 0; i < count; i++) {
        struct recording *recording = &recordings[i];
        recording->path = argv[i + 1];
        recording->reader = trace_reader_open(recording->path, &err);
        recording->symbols = symbols_new();
        if (recording->reader)
            recording->flow = flow_build(recording->reader, recording->symbols, &(struct flow_options){0}, &err);
        if (!recording->flow) {
            fprintf(stderr, "moved: %s: %s\n", recording->path, err.text);
            return 1;
        }
        recording->answer = answer_of(recording);
        printf("%s: %s\n", recording->path, recording->answer);
    }
    for (size_t i = 0; i < thresholds_count; i++)
        move(&thresholds_list[i], recordings, count);
    for (int i = 0; i < count; i++) {
        flow_free(recordings[i].flow);
        symbols_free(recordings[i].symbols);
        trace_reader_close(recordings[i].reader);
        free(recordings[i].answer);
    }
    free(recordings);
    return 0;
}
