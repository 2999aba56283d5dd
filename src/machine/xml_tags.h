/* machine/xml_tags.h - the tags of an XML text with their attributes, one after the other: as much of XML as hwloc writes. Text between
 * tags is skipped. */
#ifndef NUMALENS_MACHINE_XML_TAGS_H
#define NUMALENS_MACHINE_XML_TAGS_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

enum { XML_ATTRIBUTES = 32, XML_DEPTH = 64 };

struct xml_tag {
    uint32_t line;
    const char *name;
    bool opens, closes; /* <name>; </name>; <name/> does both */
    uint32_t count;
    struct {
        const char *name, *value;
    } attributes[XML_ATTRIBUTES];
};

struct xml_tags {
    char *at; /* in the text, which is changed */
    const char *path;
    uint32_t line, depth;
    struct {
        const char *name;
        uint32_t line;
    } open[XML_DEPTH];
};

/* `path` is what errors name, with the line. */
void xml_begin(struct xml_tags *tags, char *text, const char *path);

/* 1 with the next tag, 0 at the end, negative with `err` when it is no XML. Names live as long as the text. */
int xml_next(struct xml_tags *tags, struct xml_tag *tag, struct error *err);

/* The value of an attribute, or NULL. */
const char *xml_value(const struct xml_tag *tag, const char *name);

#endif
