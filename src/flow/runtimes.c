#include "flow/runtimes.h"

#include <string.h>

bool runtime_library_file(const char *file)
{
    return *file == '<' || strncmp(file, "node:", 5) == 0 || strstr(file, "/site-packages/") ||
           strstr(file, "/dist-packages/") || strstr(file, "/node_modules/") || strstr(file, "/lib/python3");
}

/* In order: what says most comes first. */
static const struct {
    const char *part, *region;
} regions[] = {
    {"CodeHeap::", "Java code cache"},
    {"etaspace", "Java metaspace"},
    {"CardTable", "Java GC tables"},
    {"BitMap", "Java GC tables"},
    {"BlockOffset", "Java GC tables"},
    {"ParallelCompactData", "Java GC tables"},
    {"v8::internal::LargeObject", "V8 heap, large objects"},
    {"LargeObjectSpace", "V8 heap, large objects"},
    {"v8::internal::SemiSpace", "V8 heap, new space"},
    {"v8::internal::NewSpace", "V8 heap, new space"},
    {"v8::internal::CompactionSpace", "V8 heap, old space"},
    {"v8::internal::PagedSpace", "V8 heap, old space"},
    {"ReadOnlySpace", "V8 heap, read-only space"},
    {"v8::internal::CodeRange", "V8 code"},
    {"v8::internal::MemoryAllocator", "V8 heap"},
    {"ReservedHeapSpace", "Java heap"},
    {"PSOldGen", "Java heap"},
    {"PSYoungGen", "Java heap"},
    {"PSVirtualSpace", "Java heap"},
    {"G1CollectedHeap", "Java heap"},
    {"HeapRegionManager", "Java heap"},
    {"G1PageBasedVirtualSpace", "Java heap"},
    {"DefNewGeneration", "Java heap"},
    {"TenuredGeneration", "Java heap"},
    {"CardGeneration", "Java heap"},
    {"ZPhysicalMemory", "Java heap"},
    {"ShenandoahHeap", "Java heap"},
    {"Universe::initialize_heap", "Java heap"},
    {"gc.os.os_mem_map", "D heap"},
    {"runtime.persistentalloc", "Go runtime"},
    {"runtime.(*mheap)", "Go heap"},
    {"runtime.sysMap", "Go heap"},
    {"runtime.sysReserve", "Go heap"},
};

const char *runtime_region(const char *function, unsigned *rank)
{
    /* Types of parameters say nothing of the function; Go has brackets in names. */
    size_t length = strncmp(function, "runtime.", 8) == 0 ? strlen(function) : strcspn(function, "(");
    for (unsigned i = 0; i < sizeof regions / sizeof *regions && i < *rank; i++) {
        if (!memmem(function, length, regions[i].part, strlen(regions[i].part)))
            continue;
        *rank = i;
        return regions[i].region;
    }
    return NULL;
}

bool runtime_openmp(const char *module, const char *function)
{
    bool is_runtime = strncmp(module, "libgomp.", 8) == 0 || strncmp(module, "libomp.", 7) == 0 ||
                      strncmp(module, "libiomp5.", 9) == 0;
    return is_runtime && !strstr(function, "_alloc") && !strstr(function, "_aligned_"); /* omp_alloc is the program's */
}

const char *runtime_block(const char *module, const char *function)
{
    static const struct {
        const char *module, *part, *block;
    } blocks[] = {{"", "ArrayBufferAllocator::", "V8 array buffer"},
                  {"", "v8::internal::IsolateAllocator::", "V8 isolate"},
                  {"", "v8::internal::AllocAtLeastWithRetry", "V8 zones"},
                  {"", "v8::internal::AccountingAllocator::", "V8 zones"},
                  {"libjvm.so", "Arena::grow", "Java VM arenas"}};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        if (strncmp(module, blocks[i].module, strlen(blocks[i].module)) == 0 &&
            memmem(function, strcspn(function, "("), blocks[i].part, strlen(blocks[i].part)))
            return blocks[i].block;
    return NULL;
}

const char *runtime_module_region(const char *module)
{
    return strncmp(module, "python3", 7) == 0 || strncmp(module, "libpython3", 10) == 0 ? "Python heap" : NULL;
}

uint32_t runtime_frame(struct flow *flow, const struct stack *stack)
{
    const struct process *process = flow->processes.items[stack->process];
    for (uint32_t i = 0; i < stack->depth && process; i++) {
        uint64_t pc = flow->chain.items[stack->first + i] - (i > 0 || stack->allocates);
        const struct runtime_code *code = live_module_at(process, pc) ? NULL : live_code_at(process, pc, stack->since);
        if (code && *code->name)
            return live_code_frame(flow, code);
    }
    return FLOW_NONE;
}

const char *runtime_array(const struct flow *flow, const struct stack *stack)
{
    uint64_t pc = stack->depth ? flow->chain.items[stack->first] : 0;
    const struct process *process = flow->processes.items[stack->process];
    const struct runtime_code *code =
        pc >= RUNTIME_CODE_SCRIPT && process ? live_code_at(process, pc, stack->since) : NULL;
    return code && code->line == 0 ? code->name : "";
}
