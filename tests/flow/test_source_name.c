/* Names out of source text: a table of lines as people write them. `@` marks the line that is asked for. */
#include "flow/names/sources.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

struct expectation {
    const char *name; /* "": none */
    const char *text;
};

static const struct expectation c_lines[] = {
    {"p", "@p = malloc(10);"},
    {"s->basis", "@    s->basis = makeMatrix(n, m);"},
    {"block", "@float *block = (float*)malloc( num*dim*sizeof(float) );"},
    {"block", "float *block =\n@    (float *)malloc(num *\n  dim);"},
    {"block", "float *block =\n    (float *)malloc(num *\n@  dim);"},
    {"work->buffer", "    work->buffer = malloc(COUNT * sizeof *work->buffer); /* site: buffer */@"},
    {"", "@    return malloc(n);"},
    {"", "@    return (struct x *)xmalloc(sizeof(struct x));"},
    {"p", "@    if ((p = malloc(n)) == NULL)\n        exit(1);"},
    {"p", "@    while (!(p = malloc(n))) sleep(1);"},
    {"a[i]", "@    for (int i = 0; i < n; i++) a[i] = malloc(n);"},
    {"a[i]", "    for (int i = 0; i < n; i++)\n@        a[i] = malloc(n * sizeof(a[0][0]));"},
    {"tables[number]", "@    tables[number] = malloc(COUNT * sizeof(long));"},
    {"grid", "@    double (*grid)[N] = malloc(n * sizeof *grid);"},
    {"(*out)[i]", "@    (*out)[i] = malloc(3);"},
    {"*out", "@    *out = calloc(n, 1);"},
    {"b", "@    char *a = NULL, *b = malloc(4);"},
    {"s->basis", "@    if (posix_memalign((void **)&s->basis, 64, n))"},
    {"x", "@    CHECK(x = malloc(n));"},
    {"x", "@    ALLOC(x, n);"},
    {"self->data", "@    NEW_ARRAY((self->data), n);"},
    {"data", "@    struct work work = { .count = 3, .data = malloc(n) };"},
    {"data", "struct work work = {\n    .count = 3,\n@    .data = malloc(n),\n};"},
    {"m", "@    m = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);"},
    {"name", "@    char *name = strdup(\"a = b; c\");"},
    {"x", "    y = malloc(1); // first\n@    x = malloc(2);  /* y = malloc(3); */"},
    {"q", "@    q = flag ? malloc(n) : NULL;"},
    {"p", "#define P 1\n@p = malloc(P);\n#if P"},
    {"list->head", "    else\n@        list->head = list_new(list);"},
    {"p", "label:\n@    p = malloc(n);"},
    {"b", "}\n\nstatic void f(int a)\n{\n@    int *b = malloc((size_t)a);"},
    {"", "@    consume(malloc(n));"},
    {"", "@    free(p);\n"},
    {"", "@\n\n"},
    {"", "@    x += 1;"},
    {"record", "    struct record *record = malloc(sizeof *record); /* site: record */@"},
};

static const struct expectation cxx_lines[] = {
    {"a", "@    double *a = new double[n];"},
    {"this->cells", "@    this->cells = new Cell[rows * columns];"},
    {"v", "@    std::vector<double> v(n);"},
    {"v", "@    std::vector<std::pair<int, int>> v(n, {0, 1});"},
    {"scores", "@  pvector<ScoreT> scores(g.num_nodes(), init_score);"},
    {"m", "@    Matrix m(rows(), other.columns());"},
    {"v", "@    v.resize(n);"},
    {"grid->rows[i]", "@    grid->rows[i].reserve(100);"},
    {"p", "@    auto p = std::make_unique<double[]>(n);"},
    {"p", "@    std::unique_ptr<double[]> p(new double[n]);"},
    {"p", "@    p.reset(new T(3));"},
    {"data_", "@    Grid::Grid(size_t n) : data_(new double[n]), n_(n) {}"},
    {"Grid::all", "@    Grid::all = new Grid(3);"},
    {"nodes", "@    nodes.push_back(new Node(parent, 3));"},
    {"data.z", "@    InitializeVector(data.z, ncol);"},
    {"m", "@    matrix_init(&m, 3);"},
    {"*rc", "@    InitializeVector(*rc, Ac->rows);"},
    {"particles", "@World::World(unsigned long n) : particles(n) {}"},
    {"rows", "World::World(unsigned long n) : first{n}\n@    , rows{n}\n{"},
    {"points.p", "  points.p =\n#ifdef TBB_VERSION\n    (Point *)memory.allocate(n, NULL);\n#else\n@    (Point "
                 "*)malloc(n);\n#endif\n"},
    {"points.p", "  points.p =\n#if A\n#ifdef B\n    one(n)\n#else\n    two(n)\n#endif\n#elif C\n@    "
                 "three.allocate(n)\n#endif\n    ;"},
    {"x", "  y = malloc(3);\n#else\n  x =\n@    malloc(n);\n#endif\n"},
    {"", "@    return a(n) ? f(b) : g(c);"},
    {"cache", "@    static thread_local std::unordered_map<int, int> *cache = new std::unordered_map<int, int>(64);"},
};

