#include "cli/commands/optimize/optimize_seen.h"

#include "base/interval.h"
#include "cli/input/recording.h"
#include "plan/plan_advise.h"
#include "predict/first_line.h"

static struct trial_seen seen_in(const struct findings *findings)
{
    struct flow_totals totals = flow_totals(findings->facts->flow);
    struct trial_seen seen = TRIAL_UNSEEN;
    if (totals.home_known) {
        seen.remote_share = (double)totals.remote / (double)totals.home_known;
        struct wilson interval = wilson_interval(seen.remote_share, (double)findings->facts->bursts);
        seen.low = interval.low;
        seen.high = interval.high;
    }
    seen.remote_bytes = findings->remote_bytes;
    if (totals.latency_count)
        seen.latency_ns = (double)totals.latency_sum / (double)totals.latency_count;
    return seen;
}

int optimize_seen(const char *path, struct trial_seen *seen, struct placement_plan *plan, struct error *err)
{
    struct recording recording;
    struct input input = {0};
    struct plan_expected expected;
    input_add(&input, path);
    int code = input_find(&input, err);
    if (code == 0)
        code = recording_open(&recording, "optimize", &input, &(struct flow_options){0}, NULL, err);
    if (code == 0) {
        struct findings *findings = findings_of(recording.flow, NULL, err);
        code = !findings ? err->code : plan ? plan_advise(plan, findings, &expected, err) : 0;
        if (findings)
            *seen = seen_in(findings);
        findings_free(findings);
        recording_close(&recording);
    }
    input_free(&input);
    return code;
}

void optimize_seen_print(FILE *out, const struct trial_seen *before, const struct trial_seen *now)
{
    if (before->remote_share >= 0 && now->remote_share >= 0)
        fprintf(out, "Remote accesses: %.1f%% before (%.0f to %.0f%%), %.1f%% with it (%.0f to %.0f%%).\n",
                100 * before->remote_share, 100 * before->low, 100 * before->high, 100 * now->remote_share,
                100 * now->low, 100 * now->high);
    if (before->remote_bytes >= 0 && now->remote_bytes >= 0)
        fprintf(out, "Bytes from memory of other nodes: %.0f%% before, %.0f%% with it.\n", 100 * before->remote_bytes,
                100 * now->remote_bytes);
    if (before->latency_ns >= 0 && now->latency_ns >= 0)
        fprintf(out, "A sampled load takes %.0f ns before, %.0f ns with it.\n", before->latency_ns, now->latency_ns);
}
