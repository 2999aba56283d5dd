/* analysis/findings/findings_code.c - the changes as lines to copy, in the language of the file that they are for and with the threads
 * that the program has; where neither is known, in words. They are kept short: a report of 80 columns leaves them 64. `size`, `from`
 * and `to` are the reader's, in bytes. Nothing of them depends on the type of what they place, nor on how it is released. What is a
 * command stands in a comment among code. */
#include "analysis/findings/findings_advice.h"

#include <string.h>

enum { COLUMNS = 64 };

/* Its name in a sentence. */
static const char *spoken(const struct consult *it)
{
    return it->finding->named ? it->name : "it";
}

/* Bytes of it, as code has them. */
static const char *size_of(struct consult *it)
{
    return it->is_static ? text(it, "sizeof %s", it->name) : "size";
}

/* A command that runs the program, on two lines where one is too long. */
static const char *command(struct consult *it, const char *before)
{
    bool fits = strlen(before) + 1 + strlen(it->app) + strlen("    */") <= COLUMNS;
    return text(it, "%s%s%s", before, fits ? " " : " \\\n    ", it->app);
}

static const char *in_comment(struct consult *it, const char *command)
{
    return text(it, "/* or, without a change:\n   %s */", command);
}

/* Of these bytes the whole pages; mbind refuses what does not begin with a page. What has pages already is moved. */
static const char *bind_bytes(struct consult *it, const char *when, const char *begin, const char *end,
                              const char *before, const char *policy)
{
    return text(it,
                "/* %s;\n"
                "   <numa.h>, <numaif.h>, <stdint.h>, -lnuma */\n"
                "uintptr_t first = (uintptr_t)%s%s;\n"
                "uintptr_t last = (uintptr_t)%s + %s;\n"
                "first &= ~4095ul;\n"
                "%s"
                "mbind((void *)first, last - first, %s,\n"
                "      MPOL_MF_MOVE);",
                when, it->address, begin, it->address, end, before, policy);
}

/* --- first touch --- */

/* One byte of each page is written, with what it has: initialisation may stay where it is. */
static const char *touch(struct consult *it, const char *from, const char *to, const char *before)
{
    return text(it,
                "volatile char *part = (volatile char *)%s;\n"
                "%s"
                "for (size_t at = %s; at < %s; at += 4096)\n"
                "    part[at] = part[at];",
                it->address, before, from, to);
}

static const char *touch_by_threads(struct consult *it)
{
    if (it->threads == THREADS_OPENMP)
        return text(it,
                    "/* once it is allocated, before anything is written to it;\n"
                    "   the schedule is that of the loop that uses it */\n"
                    "%s",
                    touch(it, "0", size_of(it), "#pragma omp parallel for schedule(static)\n"));
    return text(it,
                "/* when each thread starts, before anything is written to it:\n"
                "   this thread uses its bytes [from, to) */\n"
                "%s",
                touch(it, "from", "to", ""));
}

/* What constructs its elements touches their pages, but for an allocator that does not. */
static const char *touch_container(struct consult *it)
{
    return text(it,
                "template <class T> struct untouched : std::allocator<T> {\n"
                "    template <class U>\n"
                "    struct rebind { using other = untouched<U>; };\n"
                "    template <class U> void construct(U *at) { ::new (at) U; }\n"
                "    template <class U, class... From>\n"
                "    void construct(U *at, From &&...from)\n"
                "    { ::new (at) U(std::forward<From>(from)...); }\n"
                "};\n"
                "/* with std::vector<T, untouched<T>> %s: */\n"
                "%s",
                it->name, touch_by_threads(it));
}

const char *code_touch(struct consult *it)
{
    switch (it->language) {
    case LANGUAGE_FORTRAN:
        return text(it,
                    "call touch(%s, size(%s))\n"
                    "! before it is written; with, of its type:\n"
                    "subroutine touch(part, n)\n"
                    "  integer :: i, n\n"
                    "  double precision :: part(n)\n"
                    "  !$omp parallel do schedule(static) ! as where it is used\n"
                    "  do i = 1, n\n"
                    "    part(i) = 0\n"
                    "  end do\n"
                    "end subroutine",
                    it->name, it->name);
    case LANGUAGE_PYTHON:
        return text(it,
                    "%s = numpy.empty(shape)  # touches no page\n"
                    "# in each thread, before any other writes its rows:\n"
                    "%s[begin:end] = 0",
                    it->name, it->name);
    case LANGUAGE_OTHER:
        return text(it, "Let each thread write its part of %s first,\nbefore any other thread does.", spoken(it));
    default:
        if (it->threads == THREADS_TBB)
            return text(it,
                        "Write %s first in a tbb::parallel_for with a\n"
                        "tbb::static_partitioner, as the loops that use it.",
                        spoken(it));
        return it->is_container ? touch_container(it) : touch_by_threads(it);
    }
}

