/* agent/script/python_find.c - whether a module is an interpreter of Python, and where its structures are. */
#include "agent/custom/custom_symbols.h"
#include "agent/script/python.h"
#include "agent/unwind/stack.h"
#include "base/python_frames.h"

#include <string.h>

struct found {
    uint64_t runtime, code_type, version, eval, eval_size;
};

static void look(void *context, const struct custom_symbol *symbol)
{
    struct found *found = context;
    if (strcmp(symbol->name, "_PyRuntime") == 0)
        found->runtime = symbol->addr;
    else if (strcmp(symbol->name, "PyCode_Type") == 0)
        found->code_type = symbol->addr;
    else if (strcmp(symbol->name, "Py_Version") == 0)
        found->version = symbol->addr;
    else if (strcmp(symbol->name, "_PyEval_EvalFrameDefault") == 0) {
        found->eval = symbol->addr;
        found->eval_size = symbol->size;
    }
}

static bool may_be_python(const char *path)
{
    const char *base = strrchr(path, '/');
    base = base ? base + 1 : path;
    return strncmp(base, "python", 6) == 0 || strncmp(base, "libpython3", 10) == 0;
}

void python_module_added(const char *path, uint64_t bias)
{
    struct custom_file file;
    struct found found = {0};
    uint64_t published[64] = {0};
    if (stack_script || !may_be_python(path) || !custom_file_open(&file, path))
        return;
    custom_file_each_exported(&file, look, &found);
    custom_file_close(&file);
    if (!found.runtime || !found.code_type || !found.version || !found.eval_size)
        return;
    const struct python_reader own = {.read = python_read_own};
    struct python_where where = {.runtime = bias + found.runtime,
                                 .code_type = bias + found.code_type,
                                 .eval_start = bias + found.eval,
                                 .eval_end = bias + found.eval + found.eval_size};
    uint64_t version = python_word(&own, bias + found.version);
    if (!python_read_own(NULL, where.runtime, published, sizeof published) ||
        !python_layout_of(&where.layout, version, published))
        return;
    stack_script_array = numpy_array;
    python_start(&where);
}
