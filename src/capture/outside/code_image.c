#include "capture/outside/code_image.h"

#include "base/mem.h"
#include "isa/unwind/unwind_cfi.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    SEGMENTS = 64,
    ALIGNED = 16, /* rules of stubs look at the last bits of an address */
};

struct code_image {
    struct unwind_module module; /* .eh_frame_hdr and .eh_frame in `bytes` */
    uint64_t address;            /* of the first of them, by the file */
    Elf64_Phdr segments[SEGMENTS];
    unsigned count;
    uint8_t *room, *bytes; /* bytes: aligned as in the process */
};

/* From `address` on, as far as its segment goes in the file. */
static uint64_t room_at(const struct code_image *image, uint64_t address, uint64_t *offset)
{
    for (unsigned i = 0; i < image->count; i++) {
        const Elf64_Phdr *segment = &image->segments[i];
        if (segment->p_type == PT_LOAD && address - segment->p_vaddr < segment->p_filesz) {
            *offset = segment->p_offset + (address - segment->p_vaddr);
            return segment->p_filesz - (address - segment->p_vaddr);
        }
    }
    return 0;
}

static bool read_segments(struct code_image *image, int file)
{
    Elf64_Ehdr head;
    if (pread(file, &head, sizeof head, 0) != (ssize_t)sizeof head || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_phentsize != sizeof *image->segments || head.e_phnum > SEGMENTS)
        return false;
    image->count = head.e_phnum;
    ssize_t bytes = (ssize_t)(image->count * sizeof *image->segments);
    return pread(file, image->segments, (size_t)bytes, (off_t)head.e_phoff) == bytes;
}

/* Linkers put .eh_frame right behind its search table. */
static bool read_tables(struct code_image *image, int file, uint64_t hdr, uint64_t most)
{
    struct stat status;
    uint64_t offset = 0, room = room_at(image, hdr, &offset), eh_frame;
    if (fstat(file, &status) < 0 || offset >= (uint64_t)status.st_size)
        return false;
    if (room > (uint64_t)status.st_size - offset)
        room = (uint64_t)status.st_size - offset;
    if (room == 0 || room > most)
        return false;
    image->room = mem_alloc(room + ALIGNED);
    image->bytes = image->room + (hdr - (uint64_t)image->room) % ALIGNED;
    image->address = hdr;
    ssize_t got = pread(file, image->bytes, room, (off_t)offset);
    if (got <= 0)
        return false;
    image->module.low = (uint64_t)image->bytes;
    image->module.high = image->module.low + (uint64_t)got;
    return unwind_cfi_index(&image->module, image->bytes, (uint64_t)got, &eh_frame);
}

struct code_image *code_image_read(int file, uint64_t most)
{
    struct code_image *image = mem_zalloc(sizeof *image);
    if (read_segments(image, file))
        for (unsigned i = 0; i < image->count && !image->bytes; i++)
            if (image->segments[i].p_type == PT_GNU_EH_FRAME &&
                read_tables(image, file, image->segments[i].p_vaddr, most))
                return image;
    code_image_free(image);
    return NULL;
}

void code_image_free(struct code_image *image)
{
    if (image)
        free(image->room);
    free(image);
}

uint64_t code_image_bytes(const struct code_image *image)
{
    return image ? image->module.high - image->module.low : 0;
}

struct unwind_rule code_image_rule(const struct code_image *image, uint64_t offset)
{
    for (unsigned i = 0; i < image->count; i++) {
        const Elf64_Phdr *segment = &image->segments[i];
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X) || offset - segment->p_offset >= segment->p_filesz)
            continue;
        uint64_t address = segment->p_vaddr + (offset - segment->p_offset);
        return unwind_cfi_rule(&image->module, address - image->address + (uint64_t)image->bytes);
    }
    return (struct unwind_rule){.kind = UNWIND_NONE};
}
