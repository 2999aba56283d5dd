/* symbols/demangle.h - names as their authors wrote them: C++, Rust (both schemes), gfortran's module names. */
#pragma once

/* The name demangled, to be freed by the caller; NULL when it is not mangled, or would become absurdly long (a few
 * bytes of hostile name can ask for gigabytes of text). */
char *demangle(const char *name);
