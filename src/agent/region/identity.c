#include "agent/region/identity.h"

#include "agent/agent.h"
#include "base/sys.h"

#include <string.h>
#include <sys/stat.h>

AGENT_FORKED struct identity identity;

static uint64_t proc_device; /* see struct reached */

/* The decimal number that `text` begins with. */
static uint32_t number(const char *text)
{
    uint32_t value = 0;
    for (; *text >= '0' && *text <= '9'; text++)
        value = value * 10 + (uint32_t)(*text - '0');
    return value;
}

/* The link's last number: "1234", "1234/task/1240". */
static uint32_t linked_number(const char *path)
{
    char text[64];
    sys_readlink(path, text, sizeof text);
    const char *last = strrchr(text, '/');
    return number(last ? last + 1 : text);
}

static uint32_t parent_by_proc(void)
{
    static const char label[] = "\nPPid:\t";
    char text[1024];
    int fd = sys_open_read("/proc/self/status");
    long got = fd >= 0 ? sys_read(fd, text, sizeof text - 1) : 0;
    if (fd >= 0)
        sys_close(fd);
    text[got > 0 ? got : 0] = '\0';
    const char *at = strstr(text, label);
    return at ? number(at + sizeof label - 1) : 0;
}

static bool shows_recorder(void)
{
    return proc_device && reach_proc_device() == proc_device;
}

/* In another namespace than the recorder's. */
static bool learn_foreign(void)
{
    struct wire_answer answer = {0};
    if (shows_recorder())
        answer = (struct wire_answer){linked_number("/proc/self"), parent_by_proc()};
    if (!answer.pid && !reach_ask(agent_region->nonce, &answer))
        return false;
    identity = (struct identity){.pid = answer.pid, .parent = answer.parent, .foreign = true};
    return true;
}

static void learn_local(void)
{
    identity = (struct identity){.pid = (uint32_t)sys_call(SYS_getpid), .parent = (uint32_t)sys_call(SYS_getppid)};
}

/* 1: another namespace, 0: the recorder's, -1: cannot be known. */
static int is_foreign(void)
{
    struct stat file;
    uint64_t recorders = agent_region->config.pid_namespace;
    if (!recorders)
        return 0;
    if (sys_call(SYS_newfstatat, AT_FDCWD, "/proc/self/ns/pid", &file, 0) != 0)
        return -1;
    return file.st_ino != recorders;
}

bool identity_attach(const struct reached *reached)
{
    proc_device = reached->proc_device;
    if (reached->answer.pid) {
        identity = (struct identity){.pid = reached->answer.pid,
                                     .parent = reached->answer.parent,
                                     .foreign = reached->answer.pid != (uint32_t)sys_call(SYS_getpid)};
        return true;
    }
    if (is_foreign() == 1)
        return learn_foreign();
    learn_local();
    return true;
}

/* A child's namespace is its parent's, or one below that, from which the parent has no number (getppid() is 0). Only there, or where
 * the parent itself has none, must /proc be asked: that makes inodes which the kernel has to find and free when the child ends, at
 * several times what a fork costs else. */
bool identity_forked(void)
{
    struct identity parent = identity;
    int foreign = sys_call(SYS_getppid) > 0 ? parent.foreign : is_foreign();
    /* Without /proc: a child is in its parent's namespace, unless it is the first process in one of its own. */
    if (foreign < 0)
        foreign = parent.foreign || sys_call(SYS_getpid) == 1;
    bool known = true;
    if (foreign)
        known = learn_foreign();
    else
        identity = (struct identity){.pid = (uint32_t)sys_call(SYS_getpid)};
    identity.parent = parent.pid;
    return known;
}

uint32_t identity_tid(uint32_t pid, uint32_t tid, uint32_t *local)
{
    *local = 0;
    if (!identity.foreign)
        return tid;
    if (pid == tid)
        return identity.pid;
    uint32_t known = shows_recorder() ? linked_number("/proc/thread-self") : 0;
    *local = known ? 0 : tid;
    return known ? known : tid;
}
