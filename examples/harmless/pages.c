/* pages.c - threads that each use memory of their own: their stack, thread-local variables, parts of a heap block and of a
 * static array. Prints where it all is; tests/integration/test_first_touch.py watches who touches which page first.
 * Truth: every page of a thread's part is first touched by that thread. Built for pthreads, for OpenMP, and for OpenMP
 * in C++ with iostream, whose thread-local variables add to the program's. */
#include "../example.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#define THREADS 4 /* main is one of them under OpenMP */
#define PART    (16 * 4096)

struct thread {
    long tid;
    char *low, *high, *local, *own;
};

static __thread char local[200] = {1};
static char fixed[THREADS * PART] __attribute__((aligned(4096)));
static char mark[4096] __attribute__((aligned(4096))); /* touched when the heap block is there and no thread is */
static char *heap;
static struct thread threads[THREADS];

static void touch(volatile char *at, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += 64)
        at[i] = (char)i;
}

static void work(int number)
{
    struct thread *self = &threads[number];
    char array[PART];
    self->tid = syscall(SYS_gettid);
    for (int round = 0; round < 3000; round++) {
        touch(array, sizeof array);
        touch(local, sizeof local);
        touch(fixed + number * PART, PART);
        touch(heap + number * PART, PART);
    }
    pthread_attr_t attributes;
    void *low = NULL;
    size_t bytes = 0;
    self->own = (char *)malloc(100);
    touch(self->own, 100);
    example_need(pthread_getattr_np(pthread_self(), &attributes) == 0, "the stack's place");
    pthread_attr_getstack(&attributes, &low, &bytes);
    pthread_attr_destroy(&attributes);
    self->low = (char *)low;
    self->high = (char *)low + bytes;
    self->local = local;
}

#ifndef _OPENMP
static pthread_barrier_t all_here;

static void *run(void *number)
{
    work((int)(long)number);
    pthread_barrier_wait(&all_here); /* nobody gets the stack of one that is done */
    return NULL;
}
#endif

static void run_all(void)
{
#ifdef _OPENMP
#pragma omp parallel num_threads(THREADS)
    work(omp_get_thread_num());
#else
    pthread_t started[THREADS];
    pthread_barrier_init(&all_here, NULL, THREADS);
    for (long i = 0; i < THREADS; i++)
        example_need(pthread_create(&started[i], NULL, run, (void *)i) == 0, "a thread");
    for (int i = 0; i < THREADS; i++)
        pthread_join(started[i], NULL);
#endif
}

int main(void)
{
    char *first = (char *)malloc(100);
    touch(first, 100);
    heap = (char *)malloc(THREADS * PART + 4096);
    example_need(heap && first, "memory");
    touch(mark, 1);
    run_all();
    printf("area mark %p 4096\narea fixed %p %d\narea heap %p %d\n", (void *)mark, (void *)fixed, THREADS * PART,
           (void *)heap, THREADS * PART);
    printf("place first %lu\nplace heap %lu\n", (unsigned long)first % 4096, (unsigned long)heap % 4096);
    for (int i = 0; i < THREADS; i++) {
        struct thread *thread = &threads[i];
        printf("thread %d %ld\n", i, thread->tid);
        printf("place own%d %lu\n", i, (unsigned long)thread->own % 4096);
        if (thread->tid == getpid())
            continue; /* the first stack begins wherever arguments and environment end */
        printf("area stack%d %p %ld\n", i, (void *)thread->low, (long)(thread->high - thread->low));
        printf("place local%d %ld\n", i, (long)(thread->high - thread->local));
    }
    return 0;
}
