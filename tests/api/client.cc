// client.cc - the headers in C++: nested loops, groups with a callback, findings.
#include <numalens/findings.h>
#include <numalens/flow.h>
#include <numalens/pages.h>

#include <iostream>
#include <string>

static int keeps_writes(const nlens_access *access, void *)
{
    return access->write;
}

int main(int argc, char **argv)
{
    nlens_error err;
    nlens_trace *trace = nlens_open(argc > 1 ? argv[1] : "numalens.data", &err);
    if (!trace) {
        std::cerr << err.text << "\n";
        return 1;
    }
    nlens_group *group = nlens_group_new(trace);
    nlens_group_accesses_where(group, keeps_writes, NULL);
    unsigned long pairs = 0;
    nlens_foreach_object (trace, o) {
        nlens_foreach_thread (trace, t) {
            nlens_foreach_group_object_access (group, o, a)
                pairs += a->thread == t;
        }
        const nlens_facts *facts = nlens_object_facts(o);
        nlens_fact fact, named;
        if (facts && nlens_fact_named(facts, "use", &fact))
            std::cout << o->label << " is " << fact.word << "\n";
        for (unsigned i = 0; facts && nlens_fact_at(facts, i, &fact); i++) {
            if (!nlens_fact_named(facts, fact.name, &named) || fact.number != named.number || fact.word != named.word)
                return 1;
        }
        if (facts && nlens_fact_named(facts, "no such fact", &fact))
            return 1;
    }
    nlens_foreach_finding (trace, f) {
        nlens_foreach_advice (f->advice, v)
            std::cout << f->pattern << ": " << v->action << "\n";
    }
    nlens_foreach_page (trace, p) {
        nlens_foreach_page_user (p, u)
            std::cout << p->page << ": " << u->reads + u->writes + u->unknown << " uses\n";
    }
    std::cout << pairs << " writes of " << nlens_group_totals(group)->samples << "\n";
    nlens_close(trace);
}