static const struct expectation fortran_lines[] = {
    {"a", "@  allocate(a(n))"},
    {"grid%cells", "@  ALLOCATE (grid%cells(n, m), stat=ierr)"},
    {"x", "@  allocate(real(8) :: x(n))"},
    {"b", "  n = 3 ! size\n@  allocate( &\n    b(n))"},
    {"v", "  if (.not. allocated(v)) then\n@    allocate(v(0:n+1))\n  end if"},
};

static const struct source_place alone = {.twins = 1};

static const char *name_of(const char *marked, enum source_form form, struct source_place place,
                           char name[SOURCE_NAME_MAX])
{
    char text[1024];
    uint32_t line = 1;
    size_t used = 0;
    const char *mark = strchr(marked, '@');
    for (const char *at = marked; *at; at++) {
        line += *at == '\n' && at < mark;
        if (at != mark)
            text[used++] = *at;
    }
    strcpy(name, "");
    place.line = line;
    return source_text_name(text, used, form, &place, name) ? name : "";
}

static void check_all(const struct expectation *lines, size_t count, enum source_form form)
{
    char name[SOURCE_NAME_MAX];
    unsigned wrong = 0;
    for (size_t i = 0; i < count; i++) {
        const char *got = name_of(lines[i].text, form, alone, name);
        if (strcmp(got, lines[i].name) == 0)
            continue;
        wrong++;
        print_message("# '%s' instead of '%s' for: %s\n", got, lines[i].name, lines[i].text);
    }
    assert_int_equal(wrong, 0);
}

static void of_c(void **state)
{
    (void)state;
    check_all(c_lines, sizeof c_lines / sizeof *c_lines, SOURCE_C);
}

static void of_cxx(void **state)
{
    (void)state;
    check_all(cxx_lines, sizeof cxx_lines / sizeof *cxx_lines, SOURCE_C);
}

/* Names of several calls on one line, in order; with another number of calls none is sure. */
static void of_twins(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum source_form form;
        uint32_t count;
        const char *names[5];
    } lines[] = {
        {"@  allocate(u(n), v(n), stat=ierr)", SOURCE_FREE, 2, {"u", "v"}},
        {"  allocate (u(5, 0:n), v(n), &\n@     w(n), grid%cells(2, n), p(i)%x(n), source=0d0)",
         SOURCE_FREE,
         5,
         {"u", "v", "w", "grid%cells", "p(i)%x"}},
        {"@  allocate(real(8) :: x(n), y(n))", SOURCE_FREE, 2, {"x", "y"}},
        {"@    double *a = malloc(n), *b = malloc(m);", SOURCE_C, 2, {"a", "b"}},
        {"@    x[i] = make_part(n); y[i] = make_part(count(n));", SOURCE_C, 2, {"x[i]", "y[i]"}},
        {"struct work work = {\n    .count = malloc(2),\n@    .data = malloc(n), .more = malloc(n),\n};",
         SOURCE_C,
         2,
         {"data", "more"}},
        {"@    q = flag ? malloc(n) : calloc(n, 1);", SOURCE_C, 2, {"q", "q"}},
        {"      use cg_data\n\n@      allocate (\n     &          colidx(nz),\nc of the matrix\n     &          "
         "rowstr(na+1), a(nz),\n\n     "
         ">          p(na+2), stat=ios)\n      n = 3",
         SOURCE_FIXED,
         4,
         {"colidx", "rowstr", "a", "p"}},
        {"@  allocate(a(n), & ! first\n    ! second\n    & b(n))", SOURCE_FREE, 2, {"a", "b"}},
    };
    char name[SOURCE_NAME_MAX];
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        for (uint32_t k = 0; k < lines[i].count; k++)
            assert_string_equal(
                name_of(lines[i].text, lines[i].form, (struct source_place){.twin = k, .twins = lines[i].count}, name),
                lines[i].names[k]);
        if (strcmp(lines[i].names[0], lines[i].names[1]) == 0)
            continue;
        for (uint32_t of = 0; of < 8; of++)
            if (of != lines[i].count)
                assert_string_equal(name_of(lines[i].text, lines[i].form, (struct source_place){.twins = of}, name),
                                    "");
    }
}