const char *code_near(struct consult *it)
{
    if (it->language == LANGUAGE_FORTRAN && !it->finding->is_site)
        return text(it, "! in the thread that uses it, before any other writes it\n%s = 0", it->name);
    if (it->language == LANGUAGE_PYTHON)
        return text(it,
                    "%s = numpy.empty(shape)  # touches no page\n"
                    "# in the thread that uses it, before any other writes it:\n"
                    "%s[:] = 0",
                    it->name, it->name);
    if (!is_c(it) || it->finding->is_site || it->is_container)
        return text(it, "In the thread that uses it: allocate %s\nand write it first.", spoken(it));
    return text(it,
                "/* in the thread that uses it, before any other writes it */\n"
                "%s",
                touch(it, "0", size_of(it), ""));
}

/* Instead of a thread-local variable: the C library clears those for a thread before it runs. */
const char *code_own_memory(struct consult *it)
{
    if (!is_c(it) || !it->finding->named || strpbrk(it->name, "*[.->"))
        return text(it, "When the thread starts: allocate %s there\ninstead, and write it first.", spoken(it));
    bool cxx = it->language == LANGUAGE_CXX;
    return text(it,
                "/* (*own) instead of %s; <stdlib.h> */\n"
                "static %s %s(%s) *own;\n"
                "if (!own) /* when the thread starts */\n"
                "    own = %scalloc(1, sizeof *own)%s;",
                it->name, cxx ? "thread_local" : "_Thread_local", cxx ? "decltype" : "typeof", it->name,
                cxx ? "static_cast<decltype(own)>(" : "", cxx ? ")" : "");
}

/* --- pages that are there --- */

const char *code_migrate_all(struct consult *it)
{
    return command(it, "numalens migrate --");
}

const char *code_migrate(struct consult *it)
{
    if (!is_c(it))
        return code_migrate_all(it);
    return text(it, "%s\n%s",
                bind_bytes(it,
                           it->parts ? "in each thread, once: it uses its bytes [from, to)"
                                     : "in the thread that uses it from now on",
                           it->parts ? " + from" : "", it->parts ? "to" : size_of(it),
                           "unsigned long here = 1ul << numa_node_of_cpu(sched_getcpu());\n", "MPOL_BIND, &here, 64"),
                in_comment(it, code_migrate_all(it)));
}

/* What a thread uses of its node's copy, as code: it has the type that the original has where that is used. */
static const char *use_copy(struct consult *it)
{
    const char *copy = "copy[numa_node_of_cpu(sched_getcpu())]", *type;
    if (it->language == LANGUAGE_C)
        return text(it, "typeof(%s) %smine =\n    %s;", it->name, it->is_static ? "*" : "", copy);
    if (it->is_static)
        type = text(it, "decltype(%s) *", it->name);
    else if (it->is_container)
        type = text(it, "decltype(%s)", it->address);
    else
        type = text(it, "std::decay_t<decltype(%s)>", it->name); /* *rows is a reference */
    return text(it, "auto mine = static_cast<%s>(\n    %s);", type, copy);
}

const char *code_duplicate(struct consult *it)
{
    if (!is_c(it))
        return text(it, "After its initialisation: a copy of %s on each node;\neach thread uses its node's.",
                    spoken(it));
    return text(it,
                "/* after its initialisation; <numa.h>, <string.h>, -lnuma */\n"
                "static void *copy[64];\n"
                "for (int node = 0; node <= numa_max_node(); node++) {\n"
                "    copy[node] = numa_alloc_onnode(%s, node);\n"
                "    memcpy(copy[node], %s, %s);\n"
                "}\n"
                "/* in each thread, and then %s instead of %s%s: */\n"
                "%s",
                size_of(it), it->address, size_of(it), it->is_static ? "(*mine)" : "mine", it->name,
                it->language == LANGUAGE_CXX ? ";\n   <type_traits>" : "", use_copy(it));
}

const char *code_prove(struct consult *it)
{
    return text(it, "numalens record --faults -- %s", it->app);
}

const char *code_interleave_all(struct consult *it)
{
    return command(it, "numactl --interleave=all");
}

const char *code_interleave(struct consult *it)
{
    if (it->language == LANGUAGE_PYTHON || (it->whole && (!is_c(it) || !it->finding->named)))
        return code_interleave_all(it);
    if (!is_c(it) || !it->finding->named)
        return text(it, "Give the pages of %s the policy MPOL_INTERLEAVE\n(mbind) before they are written.",
                    spoken(it));
    if (it->is_container) /* its pages are touched when it is constructed: a policy comes too late then */
        return text(it,
                    "numa_set_interleave_mask(numa_all_nodes_ptr);\n"
                    "/* here %s gets its size; <numa.h>, -lnuma */\n"
                    "numa_set_interleave_mask(numa_no_nodes_ptr);",
                    it->name);
    return bind_bytes(it, it->is_static ? "before its first use" : "once it is allocated, before it is written", "",
                      size_of(it), "struct bitmask *all = numa_all_nodes_ptr;\n",
                      "MPOL_INTERLEAVE,\n      all->maskp, all->size + 1");
}

