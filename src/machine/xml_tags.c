#include "machine/xml_tags.h"

#include <errno.h>
#include <string.h>

static const char blank[] = " \t\r\n";

void xml_begin(struct xml_tags *tags, char *text, const char *path)
{
    *tags = (struct xml_tags){.at = text, .path = path, .line = 1};
}

/* Goes on to `to`, and counts lines. */
static void advance(struct xml_tags *tags, char *to)
{
    for (; tags->at < to; tags->at++)
        tags->line += *tags->at == '\n';
}

static int bad(const struct xml_tags *tags, const char *what, struct error *err)
{
    return error_set(err, -EINVAL, "%s:%u: %s", tags->path, tags->line, what);
}

/* One attribute, name="value", behind which `tags->at` is then. */
static int read_attribute(struct xml_tags *tags, struct xml_tag *tag, struct error *err)
{
    char *name = tags->at, *equals = name + strcspn(name, " \t\r\n=<>\"'");
    char quote = *equals == '=' ? equals[1] : 0;
    char *end = quote == '"' || quote == '\'' ? strchr(equals + 2, quote) : NULL;
    if (!end || equals == name)
        return bad(tags, "an attribute is not name=\"value\"", err);
    if (tag->count == XML_ATTRIBUTES)
        return bad(tags, "a tag has too many attributes", err);
    tag->attributes[tag->count].name = name;
    tag->attributes[tag->count++].value = equals + 2;
    advance(tags, end + 1);
    *equals = *end = '\0';
    return 0;
}

static int nest(struct xml_tags *tags, const struct xml_tag *tag, struct error *err)
{
    if (tag->opens && tags->depth == XML_DEPTH)
        return bad(tags, "tags are nested too deep", err);
    if (tag->opens) {
        tags->open[tags->depth].name = tag->name;
        tags->open[tags->depth++].line = tag->line;
    }
    if (!tag->closes)
        return 0;
    if (tags->depth == 0 || strcmp(tags->open[tags->depth - 1].name, tag->name) != 0)
        return error_set(err, -EINVAL, "%s:%u: </%.60s> closes no tag that is open", tags->path, tag->line, tag->name);
    tags->depth--;
    return 0;
}

static int read_tag(struct xml_tags *tags, struct xml_tag *tag, struct error *err)
{
    char *name = tags->at + 1, *end;
    *tag = (struct xml_tag){.line = tags->line, .opens = *name != '/', .closes = *name == '/'};
    name += tag->closes;
    tag->name = name;
    end = name + strcspn(name, " \t\r\n/<>=");
    if (end == name)
        return bad(tags, "a tag has no name", err);
    advance(tags, end);
    for (;;) {
        advance(tags, tags->at + strspn(tags->at, blank));
        if (*tags->at == '>' || (*tags->at == '/' && tags->at[1] == '>'))
            break;
        if (tags->at == end || !*tags->at)
            return bad(tags, "the text ends, or a tag does not", err);
        int failed = read_attribute(tags, tag, err);
        if (failed)
            return failed;
    }
    if (*tags->at == '/') {
        if (!tag->opens)
            return bad(tags, "a tag begins and ends with /", err);
        tag->closes = true;
        advance(tags, tags->at + 1);
    }
    advance(tags, tags->at + 1);
    *end = '\0'; /* what was there is read */
    return nest(tags, tag, err);
}

int xml_next(struct xml_tags *tags, struct xml_tag *tag, struct error *err)
{
    for (;;) {
        char *next = strchr(tags->at, '<');
        advance(tags, next ? next : tags->at + strlen(tags->at));
        if (!next && tags->depth > 0)
            return error_set(err, -EINVAL, "%s:%u: <%.60s> of line %u is not closed: the file ends early", tags->path,
                             tags->line, tags->open[tags->depth - 1].name, tags->open[tags->depth - 1].line);
        if (!next)
            return 0;
        bool comment = strncmp(next, "<!--", 4) == 0;
        if (next[1] == '?' || next[1] == '!') {
            char *end = strstr(next, comment ? "-->" : ">");
            if (!end)
                return bad(tags, "<? or <! without an end", err);
            advance(tags, end + 1);
            continue;
        }
        int failed = read_tag(tags, tag, err);
        return failed ? failed : 1;
    }
}

const char *xml_value(const struct xml_tag *tag, const char *name)
{
    for (uint32_t i = 0; i < tag->count; i++)
        if (strcmp(tag->attributes[i].name, name) == 0)
            return tag->attributes[i].value;
    return NULL;
}
