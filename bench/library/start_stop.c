/* What starting and stopping a session costs: in a row, and when its thread's ticks have ended meanwhile. */
#include <numalens/capture.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 1000, SLOW_ROUNDS = 20 };

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void print(const char *what, uint64_t *times, size_t count)
{
    qsort(times, count, sizeof *times, compare);
    printf("%-34s median %6llu ns, 99%% below %6llu ns\n", what, (unsigned long long)times[count / 2],
           (unsigned long long)times[count * 99 / 100]);
}

int main(void)
{
    nlens_error err;
    uint64_t start[ROUNDS], stop[ROUNDS];
    nlens_session *session = nlens_session_new(NULL, &err);
    if (!session || nlens_session_add_thread(session, 0, &err) < 0)
        return fprintf(stderr, "start_stop: %s\n", err.text), 1;
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t begin = now();
        nlens_session_start(session, NULL);
        start[i] = now() - begin;
        begin = now();
        nlens_session_stop(session, NULL);
        stop[i] = now() - begin;
    }
    print("start, one after the other", start, ROUNDS);
    print("stop", stop, ROUNDS);
    for (int i = 0; i < SLOW_ROUNDS; i++) {
        for (uint64_t until = now() + 300000000; now() < until;)
            ; /* CPU time: the thread's ticks run in vain and end */
        uint64_t begin = now();
        nlens_session_start(session, NULL);
        start[i] = now() - begin;
        nlens_session_stop(session, NULL);
    }
    print("start, after 300 ms without", start, SLOW_ROUNDS);
    nlens_session_close(session, NULL);
    return 0;
}
