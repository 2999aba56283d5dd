#include "fixture.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

uint64_t fixture_address(const char *binary, const char *name, uint64_t *size)
{
    elf_version(EV_CURRENT);
    int fd = open(binary, O_RDONLY);
    assert_true(fd >= 0);
    Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
    Elf_Scn *section = NULL;
    uint64_t found = 0;
    size_t length = strlen(name);
    while ((section = elf_nextscn(elf, section))) {
        GElf_Shdr header;
        gelf_getshdr(section, &header);
        if (header.sh_type != SHT_SYMTAB)
            continue;
        Elf_Data *data = elf_getdata(section, NULL);
        GElf_Sym symbol;
        for (int i = 0; !found && gelf_getsym(data, i, &symbol); i++) {
            const char *text = elf_strptr(elf, header.sh_link, symbol.st_name);
            if (text && strncmp(text, name, length) == 0 && (text[length] == '\0' || text[length] == '.')) {
                found = symbol.st_value;
                if (size)
                    *size = symbol.st_size;
            }
        }
    }
    elf_end(elf);
    close(fd);
    if (!found)
        fail_msg("%s has no symbol %s", binary, name);
    return found;
}

uint32_t fixture_line(const char *source, const char *mark)
{
    char line[512], wanted[64];
    snprintf(wanted, sizeof wanted, "@%s", mark);
    FILE *file = fopen(source, "r");
    assert_non_null(file);
    uint32_t number = 0, found = 0;
    while (!found && fgets(line, sizeof line, file)) {
        number++;
        const char *at = strstr(line, wanted);
        if (at && strchr(" \n", at[strlen(wanted)]))
            found = number;
    }
    fclose(file);
    if (!found)
        fail_msg("%s has no mark %s", source, wanted);
    return found;
}

void fixture_run(const char *format, ...)
{
    char command[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(command, sizeof command, format, args);
    va_end(args);
    if (system(command) != 0)
        fail_msg("failed: %s", command);
}

char *fixture_directory(const char *binary, char **copy)
{
    char *directory = strdup("/tmp/numalens-symbols-XXXXXX");
    assert_non_null(mkdtemp(directory));
    assert_true(asprintf(copy, "%s/%s", directory, strrchr(binary, '/') + 1) > 0);
    fixture_run("cp '%s' '%s'", binary, *copy);
    return directory;
}

void fixture_clean(char *directory, char *copy)
{
    fixture_run("rm -rf '%s'", directory);
    free(directory);
    free(copy);
}

bool fixture_ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), wanted = strlen(end);
    return length >= wanted && strcmp(text + length - wanted, end) == 0;
}