const char *code_spread(struct consult *it)
{
    (void)it;
    return "Spread the large objects of this node, one by one:\nthe findings on them say how.";
}

/* --- heaps of runtimes --- */

const char *code_java(struct consult *it)
{
    return command(it, "JAVA_TOOL_OPTIONS=-XX:+UseNUMA");
}

/* A policy for it is one for all of the program. */
const char *code_runtime(struct consult *it)
{
    return it->whole
               ? code_interleave_all(it)
               : "No line of the program places it: numactl --interleave=all\nis for all of the program's memory.";
}

/* --- threads --- */

/* In words where which variables they are is not known. */
const char *code_own_copy(struct consult *it)
{
    if (is_c(it) && it->threads == THREADS_OPENMP)
        return "/* `limit` is what threads only read, `sum` what they add up */\n"
               "#pragma omp parallel for firstprivate(limit) \\\n"
               "    reduction(+ : sum)\n"
               "for (size_t i = 0; i < limit; i++)\n"
               "    sum += data[i];";
    if (it->language == LANGUAGE_FORTRAN)
        return "! `limit` is what threads only read, `sum` what they add up\n"
               "!$omp parallel do firstprivate(limit) reduction(+ : sum)\n"
               "do i = 1, limit\n"
               "  sum = sum + data(i)\n"
               "end do";
    return "What a thread only reads: a local of its own.\n"
           "What it sums up: likewise, added to the shared one at\n"
           "the end.";
}

const char *code_pin_thread(struct consult *it)
{
    if (!is_c(it))
        return text(it, "Bind the threads that use it to the CPUs of node %d.", it->pin);
    return text(it, "%snuma_run_on_node(%d);  /* in its threads; <numa.h>, -lnuma */",
                it->threads == THREADS_OPENMP ? "#pragma omp parallel\n" : "", it->pin);
}

/* All of the program only where all of it is these threads. */
const char *code_pin(struct consult *it)
{
    const struct flow_process *process = it->subject ? flow_process(it->facts->flow, it->subject->process) : NULL;
    return it->whole && process && process->threads <= it->subject->using_threads + 1 ? code_pin_all(it)
                                                                                      : code_pin_thread(it);
}

const char *code_pin_all(struct consult *it)
{
    return command(it, text(it, "numactl --cpunodebind=%d --membind=%d", it->pin, it->pin));
}

const char *code_pin_processes(struct consult *it)
{
    if (!is_c(it))
        return "numactl --cpunodebind=NODE --membind=NODE, with another NODE\nfor each process.";
    return "/* in each process, before it makes its threads; `number` is\n"
           "   different in each process; <numa.h>, -lnuma */\n"
           "numa_run_on_node(number % (numa_max_node() + 1));";
}

const char *code_pin_evenly(struct consult *it)
{
    if (it->threads == THREADS_OPENMP)
        return command(it, "OMP_PROC_BIND=spread OMP_PLACES=cores");
    if (!is_c(it))
        return "Bind as many threads to the CPUs of each node.";
    return "/* when thread `number` starts; <numa.h>, -lnuma */\n"
           "numa_run_on_node(number % (numa_max_node() + 1));";
}

/* --- pages and lines of their own --- */

const char *code_allocator(struct consult *it)
{
    return command(it, "LD_PRELOAD=libjemalloc.so.2");
}

const char *code_arena(struct consult *it)
{
    if (!is_c(it) || it->is_container)
        return code_allocator(it);
    bool cxx = it->language == LANGUAGE_CXX;
    return text(it,
                "/* each thread takes them from pages of its own; <stdlib.h> */\n"
                "static void *take(size_t size)\n"
                "{\n"
                "    static %s char *chunk, *end;\n"
                "    if (end - chunk < (long)size) {\n"
                "        chunk = %saligned_alloc(4096, 1 << 20);\n"
                "        end = chunk + (1 << 20);\n"
                "    }\n"
                "    void *piece = chunk; /* size: at most 1 << 20 */\n"
                "    chunk += (size + 15) & ~15ul;\n"
                "    return piece;\n"
                "}\n"
                "%s",
                cxx ? "thread_local" : "_Thread_local", cxx ? "(char *)" : "", in_comment(it, code_allocator(it)));
}

const char *code_pad(struct consult *it)
{
    if (!is_c(it))
        return text(it, "Put what one thread writes in %s on 64 bytes\nof its own, aligned to 64.", spoken(it));
    bool cxx = it->language == LANGUAGE_CXX, heap = !it->is_static && !it->is_stack;
    return text(it,
                "/* what one thread writes, on a line of its own: */\n"
                "struct line { %s(64) long value; };\n"
                "/* and %s an array of these%s */",
                cxx ? "alignas" : "_Alignas", it->name,
                !heap                 ? ""
                : it->finding->by_new ? ", by new or in a vector"
                                      : ", from aligned_alloc(64, size)");
}
