/* C++ operator new and delete, all standard forms. The next operator does the work, so that new handlers, exceptions
 * and replaced operators are what they were; an exception passes through a hook as if it were not there. */
#include "agent/arena.h"
#include "agent/hooks/heap.h"
#include "agent/place/place_hooks.h"
#include "agent/real.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>

/* Form, symbol, what it is called in events. Those that are aligned come behind the other new operators. */
#define NEW_LIST(ROW)                                                                                                  \
    ROW(NEW, _Znwm, ALLOC_NEW)                                                                                         \
    ROW(NEW_ARRAY, _Znam, ALLOC_NEW_ARRAY)                                                                             \
    ROW(NEW_NOTHROW, _ZnwmRKSt9nothrow_t, ALLOC_NEW)                                                                   \
    ROW(NEW_ARRAY_NOTHROW, _ZnamRKSt9nothrow_t, ALLOC_NEW_ARRAY)                                                       \
    ROW(NEW_ALIGNED, _ZnwmSt11align_val_t, ALLOC_NEW)                                                                  \
    ROW(NEW_ARRAY_ALIGNED, _ZnamSt11align_val_t, ALLOC_NEW_ARRAY)                                                      \
    ROW(NEW_ALIGNED_NOTHROW, _ZnwmSt11align_val_tRKSt9nothrow_t, ALLOC_NEW)                                            \
    ROW(NEW_ARRAY_ALIGNED_NOTHROW, _ZnamSt11align_val_tRKSt9nothrow_t, ALLOC_NEW_ARRAY)

#define DELETE_LIST(ROW)                                                                                               \
    ROW(DELETE, _ZdlPv, ALLOC_DELETE)                                                                                  \
    ROW(DELETE_ARRAY, _ZdaPv, ALLOC_DELETE_ARRAY)                                                                      \
    ROW(DELETE_SIZED, _ZdlPvm, ALLOC_DELETE)                                                                           \
    ROW(DELETE_ARRAY_SIZED, _ZdaPvm, ALLOC_DELETE_ARRAY)                                                               \
    ROW(DELETE_NOTHROW, _ZdlPvRKSt9nothrow_t, ALLOC_DELETE)                                                            \
    ROW(DELETE_ARRAY_NOTHROW, _ZdaPvRKSt9nothrow_t, ALLOC_DELETE_ARRAY)                                                \
    ROW(DELETE_ALIGNED, _ZdlPvSt11align_val_t, ALLOC_DELETE)                                                           \
    ROW(DELETE_ARRAY_ALIGNED, _ZdaPvSt11align_val_t, ALLOC_DELETE_ARRAY)                                               \
    ROW(DELETE_SIZED_ALIGNED, _ZdlPvmSt11align_val_t, ALLOC_DELETE)                                                    \
    ROW(DELETE_ARRAY_SIZED_ALIGNED, _ZdaPvmSt11align_val_t, ALLOC_DELETE_ARRAY)                                        \
    ROW(DELETE_ALIGNED_NOTHROW, _ZdlPvSt11align_val_tRKSt9nothrow_t, ALLOC_DELETE)                                     \
    ROW(DELETE_ARRAY_ALIGNED_NOTHROW, _ZdaPvSt11align_val_tRKSt9nothrow_t, ALLOC_DELETE_ARRAY)

#define FORM(form, symbol, fn) form,
enum operator_form { NEW_LIST(FORM) DELETE_LIST(FORM) FORMS };

_Static_assert((int)FORMS == (int)HEAP_OPERATORS && (int)DELETE == (int)HEAP_NEWS, "one place for each form");

#define NAME(form, symbol, fn) #symbol,
static const char *const form_names[FORMS] = {NEW_LIST(NAME) DELETE_LIST(NAME)};

/* Three words cover every form: size or block, then size or alignment or tag. Operators ignore what they do not take. */
typedef void *operator_fn(uint64_t, uint64_t, uint64_t);

/* Written by whichever thread calls a form first; two would write the same. */
static operator_fn *_Atomic next_forms[FORMS];

