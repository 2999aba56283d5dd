#include "capture/outside/remote_python.h"

#include "base/map64.h"
#include "base/mem.h"
#include "capture/outside/remote_memory.h"
#include "capture/process/proc.h"
#include "capture/process/procfs.h"
#include "symbols/binary.h"

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    SKIP_MOST = 4096, /* bursts of a thread that Python does not know, before it is looked for again */
    FRAME_BYTES = 16, /* of code that has one name */
};

struct remote_python {
    uint32_t pid;
    int pagemap;
    uint64_t page_bytes;
    bool found;
    struct python_where where;
    struct map64 ids; /* of names, by what makes a frame's code and line */
    size_t most;
    uint32_t last_id;
    struct { /* frames of the chain that was asked for last in this burst */
        uint32_t depth, ids[PYTHON_FRAMES];
        struct executor_frame frames[PYTHON_FRAMES];
        uint32_t chain; /* 0: none */
    } last;
    struct executor_frame read[PYTHON_FRAMES];
};

struct remote_python *remote_python_new(uint32_t pid, size_t most)
{
    struct remote_python *python = mem_zalloc(sizeof *python);
    python->pid = pid;
    python->most = most;
    python->pagemap = -1;
    python->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    return python;
}

void remote_python_free(struct remote_python *python)
{
    if (!python)
        return;
    if (python->pagemap >= 0)
        close(python->pagemap);
    map64_free(&python->ids);
    free(python);
}

static bool is_present(const struct remote_python *python, uint64_t addr)
{
    enum { PRESENT = 63 };
    uint64_t entry = 0;
    return addr < 1ull << 63 &&
           pread(python->pagemap, &entry, sizeof entry, (off_t)(addr / python->page_bytes * sizeof entry)) ==
               (ssize_t)sizeof entry &&
           entry >> PRESENT;
}

/* The kernel reads no registers of devices in this way. */
static bool read_remote(void *context, uint64_t from, void *to, size_t bytes)
{
    const struct remote_python *python = context;
    struct iovec local = {to, bytes}, remote = {(void *)from, bytes};
    for (uint64_t at = from & ~(python->page_bytes - 1); at < from + bytes; at += python->page_bytes)
        if (!is_present(python, at))
            return false;
    return process_vm_readv((pid_t)python->pid, &local, 1, &remote, 1, 0) == (ssize_t)bytes;
}

static struct python_reader reader_of(struct remote_python *python)
{
    return (struct python_reader){.read = read_remote, .context = python};
}

static void take_symbols(const struct binary *binary, struct python_symbols *found)
{
    Elf_Scn *section = NULL;
    GElf_Shdr header;
    GElf_Sym symbol;
    while ((section = elf_nextscn(binary->elf, section))) {
        if (!gelf_getshdr(section, &header) || header.sh_type != SHT_DYNSYM || header.sh_entsize == 0)
            continue;
        Elf_Data *data = elf_getdata(section, NULL);
        for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
            const char *name = symbol.st_shndx ? elf_strptr(binary->elf, header.sh_link, symbol.st_name) : NULL;
            if (name)
                python_symbol(found, name, symbol.st_value, symbol.st_size);
        }
    }
}

static bool is_interpreter(struct remote_python *python, const struct proc_map *map)
{
    struct python_symbols found = {0};
    struct python_reader reader = reader_of(python);
    uint64_t addr;
    char *path = mem_format("/proc/%u/root%s", python->pid, map->path);
    struct binary *binary = binary_open(path, NULL);
    free(path);
    if (binary)
        take_symbols(binary, &found);
    bool is = binary && binary_address_of_offset(binary, map->offset, &addr) &&
              python_where_of(&python->where, &found, map->start - addr, &reader);
    binary_close(binary);
    return is;
}

void remote_python_find(struct remote_python *python)
{
    struct proc_map map;
    if (python->found)
        return;
    if (python->pagemap < 0)
        python->pagemap = remote_file(python->pid, "pagemap");
    struct proc_maps maps = proc_maps_of(python->pid);
    while (!python->found && proc_maps_next(&maps, &map))
        python->found =
            map.path[0] == '/' && map.offset == 0 && python_may_be(map.path) && is_interpreter(python, &map);
    proc_maps_close(&maps);
}

static void look_later(struct outside_thread *thread)
{
    thread->python_wait = thread->python_wait * 2 + 1 > SKIP_MOST ? SKIP_MOST : thread->python_wait * 2 + 1;
    thread->python_skip = thread->python_wait;
}

void remote_python_thread(struct remote_python *python, struct outside_thread *thread)
{
    struct python_reader reader = reader_of(python);
    if (!python->found || thread->python_state)
        return;
    if (thread->python_skip) {
        thread->python_skip--;
        return;
    }
    if (!thread->python_tid)
        thread->python_tid = procfs_local_thread(python->pid, thread->tid);
    thread->python_state = python_thread(&python->where, &reader, thread->python_tid);
    if (!thread->python_state)
        look_later(thread);
}

void remote_python_answered(struct outside_thread *thread, const struct executor_job *job)
{
    if (!thread->python_state || job->python_state)
        return;
    thread->python_state = 0;
    look_later(thread);
}

void remote_python_ask(struct remote_python *python, const struct outside_thread *thread, struct executor_job *job)
{
    job->chains.count = 0;
    job->python_state = 0;
    python->last.chain = python->last.depth = 0;
    job->python_state = python->found ? thread->python_state : 0;
    job->python_tid = thread->python_tid;
    job->python = python->where.layout;
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 32;
}

