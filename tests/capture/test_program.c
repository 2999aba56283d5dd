#include "capture/process/program.h"

#include "base/sanitizer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static char folder[] = "/tmp/numalens-test-XXXXXX";
static char path[64];

static void put_file(const void *bytes, size_t size, mode_t mode)
{
    unlink(path);
    int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, mode);
    assert_int_equal(write(fd, bytes, size), size);
    fchmod(fd, mode);
    close(fd);
}

static void put_text(const char *text, mode_t mode)
{
    put_file(text, strlen(text), mode);
}

/* Checks the file and expects that exit status (0: can be recorded) and that word in the message. */
static void expect(const char *name, int status, const char *word)
{
    struct error err = {0};
    int reported = 0, code = program_check(name, &reported, &err);
    if (status == 0) {
        assert_int_equal(code, 0);
        return;
    }
    assert_true(code < 0);
    assert_int_equal(reported, status);
    if (!strstr(err.text, word))
        fail_msg("'%s' is not in: %s", word, err.text);
}

static void programs_that_are_there_or_not(void **state)
{
    (void)state;
    expect("sh", 0, "");
    expect("/bin/sh", 0, "");
    expect("no-such-program-anywhere", PROGRAM_NOT_FOUND, "in PATH");
    expect("/no/such/program", PROGRAM_NOT_FOUND, "no program");
    expect("", PROGRAM_NOT_FOUND, "no program");
    expect(folder, PROGRAM_NOT_EXECUTABLE, "folder");
    put_text("text\n", 0644);
    expect(path, PROGRAM_NOT_EXECUTABLE, "not executable");
    put_text("text without a first line that says how\n", 0755);
    expect(path, 0, ""); /* as execvp does: a shell runs it */
    put_text("", 0755);
    expect(path, 0, "");
}

static void scripts_are_judged_by_their_interpreter(void **state)
{
    (void)state;
    put_text("#!/bin/sh\necho hello\n", 0755);
    expect(path, 0, "");
    char own[200], line[300];
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    assert_true(length > 0);
    own[length] = '\0';
    snprintf(line, sizeof line, "#! %s with a word\n", own);
    put_text(line, 0755);
    expect(path, 0, "");
    put_text("#!/no/such/interpreter -x\n", 0755);
    expect(path, PROGRAM_NOT_EXECUTABLE, "/no/such/interpreter");
    char loop[100];
    snprintf(loop, sizeof loop, "#!%s\n", path);
    put_text(loop, 0755);
    expect(path, 0, ""); /* the kernel will say */
}

static void binaries_that_the_agent_cannot_enter(void **state)
{
    (void)state;
    struct {
        Elf64_Ehdr header;
        Elf64_Phdr segment;
        char loader[32];
    } binary = {0};
    int own = open("/proc/self/exe", O_RDONLY);
    assert_int_equal(read(own, &binary.header, sizeof binary.header), sizeof binary.header);
    close(own);
    binary.header.e_phoff = sizeof binary.header;
    binary.header.e_phnum = 1;
    binary.segment.p_type = PT_LOAD;
    put_file(&binary, sizeof binary, 0755);
    expect(path, PROGRAM_REFUSED, "static");

    binary.segment = (Elf64_Phdr){
        .p_type = PT_INTERP, .p_offset = offsetof(__typeof__(binary), loader), .p_filesz = sizeof binary.loader};
    strcpy(binary.loader, "/lib/ld-musl-x86_64.so.1");
    put_file(&binary, sizeof binary, 0755);
    expect(path, PROGRAM_REFUSED, "musl");
    strcpy(binary.loader, "/lib64/ld-linux-x86-64.so.2");
    put_file(&binary, sizeof binary, 0755);
    expect(path, 0, "");

    unsigned machine = binary.header.e_machine;
    binary.header.e_machine = EM_RISCV;
    put_file(&binary, sizeof binary, 0755);
    expect(path, PROGRAM_REFUSED, "RISC-V");
    binary.header.e_machine = machine;
    binary.header.e_ident[EI_CLASS] = ELFCLASS32;
    put_file(&binary, sizeof binary, 0755);
    expect(path, PROGRAM_REFUSED, "32-bit");

    /* Cut off and senseless ones are left to the kernel, or taken for static; nothing is read out of bounds. */
    binary.header.e_ident[EI_CLASS] = ELFCLASS64;
    binary.header.e_phoff = UINT64_MAX - 10;
    binary.header.e_phnum = UINT16_MAX;
    put_file(&binary, sizeof binary, 0755);
    expect(path, PROGRAM_REFUSED, "static");
    put_file(&binary, 20, 0755);
    expect(path, 0, "");
}

static void runtimes_that_the_agent_stays_away_from(void **state)
{
    (void)state;
    assert_int_equal(program_apart("sh"), LOSS_CAUSES);
    assert_int_equal(program_apart("/no/such/program"), LOSS_CAUSES);
    static const char *const lists[] = {"libasan.so.8", "a.so:/usr/lib/libtsan.so.2", "/x/libasan.so/a.so liblsan.so.0",
                                        "/usr/lib/clang/libclang_rt.msan-x86_64.so"};
    for (unsigned i = 0; i < sizeof lists / sizeof *lists; i++)
        assert_true(sanitizer_in_list(lists[i]));
    assert_false(sanitizer_in_list(""));
    assert_false(sanitizer_in_list("libubsan.so.1:/x/notlibasan.so:/libasan/x.so:libclang_rt.ubsan_standalone.so"));
    setenv("LD_PRELOAD", "/usr/libexec/valgrind/vgpreload_core-amd64-linux.so", 1);
    assert_int_equal(program_apart("sh"), LOSS_TRACED);
    unsetenv("LD_PRELOAD");

    /* Anything may be in a file: of this one, headers, dynamic section and symbols are damaged at random. */
    static char bytes[1 << 16], damaged[sizeof bytes];
    int own = open("/proc/self/exe", O_RDONLY);
    ssize_t size = read(own, bytes, sizeof bytes);
    close(own);
    assert_true(size > 4096);
    srandom(1);
    for (unsigned round = 0; round < 2000; round++) {
        memcpy(damaged, bytes, (size_t)size);
        for (unsigned i = 0; i < 8; i++)
            damaged[(size_t)random() % (i < 4 ? 1024 : (size_t)size)] = (char)random();
        memcpy(damaged, ELFMAG, SELFMAG);
        put_file(damaged, round % 4 ? (size_t)size : (size_t)random() % (size_t)size, 0755);
        program_apart(path);
    }
}

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/program", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_that_are_there_or_not),
        cmocka_unit_test(scripts_are_judged_by_their_interpreter),
        cmocka_unit_test(binaries_that_the_agent_cannot_enter),
        cmocka_unit_test(runtimes_that_the_agent_stays_away_from),
    };
    return cmocka_run_group_tests_name("program", tests, make_folder, remove_folder);
}
