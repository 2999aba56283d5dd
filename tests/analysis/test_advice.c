/* The code that findings print is code: in C, C++ and Fortran a compiler takes it as it stands. For other languages it is
 * sentences. */
#include "../skip.h"

#include "analysis/findings/findings_advice.h"
#include "base/strtab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct findings findings;
static struct finding finding;

static struct consult consult(enum language language, const char *name, bool is_static, bool is_site)
{
    finding = (struct finding){.named = true, .is_site = is_site, .name = name};
    return (struct consult){.findings = &findings,
                            .finding = &finding,
                            .name = name,
                            .address = is_static ? "&grid" : name,
                            .app = "./app",
                            .home = 0,
                            .user = 1,
                            .nodes = 2,
                            .language = language,
                            .is_static = is_static};
}

static const char *(*const codes[])(struct consult *) = {code_near,       code_migrate, code_touch, code_duplicate,
                                                         code_interleave, code_arena,   code_pad};

/* Whether the compiler takes it; what it says goes to the test's own error output. */
static bool compiles(const char *compiler, const char *ending, const char *before, const char *code, const char *after)
{
    char path[] = "/tmp/numalens-advice-XXXXXX.f90", command[256];
    snprintf(strrchr(path, '.'), 5, "%s", ending);
    int handle = mkstemps(path, (int)strlen(ending));
    FILE *file = handle >= 0 ? fdopen(handle, "w") : NULL;
    assert_non_null(file);
    fprintf(file, "%s%s\n%s", before, code, after);
    fclose(file);
    snprintf(command, sizeof command, "%s -fsyntax-only -fopenmp %s", compiler, path);
    int status = system(command); // NOLINT(cert-env33-c): a compiler on a file of our own
    unlink(path);
    return status == 0;
}

static bool has(const char *compiler)
{
    char command[128];
    if (access("/usr/include/numa.h", R_OK) != 0)
        return false; /* libnuma's headers are not here: an image that only runs tests */
    snprintf(command, sizeof command, "command -v %s >/dev/null 2>&1", compiler);
    return system(command) == 0; // NOLINT(cert-env33-c)
}

#define C_BEFORE                                                                                                       \
    "#define _GNU_SOURCE 1\n#include <numa.h>\n#include <numaif.h>\n#include <sched.h>\n#include <stdlib.h>\n"         \
    "#include <string.h>\n"                                                                                            \
    "struct work { double *buffer; };\n"                                                                               \
    "void change(struct work *work, size_t size, size_t count);\n"                                                     \
    "void change(struct work *work, size_t size, size_t count)\n{\n(void)work, (void)size, (void)count;\n"

static void of_c(void **state)
{
    (void)state;
    if (!has("cc"))
        skip_test("cc is not installed");
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        struct consult it = consult(LANGUAGE_C, "work->buffer", false, i % 2);
        assert_true(compiles("cc -std=gnu17 -Wall -Werror", ".c", C_BEFORE, codes[i](&it), "}\n"));
    }
}

static void of_c_static(void **state)
{
    (void)state;
    if (!has("cc"))
        skip_test("cc is not installed");
    const char *(*const fit[])(struct consult *) = {code_near, code_migrate, code_touch, code_duplicate,
                                                    code_interleave};
    for (size_t i = 0; i < sizeof fit / sizeof *fit; i++) {
        struct consult it = consult(LANGUAGE_C, "grid", true, false);
        assert_true(compiles("cc -std=gnu17 -Wall -Werror", ".c", "static double grid[1000];\n" C_BEFORE, fit[i](&it),
                             "(void)grid;\n}\n"));
    }
}

static void of_cxx(void **state)
{
    (void)state;
    if (!has("c++"))
        skip_test("c++ is not installed");
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        struct consult it = consult(LANGUAGE_CXX, "work->buffer", false, i % 2);
        assert_true(compiles("c++ -std=gnu++17 -Wall -Werror", ".cc", C_BEFORE, codes[i](&it), "}\n"));
    }
}

/* A container is no pointer: what it holds is placed. */
static void of_cxx_container(void **state)
{
    (void)state;
    if (!has("c++"))
        skip_test("c++ is not installed");
    const char *(*const fit[])(struct consult *) = {code_near, code_migrate, code_touch, code_duplicate,
                                                    code_interleave};
    for (size_t i = 0; i < sizeof fit / sizeof *fit; i++) {
        struct consult it = consult(LANGUAGE_CXX, "scores", false, i % 2);
        it.is_container = true;
        it.address = "&scores[0]";
        assert_true(compiles("c++ -std=gnu++17 -Wall -Werror", ".cc",
                             "#include <vector>\n" C_BEFORE "std::vector<double> scores(count);\n", fit[i](&it),
                             "}\n"));
        assert_null(strstr(fit[i](&it), "scores = "));
    }
}

static void of_fortran(void **state)
{
    (void)state;
    if (!has("gfortran"))
        skip_test("gfortran is not installed");
    const char *(*const fit[])(struct consult *) = {code_near, code_touch};
    for (size_t i = 0; i < sizeof fit / sizeof *fit; i++) {
        struct consult it = consult(LANGUAGE_FORTRAN, "field", false, false);
        assert_true(compiles("gfortran", ".f90",
                             "subroutine change(field, n)\ninteger :: i, n\ndouble precision :: field(n)\n",
                             fit[i](&it), "end subroutine\n"));
    }
}

/* No C for a language that is none, and no command for all of the program where the evidence is one object's. */
static void of_others(void **state)
{
    (void)state;
    enum language languages[] = {LANGUAGE_FORTRAN, LANGUAGE_OTHER};
    for (size_t k = 0; k < 2; k++) {
        for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
            struct consult it = consult(languages[k], "field", false, false);
            const char *code = codes[i](&it);
            assert_true(*code && !strstr(code, "numa_") && !strstr(code, "/*") && !strstr(code, "numactl"));
        }
    }
    struct consult it = consult(LANGUAGE_OTHER, "field", false, false);
    it.whole = true;
    assert_non_null(strstr(code_interleave(&it), "numactl --interleave=all"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_c),       cmocka_unit_test(of_c_static),
        cmocka_unit_test(of_cxx),     cmocka_unit_test(of_cxx_container),
        cmocka_unit_test(of_fortran), cmocka_unit_test(of_others),
    };
    findings.texts = strtab_new();
    int failed = cmocka_run_group_tests_name("advice", tests, NULL, NULL);
    strtab_free(findings.texts);
    return failed;
}
