#include "cli/commands/predict/predict_object.h"

#include "analysis/traffic/traffic.h"
#include "base/text.h"
#include "view/report/rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_called(const struct row *row, const char *name)
{
    return (row->variable && strcmp(row->variable, name) == 0) || (row->name && strcmp(row->name, name) == 0) ||
           (row->label && strcmp(row->label, name) == 0);
}

/* Whether the name is the member that the variable ends in: "grid" of "work->grid". */
static bool ends_in(const struct row *row, const char *name)
{
    const char *variable = row->variable ? row->variable : "";
    size_t whole = strlen(variable), length = strlen(name);
    return length && length < whole && strcmp(variable + whole - length, name) == 0 &&
           strchr(".>:", variable[whole - length - 1]);
}

/* Names come from the trace: hostile. */
static void add_name(struct predict_names *names, const struct row *row)
{
    const char *name = row->variable && *row->variable ? row->variable : row->name;
    char *safe = text_safe(name ? name : "");
    size_t used = strlen(names->list);
    if (*safe && used + strlen(safe) + 3 < sizeof names->list)
        snprintf(names->list + used, sizeof names->list - used, "%s%s", used ? ", " : "", safe);
    free(safe);
}

uint32_t predict_find_object(const struct traffic *traffic, const char *name, struct predict_names *names)
{
    uint32_t found = UINT32_MAX, member = UINT32_MAX;
    char *end;
    unsigned long id = strtoul(name, &end, 10);
    array_each (&traffic->objects, const struct traffic_object, object) {
        struct row row = object->site != FLOW_NONE ? rows_site(traffic->flow, object->site, object->object)
                                                   : rows_object(traffic->flow, object->object);
        add_name(names, &row);
        if (found == UINT32_MAX && (is_called(&row, name) || (*name && !*end && id == object->object)))
            found = object->object;
        if (member == UINT32_MAX && ends_in(&row, name))
            member = object->object;
    }
    return found != UINT32_MAX ? found : member;
}
