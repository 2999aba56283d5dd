/* The offset of each field is a promise of libnumalens.so.0 (docs/api.md): new ones come at the ends of structs.
 * Programs that were compiled against this header read these places. It compiles, or a promise was broken. */
#include "numalens/capture.h"
#include "numalens/findings.h"
#include "numalens/flow.h"
#include "numalens/pages.h"
#include "numalens/policy.h"

#include <stdio.h>

#define LIES_AT(type, field, place) _Static_assert(offsetof(type, field) == (place), #type "." #field " has moved")
#define HAS_SIZE(type, size)        _Static_assert(sizeof(type) == (size), #type " is part of others: it may not grow")

HAS_SIZE(nlens_error, 1024);
HAS_SIZE(nlens_totals, 96);
LIES_AT(nlens_options, debug_directory, 32);
LIES_AT(nlens_options, symfs, 40);
LIES_AT(nlens_options, progress, 48);
LIES_AT(nlens_options, progress_data, 56);
LIES_AT(nlens_loss, count, 32);
LIES_AT(nlens_reason, count, 24);
LIES_AT(nlens_node, cpu_count, 24);
LIES_AT(nlens_process, totals, 64);
LIES_AT(nlens_thread, totals, 56);
LIES_AT(nlens_site, variable, 216);
LIES_AT(nlens_object, variable, 232);
LIES_AT(nlens_function, totals, 48);
LIES_AT(nlens_frame, inlined, 28);
LIES_AT(nlens_access, stack, 96);
LIES_AT(nlens_user, last, 72);
LIES_AT(nlens_phase, remote, 32);
LIES_AT(nlens_facts, phases, 144);
LIES_AT(nlens_advice, code, 32);
LIES_AT(nlens_finding, against, 152);
LIES_AT(nlens_verdict, evidence_bursts, 168);
LIES_AT(nlens_page_user, unknown, 32);
LIES_AT(nlens_page, users, 96);

/* numalens/capture.h. Clients have arrays of samples, whose size they give (it may grow); and room for the others. */
#define HAS_VALUE(name, value) _Static_assert((name) == (value), #name " is another number")

_Static_assert(sizeof(nlens_sample) >= NLENS_SAMPLE_LEAST, "nlens_sample has become smaller");
HAS_VALUE(NLENS_SAMPLE_LEAST, 64);
LIES_AT(nlens_sample, addr, 24);
LIES_AT(nlens_sample, data_src, 32);
LIES_AT(nlens_sample, latency, 44);
LIES_AT(nlens_sample, level, 48);
LIES_AT(nlens_sample, size, 54);
LIES_AT(nlens_sample, has_latency, 59);
LIES_AT(nlens_session_options, source, 12);
LIES_AT(nlens_session_options, whole_process, 16);
LIES_AT(nlens_session_options, room, 48);
LIES_AT(nlens_session_options, output, 72);
HAS_SIZE(nlens_session_stats, 96);
LIES_AT(nlens_session_stats, overrun, 24);
LIES_AT(nlens_session_stats, waiting, 44);
HAS_SIZE(nlens_traffic, 72);
LIES_AT(nlens_traffic, total, 32);
HAS_VALUE(NLENS_READS | NLENS_WRITES << 8, 0x201);
HAS_VALUE(NLENS_SOURCE_SOFT, 2);
HAS_VALUE(NLENS_SOURCE_SPE, 5);

/* numalens/policy.h. Plug-ins walk through arrays of the first three. */
HAS_SIZE(struct nlens_policy_node, 24);
HAS_SIZE(struct nlens_policy_access, 32);
HAS_SIZE(struct nlens_policy_page, 48);
LIES_AT(struct nlens_machine, page_bytes, 40);
LIES_AT(struct nlens_view, pages, 32);
LIES_AT(struct nlens_plan, note, 16);
LIES_AT(struct nlens_policy, stop, 40);

int main(void)
{
    puts("1..1\nok 1 - every field is where it was");
    return 0;
}
