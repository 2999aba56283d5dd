#include "cli/usage/help.h"

#include "cli/terminal.h"
#include "view/paragraph.h"

#include <stdio.h>
#include <string.h>

enum { HANG = 4 };

/* Several terms may have one meaning: "local" and "remote". */
static const struct {
    const char *term, *title, *text;
} terms[] = {
#include "glossary_terms.h"
};

enum { COUNT = sizeof terms / sizeof *terms };
_Static_assert((int)COUNT <= (int)HELP_TERMS, "room for all terms");

size_t help_terms(const char **names)
{
    for (size_t i = 0; i < COUNT; i++)
        names[i] = terms[i].term;
    return COUNT;
}

static void print(size_t term, unsigned width)
{
    printf("%s\n", terms[term].title);
    paragraph(stdout, HANG, width, "", "%s", terms[term].text);
}

bool help_print(const char *term)
{
    struct view_options view = {0};
    bool all = strcmp(term, "glossary") == 0 || strcmp(term, "terms") == 0;
    terminal_look(&(struct terminal_options){.view = &view});
    for (size_t i = 0; i < COUNT; i++) {
        bool again = i && strcmp(terms[i].title, terms[i - 1].title) == 0;
        if (all ? !again : strcasecmp(terms[i].term, term) == 0)
            print(i, view.width);
        if (!all && strcasecmp(terms[i].term, term) == 0)
            return true;
    }
    return all;
}
