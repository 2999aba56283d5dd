/* symbols/runtime/runtime_code.h - names of code that no binary has, from what a runtime writes of it: perf's map (/tmp/perf-PID.map, as of
 * node --perf-basic-prof, the JVM, LuaJIT, .NET) and jitdump (jit-PID.dump, as of node --perf-prof).
 *
 * Both grow while the program runs: a reader takes the whole entries of the bytes it is given and says how many bytes these
 * are; the rest is given again with what comes behind it. The files are whatever the program wrote: every length is checked, names are
 * cut and have no control characters. Texts are good during the visit. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RUNTIME_NAME_MOST = 480, RUNTIME_CODE_MOST = 64 << 20 /* bytes of one function */ };

struct runtime_name {
    uint64_t addr, size;
    uint64_t time; /* jitdump: as its clock has it; 0: not known */
    uint32_t line;
    const char *name, *file; /* file: "" when not known */
};

typedef void (*runtime_visit)(void *context, const struct runtime_name *name);

/* V8's "JS:*multiply file:///srv/matrix.js:12:18", "LazyCompile:~main /srv/a.js:3:1": name, file and line, which stay in `text`; the mark
 * says how it was compiled, which is no part of the name. False when it is none of V8's. */
bool runtime_name_split(char *text, struct runtime_name *name);

size_t perf_map_read(const char *bytes, size_t size, runtime_visit visit, void *context);

struct jitdump { /* zeroed: at the file's beginning */
    bool begun;
    bool refused;      /* not a jitdump of this processor's byte order: nothing more is read */
    bool processor_ns; /* times are not of CLOCK_MONOTONIC, but the processor's */
    struct jitdump_line {
        uint64_t addr;
        uint32_t line;
        char file[RUNTIME_NAME_MOST];
    } * lines; /* of the function that comes next */
    size_t line_count;
    uint64_t lines_of;
};

size_t jitdump_read(struct jitdump *dump, const uint8_t *bytes, size_t size, runtime_visit visit, void *context);
void jitdump_free(struct jitdump *dump);
