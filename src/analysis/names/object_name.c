/* analysis/names/object_name.c - names of objects, each worked out once. */
#include "analysis/names/object_name.h"

#include "analysis/names/site_variable.h"
#include "base/map64.h"
#include "base/mem.h"
#include "base/strtab.h"

#include <stdlib.h>
#include <string.h>

struct object_names {
    const struct flow *flow;
    struct sources *sources;
    struct strtab *texts;
    struct map64 sites; /* site -> text: many objects come from few sites */
};

struct object_names *object_names_new(const struct flow *flow)
{
    struct object_names *names = mem_zalloc(sizeof *names);
    names->flow = flow;
    names->sources = sources_new();
    names->texts = strtab_new();
    return names;
}

void object_names_free(struct object_names *names)
{
    if (!names)
        return;
    sources_free(names->sources);
    strtab_free(names->texts);
    map64_free(&names->sites);
    free(names);
}

static const char *site_name(struct object_names *names, const struct flow_object *object)
{
    bool is_new;
    uint64_t *text = map64_insert(&names->sites, object->site, &is_new);
    if (!is_new)
        return strtab_text(names->texts, (uint32_t)*text);
    const struct flow_site *site = flow_site(names->flow, object->site);
    char name[SOURCE_NAME_MAX];
    if (site_variable(names->sources, names->flow, object->site, object->process, name))
        *text = strtab_add(names->texts, name);
    else
        *text = strtab_add(names->texts, *site->function ? site->function : site->label);
    return strtab_text(names->texts, (uint32_t)*text);
}

const char *object_name(struct object_names *names, uint32_t index)
{
    if (index == FLOW_NONE)
        return "";
    struct flow_object object = flow_object_copy(names->flow, index);
    if (object.kind == OBJECT_FILE) {
        const char *slash = strrchr(object.name, '/');
        return strtab_intern(names->texts, slash ? slash + 1 : object.name);
    }
    if (object.site != FLOW_NONE && flow_site(names->flow, object.site))
        return site_name(names, &object);
    return strtab_intern(names->texts, object.name ? object.name : "");
}
