#include "capture/process/program.h"

#include "base/mem.h"
#include "base/own_files.h"
#include "base/sanitizer.h"
#include "base/text.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#endif

enum { NO_AGENT = -ENOTSUP, PRIVILEGED = -EPERM }; /* codes of refusals */
enum { HEAD_BYTES = 4096, INTERPRETERS_MOST = 4 };

/* The way execvp goes: a name with a slash is a path, any other is looked for in PATH. The last reason is kept, and
 * a file that was there but may not be run counts for more than one that was not there. */
char *program_find(const char *name, int *cause)
{
    if (strchr(name, '/')) {
        *cause = access(name, X_OK) == 0 ? 0 : errno;
        return mem_strdup(name);
    }
    const char *path = getenv("PATH");
    if (!path)
        path = "/bin:/usr/bin";
    *cause = ENOENT;
    while (*name) {
        const char *end = strchrnul(path, ':');
        char *candidate = mem_format("%.*s%s%s", (int)(end - path), path, end == path ? "" : "/", name);
        struct stat status;
        if (stat(candidate, &status) == 0 && S_ISREG(status.st_mode)) {
            if (access(candidate, X_OK) == 0) {
                *cause = 0;
                return candidate;
            }
            *cause = EACCES;
        }
        free(candidate);
        if (!*end)
            break;
        path = end + 1;
    }
    return mem_strdup(name);
}

static const char *machine_name(unsigned machine)
{
    switch (machine) {
    case EM_386:
        return "32-bit x86";
    case EM_X86_64:
        return "x86-64";
    case EM_ARM:
        return "32-bit Arm";
    case EM_AARCH64:
        return "64-bit Arm";
    case EM_RISCV:
        return "RISC-V";
    case EM_PPC64:
        return "POWER";
    case EM_S390:
        return "z/Architecture";
    default:
        return "another processor";
    }
}

/* Whether the kernel will run it in secure mode, in which the loader ignores LD_PRELOAD. */
static const char *privileged_by(const char *path, const struct stat *status)
{
    struct statvfs mount;
    if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 || (statvfs(path, &mount) == 0 && (mount.f_flag & ST_NOSUID)))
        return NULL;
    if ((status->st_mode & S_ISUID) && status->st_uid != geteuid())
        return "setuid";
    if ((status->st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && status->st_gid != getegid())
        return "setgid";
    if (geteuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0)
        return "privileged by file capabilities";
    return NULL;
}

static int refuse(struct error *err, int code, const char *path, const char *what, const char *remedy)
{
    return error_set(err, code, "%s is %s, so the agent cannot be loaded into it: %s", path, what, remedy);
}

static int check_elf(const char *path, int fd, const Elf64_Ehdr *header, struct error *err)
{
    if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_machine != OWN_MACHINE) {
        const char *made_for = header->e_ident[EI_CLASS] == ELFCLASS32 && header->e_machine == OWN_MACHINE
                                   ? "a 32-bit system"
                                   : machine_name(header->e_machine);
        return error_set(err, -ENOEXEC, "%s is built for %s; this numalens records programs for %s", path, made_for,
                         machine_name(OWN_MACHINE));
    }
    for (unsigned i = 0; i < header->e_phnum; i++) {
        Elf64_Phdr segment;
        if (pread(fd, &segment, sizeof segment, (off_t)(header->e_phoff + i * sizeof segment)) != sizeof segment)
            break;
        if (segment.p_type != PT_INTERP)
            continue;
        char loader[PATH_MAX] = "";
        size_t size = segment.p_filesz < sizeof loader - 1 ? segment.p_filesz : sizeof loader - 1;
        if (pread(fd, loader, size, (off_t)segment.p_offset) > 0 && strstr(loader, "ld-musl"))
            return refuse(err, NO_AGENT, path, "linked with musl", "build it against glibc");
        return 0;
    }
    /* The loader itself has no loader either, but does what it would do. */
    const char *base = text_file_name(path);
    if (strncmp(base, "ld-linux", 8) == 0 || strncmp(base, "ld.so", 5) == 0)
        return 0;
    return refuse(err, NO_AGENT, path, "statically linked", "link it dynamically (without -static)");
}

