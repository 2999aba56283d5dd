/* The code that findings print is code: in C, C++ and Fortran a compiler takes all of it as it stands, in a program of the kind that it is
 * for; Python runs its own, a shell reads commands. For other languages it is sentences. */
#include "../skip.h"

#include "analysis/findings/findings_advice.h"
#include "base/strtab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CODE(name) {#name, code_##name},
static const struct {
    const char *name;
    const char *(*make)(struct consult *it);
} codes[] = {CODE_LIST(CODE)};
#undef CODE
enum { CODES = sizeof codes / sizeof *codes };

/* What may be placed, as a program declares it. */
struct thing {
    const char *name, *address;
    bool is_static, is_site, is_container, is_stack;
};
static const struct thing things[] = {{"work->cells", "work->cells", .is_site = true},
                                      {"work->cells", "work->cells"},
                                      {"rows[i]", "rows[i]"},
                                      {"*neighs", "*neighs"},
                                      {"buffer", "buffer"},
                                      {"grid", "&grid", .is_static = true},
                                      {"one", "&one", .is_static = true},
                                      {"work->cells", "work->cells", .is_stack = true},
                                      {"scores", "&scores[0]", .is_container = true}};
enum { CONTAINER = sizeof things / sizeof *things - 1 };

static struct findings findings;
static struct finding finding;

static struct consult consult(enum language language, enum threads threads, const struct thing *thing, bool parts)
{
    finding = (struct finding){.named = true, .is_site = thing->is_site, .name = thing->name, .by_new = parts};
    return (struct consult){.findings = &findings,
                            .finding = &finding,
                            .name = thing->name,
                            .address = thing->address,
                            .app = "./app 'with spaces'",
                            .user = 1,
                            .nodes = 2,
                            .language = language,
                            .threads = threads,
                            .parts = parts,
                            .is_static = thing->is_static,
                            .is_stack = thing->is_stack,
                            .is_container = thing->is_container};
}

static bool is_sentence(const char *code)
{
    return isupper((unsigned char)code[0]) && islower((unsigned char)code[1]);
}

static bool is_command(const char *code)
{
    return strncmp(code, "num", 3) == 0 && !strchr(code, ';')
               ? true
               : strncmp(code, "LD_", 3) == 0 || strncmp(code, "OMP_", 4) == 0 || strncmp(code, "JAVA_", 5) == 0;
}

/* Files for one run of a compiler. */
struct sources_dir {
    char path[64];
    unsigned count;
};

static FILE *file_new(struct sources_dir *dir, const char *ending)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%u.%s", dir->path, dir->count++, ending);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    return file;
}

static void dir_begin(struct sources_dir *dir)
{
    *dir = (struct sources_dir){.path = "/tmp/numalens-advice-XXXXXX"};
    assert_non_null(mkdtemp(dir->path));
}

/* What the compiler says goes to the test's own error output. */
static void dir_compile(struct sources_dir *dir, const char *compiler, const char *ending)
{
    char command[256];
    snprintf(command, sizeof command, "cd %s && %s -fsyntax-only -fopenmp *.%s", dir->path, compiler, ending);
    assert_true(dir->count > 0);
    int status = system(command); // NOLINT(cert-env33-c): a compiler on files of our own
    snprintf(command, sizeof command, "rm -r %s", dir->path);
    assert_int_equal(system(command), 0); // NOLINT(cert-env33-c)
    assert_int_equal(status, 0);
}

static bool has(const char *program)
{
    char command[128];
    if (access("/usr/include/numa.h", R_OK) != 0)
        return false; /* libnuma's headers are not here: an image that only runs tests */
    snprintf(command, sizeof command, "command -v %s >/dev/null 2>&1", program);
    return system(command) == 0; // NOLINT(cert-env33-c)
}

static const char before[] =
    "#include <numa.h>\n#include <numaif.h>\n#include <sched.h>\n#include <stdint.h>\n#include <stdlib.h>\n"
    "#include <string.h>\n#ifdef __cplusplus\n#include <type_traits>\n#endif\n"
    "struct cell { double x, y; struct cell *next; };\n"
    "struct work { struct cell *cells; };\n"
    "extern struct cell grid[1000], one;\n";
