#include "symbols/cut_file.h"
#include "base/order.h"
#include "symbols/symbols.h"

#include "base/array.h"
#include "base/map64.h"
#include "base/progress.h"
#include "base/strtab.h"
#include "symbols/binary.h"
#include "symbols/debuginfo.h"
#include "symbols/demangle.h"
#include "symbols/runtime/go_table.h"
#include "symbols/symbols_internal.h"
#include "symbols/symtab.h"
#include "symbols/type_internal.h"
#include "symbols/name_table.h"

#include <stdlib.h>
#include <string.h>

struct symbols {
    struct strtab *names;
    struct map64 demangled;         /* a name's number + 1 -> its demangled text's number */
    struct symbols_module *modules; /* newest first */
    struct strtab *module_keys;     /* build-id and path */
    struct map64 module_of;         /* such a key's number, to the module */
    array_of(const char *) directories;
    struct symbol_types types;
    const char *root; /* a tree of files that comes before this machine's; or NULL */
};

struct symbols_module {
    struct symbols_module *next;
    struct symbols *symbols;
    const char *path;
    uint8_t build_id[BUILD_ID_MOST];
    size_t build_id_size;
    uint32_t first_pid, last_pid;     /* processes that have it mapped; 0: none is known */
    bool found, opened, debug_opened; /* looked for, read */
    const char *trouble;
    struct binary *binary; /* NULL: no such file, or another build of it */
    struct binary *debug;  /* separate debug file, if any */
    struct debuginfo *info;
    struct symtab tables;
    struct go_table go;
    array_of(struct symbol_section) sections; /* sorted */

    /* Answers given before. */
    struct map64 frames_at, objects_at;
    array_of(struct symbol_frame) frames; /* all answers, one after the other */
    array_of(struct symbol_object) known_objects;
};

struct symbols *symbols_new(void)
{
    struct symbols *symbols = mem_zalloc(sizeof *symbols);
    symbols->names = strtab_new();
    symbols->module_keys = strtab_new();
    return symbols;
}

static void module_free(struct symbols_module *module)
{
    debuginfo_close(module->info);
    binary_close(module->debug);
    binary_close(module->binary);
    table_free(&module->tables.functions);
    table_free(&module->tables.objects);
    table_free(&module->tables.thread_locals);
    array_free(&module->sections);
    array_free(&module->frames);
    array_free(&module->known_objects);
    map64_free(&module->frames_at);
    map64_free(&module->objects_at);
    free(module);
}

void symbols_free(struct symbols *symbols)
{
    if (!symbols)
        return;
    for (struct symbols_module *module = symbols->modules, *next; module; module = next) {
        next = module->next;
        module_free(module);
    }
    array_free(&symbols->directories);
    array_each (&symbols->types.items, struct symbol_type *, type) {
        free((void *)(*type)->fields);
        free(*type);
    }
    array_free(&symbols->types.items);
    map64_free(&symbols->types.of_key);
    map64_free(&symbols->demangled);
    map64_free(&symbols->module_of);
    strtab_free(symbols->module_keys);
    strtab_free(symbols->names);
    free(symbols);
}

struct strtab *symbols_names(struct symbols *symbols)
{
    return symbols->names;
}

void symbols_add_debug_directory(struct symbols *symbols, const char *directory)
{
    array_push(&symbols->directories, strtab_intern(symbols->names, directory));
}

void symbols_set_root(struct symbols *symbols, const char *directory)
{
    symbols->root = strtab_intern(symbols->names, directory);
    char *debug = mem_format("%s/usr/lib/debug", directory);
    symbols_add_debug_directory(symbols, debug);
    free(debug);
}

