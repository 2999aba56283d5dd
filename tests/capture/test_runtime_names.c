/* Names that a process writes of its own code, with this very process as the one that is followed. */
#include "capture/process/runtime_names.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

enum { MOST = 16, START = 77 };

static struct event_runtime_code seen[MOST];
static char names[MOST][32];
static unsigned count;
static pid_t followed;

static void see(void *context, const struct event *event)
{
    (void)context;
    if (event->kind != EVENT_RUNTIME_CODE)
        return;
    assert_int_equal(event->pid, followed);
    assert_int_equal(event->time, START);
    assert_true(count < MOST);
    seen[count] = event->code;
    snprintf(names[count++], sizeof names[0], "%s", event->code.name);
}

static void write_map(const char *path, const char *mode, const char *text)
{
    FILE *file = fopen(path, mode);
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

struct following {
    struct sink sink;
    struct process_table processes;
    struct source source;
    char path[64];
};

static void follow_process(struct following *following, uint64_t most, pid_t pid)
{
    memset(following, 0, sizeof *following);
    following->sink.tap = see;
    process_table_init(&following->processes, &following->sink, 1 << 20);
    struct event event = {
        .time = START, .pid = (uint32_t)pid, .kind = EVENT_PROCESS_START, .process = {.exe = "", .command = ""}};
    process_start(&following->processes, &event, 1);
    following->source = runtime_names_source(runtime_names_new(&following->sink, &following->processes, most));
    snprintf(following->path, sizeof following->path, "/tmp/perf-%d.map", (int)pid);
    unlink(following->path);
    followed = pid;
    count = 0;
}

static void follow(struct following *following, uint64_t most)
{
    follow_process(following, most, getpid());
}

static void unfollow(struct following *following)
{
    unlink(following->path);
    following->source.close(following->source.context);
    process_table_free(&following->processes);
}

static void a_map_is_followed_while_it_grows(void **state)
{
    (void)state;
    struct following f;
    follow(&f, 100);
    f.source.tend(f.source.context, 1000);
    assert_int_equal(count, 0);
    write_map(f.path, "w", "1000 10 one\n2000 10 tw");
    f.source.tend(f.source.context, 2000);
    assert_int_equal(count, 1);
    assert_int_equal(seen[0].since, 1000); /* the look before */
    write_map(f.path, "a", "o\n");
    f.source.tend(f.source.context, 3000);
    assert_int_equal(count, 2);
    assert_string_equal(names[1], "two");
    assert_int_equal(seen[1].since, 2000);
    write_map(f.path, "w", "3000 10 new\n"); /* written again from its start */
    f.source.tend(f.source.context, 4000);
    assert_int_equal(count, 3);
    assert_string_equal(names[2], "new");
    write_map(f.path, "a", "4000 10 last\n");
    f.source.finish(f.source.context);
    assert_int_equal(count, 4);
    unfollow(&f);
}

static void a_map_of_another_kind_is_not_read(void **state)
{
    (void)state;
    struct following f;
    char target[80];
    follow(&f, 100);
    snprintf(target, sizeof target, "%s.of-another", f.path);
    write_map(target, "w", "1000 10 one\n");
    assert_int_equal(symlink(target, f.path), 0);
    f.source.tend(f.source.context, 1000);
    assert_int_equal(count, 0);
    unlink(f.path);
    if (geteuid() == 0) { /* whose, is looked at: of another user who could write into /tmp */
        assert_int_equal(rename(target, f.path), 0);
        assert_int_equal(chown(f.path, 65534, 65534), 0);
        f.source.tend(f.source.context, 2000);
        assert_int_equal(count, 0);
    }
    unlink(target);
    unfollow(&f);
}

static void a_look_is_bounded(void **state)
{
    (void)state;
    enum { LINES = 100000 };
    struct following f;
    follow(&f, 100);
    f.source.tend(f.source.context, 1000);
    FILE *file = fopen(f.path, "w");
    assert_non_null(file);
    for (unsigned i = 0; i < LINES; i++)
        fputs("nothing that is an entry of a map, nor the beginning of one\n", file);
    fputs("1000 10 last\n", file);
    fclose(file);
    f.source.tend(f.source.context, 2000);
    assert_int_equal(count, 0);
    f.source.tend(f.source.context, 3000);
    assert_int_equal(count, 1);
    assert_int_equal(seen[0].since, 1000); /* it may have been there at the look before */
    unfollow(&f);
}

/* How many names are found of a process in a root of its own, whose /tmp is such a link. */
static unsigned names_below(const char *link, uid_t owner)
{
    struct following f;
    int ends[2];
    char root[] = "/tmp/runtime-names-XXXXXX", path[80], byte = 0;
    assert_non_null(mkdtemp(root));
    snprintf(path, sizeof path, "%s/kept", root);
    assert_int_equal(mkdir(path, 0755), 0);
    snprintf(path, sizeof path, "%s/tmp", root);
    assert_int_equal(symlink(link, path), 0);
    assert_int_equal(lchown(path, owner, owner), 0);
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (chroot(root) < 0 || write(ends[1], &byte, 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    assert_int_equal(read(ends[0], &byte, 1), 1);
    follow_process(&f, 100, pid);
    snprintf(path, sizeof path, "%s/kept/perf-%d.map", root, (int)pid);
    write_map(path, "w", "1000 10 one\n");
    f.source.tend(f.source.context, 1000);
    unlink(path);
    unfollow(&f);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    close(ends[0]);
    close(ends[1]);
    for (unsigned i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", root, i ? "kept" : "tmp");
        assert_int_equal(remove(path), 0);
    }
    assert_int_equal(rmdir(root), 0);
    return count;
}

static void a_link_is_followed_where_root_made_it(void **state)
{
    (void)state;
    if (geteuid() != 0)
        return; /* only root has links of root's, and roots of its own */
    assert_int_equal(names_below("kept", 0), 1);
    assert_int_equal(names_below("/kept", 0), 1); /* below its own root */
    assert_int_equal(names_below("/tmp", 0), 0);
    assert_int_equal(names_below("../kept", 0), 0);
    assert_int_equal(names_below("kept", 65534), 0);
}

static void names_are_bounded(void **state)
{
    (void)state;
    struct following f;
    follow(&f, 2);
    write_map(f.path, "w", "1000 10 one\n2000 10 two\n3000 10 three\n");
    f.source.finish(f.source.context);
    assert_int_equal(count, 2);
    assert_int_equal(f.sink.lost[LOSS_MEMORY], 1);
    unfollow(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_map_is_followed_while_it_grows),
        cmocka_unit_test(a_map_of_another_kind_is_not_read),
        cmocka_unit_test(names_are_bounded),
        cmocka_unit_test(a_look_is_bounded),
        cmocka_unit_test(a_link_is_followed_where_root_made_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
