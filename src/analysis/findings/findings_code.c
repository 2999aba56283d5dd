/* analysis/findings/findings_code.c - the changes as lines to copy, in the language of the file that they are for; where that is none
 * of C, C++ and Fortran, in words. They are kept short: a report of 80 columns leaves them 64. `size`, `count` and `copy` are the
 * reader's. What is a command stands in a comment among code. */
#include "analysis/findings/findings_advice.h"

/* Its name in a sentence. */
static const char *spoken(const struct consult *it)
{
    return it->finding->named ? it->name : "it";
}

/* `name = call` in C; in C++ with the cast that it wants. */
static const char *assign(struct consult *it, const char *call)
{
    return it->language == LANGUAGE_CXX ? text(it, "%s = static_cast<decltype(%s)>(%s);", it->name, it->name, call)
                                        : text(it, "%s = %s;", it->name, call);
}

/* Where the container allocates is its own affair: what it has is moved. */
static const char *code_placed(struct consult *it, const char *policy, const char *nodes)
{
    return text(it,
                "/* once it has its size; <numa.h>, <numaif.h>, -lnuma;\n"
                "   from the start of a page */\n"
                "struct bitmask *nodes = %s;\n"
                "mbind(%s, size, %s, nodes->maskp,\n"
                "      nodes->size, MPOL_MF_MOVE);",
                nodes, it->address, policy);
}

const char *code_near(struct consult *it)
{
    if (!is_c(it))
        return it->language == LANGUAGE_FORTRAN
                   ? text(it, "! in the thread that uses it, before any other writes it\n%s = 0", it->name)
                   : text(it, "In the thread that uses it: allocate %s\nand write it first.", spoken(it));
    if (it->is_static)
        return text(it,
                    "/* before it is written first; #include <numa.h>, -lnuma */\n"
                    "numa_tonode_memory(%s, sizeof %s, %d);",
                    it->address, it->name, it->user);
    if (it->is_container)
        return code_placed(it, "MPOL_BIND", text(it, "numa_parse_nodestring(\"%d\")", it->user));
    if (it->finding->is_site)
        return text(it,
                    "/* in the thread that uses it; #include <numa.h>, -lnuma */\n"
                    "%s  /* and numa_free */",
                    assign(it, "numa_alloc_local(size)"));
    return text(it,
                "/* #include <numa.h>, -lnuma; release with numa_free */\n"
                "%s",
                assign(it, text(it, "numa_alloc_onnode(size, %d)", it->user)));
}

const char *code_own_memory(struct consult *it)
{
    return text(
        it, "When the thread starts (OpenMP: in its parallel region):\nallocate %s there instead, and write it first.",
        spoken(it));
}

const char *code_migrate(struct consult *it)
{
    if (!is_c(it))
        return text(it, "numalens migrate -- %s", it->app);
    return text(it,
                "/* in the thread that uses it from now on;\n"
                "   <numa.h>, <numaif.h>, -lnuma; from the start of a page */\n"
                "unsigned long here = 1ul << numa_node_of_cpu(sched_getcpu());\n"
                "mbind(%s, size, MPOL_BIND, &here, 64, MPOL_MF_MOVE);\n"
                "/* or, without a change: numalens migrate -- %s */",
                it->address, it->app);
}

const char *code_touch(struct consult *it)
{
    if (it->language == LANGUAGE_FORTRAN)
        return text(it,
                    "! the same bounds and schedule as the loop that uses it\n"
                    "!$omp parallel do schedule(static)\n"
                    "do i = 1, n\n"
                    "   %s(i) = 0\n"
                    "end do",
                    it->name);
    if (!is_c(it))
        return text(it, "Let each thread write its part of %s first,\nbefore any other thread does.", spoken(it));
    return text(it,
                "/* as the loop that uses it; or each thread fills its part */\n"
                "#pragma omp parallel for schedule(static)\n"
                "for (size_t i = 0; i < count; i++)\n"
                "    %s[i] = 0;",
                it->name);
}

