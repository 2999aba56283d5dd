/* tests/capture/streams_x86_64.h - see test_executor_streams.c. */
#pragma once

#include "executor/executor.h"

enum {
    STATE_BYTES =
        576, /* of vector state; which components there are is behind 512: none, so all are as at a program's start */
    FLAGS = 0x202,
    ANY_FLAGS = 22, /* bits */
    CODE_STEP = 1,
    KINDS = 16, /* of a stream's pieces: 1 refused, 3 random */
    SKIP_BELOW = 64,
};

/* A call. */
static const uint8_t call[] = {0xe8, 0, 0, 0, 0};
enum { FP = 5 };

/* What is never carried out: it asks the kernel or another privileged thing for something, or hides what is accessed. */
static const struct {
    const char *name;
    uint8_t bytes[8], length;
} refused[] = {
    {"syscall", {0x0f, 0x05}, 2},
    {"int 0x80", {0xcd, 0x80}, 2},
    {"sysenter", {0x0f, 0x34}, 2},
    {"int3", {0xcc}, 1},
    {"int 3", {0xcd, 0x03}, 2},
    {"icebp", {0xf1}, 1},
    {"hlt", {0xf4}, 1},
    {"cli", {0xfa}, 1},
    {"in", {0xec}, 1},
    {"out", {0xee}, 1},
    {"outs", {0x6e}, 1},
    {"wrpkru", {0x0f, 0x01, 0xef}, 3},
    {"wrfsbase", {0xf3, 0x48, 0x0f, 0xae, 0xd0}, 5},
    {"wrgsbase", {0xf3, 0x48, 0x0f, 0xae, 0xd8}, 5},
    {"mov to ss", {0x8e, 0xd0}, 2},
    {"mov to fs", {0x8e, 0xe0}, 2},
    {"far return", {0x48, 0xcb}, 2},
    {"iret", {0x48, 0xcf}, 2},
    {"far jump", {0xff, 0x28}, 2},
    {"far call", {0xff, 0x18}, 2},
    {"sysret", {0x0f, 0x07}, 2},
    {"swapgs", {0x0f, 0x01, 0xf8}, 3},
    {"rsm", {0x0f, 0xaa}, 2},
    {"mov from cr0", {0x0f, 0x20, 0xc0}, 3},
    {"rdmsr", {0x0f, 0x32}, 2},
    {"xbegin", {0xc7, 0xf8, 0, 0, 0, 0}, 6},
    {"umwait", {0xf2, 0x0f, 0xae, 0xf0}, 4},
    {"monitor", {0x0f, 0x01, 0xc8}, 3},
    {"enqcmd", {0xf2, 0x0f, 0x38, 0xf8, 0x00}, 5},
    {"undefined", {0x0f, 0x0b}, 2},
};

/* What a stream is made of, besides those and random bytes. */
static const uint8_t pieces[][8] = {
    /* length + 1, bytes */
    {2, 0x9c},                               /* pushf */
    {2, 0x9d},                               /* popf */
    {2, 0xc3},                               /* ret */
    {5, 0xc8, 0xff, 0xff, 0x1f},             /* enter, 31 levels deep */
    {2, 0xc9},                               /* leave */
    {3, 0xf3, 0xa4},                         /* rep movsb */
    {3, 0xf3, 0xaa},                         /* rep stosb */
    {3, 0xf2, 0xae},                         /* repne scasb */
    {2, 0xfd},                               /* std */
    {3, 0xff, 0xe0},                         /* jmp rax */
    {3, 0xff, 0xd1},                         /* call rcx */
    {3, 0xff, 0x22},                         /* jmp [rdx] */
    {3, 0x48, 0x94},                         /* xchg rsp, rax */
    {4, 0x48, 0x89, 0xcc},                   /* mov rsp, rcx */
    {5, 0x66, 0x0f, 0xf7, 0xc1},             /* maskmovdqu */
    {6, 0xf0, 0x48, 0x0f, 0xc7, 0x08},       /* lock cmpxchg16b [rax] */
    {4, 0x0f, 0xae, 0x00},                   /* fxsave [rax] */
    {4, 0x0f, 0xae, 0x0a},                   /* fxrstor [rdx] */
    {4, 0x0f, 0xae, 0x20},                   /* xsave [rax] */
    {4, 0x0f, 0xae, 0x2a},                   /* xrstor [rdx] */
    {4, 0x0f, 0xae, 0x3b},                   /* clflush [rbx] */
    {5, 0x48, 0x0f, 0xab, 0x00},             /* bts [rax], rax: far from rax */
    {3, 0xeb, 0xfe},                         /* a loop without an access */
    {3, 0xe2, 0xf0},                         /* loop, into what is before it */
    {5, 0x64, 0x48, 0x8b, 0x00},             /* mov rax, fs:[rax] */
    {4, 0x67, 0x88, 0x00},                   /* mov [eax], al */
    {4, 0x48, 0x89, 0x00},                   /* mov [rax], rax */
    {4, 0x48, 0x8b, 0x02},                   /* mov rax, [rdx] */
    {4, 0x48, 0x89, 0x1c},                   /* mov [..], rbx, with any address form */
    {4, 0x0f, 0x01, 0x00},                   /* sgdt [rax] */
    {3, 0x0f, 0xa2},                         /* cpuid */
    {4, 0x0f, 0xc7, 0xf0},                   /* rdrand */
    {4, 0x48, 0xf7, 0xf1},                   /* div rcx */
    {4, 0xc5, 0xf8, 0x77},                   /* vzeroupper */
    {7, 0xc4, 0xe2, 0xe9, 0x92, 0x04, 0x08}, /* vgatherdpd */
    {3, 0xdd, 0x00},                         /* fld [rax] */
    {3, 0xd9, 0x32},                         /* fnstenv [rdx] */
    {2, 0xd7},                               /* xlat */
};

/* rax: where to read */
static const uint8_t before[] = {0x48, 0x8b, 0x18} /* mov rbx, [rax] */,
                     behind[] = {0x48, 0x8b, 0x48, 0x08} /* mov rcx, [rax + 8] */;

/* Its accesses: [rax], and then [rax + 24], [rax + 16] with 16 more in rax each time. */
static const uint8_t loop[] = {0x48, 0x8b, 0x18, 0x48, 0x83, 0xc0, 0x10, 0x48, 0x89, 0x58, 0x08, 0xeb, 0xf3};

static inline void set_vectors(struct executor_job *job)
{
    job->state[24] = 0x80, job->state[25] = 0x1f; /* mxcsr */
}
