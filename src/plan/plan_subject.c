#include "plan/plan_subject.h"

#include "base/text.h"
#include "plan/flexmalloc.h"
#include "symbols/search.h"

#include <stdlib.h>
#include <string.h>

enum { FRAMES_MOST = 64 };

static void count_range(void *context, uint64_t low, uint64_t high)
{
    (void)low;
    (void)high;
    (*(unsigned *)context)++;
}

static void join(char **text, const char *more)
{
    char *old = *text;
    *text = old ? mem_format("%s > %s", old, more) : mem_strdup(more);
    free(old);
}

/* No other site is on its line. */
static bool is_alone(const struct flow *flow, const struct flow_site *site)
{
    for (uint32_t i = 0; i < flow_site_count(flow); i++) {
        const struct flow_site *other = flow_site(flow, i);
        if (other != site && other->line == site->line && strcmp(other->file, site->file) == 0)
            return false;
    }
    return true;
}

/* As it was recorded, or as the file has it; "" where that is no word that a plan's reader takes for one. */
static void build_id_of(const struct flow *flow, const char *path, char text[SEARCH_BUILD_ID])
{
    enum { DIGITS_LEAST = 8 };
    uint8_t bytes[(SEARCH_BUILD_ID - 1) / 2];
    struct symbols_module *module = flow_module_symbols(flow, path);
    size_t size = module ? symbols_build_id(module, bytes, sizeof bytes) : 0;
    text[0] = '\0';
    for (size_t i = 0; i < size; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    if ((!module && !search_build_id(path, text)) || strlen(text) < DIGITS_LEAST)
        text[0] = '\0';
}

/* The plan's line about a binary, so that offsets in another build of it are refused. False: the plan has no room for it. */
static bool add_program(struct placement_plan *plan, const struct flow *flow, const char *path)
{
    char build_id[SEARCH_BUILD_ID], *written = plan_name_write(path, " ");
    bool known = *path != '/';
    array_each (&plan->programs, struct plan_program, other)
        known |= strcmp(other->path, written) == 0;
    bool fits = known || plan->programs.count < PLACE_MODULES;
    if (known || !fits) {
        free(written);
        return fits;
    }
    build_id_of(flow, path, build_id);
    array_push(&plan->programs, (struct plan_program){0, written, mem_strdup(build_id)});
    return true;
}

/* Of a source file without its folders. */
static char *line_name(const char *file, uint32_t line)
{
    char *name = plan_name_write(text_file_name(file), "!>"), *text = mem_format("%s:%u", name, line);
    free(name);
    return text;
}

/* The chain up to a frame, as offsets. NULL: not known. */
static char *offsets_name(struct placement_plan *plan, const struct flow *flow, const struct flow_frame *frames,
                          size_t last)
{
    char *chain = NULL;
    for (size_t i = 0; i <= last; i++) {
        if (i && frames[i].addr == frames[i - 1].addr)
            continue;
        if (!*frames[i].module || !add_program(plan, flow, frames[i].path)) {
            free(chain);
            return NULL;
        }
        char *module = plan_name_write(frames[i].module, "!>");
        char *frame = mem_format("%s!0x%llx", module, (unsigned long long)frames[i].addr + 1);
        join(&chain, frame);
        free(module);
        free(frame);
    }
    return chain;
}

/* "store.c:54" where that line is the call itself; else the chain up to it, as offsets. NULL: not known. */
static char *site_name(struct placement_plan *plan, const struct flow *flow, const struct flow_site *site)
{
    struct flow_frame frames[FRAMES_MOST];
    size_t count = flow_stack_places(flow, site->process, site->stack, frames, FRAMES_MOST), last = 0;
    if (count == 0)
        return NULL;
    while (last + 1 < count &&
           (frames[last].symbol.line != site->line || strcmp(frames[last].symbol.function, site->function) != 0))
        last++;
    if (frames[last].symbol.line != site->line || strcmp(frames[last].symbol.function, site->function) != 0)
        last = 0;
    const struct flow_process *process = flow_process(flow, site->process);
    const char *exe = process ? process->exe : "";
    unsigned found = 0;
    if (last == 0 && is_alone(flow, site) && *site->file && strcmp(text_file_name(exe), frames[0].module) == 0 &&
        search_line(exe, text_file_name(site->file), site->line, count_range, &found) && found)
        return add_program(plan, flow, exe) ? line_name(site->file, site->line) : NULL;
    return offsets_name(plan, flow, frames, last);
}

/* The call chain by lines, up to main, a thread's start routine or the first frame that has none; NULL when that is the innermost. */
char *plan_site_lines(const struct flow *flow, const struct flow_site *site)
{
    struct flow_frame frames[FRAMES_MOST];
    size_t count = flow_stack_places(flow, site->process, site->stack, frames, FRAMES_MOST);
    char *chain = NULL;
    for (size_t i = 0; i < count && *frames[i].symbol.file && frames[i].symbol.line; i++) {
        if (flexmalloc_ends_chain(text_file_name(frames[i].symbol.file)))
            break;
        if (i && frames[i].addr == frames[i - 1].addr)
            continue; /* inlined here */
        char *frame = line_name(frames[i].symbol.file, frames[i].symbol.line);
        join(&chain, frame);
        free(frame);
    }
    return chain;
}

/* As the symbol table has it; NULL when it does not. */
static char *static_name(const struct flow_object *object)
{
    const char *slash = strchr(object->name, '/');
    char *symbol = slash ? mem_format("%.*s_", (int)(slash - object->name), object->name) : mem_strdup(object->name);
    unsigned found = 0;
    bool is_one = search_object(object->path, symbol, count_range, &found) && found == 1;
    char *name = is_one ? plan_name_write(symbol, strcmp(symbol, "*") == 0 ? "*" : "!") : NULL;
    free(symbol);
    return name;
}

/* Of memfd_create. */
static char *memory_name(const char *name)
{
    static const char deleted[] = " (deleted)";
    size_t length = strlen(name), end = strlen(deleted);
    if (length > end && strcmp(name + length - end, deleted) == 0)
        length -= end;
    char *bare = mem_format("%.*s", (int)length, name), *written = plan_name_write(bare, "*?");
    free(bare);
    return written;
}

char *plan_subject_name(struct placement_plan *plan, const struct flow *flow, const struct facts_subject *subject,
                        enum place_kind *kind)
{
    const struct flow_object *object = flow_object(flow, subject->object);
    const struct flow_site *site = subject->site == FLOW_NONE ? NULL : flow_site(flow, subject->site);
    if (!object)
        return NULL;
    if (object->kind == OBJECT_STATIC && !flow_object_thread_local(object)) {
        *kind = PLACE_STATIC;
        return add_program(plan, flow, object->path) ? static_name(object) : NULL;
    }
    if (object->kind == OBJECT_FILE && *object->name == '/') {
        bool shared = strncmp(object->name, "/dev/shm/", 9) == 0;
        *kind = shared ? PLACE_SHM : PLACE_FILE;
        return plan_name_write(shared ? object->name + 9 : object->name, "*?");
    }
    if (strncmp(object->name, "/memfd:", 7) == 0) {
        *kind = PLACE_SHM;
        return memory_name(object->name + 7);
    }
    if (!site || (object->kind != OBJECT_HEAP && object->kind != OBJECT_MAP))
        return NULL;
    *kind = PLACE_SITE;
    return site_name(plan, flow, site);
}