struct symbols_module *symbols_module(struct symbols *symbols, const char *path, const uint8_t *build_id,
                                      size_t build_id_size)
{
    if (build_id_size > BUILD_ID_MOST)
        build_id_size = BUILD_ID_MOST;
    const char *interned = strtab_intern(symbols->names, path);
    size_t length = strlen(path) + 1;
    char *key = mem_alloc(1 + build_id_size + length);
    key[0] = (char)build_id_size;
    if (build_id_size)
        memcpy(key + 1, build_id, build_id_size);
    memcpy(key + 1 + build_id_size, path, length);
    uint32_t number = strtab_add_bytes(symbols->module_keys, key, 1 + build_id_size + length);
    free(key);
    uint64_t *place = map64_insert(&symbols->module_of, number, NULL);
    if (*place)
        return (struct symbols_module *)(uintptr_t)*place;
    struct symbols_module *module = mem_zalloc(sizeof *module);
    *place = (uintptr_t)module;
    module->symbols = symbols;
    module->path = interned;
    module->build_id_size = build_id_size;
    if (build_id_size)
        memcpy(module->build_id, build_id, build_id_size);
    module->next = symbols->modules;
    symbols->modules = module;
    return module;
}

void symbols_module_of_process(struct symbols_module *module, uint32_t pid)
{
    if (!module->first_pid)
        module->first_pid = pid;
    module->last_pid = pid;
}

ORDER_BY(by_section_start, struct symbol_section, ORDER(a->start, b->start))

static void read_sections(struct symbols_module *module, const struct binary *binary)
{
    size_t names;
    if (elf_getshdrstrndx(binary->elf, &names) != 0)
        return;
    Elf_Scn *section = NULL;
    while ((section = elf_nextscn(binary->elf, section))) {
        GElf_Shdr header;
        /* .tbss has an address but takes none: its range is that of what follows. */
        if (!gelf_getshdr(section, &header) || !(header.sh_flags & SHF_ALLOC) || header.sh_size == 0 ||
            (header.sh_flags & SHF_TLS && header.sh_type == SHT_NOBITS))
            continue;
        const char *name = elf_strptr(binary->elf, names, header.sh_name);
        array_push(&module->sections,
                   (struct symbol_section){.name = strtab_intern(module->symbols->names, name ? name : ""),
                                           .start = header.sh_addr,
                                           .size = header.sh_size,
                                           .writable = header.sh_flags & SHF_WRITE,
                                           .executable = header.sh_flags & SHF_EXECINSTR});
    }
    if (module->sections.count)
        qsort(module->sections.items, module->sections.count, sizeof *module->sections.items, by_section_start);
}

static void set_trouble(struct symbols_module *module, const char *text)
{
    module->trouble = strtab_intern(module->symbols->names, text);
}

/* In the files of a process that has another root, or another mount namespace. Its debug files are there too. */
static void open_below_process(struct symbols_module *module, uint32_t pid)
{
    char *ignored = NULL, *root = mem_format("/proc/%u/root", pid);
    module->binary = binary_find(module->path, root, module->build_id, module->build_id_size, &ignored);
    if (module->binary) {
        char *debug = mem_format("%s/usr/lib/debug", root), *path = mem_format("%s%s", root, module->path);
        symbols_add_debug_directory(module->symbols, debug);
        module->path = strtab_intern(module->symbols->names, path);
        free(debug);
        free(path);
    }
    free(ignored);
    free(root);
}

/* The program's own file, unless it is not the one that was recorded. Who records asks for no more of it: tables of symbols, which are long,
 * are read for names only. */
static void open_binary(struct symbols_module *module)
{
    char *why;
    if (module->found)
        return;
    module->found = true;
    bool known = module->build_id_size && *module->path == '/';
    module->binary = binary_find(module->path, module->symbols->root, module->build_id, module->build_id_size, &why);
    if (!module->binary && known && module->first_pid)
        open_below_process(module, module->first_pid);
    if (!module->binary && known && module->last_pid != module->first_pid)
        open_below_process(module, module->last_pid);
    if (!module->binary)
        set_trouble(module, why);
    free(why);
}

static void find_debug(struct symbols_module *module)
{
    module->debug = binary_find_debug(module->binary, module->path, module->build_id, module->build_id_size,
                                      module->symbols->directories.items, module->symbols->directories.count);
}

