/* What a check writes for other programs: names that are hostile, and names of source files. */
#include "view/check/check_view.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#define HOSTILE "\x1b[31m<b>&\"']]>\xff \xe2\x80\xae[x](y:z) \x01\x7f"

static void expect_uri(const char *file, const char *module, const char *root, const char *wanted)
{
    char *uri = check_source_uri(&(struct source_file){file, "", module}, root);
    assert_string_equal(uri, wanted);
    free(uri);
}

static void sources_that_are_not_there(void **state)
{
    (void)state;
    expect_uri("../../examples/demo.c", "", "/none", "examples/demo.c");
    expect_uri("./a/./b/../c.c", "", "/none", "a/c.c");
    expect_uri("/none/src/a b.c", "", "/none", "src/a%20b.c");
    expect_uri("/none/../other/a.c", "", "/none", "file:///other/a.c");
    expect_uri("/nonesuch/a.c", "", "/none", "file:///nonesuch/a.c");
    expect_uri("x<\xff>%.c", "", "/none", "x%3C%FF%3E%25.c");
    expect_uri("../..", "", "/none", "");
    expect_uri("/", "", "/none", "file:///");
}

/* As a compiler writes it that ran in a build folder: from there. */
static void sources_that_are_there(void **state)
{
    (void)state;
    char folder[] = "/tmp/numalens-check-XXXXXX", path[PATH_MAX + 32], module[PATH_MAX + 32], root[PATH_MAX];
    assert_non_null(mkdtemp(folder));
    assert_non_null(realpath(folder, root));
    snprintf(path, sizeof path, "%s/code", root);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/code/solver.c", root);
    snprintf(module, sizeof module, "%s/code/solver", root);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
    expect_uri("solver.c", module, root, "code/solver.c");
    expect_uri("code/solver.c", module, root, "code/solver.c");
    expect_uri(path, "", root, "code/solver.c");
    char *uri = check_source_uri(&(struct source_file){"code/solver.c", root, "/none/solver"},
                                 root); /* where the compiler ran */
    assert_string_equal(uri, "code/solver.c");
    free(uri);
    uri = check_source_uri(&(struct source_file){path, "", ""}, "/none");
    assert_memory_equal(uri, "file:///", 8);
    free(uri);
    unlink(path);
    snprintf(path, sizeof path, "%s/code", root);
    rmdir(path);
    rmdir(root);
}

typedef int writer(const struct check_shown *shown, FILE *out, struct error *err);

static char *written(writer *write, const struct check_shown *shown)
{
    static char *text; /* static: at -O3 gcc 12 takes what it points to for a variable out of scope */
    static size_t size;
    FILE *out = open_memstream(&text, &size);
    struct error err = {0};
    assert_int_equal(write(shown, out, &err), 0);
    fclose(out);
    return text;
}

static void hostile_names(void **state)
{
    (void)state;
    struct finding finding = {.pattern = PATTERN_SATURATED_NODE,
                              .name = HOSTILE,
                              .file = HOSTILE ".c",
                              .line = 3,
                              .evidence = HOSTILE,
                              .gain = "",
                              .function = ""};
    struct findings findings = {0};
    struct check check = {.outcome = CHECK_FAILS};
    array_push(&check.findings, (struct check_finding){.finding = &finding, .fails = true, .why = ""});
    array_push(&check.rules,
               (struct check_rule){
                   .kind = CHECK_NO_FINDINGS, .outcome = CHECK_FAILS, .title = "no-findings", .text = HOSTILE});
    struct check_shown shown = {.check = &check, .findings = &findings, .path = HOSTILE, .root = "/none", .status = 1};
    char *junit = written(check_junit, &shown);
    for (const char *at = junit; *at; at++)
        assert_true((unsigned char)*at >= 0x20 || *at == '\n');
    assert_null(strchr(junit, 0x7f));
    assert_null(strchr(junit, 0xff));
    assert_null(strstr(junit, "<b>"));
    assert_null(strstr(junit, "]]>"));
    assert_null(strstr(junit, "\xe2\x80\xae"));
    assert_non_null(strstr(junit, "&#60;b&#62;&#38;&#34;&#39;]]&#62;\xef\xbf\xbd &#8238;"));
    assert_non_null(strstr(junit, "failures=\"1\" errors=\"0\""));
    char *sarif = written(check_sarif, &shown);
    for (const char *at = sarif; *at; at++)
        assert_true((unsigned char)*at >= 0x20 || *at == '\n');
    assert_null(strchr(sarif, 0xff));
    char *text = strstr(sarif, "\"text\": \"saturated-node"); /* its message */
    assert_non_null(text);
    *strchr(text, '\n') = '\0';
    assert_null(strstr(text, "[x](y:z"));
    assert_non_null(strstr(text, "[x] (y:z"));
    free(junit);
    free(sarif);
    array_free(&check.findings);
    array_free(&check.rules);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sources_that_are_not_there),
        cmocka_unit_test(sources_that_are_there),
        cmocka_unit_test(hostile_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
