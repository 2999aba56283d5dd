/* agent/libc/libc_find.h - functions of the C library by address, past any function of the same name that the program defines.
 *
 * A program's own `strlen` or `dlsym` takes the place of libc's in every library, the agent included. So the agent leaves no
 * function undefined: what computes is here (libc_text.c), what only libc can do is found in libc's own symbol table and called by
 * address (libc_calls.c). tests/integration/test_own_names.py holds the agent to it. */
#pragma once

/* The default version of `name` in libc or the dynamic linker; NULL when they have none. Allocates nothing, takes no lock. */
void *libc_find(const char *name);
