/* test_system.c - recordings of the whole machine and of a process that runs already, through a real kernel: an event on each CPU whose memory accesses are
 * page faults. */
#include "../skip.h"
#include "soft_pmu.h"

#include "capture/system_recorder.h"
#include "trace/reader.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

enum { PAGES = 1000, ROUNDS = 4000, ROUND_PAGES = 16 };

static char folder[] = "/tmp/numalens-system-XXXXXX";
static char output[64], sysfs[64], self[256];
static size_t page_size;
static char *block;

/* What is run by the recorder: faults for long enough to be looked at while it lives. */
static int exercise(void)
{
    size_t size = ROUND_PAGES * (size_t)sysconf(_SC_PAGESIZE);
    for (int i = 0; i < ROUNDS; i++) {
        char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
            return 1;
        memset(memory, 1, size);
        munmap(memory, size);
    }
    return 5;
}

static struct capture_options options_for(const struct topology *topology, char **command)
{
    return (struct capture_options){.output = output,
                                    .command = command,
                                    .max_frames = 4,
                                    .loads = true,
                                    .stores = true,
                                    .latency = true,
                                    .memory = 32 << 20,
                                    .period = 1,
                                    .samples = SAMPLES_PEBS,
                                    .system = true,
                                    .sysfs = sysfs,
                                    .topology = topology};
}

static void record(struct capture_options options, struct recorder_result *result)
{
    struct error err = {0};
    struct topology *topology = topology_load(&err);
    assert_non_null(topology);
    options.topology = topology;
    int code = system_recorder_run(&options, result, &err);
    topology_free(topology);
    if (code == -EACCES || code == -EPERM || code == -ENOSYS) {
        assert_non_null(strstr(err.text, "perf_event"));
        skip_test("%s", err.text);
    }
    if (code < 0)
        fail_msg("%s", err.text);
}

/* What the trace has of one process. */
struct found {
    uint64_t samples, with_stack, lost, modules, threads, in_block;
    unsigned of_page[PAGES];
    uint32_t toucher[PAGES]; /* thread */
    bool exe, text_placed, wrong_cpu;
};

static struct found look_through(uint32_t pid, const char *exe, unsigned cpu)
{
    struct found found = {0};
    struct event event;
    struct error err = {0};
    struct trace_reader *reader = trace_reader_open(output, &err);
    assert_non_null(reader);
    while (trace_reader_next(reader, &event, &err) > 0) {
        if (event.kind == EVENT_LOSS && event.loss.cause == LOSS_PERF)
            found.lost += event.loss.count;
        if (event.kind == EVENT_PROCESS_START && pid == 0 && strstr(event.process.command, "--exercise"))
            pid = event.pid;
        if (event.kind == EVENT_SAMPLE && cpu != UINT32_MAX)
            found.wrong_cpu |= event.sample.cpu != cpu;
        if (event.pid != pid || pid == 0)
            continue;
        found.exe |= event.kind == EVENT_PROCESS_START && strcmp(event.process.exe, exe) == 0;
        found.threads += event.kind == EVENT_THREAD_START;
        if (event.kind == EVENT_MODULE_LOAD) {
            found.modules++;
            /* Static data belongs to it too, not just the code that was mapped. */
            uint64_t data = (uintptr_t)&page_size;
            found.text_placed |=
                strcmp(event.module.path, exe) == 0 && data >= event.module.start && data < event.module.end;
        }
        if (event.kind != EVENT_SAMPLE)
            continue;
        found.samples++;
        found.with_stack += event.sample.stack != 0;
        uint64_t page = (event.sample.addr - (uintptr_t)block) / page_size;
        if (event.sample.addr < (uintptr_t)block || page >= PAGES)
            continue;
        found.in_block++;
        found.of_page[page]++;
        found.toucher[page] = event.tid;
    }
    assert_string_equal(err.text, "");
    trace_reader_close(reader);
    return found;
}

/* Records until `work`, in a thread of this process, has returned. */
struct worker {
    void (*work)(void);
    pid_t tid;
};

static void *work_and_stop(void *argument)
{
    struct worker *worker = argument;
    worker->tid = (pid_t)syscall(SYS_gettid);
    worker->work();
    kill(getpid(), SIGTERM);
    return NULL;
}

static void record_work(struct capture_options options, struct worker *worker)
{
    sigset_t term, before;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &term, &before);
    pthread_t thread;
    pthread_create(&thread, NULL, work_and_stop, worker);
    struct recorder_result result;
    record(options, &result);
    pthread_join(thread, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    assert_true(result.hardware);
    assert_int_equal(result.exit_status, 0);
}