static void open_module(struct symbols_module *module)
{
    if (module->opened)
        return;
    module->opened = true;
    progress_inner("reading symbols");
    open_binary(module);
    bool complete = false;
    if (module->binary) {
        complete = symtab_read(module->binary, &module->tables);
        symtab_read_plt(module->binary, &module->tables.functions, module->symbols->names);
        read_sections(module, module->binary);
    }
    if (!complete || !binary_has_dwarf(module->binary))
        find_debug(module);
    if (module->debug && !complete)
        complete = symtab_read(module->debug, &module->tables);
    if (module->debug && !module->binary)
        read_sections(module, module->debug);
    if (module->binary && !complete)
        symtab_read_minidebug(module->binary, &module->tables.functions, module->symbols->names);
    table_finish(&module->tables.functions);
    table_finish(&module->tables.objects);
    table_finish(&module->tables.thread_locals);
    progress_inner(NULL);
}

static struct debuginfo *debuginfo_of(struct symbols_module *module)
{
    open_module(module);
    if (module->debug_opened)
        return module->info;
    module->debug_opened = true;
    progress_inner("reading debug information");
    if (module->binary && binary_has_dwarf(module->binary))
        module->info = debuginfo_open(module->binary, module->symbols);
    else if (module->debug && binary_has_dwarf(module->debug))
        module->info = debuginfo_open(module->debug, module->symbols);
    progress_inner(NULL);
    return module->info;
}

size_t symbols_build_id(struct symbols_module *module, uint8_t *build_id, size_t most)
{
    open_binary(module);
    const struct binary *binary = module->binary; /* NULL, too, for one that is not of the recorded build */
    size_t size = binary ? binary->build_id_size : module->build_id_size;
    if (size > most)
        return 0;
    if (size)
        memcpy(build_id, binary ? binary->build_id : module->build_id, size);
    return size;
}

static const char *trouble_of(const struct symbols_module *module)
{
    bool cut = (module->binary && cut_file_was_cut(module->binary->watched)) ||
               (module->debug && cut_file_was_cut(module->debug->watched));
    return cut ? "became shorter while it was read" : module->trouble;
}

const char *symbols_module_trouble(struct symbols_module *module)
{
    open_binary(module);
    return trouble_of(module);
}

const char *symbols_module_missing(struct symbols_module *module)
{
    open_module(module);
    return module->debug ? NULL : trouble_of(module);
}

const char *symbols_demangle(struct symbols *symbols, const char *name)
{
    if (name[0] != '_')
        return strtab_intern(symbols->names, name);
    uint32_t number = strtab_add(symbols->names, name);
    bool is_new;
    uint64_t *known = map64_insert(&symbols->demangled, number, &is_new);
    if (is_new) {
        char *text = demangle(name);
        *known = text ? strtab_add(symbols->names, text) : number;
        free(text);
    }
    return strtab_text(symbols->names, (uint32_t)*known);
}

/* A table's name for people: versions ("stdout@GLIBC_2.17") come off, stubs ("malloc@plt") stay. */
static const char *shown_name(struct symbols *symbols, const char *raw)
{
    const char *at = strchr(raw, '@');
    if (!at || at == raw)
        return symbols_demangle(symbols, raw);
    bool stub = strcmp(at, "@plt") == 0;
    char *bare = mem_format("%.*s", (int)(at - raw), raw);
    const char *shown = symbols_demangle(symbols, bare);
    free(bare);
    if (!stub)
        return shown;
    char *with_stub = mem_format("%s@plt", shown);
    shown = strtab_intern(symbols->names, with_stub);
    free(with_stub);
    return shown;
}

/* The last frame's name and offset, where debug information and symbol table both have something to say. The table
 * knows the aliases that programs use (malloc for __libc_malloc) but also the compiler's names for parts of functions
 * (sum.constprop.0, sum.cold), which debug information does not. */
