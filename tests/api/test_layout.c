/* Where fields lie is a promise of libnumalens.so.0 (docs/api.md): new ones come at the ends of structs. Programs that
 * were compiled against this header read these places. It compiles, or a promise was broken. */
#include "numalens/findings.h"
#include "numalens/flow.h"

#include <stdio.h>

#define LIES_AT(type, field, place) _Static_assert(offsetof(type, field) == (place), #type "." #field " has moved")
#define HAS_SIZE(type, size)        _Static_assert(sizeof(type) == (size), #type " is part of others: it may not grow")

HAS_SIZE(nlens_error, 1024);
HAS_SIZE(nlens_totals, 96);
LIES_AT(nlens_options, debug_directory, 32);
LIES_AT(nlens_loss, count, 32);
LIES_AT(nlens_reason, count, 24);
LIES_AT(nlens_node, cpu_count, 24);
LIES_AT(nlens_process, totals, 64);
LIES_AT(nlens_thread, totals, 56);
LIES_AT(nlens_site, totals, 120);
LIES_AT(nlens_object, totals, 136);
LIES_AT(nlens_function, totals, 48);
LIES_AT(nlens_frame, inlined, 28);
LIES_AT(nlens_access, stack, 96);
LIES_AT(nlens_user, last, 72);
LIES_AT(nlens_phase, remote, 32);
LIES_AT(nlens_facts, phases, 400);
LIES_AT(nlens_advice, code, 32);
LIES_AT(nlens_finding, against, 152);

int main(void)
{
    puts("1..1\nok 1 - every field is where it was");
    return 0;
}