/* Columns distinguish calls on one line, wherever in the call the compiler puts them. */
static void of_columns(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *at[3], *names[3];
    } lines[] = {
        {"@World::World(unsigned long n) : particles(n), cells(n / 4) {}",
         {"particles", "cells", "(n / 4"},
         {"particles", "cells", "cells"}},
        {"World::World(unsigned long n)\n    : first(n)\n@    , cells(n / 4), rows{n}\n{\n}",
         {"cells", "(n /", "4)"},
         {"cells", "cells", "cells"}},
        {"World::World(unsigned long n)\n@    : load(n), marks(new long[n]), seen(n)\n{\n}",
         {"load(", "marks(", "seen("},
         {"load", "marks", "seen"}},
        {"@    std::vector<double> v(n), w(m);", {"v(", "w(", "m)"}, {"v", "w", "w"}},
        {"@    double *a = new double[n], *b = new double[m];",
         {"new double[n", "n],", "new double[m"},
         {"a", "a", "b"}},
    };
    char name[SOURCE_NAME_MAX];
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const char *line = strchr(lines[i].text, '@') + 1;
        for (unsigned k = 0; k < 3; k++) {
            const char *at = strstr(line, lines[i].at[k]);
            assert_non_null(at);
            struct source_place place = {.column = (uint32_t)(at - line) + 1, .twin = k & 1, .twins = 2};
            assert_string_equal(name_of(lines[i].text, SOURCE_C, place, name), lines[i].names[k]);
        }
    }
}

/* What the statements of a line mention. */
static void of_mentions(void **state)
{
    (void)state;
    static const struct {
        const char *text, *names[6];
    } lines[] = {
        {"index[i] = i;", {"index", "i", "index[i]", "i"}},
        {"int k;\nMatrix product =\n    left * solver.right;", {"Matrix", "product", "left", "solver.right"}},
        {"Kokkos::resize(grown, n * side);", {"Kokkos", "grown", "n", "side"}},
        {"std::sort(s->order.begin(), last);", {"std", "s->order", "last"}},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char names[8][SOURCE_NAME_MAX];
        uint32_t line = strstr(lines[i].text, "right") ? 3 : 1;
        size_t wanted = 0, count = source_text_names(lines[i].text, strlen(lines[i].text), line, names, 8);
        while (wanted < 6 && lines[i].names[wanted])
            wanted++;
        for (size_t k = 0; k < wanted && k < count; k++)
            assert_string_equal(names[k], lines[i].names[k]);
        assert_int_equal(count, wanted);
        assert_int_equal(source_text_names(lines[i].text, strlen(lines[i].text), line, names, 2), 2);
        assert_int_equal(source_text_names(lines[i].text, strlen(lines[i].text), 99, names, 8), 0);
    }
}

static void of_fortran(void **state)
{
    (void)state;
    check_all(fortran_lines, sizeof fortran_lines / sizeof *fortran_lines, SOURCE_FREE);
}

/* Statements with more words than there is room for, in the lines around the one that is asked for. */
static void of_many_words(void **state)
{
    (void)state;
    enum { STATEMENTS = 30 };
    char text[STATEMENTS * 400] = "", name[SOURCE_NAME_MAX], wanted[32];
    size_t used = 0;
    for (unsigned i = 0; i < STATEMENTS; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "allocate(chunk%%field%%u%u(", i);
        for (unsigned k = 0; k < 20; k++)
            used += (size_t)snprintf(text + used, sizeof text - used, "chunk%%x-2+");
        used += (size_t)snprintf(text + used, sizeof text - used, "1, &\n  chunk%%y-2))\n");
    }
    for (unsigned i = 0; i < STATEMENTS; i++) {
        struct source_place place = {.line = 2 * i + 1, .twins = 1};
        snprintf(wanted, sizeof wanted, "chunk%%field%%u%u", i);
        assert_true(source_text_name(text, used, SOURCE_FREE, &place, name));
        assert_string_equal(name, wanted);
    }
}

