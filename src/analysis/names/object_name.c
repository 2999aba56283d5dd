/* analysis/names/object_name.c - names of objects, each worked out once. */
#include "analysis/names/object_name.h"

#include "base/mem.h"
#include "base/strtab.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

struct object_names {
    const struct flow *flow;
    struct strtab *texts;
};

struct object_names *object_names_new(const struct flow *flow)
{
    struct object_names *names = mem_zalloc(sizeof *names);
    names->flow = flow;
    names->texts = strtab_new();
    return names;
}

void object_names_free(struct object_names *names)
{
    if (!names)
        return;
    strtab_free(names->texts);
    free(names);
}

const char *object_name(struct object_names *names, uint32_t index)
{
    if (index == FLOW_NONE)
        return "";
    struct flow_object object = flow_object_copy(names->flow, index);
    if (object.kind == OBJECT_FILE)
        return strtab_intern(names->texts, text_file_name(object.name));
    if (object.site != FLOW_NONE && flow_site(names->flow, object.site))
        return flow_site(names->flow, object.site)->name;
    return strtab_intern(names->texts, object.name ? object.name : "");
}
