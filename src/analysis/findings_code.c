/* analysis/findings_code.c - the changes as lines to copy. They are kept short: a report of 80 columns leaves them 64. */
#include "analysis/findings_advice.h"

const char *code_near(struct consult *it)
{
    if (it->is_static || it->fortran)
        return text(it, "numactl --membind=%d %s", it->user, it->app);
    if (it->finding->is_site)
        return text(it,
                    "/* in the thread that uses it; #include <numa.h>, -lnuma */\n"
                    "%s = numa_alloc_local(size);  /* and numa_free */",
                    it->name);
    return text(it,
                "/* #include <numa.h>, -lnuma; release with numa_free */\n"
                "%s = numa_alloc_onnode(size, %d);",
                it->name, it->user);
}

const char *code_migrate(struct consult *it)
{
    if (it->fortran)
        return text(it, "numalens migrate -- %s", it->app);
    return text(it,
                "/* in the thread that uses it from now on;\n"
                "   <numa.h>, <numaif.h>, -lnuma; from the start of a page */\n"
                "unsigned long here = 1ul << numa_node_of_cpu(sched_getcpu());\n"
                "mbind(%s, size, MPOL_BIND, &here, 64, MPOL_MF_MOVE);\n"
                "/* or, without a change: */\n"
                "numalens migrate -- %s",
                it->address, it->app);
}

const char *code_touch(struct consult *it)
{
    if (it->fortran)
        return text(it,
                    "! the same bounds and schedule as the loop that uses it\n"
                    "!$omp parallel do schedule(static)\n"
                    "do i = 1, n\n"
                    "   %s(i) = 0\n"
                    "end do",
                    it->name);
    return text(it,
                "/* as the loop that uses it; or each thread fills its part */\n"
                "#pragma omp parallel for schedule(static)\n"
                "for (size_t i = 0; i < count; i++)\n"
                "    %s[i] = 0;",
                it->name);
}

const char *code_duplicate(struct consult *it)
{
    return text(it,
                "/* after its initialisation; #include <numa.h>, -lnuma */\n"
                "for (int node = 0; node <= numa_max_node(); node++) {\n"
                "    copy[node] = numa_alloc_onnode(size, node);\n"
                "    memcpy(copy[node], %s, size);\n"
                "}\n"
                "/* and in each thread, instead of %s: */\n"
                "copy[numa_node_of_cpu(sched_getcpu())]",
                it->address, it->name);
}

const char *code_interleave(struct consult *it)
{
    if (it->fortran || !it->finding->named)
        return code_interleave_all(it);
    if (it->is_static)
        return text(it,
                    "/* before its first use; #include <numa.h>, -lnuma */\n"
                    "numa_interleave_memory(%s, sizeof %s,\n"
                    "                       numa_all_nodes_ptr);",
                    it->address, it->name);
    return text(it,
                "/* #include <numa.h>, -lnuma; release with numa_free */\n"
                "%s = numa_alloc_interleaved(size);",
                it->name);
}

const char *code_interleave_all(struct consult *it)
{
    return text(it, "numactl --interleave=all %s", it->app);
}

const char *code_pin(struct consult *it)
{
    return text(it, "numactl --cpunodebind=%d --membind=%d %s", it->home, it->home, it->app);
}

const char *code_arena(struct consult *it)
{
    return text(it,
                "/* each thread takes them from pages of its own: */\n"
                "static _Thread_local char *chunk, *end;\n"
                "if (end - chunk < (long)size) {\n"
                "    chunk = aligned_alloc(4096, 1 << 20);\n"
                "    end = chunk + (1 << 20);\n"
                "}\n"
                "%s = (void *)chunk;\n"
                "chunk += (size + 15) & ~15ul;\n"
                "/* or, without a change: */\n"
                "LD_PRELOAD=libjemalloc.so.2 %s",
                it->name, it->app);
}

const char *code_pad(struct consult *it)
{
    return text(it,
                "/* what one thread writes, on a line of its own: */\n"
                "struct one { alignas(64) long value; };  /* <stdalign.h> */\n"
                "/* and %s an array of these, from aligned_alloc(64, size) */",
                it->name);
}