static const char change[] =
    "void change(struct work *work, struct cell **rows, struct cell **neighs, void *buffer, size_t size, size_t from,\n"
    "            size_t to, size_t i, int number, size_t limit, double sum, double *data);\n"
    "void change(struct work *work, struct cell **rows, struct cell **neighs, void *buffer, size_t size, size_t from,\n"
    "            size_t to, size_t i, int number, size_t limit, double sum, double *data)\n{\n"
    "(void)work, (void)rows, (void)neighs, (void)buffer, (void)size, (void)from, (void)to, (void)i, (void)number,\n"
    "    (void)limit, (void)sum, (void)data;\n";

/* A function or a template stands before the function that uses it. */
static void put_c(FILE *file, unsigned number, const char *code, const char *declared)
{
    const char *function = strstr(code, "static void *take("), *template = strstr(code, "template <");
    const char *rest = function ? "(void)take(100);" : template ? strstr(code, "/* with std::vector") : code;
    assert_non_null(rest);
    fprintf(file, "#define take take_%u\n#define untouched untouched_%u\n#define change change_%u\n", number, number,
            number);
    fprintf(file, "%.*s", (int)(function ? strlen(code) : template ? (size_t)(rest - code) : 0), code);
    fprintf(file, "\n%s", change);
    fprintf(file, declared, template ? ", untouched<cell>" : "");
    fprintf(file, "%s\n%s}\n#undef take\n#undef untouched\n#undef change\n", rest,
            strstr(rest, "mine =") ? "(void)mine;\n" : "");
}

/* All of a thing, each once, whether threads are OpenMP's or not and use parts of it or not. */
static void all_of_c(FILE *file, enum language language, const struct thing *thing, const char *declared)
{
    const char *put[CODES * 4];
    unsigned count = 0;
    for (unsigned i = 0; i < CODES * 4; i++) {
        struct consult it = consult(language, i % 4 / 2 ? THREADS_OPENMP : THREADS_OWN, thing, i % 2);
        const char *code = codes[i / 4].make(&it);
        bool again = is_sentence(code) || is_command(code);
        for (unsigned k = 0; k < count; k++)
            again |= strcmp(put[k], code) == 0;
        if (again)
            continue;
        put[count++] = code;
        put_c(file, (unsigned)(thing - things) * 100 + count, code, declared);
    }
    assert_true(count > 0);
}

static void all_things(enum language language, const char *compiler, const char *ending)
{
    struct sources_dir dir;
    dir_begin(&dir);
    FILE *file = file_new(&dir, ending);
    fputs(before, file);
    for (size_t i = 0; i < CONTAINER; i++)
        all_of_c(file, language, &things[i], "");
    fclose(file);
    dir_compile(&dir, compiler, ending);
}

static void of_c(void **state)
{
    (void)state;
    if (!has("cc"))
        skip_test("cc is not installed");
    all_things(LANGUAGE_C, "cc -D_GNU_SOURCE -std=gnu17 -Wall -Wextra -Werror", "c");
}

static void of_cxx(void **state)
{
    (void)state;
    if (!has("c++"))
        skip_test("c++ is not installed");
    all_things(LANGUAGE_CXX, "c++ -std=gnu++17 -Wall -Wextra -Werror", "cc");
}

/* A container is no pointer: what it holds is placed, or not touched when it is constructed. */
static void of_cxx_container(void **state)
{
    (void)state;
    struct sources_dir dir;
    if (!has("c++"))
        skip_test("c++ is not installed");
    dir_begin(&dir);
    FILE *file = file_new(&dir, "cc");
    fputs(before, file);
    all_of_c(file, LANGUAGE_CXX, &things[CONTAINER], "std::vector<cell%s> scores(limit);\n");
    fclose(file);
    dir_compile(&dir, "c++ -std=gnu++17 -Wall -Wextra -Werror -include vector", "cc");
    struct consult it = consult(LANGUAGE_CXX, THREADS_OPENMP, &things[CONTAINER], true);
    assert_non_null(strstr(code_touch(&it), "std::vector<T, untouched<T>> scores"));
}