/* Anything may stand in a file: whatever it is, it is read within its bounds and gives a short name or none. */
static void of_nonsense(void **state)
{
    (void)state;
    char name[SOURCE_NAME_MAX], many[4][SOURCE_NAME_MAX], long_line[40000];
    static const char pieces[] = "=();{}[]<>*&.,:\"'/\\\n #%!-+aZ_9\x80\xff\x1b new malloc(x->y allocate";
    uint64_t random = 1;
    for (unsigned round = 0; round < 3000; round++) {
        size_t size = round % 300;
        char *exact = malloc(size + 1); /* so that a checker sees a step too far */
        for (size_t i = 0; i < size; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            exact[i] = pieces[(random >> 33) % (sizeof pieces - 1)];
        }
        char *only = realloc(exact, size ? size : 1);
        for (uint32_t line = 0; line < 12; line++)
            if (source_text_name(only, size, round % 3,
                                 &(struct source_place){.line = line, .column = round % 7, .twins = 1}, name))
                assert_true(strlen(name) > 0 && strlen(name) < SOURCE_NAME_MAX);
        for (uint32_t line = 0; line < 12; line++)
            assert_true(source_text_names(only, size, line, many, 4) <= 4);
        free(only);
    }
    memset(long_line, 'a', sizeof long_line);
    memcpy(long_line + 20000, " = malloc(n);", 13);
    assert_false(
        source_text_name(long_line, sizeof long_line, SOURCE_C, &(struct source_place){.line = 1, .twins = 1}, name));
    assert_false(source_text_name("p = malloc(1);", 14, SOURCE_C,
                                  &(struct source_place){.line = 4000000000u, .twins = 1}, name));
}

static void of_files(void **state)
{
    (void)state;
    char name[SOURCE_NAME_MAX], folder[] = "/tmp/numalens-sources-XXXXXX", path[64], binary[64], pipe[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/made.c", folder);
    snprintf(pipe, sizeof pipe, "%s/pipe.c", folder);
    snprintf(binary, sizeof binary, "%s/bin/made", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("int f(void) {\n  that->one = malloc(3);\n}\n", file);
    for (unsigned line = 4; line < 34; line++)
        fputs(line == 18 ? "  a = malloc(1); b = malloc(2);\n" : "\n", file);
    fclose(file);
    assert_int_equal(mkfifo(pipe, 0600), 0);
    struct sources *sources = sources_new();
    assert_true(sources_name(sources, &(struct source_file){path, NULL, ""},
                             &(struct source_place){.line = 2, .twins = 1}, name));
    assert_string_equal(name, "that->one");
    assert_true(sources_name(sources, &(struct source_file){"made.c", NULL, binary}, /* above the binary */
                             &(struct source_place){.line = 2, .twins = 1}, name));
    assert_true(sources_name(sources, &(struct source_file){"made.c", folder, ""}, /* where the compiler ran */
                             &(struct source_place){.line = 2, .twins = 1}, name));
    static const struct {
        struct source_place place;
        const char *name;
    } asked[] = {/* each by what is its own, whatever was asked for before */
                 {{.line = 18, .twin = 0, .twins = 2}, "a"},    {{.line = 18, .twin = 1, .twins = 2}, "b"},
                 {{.line = 2, .twins = 1}, "that->one"},        {{.line = 18, .twin = 1, .twins = 2}, "b"},
                 {{.line = 18, .column = 22, .twins = 1}, "b"}, {{.line = 18, .column = 7, .twins = 1}, "a"}};
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        assert_true(sources_name(sources, &(struct source_file){path, NULL, ""}, &asked[i].place, name));
        assert_string_equal(name, asked[i].name);
    }
    size_t size;
    assert_non_null(sources_text(sources, &(struct source_file){"made.c", folder, "/nowhere/made"}, &size));
    assert_null(sources_text(sources, &(struct source_file){"made.c", NULL, "/nowhere/made"}, &size));
    char *found = sources_path(&(struct source_file){"/elsewhere/made.c", NULL, binary}); /* built on another machine */
    assert_string_equal(found, path);
    free(found);
    assert_false(sources_name(sources, &(struct source_file){path, NULL, ""},
                              &(struct source_place){.line = 1, .twins = 1}, name));
    assert_false(sources_name(sources, &(struct source_file){path, NULL, ""},
                              &(struct source_place){.line = 99, .twins = 1}, name));
    assert_false(sources_name(sources, &(struct source_file){pipe, NULL, ""},
                              &(struct source_place){.line = 1, .twins = 1}, name)); /* and does not wait */
    assert_false(sources_name(sources, &(struct source_file){"/nowhere/at/all.c", NULL, NULL},
                              &(struct source_place){.line = 1, .twins = 1}, name));
    assert_false(sources_name(sources, &(struct source_file){"", NULL, ""},
                              &(struct source_place){.line = 1, .twins = 1}, name));
    sources_free(sources);
    unlink(path);
    unlink(pipe);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_c),       cmocka_unit_test(of_cxx),        cmocka_unit_test(of_columns),
        cmocka_unit_test(of_fortran), cmocka_unit_test(of_twins),      cmocka_unit_test(of_nonsense),
        cmocka_unit_test(of_files),   cmocka_unit_test(of_many_words), cmocka_unit_test(of_mentions),
    };
    return cmocka_run_group_tests_name("source_name", tests, NULL, NULL);
}