static uint32_t put_name(struct remote_python *python, struct sink *sink, const struct capture_process *process,
                         const struct python_frame *frame, uint32_t line)
{
    char name[PYTHON_NAME], file[PYTHON_FILE];
    struct python_reader reader = reader_of(python);
    const struct python_where *where = &python->where;
    if (!python_text(where, &reader, python_head(frame, where->layout.name), name, sizeof name, false) ||
        !python_text(where, &reader, python_head(frame, where->layout.file), file, sizeof file, true))
        return 0;
    struct event event = {.time = process->start, .pid = process->pid, .tid = process->pid, .kind = EVENT_RUNTIME_CODE};
    event.code = (struct event_runtime_code){.addr = RUNTIME_CODE_SCRIPT + ++python->last_id * (uint64_t)FRAME_BYTES,
                                             .size = FRAME_BYTES,
                                             .line = line,
                                             .name = name,
                                             .file = file};
    sink_put(sink, &event);
    return python->last_id;
}

/* The number of a frame's name; 0: it has none. */
static uint32_t id_of(struct remote_python *python, struct sink *sink, const struct capture_process *process,
                      struct python_frame *frame)
{
    struct python_reader reader = reader_of(python);
    const struct python_layout *layout = &python->where.layout;
    if (frame->code % 8 || frame->code < 4096 || !python_read_head(&reader, frame))
        return 0;
    uint64_t code = mix(mix(frame->code, python_head(frame, layout->name)), python_head(frame, layout->file));
    code = mix(mix(code, python_head(frame, layout->lines)), (uint32_t)python_head(frame, layout->first_line));
    const uint64_t *known = map64_find(&python->ids, mix(code, frame->instruction));
    if (known)
        return (uint32_t)*known;
    if (python_word(&reader, frame->code + 8) != python->where.code_type)
        return 0;
    if (python->ids.count >= 2 * python->most) {
        sink_loss(sink, process->start, process->pid, process->pid, LOSS_MEMORY, 1);
        return 0;
    }
    uint32_t line = python_line(&python->where, &reader, frame);
    known = map64_find(&python->ids, mix(code, ~(uint64_t)line));
    uint32_t id = known ? (uint32_t)*known : put_name(python, sink, process, frame, line);
    if (id) {
        *map64_insert(&python->ids, mix(code, ~(uint64_t)line), NULL) = id;
        *map64_insert(&python->ids, mix(code, frame->instruction), NULL) = id;
    }
    return id;
}

bool remote_python_alike(const struct executor_chains *a, const struct executor_chains *b, uint32_t accesses)
{
    const volatile struct executor_chains *shared = a; /* an executor may write meanwhile: each count is read once */
    uint32_t count = shared->count;
    if (count != b->count || count > EXECUTOR_CHAINS || memcmp(a->of, b->of, accesses) != 0)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t depth = shared->items[i].depth;
        if (depth != b->items[i].depth || depth > PYTHON_FRAMES ||
            memcmp(a->items[i].frames, b->items[i].frames, depth * sizeof *a->items->frames) != 0)
            return false;
    }
    return true;
}

/* Frames that the last chain had too, as seen from the outermost, keep their names: most of a burst are the same. */
static void take_chain(struct remote_python *python, struct sink *sink, const struct capture_process *process,
                       const volatile struct executor_chain *from)
{
    uint32_t ids[PYTHON_FRAMES] = {0}, answered = from->depth, depth = answered > PYTHON_FRAMES ? 0 : answered;
    for (uint32_t i = 0; i < depth; i++) {
        struct python_frame frame = {.code = from->frames[i].code, .instruction = from->frames[i].instruction};
        struct executor_frame read = {frame.code, frame.instruction, from->frames[i].entry};
        uint32_t before = i + python->last.depth - depth;
        const struct executor_frame *known = before < python->last.depth ? &python->last.frames[before] : NULL;
        bool same = known && known->code == read.code && known->instruction == read.instruction;
        ids[i] = same ? python->last.ids[before] : id_of(python, sink, process, &frame);
        python->read[i] = read;
    }
    python->last.depth = depth;
    memcpy(python->last.ids, ids, depth * sizeof *ids);
    memcpy(python->last.frames, python->read, depth * sizeof *python->read);
}

unsigned remote_python_chain(struct remote_python *python, struct sink *sink, const struct capture_process *process,
                             const volatile struct executor_job *job, uint32_t number,
                             const struct native_chain *native, uint64_t *frames, unsigned most)
{
    struct script_frame script[PYTHON_FRAMES];
    uint32_t chains = job->chains.count, chain = job->chains.of[number], count = 0;
    if (!python->found || chain > chains || chains > EXECUTOR_CHAINS)
        chain = 0;
    if (chain && chain != python->last.chain)
        take_chain(python, sink, process, &job->chains.items[chain - 1]);
    python->last.chain = chain ? chain : python->last.chain;
    for (uint32_t i = 0; chain && i < python->last.depth; i++) {
        uint64_t id = python->last.ids[i];
        bool entry = python->last.frames[i].entry;
        if (id)
            script[count++] = (struct script_frame){RUNTIME_CODE_SCRIPT + id * FRAME_BYTES + 8, entry};
        else if (entry && count)
            script[count - 1].entry = true;
    }
    return python_merge(python->where.eval_start, python->where.eval_end, native->frames, native->depth, native->cut,
                        false, script, count, frames, most);
}