static int check_file(const char *path, int depth, int *exit_status, struct error *err)
{
    *exit_status = PROGRAM_REFUSED;
    struct stat status;
    union {
        Elf64_Ehdr elf;
        char text[HEAD_BYTES];
    } head = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0; /* may be run but not read: the kernel will have the last word */
    int result = 0;
    ssize_t size = fstat(fd, &status) == 0 ? pread(fd, &head, sizeof head - 1, 0) : -1;
    if (size < 0)
        goto cleanup;
    if ((size_t)size >= sizeof head.elf && memcmp(head.elf.e_ident, ELFMAG, SELFMAG) == 0) {
        const char *privilege = privileged_by(path, &status);
        if (privilege)
            result = refuse(err, PRIVILEGED, path, privilege,
                            "run numalens as the file's owner, or record a copy without that");
        else
            result = check_elf(path, fd, &head.elf, err);
    } else if (size > 2 && head.text[0] == '#' && head.text[1] == '!' && depth < INTERPRETERS_MOST) {
        char *name = head.text + 2 + strspn(head.text + 2, " \t");
        name[strcspn(name, " \t\r\n")] = 0;
        if (*name && access(name, X_OK) != 0) {
            *exit_status = PROGRAM_NOT_EXECUTABLE;
            result = error_set(err, -errno, "%s: its interpreter %s cannot be run: %s", path, name, strerror(errno));
        } else if (*name) {
            result = check_file(name, depth + 1, exit_status, err);
        }
    }
cleanup:
    close(fd);
    return result;
}

int program_check(const char *name, int *exit_status, struct error *err)
{
    int cause, code;
    char *path = program_find(name, &cause);
    struct stat status;
    if (cause == ENOENT || cause == ENOTDIR) {
        *exit_status = PROGRAM_NOT_FOUND;
        code = error_set(err, -cause, "there is no program %s%s", name, strchr(name, '/') ? "" : " in PATH");
    } else if (stat(path, &status) == 0 && S_ISDIR(status.st_mode)) {
        *exit_status = PROGRAM_NOT_EXECUTABLE;
        code = error_set(err, -EISDIR, "%s is a folder, not a program", name);
    } else if (cause) {
        *exit_status = PROGRAM_NOT_EXECUTABLE;
        bool closed = stat(path, &status) != 0; /* not the file itself but a folder on the way to it */
        code = error_set(err, -cause, "%s cannot be run: %s", name,
                         cause != EACCES ? strerror(cause)
                         : closed        ? "you may not enter its folder"
                                         : "it is not executable (chmod +x makes it so)");
    } else {
        code = check_file(path, 0, exit_status, err);
    }
    free(path);
    return code;
}

bool program_beyond_agent(const char *name, struct error *why)
{
    int status, code = program_check(name, &status, why);
    if (code != NO_AGENT && (code != PRIVILEGED || geteuid() != 0))
        return false;
    char *so = strstr(why->text, ", so the agent"); /* what remains is the cause */
    if (so)
        *so = '\0';
    return true;
}

enum loss_cause program_apart(const char *name)
{
    int cause;
    const char *others = getenv("LD_PRELOAD");
    if (others && strstr(others, "/vgpreload_"))
        return LOSS_TRACED;
    char *path = program_find(name, &cause);
    bool sanitized = (others && sanitizer_in_list(others)) || sanitizer_in_program(AT_FDCWD, path);
    free(path);
    return sanitized ? LOSS_SANITIZED : LOSS_CAUSES;
}

char *program_agent_path(struct error *err)
{
    char *path = self_find("../agent/libnumalens-agent.so"); /* a build tree: src/cli/numalens */
    if (!path)
        path = self_find(NUMALENS_AGENT_FROM_BIN); /* installed */
    if (path && !strpbrk(path, " :"))
        return path;
    struct stat status;
    if (!path && stat("/proc/self/exe", &status) != 0)
        error_set(err, -ENOENT,
                  "/proc is not mounted here, and the agent reaches the recorder through it: mount it first (mount -t "
                  "proc proc /proc)");
    else if (path)
        error_set(err, -EINVAL, "%s: the agent cannot be loaded from a path with a blank or a colon; move numalens",
                  path);
    else
        error_set(err, -ENOENT, "libnumalens-agent.so is not beside this program nor where it would be installed");
    free(path);
    return NULL;
}
