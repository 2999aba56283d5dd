/* wire/custom.h - functions of the program that the user named as allocators: what to hook, and what came of it.
 *
 * The recorder writes the table before the target starts; it is in the region behind the header. Agents copy what
 * they need and count in `hooked` and `refused`. Arguments are numbered from 1; 0 means: none. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

enum {
    WIRE_CUSTOM_MOST = 64,  /* functions */
    WIRE_CUSTOM_NAME = 232, /* bytes of a name, with its NUL */
    WIRE_CUSTOM_ARGUMENTS = 8,
};

enum wire_custom_role {
    CUSTOM_ALLOC,
    CUSTOM_FREE,
    CUSTOM_POOL_CREATE,
    CUSTOM_POOL_CLEAR,
    CUSTOM_POOL_DESTROY,
    CUSTOM_ROLES
};

/* When the address in an out-argument counts. */
enum wire_custom_when { CUSTOM_ALWAYS, CUSTOM_WHEN_ZERO, CUSTOM_WHEN_NOT_ZERO };

/* Why a function that was found is left alone. Each has a phrase: custom_refusal_text(). */
enum wire_custom_refusal {
    CUSTOM_TOO_SHORT,
    CUSTOM_BRANCH_INSIDE, /* a branch leads, or may lead, into the bytes to be replaced */
    CUSTOM_NOT_MOVABLE,   /* its first instructions cannot run elsewhere */
    CUSTOM_NO_ROOM,       /* no memory near enough for a jump */
    CUSTOM_NOT_WRITABLE,  /* the system does not let the code be changed */
    CUSTOM_THREADS_RUN,   /* other threads run, and it cannot be changed in one step */
    CUSTOM_CODE_DIFFERS,  /* in memory it is not what the file says */
    CUSTOM_INDIRECT,      /* an IFUNC: its address is chosen at run time */
    CUSTOM_SHADOW_STACK,  /* the processor guards return addresses */
    CUSTOM_REFUSALS
};

struct wire_custom {
    char name[WIRE_CUSTOM_NAME]; /* as the symbol table has it */
    uint8_t role;                /* enum wire_custom_role */
    uint8_t size, count;         /* arguments: bytes, and what they are multiplied with */
    uint8_t out;                 /* the address is stored through this argument; 0: it is returned */
    uint8_t when;                /* enum wire_custom_when, by the value returned; with `out` only */
    uint8_t pool, parent;        /* arguments: the pool, the new pool's parent */
    uint8_t pointer;             /* argument: what is freed; of an allocation: what it replaces */
    uint8_t is_text;             /* the size is that of the text returned, with its NUL */
    uint8_t pad[7];
    _Atomic uint32_t hooked;                   /* places, over all programs */
    _Atomic uint32_t refused[CUSTOM_REFUSALS]; /* likewise */
};

const char *custom_refusal_text(unsigned refusal); /* a phrase for people; never NULL */