static void name_last_frame(struct symbols_module *module, uint64_t addr, uint64_t entry, struct symbol_frame *frame)
{
    const struct table_entry *symbol = table_find(&module->tables.functions, addr);
    if (!symbol)
        return;
    bool whole = symbol->start == entry && !strchr(symbol->name, '.');
    if (*frame->function == '\0' || (whole && strncmp(symbol->name, "_Z", 2) != 0)) {
        frame->function = shown_name(module->symbols, symbol->name);
        frame->offset = addr - symbol->start;
    }
}

/* What a Go program's own table has, when debug information has nothing. */
static bool go_frame(struct symbols_module *module, uint64_t addr, struct symbol_frame *frame)
{
    if (!module->go.opened && module->binary)
        go_table_open(&module->go, module->binary);
    return go_table_frame(&module->go, addr, frame);
}

static size_t find_frames(struct symbols_module *module, uint64_t addr, struct symbol_frame *frames)
{
    struct debuginfo *info = debuginfo_of(module);
    uint64_t entry = 0;
    size_t count = info ? debuginfo_frames(info, addr, frames, SYMBOL_FRAMES, &entry) : 0;
    if (count == 0 && go_frame(module, addr, frames))
        return 1;
    if (count == 0)
        frames[0] = (struct symbol_frame){.function = "", .file = ""};
    name_last_frame(module, addr, entry, &frames[count ? count - 1 : 0]);
    return count || *frames[0].function ? (count ? count : 1) : 0;
}

size_t symbols_frames(struct symbols_module *module, uint64_t addr, struct symbol_frame *frames, size_t max)
{
    if (addr == MAP64_EMPTY)
        return 0;
    bool is_new;
    uint64_t *place = map64_insert(&module->frames_at, addr, &is_new);
    if (is_new) {
        struct symbol_frame found[SYMBOL_FRAMES];
        size_t count = find_frames(module, addr, found);
        *place = (uint64_t)module->frames.count << 8 | count;
        for (size_t i = 0; i < count; i++)
            array_push(&module->frames, found[i]);
    }
    size_t count = *place & 0xff, first = *place >> 8;
    if (count > max)
        count = max;
    if (count)
        memcpy(frames, module->frames.items + first, count * sizeof *frames);
    return count;
}

bool symbols_variable(struct symbols_module *module, uint64_t addr, size_t level, const char *expression,
                      struct symbol_variable *variable)
{
    struct debuginfo *info = debuginfo_of(module);
    return info && debuginfo_declared(info, addr, level, expression, variable);
}

bool symbols_variable_of_type(struct symbols_module *module, uint64_t addr, size_t level, const char *type,
                              struct symbol_variable *variable)
{
    struct debuginfo *info = debuginfo_of(module);
    char *tidy = mem_strdup(type);
    debuginfo_tidy_type(tidy);
    bool found = info && debuginfo_declared_as(info, addr, level, tidy, variable);
    free(tidy);
    return found;
}

struct symbol_frame symbols_function(struct symbols_module *module, uint64_t addr)
{
    struct symbol_frame frame = {.function = "", .file = ""};
    open_module(module);
    name_last_frame(module, addr, 0, &frame);
    return frame;
}

/* "pgain()::lower" of "pgain(long, Points*)::lower": parameters of the function that it is local to leave no room for its name. */
static const char *object_shown_name(struct symbols *symbols, const char *raw)
{
    const char *shown = shown_name(symbols, raw), *open = NULL, *first = NULL, *close = NULL;
    int depth = 0;
    for (const char *at = shown; *at; at++) {
        depth += *at == '(' || *at == '<' ? 1 : *at == ')' || *at == '>' ? -1 : 0;
        if (depth == 1 && *at == '(')
            first = at;
        if (depth != 0 || *at != ')' || !first || first == shown || first[-1] == ':' || first[1] == ')')
            continue;
        size_t method = strncmp(at + 1, " const", 6) == 0 ? 6 : 0;
        if (strncmp(at + 1 + method, "::", 2) == 0) {
            open = first;
            close = at + method;
        }
    }
    if (!close)
        return shown;
    char *bare = mem_format("%.*s()%s", (int)(open - shown), shown, close + 1);
    shown = strtab_intern(symbols->names, bare);
    free(bare);
    return shown;
}

