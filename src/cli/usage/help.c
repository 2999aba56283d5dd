#include "cli/usage/help.h"

#include "analysis/facts/facts.h"
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

/* `pages_moved`, or with blanks. */
static bool print_fact(const char *name, unsigned width)
{
    for (unsigned i = 0; i < FACTS; i++) {
        size_t k = 0;
        const char *own = fact_table[i].name;
        while (own[k] && (own[k] == name[k] || (own[k] == '_' && name[k] == ' ')))
            k++;
        if (own[k] || name[k])
            continue;
        printf("%s\n", own);
        paragraph(stdout, HANG, width, "", "%s", fact_table[i].meaning);
        return true;
    }
    return false;
}

/* The words of a heading, `shared TL` or `nodes`, each by itself. */
static bool print_words(const char *heading, unsigned width)
{
    bool found = false;
    for (const char *word = heading; *word; word += strspn(word, " ,-")) {
        size_t length = strcspn(word, " ,-");
        for (size_t i = 0; i < COUNT; i++) {
            size_t own = strlen(terms[i].term);
            bool plural = own + 1 == length && word[own] == 's';
            if ((own != length && !plural) || strncasecmp(terms[i].term, word, own) != 0)
                continue;
            print(i, width);
            found = true;
            break;
        }
        word += length;
    }
    return found;
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
    return all || print_fact(term, view.width) || print_words(term, view.width);
}