static void make_block(void)
{
    unlink(output);
    block = mmap(NULL, PAGES * page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(block != MAP_FAILED);
    madvise(block, PAGES * page_size, MADV_NOHUGEPAGE);
}

static void wait_for_recorder(void)
{
    while (access(output, F_OK) != 0) /* it is there once events are enabled */
        usleep(1000);                 /* who yields all the time keeps others from a CPU since Linux 6.18 */
}

static void touch_block(void)
{
    wait_for_recorder();
    for (size_t i = 0; i < PAGES; i++) {
        ((volatile char *)block)[i * page_size] = 1;
        sched_yield();
    }
}

/* One recording in which a thread touches every page of the block once; returns how many are missing. Others may fill the rings
 * while this process waits for a CPU: what is missing is counted as lost. */
static size_t record_touches(void)
{
    struct worker worker = {.work = touch_block};
    make_block();
    record_work(options_for(NULL, NULL), &worker);
    struct found found = look_through((uint32_t)getpid(), self, UINT32_MAX);
    size_t missing = 0;
    for (size_t i = 0; i < PAGES; i++) {
        assert_true(found.of_page[i] <= 1);
        assert_true(found.of_page[i] == 0 || found.toucher[i] == (uint32_t)worker.tid);
        missing += found.of_page[i] == 0;
    }
    assert_true(missing <= found.lost);
    munmap(block, PAGES * page_size);
    if (missing == PAGES)
        return missing;
    assert_true(found.exe && found.text_placed && found.modules >= 2); /* it and its libraries */
    assert_true(found.threads >= 1);
    assert_int_equal(found.with_stack, found.samples);
    return missing;
}

/* What a busy machine spoils: rings that others fill, and programs that end before they are looked at. */
enum { TRIES = 8 };

static void everything_until_a_signal(void **state)
{
    (void)state;
    size_t missing = PAGES;
    for (int i = 0; i < TRIES && missing; i++)
        missing = record_touches();
    if (missing)
        print_message("# %zu of %d are counted as lost\n", missing, PAGES);
}

/* Who touches which quarter of the block in a process that runs already. */
enum { BEFORE, MAIN, AFTER, CHILD, QUARTERS };
struct touchers {
    atomic_bool there; /* a second thread, which runs when the recording begins */
    atomic_bool done;
    atomic_uint tids[QUARTERS];
};
static struct touchers *touchers; /* shared with the process */

static void touch_quarter(unsigned quarter)
{
    atomic_store(&touchers->tids[quarter], (unsigned)syscall(SYS_gettid));
    for (size_t i = quarter * PAGES / QUARTERS; i < (quarter + 1) * PAGES / QUARTERS; i++)
        ((volatile char *)block)[i * page_size] = 1;
}

static void *live_before(void *unused)
{
    (void)unused;
    atomic_store(&touchers->there, true);
    wait_for_recorder();
    touch_quarter(BEFORE);
    return NULL;
}

static void *live_after(void *unused)
{
    (void)unused;
    touch_quarter(AFTER);
    return NULL;
}

static void run_before_the_recorder(void)
{
    pthread_t before, after;
    pthread_create(&before, NULL, live_before, NULL);
    pthread_join(before, NULL);
    touch_quarter(MAIN);
    pthread_create(&after, NULL, live_after, NULL);
    pthread_join(after, NULL);
    pid_t child = fork();
    if (child == 0) {
        touch_quarter(CHILD);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    atomic_store(&touchers->done, true);
    for (;;)
        pause();
}

static void wait_until_touched(void)
{
    while (!atomic_load(&touchers->done))
        usleep(1000);
}

/* Returns how many pages are missing. */
static size_t record_running(enum capture_samples samples)
{
    make_block();
    *touchers = (struct touchers){0};
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* whatever becomes of the test */
        run_before_the_recorder();
    }
    while (!atomic_load(&touchers->there))
        usleep(1000);
    struct capture_options options = options_for(NULL, NULL);
    options.system = false;
    options.follow = true;
    options.samples = samples;
    options.pid = (uint32_t)pid;
    struct worker worker = {.work = wait_until_touched};
    record_work(options, &worker);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    struct found process = look_through((uint32_t)pid, self, UINT32_MAX);
    struct found child = look_through(touchers->tids[CHILD], self, UINT32_MAX);
    assert_true(process.exe && process.text_placed && process.threads >= 1);
    assert_int_equal(look_through((uint32_t)getpid(), self, UINT32_MAX).samples, 0); /* nobody else's */
    size_t missing = 0;
    for (size_t i = 0; i < PAGES; i++) {
        unsigned quarter = (unsigned)(i * QUARTERS / PAGES);
        const struct found *of = quarter == CHILD ? &child : &process;
        assert_true(of->of_page[i] <= 1);
        assert_true(of->of_page[i] == 0 || of->toucher[i] == touchers->tids[quarter]);
        missing += of->of_page[i] == 0;
    }
    assert_true(missing <= process.lost);
    munmap(block, PAGES * page_size);
    return missing;
}

static void a_process_that_runs(void **state)
{
    (void)state;
    static const enum capture_samples sources[] = {SAMPLES_PEBS, SAMPLES_FAULTS};
    touchers = mmap(NULL, sizeof *touchers, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (unsigned source = 0; source < 2; source++) {
        size_t missing = PAGES;
        for (int i = 0; i < TRIES && missing; i++)
            missing = record_running(sources[source]);
        assert_int_equal(missing, 0);
    }
    munmap(touchers, sizeof *touchers);
}

static void a_process_that_is_gone(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    waitpid(pid, NULL, 0);
    struct error err = {0};
    struct recorder_result result;
    struct topology *topology = topology_load(&err);
    struct capture_options options = options_for(topology, NULL);
    options.system = false;
    options.pid = (uint32_t)pid;
    unlink(output);
    assert_int_equal(system_recorder_run(&options, &result, &err), -ESRCH);
    topology_free(topology);
    assert_non_null(strstr(err.text, "there is no process"));
    assert_int_equal(result.exit_status, 1);
    assert_int_equal(access(output, F_OK), -1);
}

static void a_program_and_one_cpu(void **state)
{
    (void)state;
    char *command[] = {self, "--exercise", NULL};
    struct recorder_result result;
    struct capture_options options = options_for(NULL, command);
    struct found found = {0};
    for (int i = 0; i < TRIES && !found.exe; i++) {
        unlink(output);
        record(options, &result);
        assert_int_equal(result.exit_status, 5); /* the program's */
        found = look_through(0, self, UINT32_MAX);
    }
    assert_true(found.exe && found.samples > 0 && found.threads == 1);

    cpu_set_t own;
    assert_int_equal(sched_getaffinity(0, sizeof own, &own), 0);
    unsigned cpu = 0;
    while (!CPU_ISSET(cpu, &own))
        cpu++;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one); /* the program inherits it */
    char list[16];
    snprintf(list, sizeof list, "%u", cpu);
    options.cpus = list;
    found.exe = false;
    for (int i = 0; i < TRIES && !found.exe; i++) {
        record(options, &result);
        found = look_through(0, self, cpu);
        assert_false(found.wrong_cpu);
    }
    sched_setaffinity(0, sizeof own, &own);
    assert_true(found.exe && found.samples > 0);
}

static void no_pmu_is_said_in_one_line(void **state)
{
    (void)state;
    struct error err = {0};
    struct recorder_result result;
    struct topology *topology = topology_load(&err);
    struct capture_options options = options_for(topology, NULL);
    options.sysfs = folder; /* nothing is described there */
    options.samples = SAMPLES_AUTO;
    unlink(output);
    assert_true(system_recorder_run(&options, &result, &err) < 0);
    topology_free(topology);
    assert_int_equal(result.exit_status, 1);
    assert_non_null(strstr(err.text, "no PMU"));
    assert_non_null(strstr(err.text, "numalens record -- PROGRAM"));
    assert_non_null(strstr(err.text, "--source faults"));
    assert_null(strstr(err.text, "--source soft")); /* not here */
    assert_null(strchr(err.text, '\n'));
    assert_int_equal(access(output, F_OK), -1);
}

int main(int argc, char **argv)
{
    page_size = (size_t)sysconf(_SC_PAGESIZE);
    if (argc > 1 && strcmp(argv[1], "--exercise") == 0)
        return exercise();
    const struct CMUnitTest tests[] = {cmocka_unit_test(everything_until_a_signal),
                                       cmocka_unit_test(a_program_and_one_cpu), cmocka_unit_test(a_process_that_runs),
                                       cmocka_unit_test(a_process_that_is_gone),
                                       cmocka_unit_test(no_pmu_is_said_in_one_line)};
    if (!mkdtemp(folder) || soft_pmu_make(folder, 2) != 0 || readlink("/proc/self/exe", self, sizeof self - 1) <= 0)
        return 1;
    snprintf(output, sizeof output, "%s/out.data", folder);
    snprintf(sysfs, sizeof sysfs, "%s/sys", folder);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) || failed;
}