const char *code_duplicate(struct consult *it)
{
    if (!is_c(it))
        return text(it, "After its initialisation: a copy of %s on each node;\neach thread uses its node's.",
                    spoken(it));
    return text(it,
                "/* after its initialisation; #include <numa.h>, -lnuma */\n"
                "void *copy[64];\n"
                "for (int node = 0; node <= numa_max_node(); node++) {\n"
                "    copy[node] = numa_alloc_onnode(size, node);\n"
                "    memcpy(copy[node], %s, size);\n"
                "}\n"
                "/* and in each thread, instead of %s:\n"
                "   copy[numa_node_of_cpu(sched_getcpu())] */",
                it->address, it->name);
}

const char *code_prove(struct consult *it)
{
    return text(it, "numalens record --faults -- %s", it->app);
}

const char *code_interleave(struct consult *it)
{
    if (!is_c(it) || !it->finding->named)
        return it->whole ? code_interleave_all(it)
                         : text(it, "Give the pages of %s the policy MPOL_INTERLEAVE\n(mbind) before they are written.",
                                spoken(it));
    if (it->is_static)
        return text(it,
                    "/* before its first use; #include <numa.h>, -lnuma */\n"
                    "numa_interleave_memory(%s, sizeof %s,\n"
                    "                       numa_all_nodes_ptr);",
                    it->address, it->name);
    if (it->is_container)
        return code_placed(it, "MPOL_INTERLEAVE", "numa_all_nodes_ptr");
    return text(it,
                "/* #include <numa.h>, -lnuma; release with numa_free */\n"
                "%s",
                assign(it, "numa_alloc_interleaved(size)"));
}

/* In words: which variables they are is not known. */
const char *code_own_copy(struct consult *it)
{
    (void)it;
    return "What a thread only reads: a local of its own\n"
           "(OpenMP: firstprivate). What it sums up: likewise,\n"
           "added to the shared one at the end (reduction).";
}

const char *code_interleave_all(struct consult *it)
{
    return text(it, "numactl --interleave=all %s", it->app);
}

const char *code_pin_thread(struct consult *it, int node)
{
    return is_c(it) ? text(it, "numa_run_on_node(%d);  /* in each thread that uses it; <numa.h> */", node)
                    : text(it, "Bind the threads that use it to the CPUs of node %d.", node);
}

/* All of the program only where all of it is these threads. */
const char *code_pin(struct consult *it)
{
    const struct flow_process *process = flow_process(it->facts->flow, it->subject->process);
    return it->whole && process && process->threads <= it->subject->using_threads + 1
               ? text(it, "numactl --cpunodebind=%d --membind=%d %s", it->home, it->home, it->app)
               : code_pin_thread(it, it->home);
}

const char *code_allocator(struct consult *it)
{
    return text(it, "LD_PRELOAD=libjemalloc.so.2 %s", it->app);
}

const char *code_arena(struct consult *it)
{
    if (!is_c(it) || it->is_container)
        return code_allocator(it);
    const char *type = it->language == LANGUAGE_CXX ? "thread_local" : "_Thread_local";
    return text(it,
                "/* each thread takes them from pages of its own: */\n"
                "static %s char *chunk, *end;\n"
                "if (end - chunk < (long)size) {\n"
                "    chunk = %saligned_alloc(4096, 1 << 20);\n"
                "    end = chunk + (1 << 20);\n"
                "}\n"
                "%s\n"
                "chunk += (size + 15) & ~15ul;\n"
                "/* or, without a change: LD_PRELOAD=libjemalloc.so.2 %s */",
                type, it->language == LANGUAGE_CXX ? "(char *)" : "", assign(it, "(void *)chunk"), it->app);
}

const char *code_pad(struct consult *it)
{
    if (!is_c(it))
        return text(it, "Put what one thread writes in %s on 64 bytes\nof its own, aligned to 64.", spoken(it));
    return text(it,
                "/* what one thread writes, on a line of its own: */\n"
                "struct one { %s(64) long value; };\n"
                "/* and %s an array of these, from aligned_alloc(64, size) */",
                it->language == LANGUAGE_CXX ? "alignas" : "_Alignas", it->name);
}
