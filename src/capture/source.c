#include "capture/source.h"

#define each_open(sources, name)                                                                                       \
    for (struct source *name = (sources)->items; name < (sources)->items + SOURCE_KINDS; name++)                       \
        if (name->context)

int sources_open(struct sources *sources, struct source source, struct error *err)
{
    struct error why = {0};
    int code = source.open ? source.open(source.context, &why) : 0;
    if (code < 0) {
        if (source.close)
            source.close(source.context);
        sources->refusals[source.kind] = why;
        return source.needed ? error_set(err, code, "%s", why.text) : 1;
    }
    sources->items[source.kind] = source;
    sources->opened[sources->count++] = source.kind;
    return 0;
}

void sources_drain(struct sources *sources, uint64_t now, struct source_level *level)
{
    bool spared = now - sources->drained < sources->spacing_ns;
    *level = (struct source_level){.filled = spared};
    if (!spared)
        sources->drained = now;
    each_open(sources, source) if (source->drain && (!spared || source->kind == FROM_AGENTS))
        source->drain(source->context, now, level);
}

bool sources_tend(struct sources *sources, uint64_t now)
{
    if (now - sources->tended < SOURCE_TEND_NS)
        return false;
    sources->tended = now;
    each_open(sources, source) if (source->tend) source->tend(source->context, now);
    return true;
}

int sources_want(struct sources *sources, bool wanted)
{
    int first = 0;
    each_open(sources, source)
    {
        int code = source->want ? source->want(source->context, wanted) : 0;
        first = first ? first : code;
    }
    return first;
}

uint64_t sources_cost_ns(const struct sources *sources)
{
    uint64_t sum = 0;
    for (unsigned kind = 0; kind < SOURCE_KINDS; kind++) {
        const struct source *source = &sources->items[kind];
        sum += source->context && source->cost_ns ? source->cost_ns(source->context) : 0;
    }
    return sum;
}

void sources_finish(struct sources *sources)
{
    for (unsigned i = 0; i < sources->count; i++) {
        const struct source *source = &sources->items[sources->opened[i]];
        if (source->context && source->finish)
            source->finish(source->context);
    }
}

void sources_close_one(struct sources *sources, enum source_kind kind)
{
    struct source *source = &sources->items[kind];
    if (source->context && source->close)
        source->close(source->context);
    *source = (struct source){0};
}

void sources_close(struct sources *sources)
{
    while (sources->count)
        sources_close_one(sources, sources->opened[--sources->count]);
}