/* Whatever its rank: the subroutine takes its elements in their order. */
static void of_fortran(void **state)
{
    (void)state;
    struct sources_dir dir;
    const struct thing field = {"field", "field"};
    if (!has("gfortran"))
        skip_test("gfortran is not installed");
    dir_begin(&dir);
    for (unsigned i = 0; i < CODES; i++) {
        struct consult it = consult(LANGUAGE_FORTRAN, THREADS_OPENMP, &field, true);
        const char *code = codes[i].make(&it), *subroutine = strstr(code, "! before it is written; with");
        if (is_sentence(code) || is_command(code))
            continue;
        FILE *file = file_new(&dir, "f90");
        size_t length = subroutine ? (size_t)(subroutine - code) : strlen(code);
        fprintf(file,
                "program change\ninteger :: i, limit\ndouble precision :: field(4, 5, 6), data(100), sum\n"
                "limit = 100\nsum = 0\n%.*s\nend program\n%s\n",
                (int)length, code, subroutine ? subroutine : "");
        fclose(file);
    }
    dir_compile(&dir, "gfortran -Wall -Werror -Wno-unused-variable", "f90");
}

static void read_by(const char *program, const char *code)
{
    FILE *reader = popen(program, "w"); // NOLINT(cert-env33-c)
    assert_non_null(reader);
    fputs(code, reader);
    assert_int_equal(pclose(reader), 0);
}

/* Runs what it reads on an array of numpy, or on one of Python's own that is filled as numpy's are; then its rows are written. */
static const char run_python[] = "python3 -W error -c \"\n"
                                 "import array, sys\n"
                                 "try:\n"
                                 "    import numpy\n"
                                 "except ImportError:\n"
                                 "    class numpy(array.array):\n"
                                 "        def __setitem__(self, rows, value):\n"
                                 "            for row in range(*rows.indices(len(self))):\n"
                                 "                super().__setitem__(row, value)\n"
                                 "        empty = classmethod(lambda own, shape: own('d', [1] * shape[0]))\n"
                                 "shape, begin, end = (8,), 2, 6\n"
                                 "exec(compile(sys.stdin.read(), 'advice', 'exec'))\n"
                                 "assert list(field[begin:end]) == [0] * (end - begin)\n"
                                 "\"";

static void of_python(void **state)
{
    (void)state;
    const struct thing field = {"field", "field"};
    unsigned ran = 0;
    if (!has("python3"))
        skip_test("python3 is not installed");
    for (unsigned i = 0; i < CODES; i++) {
        struct consult it = consult(LANGUAGE_PYTHON, THREADS_OWN, &field, true);
        const char *code = codes[i].make(&it);
        if (!is_sentence(code) && !is_command(code))
            read_by(run_python, code), ran++;
    }
    assert_int_equal(ran, 2); /* touch and near */
}

/* No C for a language that is none, and no command for all of the program where the evidence is one object's. */
static void of_others(void **state)
{
    (void)state;
    const struct thing field = {"field", "field"};
    static const enum language languages[] = {LANGUAGE_FORTRAN, LANGUAGE_PYTHON, LANGUAGE_OTHER};
    for (size_t k = 0; k < sizeof languages / sizeof *languages; k++) {
        for (size_t i = 0; i < CODES; i++) {
            struct consult it = consult(languages[k], THREADS_OWN, &field, false);
            const char *code = codes[i].make(&it);
            assert_true(*code && !strstr(code, "numa_") && !strstr(code, "/*") && !strstr(code, "#pragma"));
        }
        struct consult it = consult(languages[k], THREADS_OWN, &field, false);
        assert_int_equal(strstr(code_interleave(&it), "numactl") != NULL, languages[k] == LANGUAGE_PYTHON);
        it.whole = true;
        assert_non_null(strstr(code_interleave(&it), "numactl --interleave=all"));
    }
}

