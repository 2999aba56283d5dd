#include "agent/real.h"

#include "agent/arena.h"
#include "agent/process/modules.h"
#include "base/sys.h"
#include "base/units.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* A page is 4 KB at least; valloc from the arena happens to nobody. */
/* The threads that resolve, by thread pointer: one as a rule, since the first hook of all does it. */
enum { RESOLVERS = 16 };
static _Atomic uint64_t resolvers[RESOLVERS];

static bool is_resolving(uint64_t thread)
{
    for (unsigned i = 0; i < RESOLVERS; i++)
        if (atomic_load_explicit(&resolvers[i], memory_order_relaxed) == thread)
            return true;
    return false;
}

/* Waits while there are too many. */
static _Atomic uint64_t *resolver_enter(uint64_t thread)
{
    for (unsigned i = 0;; i = (i + 1) % RESOLVERS) {
        uint64_t nobody = 0;
        if (atomic_compare_exchange_strong(&resolvers[i], &nobody, thread))
            return &resolvers[i];
    }
}

static void *first_malloc(size_t size)
{
    return real_resolve() ? real.malloc(size) : arena_alloc(size, 16);
}

static void *first_calloc(size_t count, size_t size)
{
    size_t bytes;
    if (real_resolve())
        return real.calloc(count, size);
    return __builtin_mul_overflow(count, size, &bytes) ? NULL : arena_alloc(bytes, 16);
}

static void *first_realloc(void *block, size_t size)
{
    return real_resolve() ? real.realloc(block, size) : arena_alloc(size, 16); /* the hook has handled arena blocks */
}

static void first_free(void *block)
{
    if (real_resolve())
        real.free(block);
}

static void *first_aligned_alloc(size_t align, size_t size)
{
    return real_resolve() ? real.aligned_alloc(align, size) : arena_alloc(size, align);
}

static int first_posix_memalign(void **block, size_t align, size_t size)
{
    if (real_resolve())
        return real.posix_memalign(block, align, size);
    int saved = errno;
    void *got = arena_alloc(size, align);
    errno = saved;
    if (!got)
        return ENOMEM;
    *block = got;
    return 0;
}

static void *first_memalign(size_t align, size_t size)
{
    return real_resolve() ? real.memalign(align, size) : arena_alloc(size, align);
}

static void *first_valloc(size_t size)
{
    return real_resolve() ? real.valloc(size) : arena_alloc(size, PAGE_UNIT);
}

static void *first_pvalloc(size_t size)
{
    return real_resolve() ? real.pvalloc(size) : arena_alloc(size, PAGE_UNIT);
}

static size_t first_usable_size(void *block)
{
    return real_resolve() ? real.malloc_usable_size(block) : 0;
}

static void *first_mmap(void *addr, size_t size, int prot, int flags, int fd, off_t offset)
{
    return real_resolve() ? real.mmap(addr, size, prot, flags, fd, offset)
                          : (void *)syscall(SYS_mmap, addr, size, prot, flags, fd, offset);
}

static int first_munmap(void *addr, size_t size)
{
    return real_resolve() ? real.munmap(addr, size) : (int)syscall(SYS_munmap, addr, size);
}

static void *first_mremap(void *addr, size_t old_size, size_t size, int flags, void *to)
{
    return real_resolve() ? real.mremap(addr, old_size, size, flags, to)
                          : (void *)syscall(SYS_mremap, addr, old_size, size, flags, to);
}

struct real real = {
    .malloc = first_malloc,
    .calloc = first_calloc,
    .realloc = first_realloc,
    .free = first_free,
    .aligned_alloc = first_aligned_alloc,
    .posix_memalign = first_posix_memalign,
    .memalign = first_memalign,
    .valloc = first_valloc,
    .pvalloc = first_pvalloc,
    .malloc_usable_size = first_usable_size,
    .mmap = first_mmap,
    .munmap = first_munmap,
    .mremap = first_mremap,
};

#define NEXT(field, name)                                                                                              \
    do {                                                                                                               \
        void *next_ = dlsym(from, name);                                                                               \
        if (next_)                                                                                                     \
            memcpy(&found.field, &next_, sizeof next_);                                                                \
    } while (0);

/* Those whose entry has their own name. */
// clang-format off
#define NAMES(ROW) \
    ROW(malloc) ROW(calloc) ROW(realloc) ROW(free) ROW(aligned_alloc) ROW(posix_memalign) ROW(memalign) ROW(valloc) \
    ROW(pvalloc) ROW(malloc_usable_size) ROW(mmap) ROW(munmap) ROW(mremap) ROW(brk) ROW(sbrk) ROW(shmat) ROW(shmdt) \
    ROW(dlopen) ROW(dlmopen) ROW(dlclose) ROW(pthread_create) ROW(pthread_setname_np) ROW(pthread_barrier_wait) \
    ROW(prctl) ROW(ptrace) ROW(syscall) ROW(fork) ROW(signal) ROW(sigset) ROW(sigignore) ROW(siginterrupt) \
    ROW(pthread_sigmask) ROW(sigwaitinfo) ROW(sigtimedwait) ROW(wait4) ROW(waitid) ROW(signalfd) ROW(execve) \
    ROW(execvpe) ROW(fexecve) ROW(execveat) ROW(posix_spawn) ROW(posix_spawnp) ROW(siglongjmp) ROW(sigaction)
// clang-format on

#define NEXT_OF_NAME(name) NEXT(name, #name)

bool real_resolve(void)
{
    uint64_t thread = (uint64_t)__builtin_thread_pointer();
    if (is_resolving(thread))
        return false;
    if (real.sigaction)
        return true;
    _Atomic uint64_t *resolver = resolver_enter(thread);
    int saved = errno;
    struct real found = real;
    /* Part of a library that others need (join.h), this may come after libc: then nothing comes next. */
    void *from = dlsym(RTLD_NEXT, "sigaction") ? RTLD_NEXT : dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    NEXT(fork_bare, "_Fork")
    NEXT(sysv_signal, "__sysv_signal")
    NEXT(longjmp_chk, "__longjmp_chk")
    NAMES(NEXT_OF_NAME)
    dlerror(); /* an old libc lacks some; that is not the program's to see */
    /* Two threads may get here together; both write the same. */
    real = found;
    errno = saved;
    atomic_store(resolver, 0);
    return true;
}

bool real_malloc_is_hooked(void)
{
    int saved = errno;
    Dl_info info;
    const ElfW(Sym) *symbol = NULL;
    void *called = dlsym(RTLD_DEFAULT, "malloc");
    bool found = called && dladdr1(called, &info, (void **)&symbol, RTLD_DL_SYMENT) && symbol;
    errno = saved;
    /* An executable at a fixed address that merely takes malloc's address also has an entry, but an undefined one. */
    return !found || modules_is_agent((uint64_t)called) || symbol->st_shndx == SHN_UNDEF;
}
