/* tree.h - machines of other people as files in a folder of their own, from lists in machines/NAME.txt.
 *
 * A line is "path = content". In a path {0-5} stands for each of these numbers; in a content \n for a new line. */
#ifndef NUMALENS_TESTS_COUNT_TREE_H
#define NUMALENS_TESTS_COUNT_TREE_H

#include <ftw.h>
#include <math.h>
#include <stdbool.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

/* Amounts are whole numbers, up to what a scale in decimals costs. */
#define assert_amount(got, wanted) assert_true(fabs((double)(got) - (double)(wanted)) < 1e-6)

struct tree {
    char root[64];
};

static inline void tree_write(const struct tree *tree, const char *file, const char *content)
{
    char path[512];
    snprintf(path, sizeof path, "%.63s/%.300s", tree->root, file);
    for (char *slash = path + strlen(tree->root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        mkdir(path, 0700);
        *slash = '/';
    }
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    for (const char *at = content; *at; at++) {
        bool newline = at[0] == '\\' && at[1] == 'n';
        fputc(newline ? '\n' : *at, out);
        at += newline;
    }
    fputc('\n', out);
    assert_int_equal(fclose(out), 0);
}

static inline void tree_write_each(const struct tree *tree, const char *file, const char *content)
{
    const char *brace = strchr(file, '{');
    unsigned first, last;
    int taken;
    if (!brace || sscanf(brace, "{%u-%u}%n", &first, &last, &taken) != 2) {
        tree_write(tree, file, content);
        return;
    }
    for (unsigned number = first; number <= last; number++) {
        char one[400];
        snprintf(one, sizeof one, "%.*s%u%.200s", (int)(brace - file), file, number, brace + taken);
        tree_write_each(tree, one, content);
    }
}

static inline struct tree tree_make(const char *name)
{
    struct tree tree = {"/tmp/numalens-count-XXXXXX"};
    char path[512], line[1024];
    assert_non_null(mkdtemp(tree.root));
    snprintf(path, sizeof path, "%s/%s.txt", MACHINES, name);
    FILE *list = fopen(path, "r");
    assert_non_null(list);
    while (fgets(line, sizeof line, list)) {
        line[strcspn(line, "\n")] = 0;
        char *content = strstr(line, " = ");
        if (line[0] == '#')
            continue;
        assert_non_null(content);
        *content = 0;
        tree_write_each(&tree, line, content + 3);
    }
    fclose(list);
    return tree;
}

static inline int tree_remove_one(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

static inline void tree_remove(const struct tree *tree)
{
    nftw(tree->root, tree_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

#endif