static void find_object(struct symbols_module *module, const struct table_entry *entry, struct symbol_object *object)
{
    *object = (struct symbol_object){.name = object_shown_name(module->symbols, entry->name),
                                     .file = "",
                                     .start = entry->start,
                                     .size = entry->size};
    struct debuginfo *info = debuginfo_of(module);
    struct symbol_object declared = *object;
    if (!info || !debuginfo_variable(info, entry->start, &declared))
        return;
    object->file = declared.file;
    object->line = declared.line;
    /* The compiler numbers what is local to a function: count.0 */
    if (strchr(entry->name, '.'))
        object->name = declared.name;
}

bool symbols_object(struct symbols_module *module, uint64_t addr, struct symbol_object *object)
{
    open_module(module);
    const struct table_entry *entry = table_find(&module->tables.objects, addr);
    if (!entry)
        return false;
    struct debuginfo *info = debuginfo_of(module);
    if (info && debuginfo_common_member(info, addr, object))
        return true;
    bool is_new;
    uint64_t *place = map64_insert(&module->objects_at, entry->start, &is_new);
    if (is_new) {
        struct symbol_object found;
        find_object(module, entry, &found);
        *place = module->known_objects.count;
        array_push(&module->known_objects, found);
    }
    *object = module->known_objects.items[*place];
    return true;
}

bool symbols_thread_local(struct symbols_module *module, uint64_t offset, struct symbol_object *object)
{
    open_module(module);
    const struct table_entry *entry = table_find(&module->tables.thread_locals, offset);
    if (!entry)
        return false;
    *object = (struct symbol_object){
        .name = shown_name(module->symbols, entry->name), .file = "", .start = entry->start, .size = entry->size};
    struct debuginfo *info = debuginfo_of(module);
    if (info)
        debuginfo_thread_local(info, entry->start, entry->name, object);
    return true;
}

bool symbols_section(struct symbols_module *module, uint64_t addr, struct symbol_section *section)
{
    open_module(module);
    array_each (&module->sections, struct symbol_section, found) {
        if (addr < found->start || addr - found->start >= found->size)
            continue;
        *section = *found;
        return true;
    }
    return false;
}

bool symbols_address_of_offset(struct symbols_module *module, uint64_t offset, uint64_t *addr)
{
    open_binary(module);
    return module->binary && binary_address_of_offset(module->binary, offset, addr);
}

bool symbols_extent(struct symbols_module *module, uint64_t *low, uint64_t *high)
{
    open_binary(module);
    return module->binary && binary_extent(module->binary, low, high);
}

struct symbol_types *symbols_types(struct symbols *symbols)
{
    return &symbols->types;
}

const struct symbol_type *symbols_variable_type(struct symbols_module *module, const char *name, uint32_t line)
{
    struct debuginfo *info = debuginfo_of(module);
    return info ? debuginfo_variable_type(info, name, line) : NULL;
}

const struct symbol_type *symbols_expression_type(struct symbols_module *module, uint64_t addr, size_t level,
                                                  const char *expression)
{
    struct debuginfo *info = debuginfo_of(module);
    return info ? debuginfo_expression_type(info, addr, level, expression) : NULL;
}

const struct symbol_type *symbols_named_type(struct symbols_module *module, uint64_t addr, const char *name)
{
    struct debuginfo *info = debuginfo_of(module);
    return info ? debuginfo_named_type(info, addr, name) : NULL;
}

const struct symbol_type *symbols_parameter_type(struct symbols_module *module, uint64_t addr, size_t level)
{
    struct debuginfo *info = debuginfo_of(module);
    return info ? debuginfo_parameter_type(info, addr, level) : NULL;
}
