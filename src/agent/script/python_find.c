/* agent/script/python_find.c - whether a module is an interpreter of Python, and where its structures are. */
#include "agent/custom/custom_symbols.h"
#include "agent/script/python.h"
#include "agent/unwind/stack.h"
#include "base/python_frames.h"

static void look(void *context, const struct custom_symbol *symbol)
{
    python_symbol(context, symbol->name, symbol->addr, symbol->size);
}

void python_module_added(const char *path, uint64_t bias)
{
    struct custom_file file;
    struct python_symbols found = {0};
    struct python_where where;
    const struct python_reader own = {.read = python_read_own};
    if (stack_script || !python_may_be(path) || !custom_file_open(&file, path))
        return;
    custom_file_each_exported(&file, look, &found);
    custom_file_close(&file);
    if (!python_where_of(&where, &found, bias, &own))
        return;
    stack_script_array = numpy_array;
    python_start(&where);
}