/* Keeps the code range of a next operator, for heap.c. */
static void note_code(enum operator_form form, void *function)
{
    Dl_info info;
    const ElfW(Sym) *symbol = NULL;
    if (!dladdr1(function, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol)
        return;
    heap_operators[form] = (struct heap_operator){.start = (uint64_t)function, .size = symbol->st_size};
    uint64_t low = UINT64_MAX, high = 0;
    for (unsigned i = 0; i < HEAP_OPERATORS; i++) {
        const struct heap_operator *code = &heap_operators[i];
        low = code->size && code->start < low ? code->start : low;
        high = code->size && code->start + code->size > high ? code->start + code->size : high;
    }
    heap_operators_start = low;
    heap_operators_span = high > low ? high - low : 0;
}

/* The next operator: behind us in the program's order, or, when the C++ library came with a dlopen that kept it to
 * itself, the one that the caller would have found. */
static void *look_up(enum operator_form form, void *caller)
{
    void *function = dlsym(RTLD_NEXT, form_names[form]);
    if (function)
        return function;
    Dl_info info;
    struct link_map *map = NULL;
    const char *const places[] = {
        dladdr1(caller, &info, (void **)&map, RTLD_DL_LINKMAP) && map ? map->l_name : NULL,
        "libstdc++.so.6",
        "libc++abi.so.1",
    };
    real_need();
    for (unsigned i = 0; !function && i < sizeof places / sizeof *places; i++) {
        void *handle = places[i] && *places[i] ? real.dlopen(places[i], RTLD_LAZY | RTLD_NOLOAD) : NULL;
        if (!handle)
            continue;
        function = dlsym(handle, form_names[form]);
        real.dlclose(handle); /* the handle only: its user keeps the library */
        if (function && modules_is_agent((uint64_t)function))
            function = NULL;
    }
    return function;
}

static void *plain_new(uint64_t size, uint64_t unused, uint64_t unused2)
{
    (void)unused;
    (void)unused2;
    return real.malloc(size ? size : 1);
}

static void *plain_new_aligned(uint64_t size, uint64_t align, uint64_t unused)
{
    (void)unused;
    return real.memalign(align, size ? size : 1);
}

static void *plain_delete(uint64_t block, uint64_t unused, uint64_t unused2)
{
    (void)unused;
    (void)unused2;
    real.free((void *)block);
    return NULL;
}

static __attribute__((noinline)) operator_fn *find_next(enum operator_form form, void *caller)
{
    struct agent_thread *self = self_need(); /* NULL: nothing is recorded yet, or no longer */
    int saved = errno;
    if (self)
        self->inside += AGENT_CALLS_LIBC;
    operator_fn *next = (operator_fn *)look_up(form, caller);
    dlerror(); /* what failed on the way is not the program's to see */
    if (next)
        note_code(form, (void *)next);
    else /* no C++ library at all: somebody took the hook for one */
        next = form >= DELETE ? plain_delete : form >= NEW_ALIGNED ? plain_new_aligned : plain_new;
    atomic_store_explicit(&next_forms[form], next, memory_order_release);
    if (self)
        self->inside -= AGENT_CALLS_LIBC;
    errno = saved;
    return next;
}

static inline operator_fn *next_of(enum operator_form form, void *caller)
{
    operator_fn *next = atomic_load_explicit(&next_forms[form], memory_order_acquire);
    return __builtin_expect(next != NULL, 1) ? next : find_next(form, caller);
}

#define OPERATOR_NEW(form, symbol, fn)                                                                                 \
    AGENT_EXPORT void *symbol(uint64_t size, uint64_t second, uint64_t third);                                         \
    AGENT_EXPORT void *symbol(uint64_t size, uint64_t second, uint64_t third)                                          \
    {                                                                                                                  \
        if (place_passes((uint64_t)__builtin_extract_return_addr(__builtin_return_address(0))))                        \
            return next_of(form, __builtin_return_address(0))(size, second, third);                                    \
        void *block = PLACED(size, (form) >= NEW_ALIGNED ? second : 16, false);                                        \
        if (__builtin_expect(!block, 1))                                                                               \
            block = next_of(form, __builtin_return_address(0))(size, second, third);                                   \
        return block ? HEAP_ALLOCATED(block, size, fn) : NULL;                                                         \
    }

static inline void delete_block(enum operator_form form, void *caller, uint64_t block, uint64_t second, uint64_t third,
                                enum alloc_fn fn)
{
    operator_fn *next = next_of(form, caller);
    if (block)
        heap_freed((void *)block, fn, (uint64_t)__builtin_extract_return_addr(caller));
    if (place_owns((void *)block))
        place_free((void *)block);
    else
        next(block, second, third);
    /* Not a tail call: the free inside would seem to come from the program. */
    __asm__ volatile("" ::: "memory");
}

#define OPERATOR_DELETE(form, symbol, fn)                                                                              \
    AGENT_EXPORT void symbol(uint64_t block, uint64_t second, uint64_t third);                                         \
    AGENT_EXPORT void symbol(uint64_t block, uint64_t second, uint64_t third)                                          \
    {                                                                                                                  \
        delete_block(form, __builtin_return_address(0), block, second, third, fn);                                     \
    }

NEW_LIST(OPERATOR_NEW)
DELETE_LIST(OPERATOR_DELETE)
