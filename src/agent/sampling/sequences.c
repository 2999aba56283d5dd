/* See sequences.h. */
#include "agent/sampling/sequences.h"

#include "base/sys.h"

#include <elf.h>
#include <fcntl.h>
#include <stddef.h>

enum { ANSWERS = 256, PIECE = 512 };

static const char section[] = "__rseq_cs";

/* Written by the thread that has the long burst. */
static struct {
    uint64_t start;
    uint32_t generation;
    bool may;
} answers[ANSWERS];

static bool read_whole(int fd, void *to, size_t bytes, uint64_t offset)
{
    return sys_call(SYS_pread64, fd, to, bytes, offset) == (long)bytes;
}

/* Whether `text` is, or begins, the name of a section. */
static bool has_name(int fd, const Elf64_Shdr *names, const char *text, size_t length)
{
    char piece[PIECE];
    uint64_t from = 0;
    while (from < names->sh_size) {
        uint64_t rest = names->sh_size - from;
        size_t bytes = rest < PIECE ? (size_t)rest : PIECE;
        if (!read_whole(fd, piece, bytes, names->sh_offset + from))
            return true;
        for (size_t at = 0; at + length <= bytes; at++) {
            size_t same = 0;
            while (same < length && piece[at + same] == text[same])
                same++;
            if (same == length)
                return true;
        }
        if (rest <= PIECE)
            return false;
        from += PIECE - length + 1; /* it may begin at the end of this piece */
    }
    return false;
}

static bool may_be_in_file(int fd)
{
    Elf64_Ehdr head;
    Elf64_Shdr names;
    if (!read_whole(fd, &head, sizeof head, 0) || head.e_shoff == 0 || head.e_shentsize != sizeof names)
        return true;
    uint32_t which = head.e_shstrndx;
    if (which == SHN_XINDEX) {
        if (!read_whole(fd, &names, sizeof names, head.e_shoff))
            return true;
        which = names.sh_link;
    }
    return !read_whole(fd, &names, sizeof names, head.e_shoff + (uint64_t)which * sizeof names) ||
           has_name(fd, &names, section, sizeof section - 1);
}

static bool find_out(const char *name)
{
    int fd = (int)sys_call(SYS_openat, AT_FDCWD, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
    if (fd < 0) /* also when the name was freed since */
        return true;
    bool may = may_be_in_file(fd);
    sys_close(fd);
    return may;
}

bool sequences_may_be_in(const struct unwind_module *module)
{
    uint32_t generation = atomic_load(&unwind_generation);
    unsigned first = (unsigned)(module->start * 0x9e3779b97f4a7c15u >> 56), at = first;
    while (answers[at].generation == generation && answers[at].start != module->start) {
        at = (at + 1) % ANSWERS;
        if (at == first)
            break; /* there are more of them: the first gives way */
    }
    if (answers[at].start != module->start || answers[at].generation != generation) {
        answers[at].may = find_out(module->name);
        answers[at].start = module->start;
        answers[at].generation = generation;
    }
    return answers[at].may;
}
