/* view/check/check_json.c - numalens check for programs; docs/json.md names the fields. */
#include "view/check/check_view.h"

#include "base/json.h"

#include <math.h>

static void put_rule(struct json *json, const struct check_rule *rule)
{
    bool limited = rule->kind == CHECK_MAX_REMOTE || rule->kind == CHECK_MAX_COST;
    json_object(json, NULL);
    json_text(json, "rule", check_kind_name(rule->kind));
    json_real(json, "limit", limited ? rule->limit : NAN, 6);
    json_text(json, "outcome", check_outcome_name(rule->outcome));
    json_text(json, "text", rule->text);
    static const char *const names[] = {"value", "low", "high"};
    const double values[] = {rule->value, rule->low, rule->high};
    for (unsigned i = 0; i < 3; i++) {
        json_real(json, names[i], rule->measured ? values[i] : NAN, 6);
    }
    json_number(json, "bursts", rule->bursts);
    json_number_if(json, "needed", rule->needed, rule->needed);
    json_end(json);
}

static void put_finding(struct json *json, const struct check_finding *item)
{
    const struct finding *finding = item->finding;
    json_object(json, NULL);
    json_text(json, "pattern", pattern_name(finding->pattern));
    json_text(json, "name", finding->name);
    json_text(json, "file", finding->file && *finding->file ? finding->file : NULL);
    json_number_if(json, "line", finding->line, finding->line);
    json_bool(json, "fails", item->fails);
    json_text(json, "fate", item->compared ? finding_fate_name(item->fate) : NULL);
    json_text(json, "why", item->compared ? item->why : NULL);
    json_text(json, "evidence", finding->evidence);
    json_text(json, "advice", finding->advice.count ? action_name(finding->advice.items[0].action) : NULL);
    json_real(json, "share_of_remote", finding->share_of_remote, 6);
    json_real(json, "lost_time_share", finding->lost_time_share, 6);
    json_end(json);
}

int check_json(const struct check_shown *shown, const struct view_options *options, FILE *out, struct error *err)
{
    struct json *json = json_new(out);
    json_object(json, NULL);
    json_number(json, "version", JSON_VERSION);
    json_text(json, "file", shown->path);
    json_text(json, "before", shown->before);
    json_text(json, "damage", options->damage);
    json_text(json, "outcome", check_outcome_name(shown->check->outcome));
    json_integer(json, "exit_status", shown->status);
    json_array(json, "rules");
    array_each (&shown->check->rules, const struct check_rule, rule)
        put_rule(json, rule);
    json_end(json);
    json_array(json, "findings");
    array_each (&shown->check->findings, const struct check_finding, finding)
        put_finding(json, finding);
    return json_finish(json, err);
}
