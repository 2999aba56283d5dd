/* view/check/check_junit.c - one test case per rule, as CI servers read it: a rule that fails is a failure, one that cannot be decided an
 * error. There is no standard; this is the part that all readers share. */
#include "view/check/check_view.h"

#include "base/text.h"
#include "view/report/report.h"

/* Text from a program may hold anything. XML 1.0 has no way to write most control characters, nor what is no UTF-8: these
 * come out as U+FFFD, as in JSON. */
static void put_xml(FILE *out, const char *text)
{
    while (*text) {
        uint32_t code;
        unsigned size = text_utf8(text, &code);
        bool allowed = size && (code >= 0x20 || code == '\n' || code == '\t') && code != 0x7f &&
                       !(code >= 0x80 && code < 0xa0) && code != 0xfffe && code != 0xffff;
        if (!allowed)
            fputs("\xef\xbf\xbd", out);
        else if (code == '<' || code == '>' || code == '&' || code == '"' || code == '\'' || code < 0x20 ||
                 text_deceives(code))
            fprintf(out, "&#%u;", code);
        else
            fwrite(text, 1, size, out);
        text += size ? size : 1;
    }
}

static void put_attribute(FILE *out, const char *name, const char *text)
{
    fprintf(out, " %s=\"", name);
    put_xml(out, text);
    fputc('"', out);
}

static void put_body(const struct check_shown *shown, const struct check_rule *rule, FILE *out)
{
    put_xml(out, rule->text);
    array_each (&shown->check->findings, const struct check_finding, finding) {
        bool named = rule->kind == CHECK_NO_FINDINGS ||
                     (rule->kind == CHECK_NO_NEW_FINDINGS && finding->compared && finding->fate == FATE_NEW);
        if (!named || rule->outcome != CHECK_FAILS)
            continue;
        char *text = check_finding_text(finding);
        fputc('\n', out);
        put_xml(out, text);
        free(text);
        if (finding->finding->evidence && *finding->finding->evidence) {
            fputs("\n  ", out);
            put_xml(out, finding->finding->evidence);
        }
        if (finding->finding->advice.count) {
            fputs("\n  To do: ", out);
            put_xml(out, action_text(finding->finding->advice.items[0].action));
        }
    }
}

static void put_case(const struct check_shown *shown, const struct check_rule *rule, FILE *out)
{
    const char *element = rule->outcome == CHECK_FAILS ? "failure" : "error";
    fputs("    <testcase classname=\"numalens.check\" time=\"0\"", out);
    put_attribute(out, "name", rule->title);
    if (rule->outcome == CHECK_HOLDS) {
        fputs(">\n      <system-out>", out);
        put_xml(out, rule->text);
        fputs("</system-out>\n    </testcase>\n", out);
        return;
    }
    fprintf(out, ">\n      <%s", element);
    put_attribute(out, "type", check_outcome_name(rule->outcome));
    put_attribute(out, "message", rule->text);
    fputc('>', out);
    put_body(shown, rule, out);
    fprintf(out, "</%s>\n    </testcase>\n", element);
}

int check_junit(const struct check_shown *shown, FILE *out, struct error *err)
{
    size_t counts[CHECK_UNDECIDED + 1] = {0}, all = shown->check->rules.count;
    array_each (&shown->check->rules, const struct check_rule, rule)
        counts[rule->outcome]++;
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", out);
    fprintf(out, "<testsuites tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" time=\"0\">\n", all, counts[CHECK_FAILS],
            counts[CHECK_UNDECIDED]);
    fprintf(out, "  <testsuite tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"0\" time=\"0\"", all,
            counts[CHECK_FAILS], counts[CHECK_UNDECIDED]);
    char *name = mem_format("numalens check %s", shown->path);
    put_attribute(out, "name", name);
    free(name);
    fputs(">\n", out);
    array_each (&shown->check->rules, const struct check_rule, rule)
        put_case(shown, rule, out);
    fputs("  </testsuite>\n</testsuites>\n", out);
    return report_flush(out, err);
}