/* Pragmas only where OpenMP's threads run; nothing of a pthreads program's code needs a compiler's option. */
static void by_threads(void **state)
{
    (void)state;
    for (size_t k = 0; k < CONTAINER; k++) {
        for (size_t i = 0; i < CODES; i++) {
            struct consult it = consult(LANGUAGE_C, THREADS_OWN, &things[k], true);
            assert_null(strstr(codes[i].make(&it), "omp"));
            assert_null(strstr(codes[i].make(&it), "OMP_"));
        }
        struct consult it = consult(LANGUAGE_C, THREADS_OPENMP, &things[k], true);
        assert_non_null(strstr(code_touch(&it), "#pragma omp parallel for"));
        it.threads = THREADS_TBB;
        assert_non_null(strstr(code_touch(&it), "tbb::static_partitioner"));
    }
}

/* Commands are read by a shell as they stand; no line is wider than a report of 80 columns has room for. */
static void lines_and_commands(void **state)
{
    (void)state;
    for (size_t i = 0; i < CODES * 5; i++) {
        struct consult it = consult((enum language)(i % 5), THREADS_OPENMP, &things[5], true);
        it.app = "./a-program --with=options --of='about 60' letters altogether";
        const char *code = codes[i / 5].make(&it);
        if (is_command(code) && !strstr(code, "NODE"))
            read_by("sh -n", code);
        for (; *code; code += strcspn(code, "\n") + (code[strcspn(code, "\n")] == '\n'))
            if (strcspn(code, "\n") > 64 && !strstr(code, "a-program"))
                fail_msg("%.*s", (int)strcspn(code, "\n"), code);
    }
}

/* --print CODE LANGUAGE THREADS NAME [static|container|site|parts|pin=N|app=COMMAND]..., for who runs it (tests/guest/test_advice.py). */
static int print_code(int argc, char **argv)
{
    static const char *const languages[] = {"c", "cxx", "fortran", "python"};
    char address[64];
    struct thing thing = {argv[5], address};
    const char *app = NULL;
    bool parts = false;
    unsigned language = 0;
    int pin = 0;
    for (int i = 6; i < argc; i++) {
        thing.is_static |= strcmp(argv[i], "static") == 0;
        thing.is_container |= strcmp(argv[i], "container") == 0;
        thing.is_site |= strcmp(argv[i], "site") == 0;
        parts |= strcmp(argv[i], "parts") == 0;
        pin = strncmp(argv[i], "pin=", 4) == 0 ? argv[i][4] - '0' : pin;
        app = strncmp(argv[i], "app=", 4) == 0 ? argv[i] + 4 : app;
    }
    snprintf(address, sizeof address, thing.is_static ? "&%s" : thing.is_container ? "&%s[0]" : "%s", argv[5]);
    while (language < 3 && strcmp(argv[3], languages[language]) != 0)
        language++;
    struct consult it =
        consult((enum language)language, strcmp(argv[4], "openmp") == 0 ? THREADS_OPENMP : THREADS_OWN, &thing, parts);
    it.pin = pin;
    it.app = app ? app : it.app;
    for (size_t i = 0; i < CODES; i++)
        if (strcmp(codes[i].name, argv[2]) == 0)
            return puts(codes[i].make(&it)) < 0;
    return 1;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_c),
        cmocka_unit_test(of_cxx),
        cmocka_unit_test(of_cxx_container),
        cmocka_unit_test(of_fortran),
        cmocka_unit_test(of_python),
        cmocka_unit_test(of_others),
        cmocka_unit_test(by_threads),
        cmocka_unit_test(lines_and_commands),
    };
    findings.texts = strtab_new();
    if (argc > 5 && strcmp(argv[1], "--print") == 0)
        return print_code(argc, argv);
    int failed = cmocka_run_group_tests_name("advice", tests, NULL, NULL);
    strtab_free(findings.texts);
    return failed;
}
