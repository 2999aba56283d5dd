/* Clients of the recorder's abstract socket: those who say nothing hold up nobody. */
#include "capture/agent/handover.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>

enum { FEW = 10, MANY = 500, MEMORY = 64 << 20 };

struct bench {
    struct topology topology;
    struct capture_options options;
    struct capture_region region;
    struct handover handover;
};

static int set_up(void **state)
{
    static struct bench bench;
    struct error err;
    struct rlimit descriptors;
    getrlimit(RLIMIT_NOFILE, &descriptors);
    descriptors.rlim_cur = descriptors.rlim_max; /* MANY wait at the same time */
    setrlimit(RLIMIT_NOFILE, &descriptors);
    bench = (struct bench){.options = {.memory = MEMORY, .topology = &bench.topology}};
    *state = &bench;
    return capture_region_make(&bench.region, &bench.options, false, &err) == 0 &&
                   handover_start(&bench.handover, &bench.region)
               ? 0
               : -1;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;
    handover_stop(&bench->handover);
    capture_region_free(&bench->region);
    return 0;
}

static int connect_to(const struct bench *bench)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    unsigned length =
        (unsigned)offsetof(struct sockaddr_un, sun_path) + wire_socket_name(address.sun_path, bench->region.map->nonce);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, length), 0);
    return fd;
}

/* What the recorder answers to `token`: its length, 0 when it hangs up. */
static ssize_t ask(const struct bench *bench, uint64_t token)
{
    struct wire_hello hello = {token};
    struct wire_answer answer = {0};
    int fd = connect_to(bench);
    assert_int_equal(send(fd, &hello, sizeof hello, MSG_NOSIGNAL), sizeof hello);
    ssize_t got = recv(fd, &answer, sizeof answer, 0);
    assert_true(got != sizeof answer || answer.pid == (uint32_t)getpid());
    close(fd);
    return got;
}

static void nobody_waits_for_the_silent(void **state)
{
    const struct bench *bench = *state;
    int silent[MANY];
    uint64_t token = wire_token(bench->region.map->nonce, WIRE_TOKEN_HELLO);
    for (unsigned i = 0; i < FEW; i++)
        silent[i] = connect_to(bench);
    assert_int_equal(ask(bench, token), sizeof(struct wire_answer));
    /* Answered while they were there: none was waited for and then sent away. */
    for (unsigned i = 0; i < FEW; i++)
        assert_int_equal(poll(&(struct pollfd){.fd = silent[i], .events = POLLIN}, 1, 0), 0);
    for (unsigned i = FEW; i < MANY; i++)
        silent[i] = connect_to(bench);
    assert_int_equal(ask(bench, token), sizeof(struct wire_answer));
    /* Of so many the first had to leave, the last did not. */
    assert_int_equal(poll(&(struct pollfd){.fd = silent[0], .events = POLLIN}, 1, -1), 1);
    assert_int_equal(poll(&(struct pollfd){.fd = silent[MANY - 1], .events = POLLIN}, 1, 0), 0);
    for (unsigned i = 0; i < MANY; i++)
        close(silent[i]);
}

static void strangers_get_nothing(void **state)
{
    const struct bench *bench = *state;
    uint64_t token = wire_token(bench->region.map->nonce, WIRE_TOKEN_HELLO);
    assert_true(ask(bench, token + 1) <= 0);
    assert_int_equal(ask(bench, token), sizeof(struct wire_answer));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nobody_waits_for_the_silent, set_up, tear_down),
        cmocka_unit_test_setup_teardown(strangers_get_nothing, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
