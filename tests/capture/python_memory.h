/* tests/capture/python_memory.h - the symbols and the memory of an interpreter, with one thread and one frame's code, in the process that includes this. */
#pragma once

#include "base/python_frames.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What an interpreter exports. */
extern uint64_t _PyRuntime[64], PyCode_Type, Py_Version;
extern char _PyEval_EvalFrameDefault(void);
uint64_t _PyRuntime[64], PyCode_Type = 1, Py_Version = 0x030b02f0;
char _PyEval_EvalFrameDefault(void)
{
    return 1;
}

/* As words of `memory`, and the places of Python 3.11 in bytes. */
enum { INTERPRETER = 0, THREAD = 32, CODE = 96, NAME = 160, FILE_NAME = 192, LINES = 224, WORDS = 512 };

static uint64_t memory[WORDS] __attribute__((aligned(64)));

static uint64_t place(unsigned word)
{
    return (uint64_t)&memory[word];
}

static void put_text(unsigned at, const char *text)
{
    memory[at + 2] = strlen(text);
    memory[at + 4] = 1 << 2 | 1 << 5 | 1 << 6; /* a byte a character, compact, ASCII */
    memcpy(&memory[at + 6], text, strlen(text));
}

static void python_memory_make(void)
{
    static const uint8_t lines[] = {0x80 | 10 << 3,     0, 0,
                                    0x80 | 11 << 3 | 1, 0, 0}; /* a unit on the first line, two on the next */
    memset(memory, 0, sizeof memory);
    _PyRuntime[40 / 8] = place(INTERPRETER);
    memory[INTERPRETER + 16 / 8] = place(THREAD);
    memory[THREAD + 160 / 8] = (uint64_t)syscall(SYS_gettid);
    memory[CODE + 8 / 8] = (uint64_t)&PyCode_Type;
    memory[CODE + 72 / 8] = 10;
    memory[CODE + 112 / 8] = place(FILE_NAME);
    memory[CODE + 128 / 8] = place(NAME);
    memory[CODE + 136 / 8] = place(LINES);
    memory[LINES + 16 / 8] = sizeof lines;
    memcpy(&memory[LINES + 32 / 8], lines, sizeof lines);
    put_text(NAME, "World.step");
    put_text(FILE_NAME, "/srv/world.py");
}
