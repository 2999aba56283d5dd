#include "base/progress.h"

#include <stdatomic.h>

static _Atomic(const char *) now_what, now_inner;
static _Atomic uint64_t now_done, now_total;

static _Thread_local progress_listener *heard;
static _Thread_local void *heard_data;

static void call_listener(void)
{
    struct progress now = progress_now();
    if (heard && now.what)
        heard(heard_data, now.what, now.done, now.total);
}

void progress_begin(const char *what, uint64_t total)
{
    atomic_store_explicit(&now_done, 0, memory_order_relaxed);
    atomic_store_explicit(&now_total, total, memory_order_relaxed);
    atomic_store_explicit(&now_what, what, memory_order_relaxed);
    call_listener();
}

void progress_set(uint64_t done)
{
    atomic_store_explicit(&now_done, done, memory_order_relaxed);
    call_listener();
}

void progress_inner(const char *what)
{
    atomic_store_explicit(&now_inner, what, memory_order_relaxed);
}

struct progress progress_now(void)
{
    return (struct progress){.what = atomic_load_explicit(&now_what, memory_order_relaxed),
                             .inner = atomic_load_explicit(&now_inner, memory_order_relaxed),
                             .done = atomic_load_explicit(&now_done, memory_order_relaxed),
                             .total = atomic_load_explicit(&now_total, memory_order_relaxed)};
}

void progress_listen(progress_listener *listener, void *data)
{
    heard = listener;
    heard_data = data;
}
