#include "base/sandbox.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OWN_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCH AUDIT_ARCH_AARCH64
#else
#error "sandbox: this architecture is not supported"
#endif

#define REFUSED(code) (SECCOMP_RET_ERRNO | (code))

enum { OTHER_ABI = 0x40000000 }; /* x32's numbers begin here */

static const uint32_t forbidden[] = {
    SYS_execveat,
    SYS_process_vm_writev, /* other programs */
    SYS_socket,
    SYS_bind,
    SYS_connect,
    SYS_listen, /* other machines and users */
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_setns,
    SYS_unshare, /* file systems and namespaces */
    SYS_setuid,
    SYS_setgid,
    SYS_setreuid,
    SYS_setregid,
    SYS_setresuid,
    SYS_setresgid,
    SYS_setgroups,
    SYS_setfsuid,
    SYS_setfsgid, /* other users */
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_bpf,
    SYS_acct,
    SYS_quotactl,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_adjtimex,
    SYS_sethostname,
    SYS_setdomainname, /* the kernel */
    SYS_add_key,
    SYS_request_key,
    SYS_keyctl,
    SYS_open_by_handle_at,
    SYS_fchown,
    SYS_fchownat,
#ifdef SYS_kexec_file_load
    SYS_kexec_file_load,
#endif
#ifdef SYS_open_tree
    SYS_open_tree,
    SYS_move_mount,
    SYS_fsopen,
    SYS_fsmount,
    SYS_fspick,
#endif
#ifdef SYS_io_uring_setup
    SYS_io_uring_setup, /* its own way to open sockets */
#endif
#ifdef SYS_chown /* not on 64-bit Arm, nor are the next */
    SYS_chown,
    SYS_lchown,
    SYS_iopl,
    SYS_ioperm,
    SYS_modify_ldt,
#endif
};

enum { FORBIDDEN = sizeof forbidden / sizeof *forbidden, PROGRAM_MOST = FORBIDDEN + 32 };

struct program {
    struct sock_filter lines[PROGRAM_MOST];
    unsigned short count;
};

static void add(struct program *program, uint16_t code, uint32_t value, uint8_t yes, uint8_t no)
{
    program->lines[program->count++] = (struct sock_filter)BPF_JUMP(code, value, yes, no);
}

/* Answers with `answer` when the call's number is `number`. */
static void answer(struct program *program, uint32_t number, uint32_t answer)
{
    add(program, BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1);
    add(program, BPF_RET | BPF_K, answer, 0, 0);
}

static void forbid_programs(struct program *program)
{
    answer(program, SYS_execve, REFUSED(EPERM));
    answer(program, SYS_ptrace, REFUSED(EPERM));
    answer(program, SYS_socketpair, REFUSED(EPERM));
}

static void forbid_forks(struct program *program)
{
#ifdef SYS_fork
    answer(program, SYS_fork, REFUSED(EPERM));
    answer(program, SYS_vfork, REFUSED(EPERM));
#endif
#ifdef SYS_clone3
    answer(program, SYS_clone3, REFUSED(ENOSYS)); /* its flags cannot be read here: libc goes on with clone */
#endif
    add(program, BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4);
    add(program, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args), 0, 0); /* its low half */
    add(program, BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0);
    add(program, BPF_RET | BPF_K, REFUSED(EPERM), 0, 0);
    add(program, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
}

static void write_program(struct program *program, enum sandbox_kind kind)
{
    add(program, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch), 0, 0);
    add(program, BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCH, 1, 0);
    add(program, BPF_RET | BPF_K, REFUSED(EPERM), 0, 0);
    add(program, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
    add(program, BPF_JMP | BPF_JGE | BPF_K, OTHER_ABI, 0, 1);
    add(program, BPF_RET | BPF_K, REFUSED(EPERM), 0, 0);
    for (unsigned i = 0; i < FORBIDDEN; i++) /* one refusal behind them all */
        add(program, BPF_JMP | BPF_JEQ | BPF_K, forbidden[i], (uint8_t)(FORBIDDEN - i), 0);
    add(program, BPF_JMP | BPF_JA, 1, 0, 0);
    add(program, BPF_RET | BPF_K, REFUSED(EPERM), 0, 0);
    if (kind != SANDBOX_TRACER)
        forbid_programs(program);
    if (kind == SANDBOX_SERVER)
        forbid_forks(program);
    add(program, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
}

static int install(const struct sock_fprog *filter, unsigned flags)
{
    long result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, filter);
    return result < 0 ? -errno : result > 0 ? -ESRCH : 0; /* above 0: a thread that cannot follow */
}

int sandbox_enter(enum sandbox_kind kind)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    (void)kind;
    return -ENOTSUP;
#else
    struct program program = {.count = 0};
    write_program(&program, kind);
    const struct sock_fprog filter = {program.count, program.lines};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -errno;
    /* Before Linux 5.16 a filter slows the whole process down as a measure against Spectre, unless asked not to. */
    int code = install(&filter, SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_SPEC_ALLOW);
    return code == -EINVAL ? install(&filter, SECCOMP_FILTER_FLAG_TSYNC) : code;
#endif
}

void sandbox_drop_capabilities(void)
{
    static const uint8_t needed[] = {CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_KILL,
                                     CAP_IPC_LOCK,     CAP_SYS_PTRACE,      CAP_SYS_ADMIN,
                                     CAP_SYS_NICE,     CAP_SYS_RESOURCE,    38 /* CAP_PERFMON, Linux 5.8 */};
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {0};
    uint32_t keep[_LINUX_CAPABILITY_U32S_3] = {0};
    if (syscall(SYS_capget, &head, sets) < 0)
        return;
    for (unsigned i = 0; i < sizeof needed; i++)
        keep[needed[i] / 32] |= 1u << needed[i] % 32;
    for (unsigned i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
        sets[i].effective &= keep[i];
        sets[i].permitted &= keep[i];
        sets[i].inheritable = 0;
    }
    syscall(SYS_capset, &head, sets); /* less is never refused */
}
