/* agent/script/python.h - frames of Python in call chains (base/python_frames.h has how they are found). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A module was loaded at `bias`. When it is an interpreter whose structures are known, chains have its frames from now on. */
void python_module_added(const char *path, uint64_t bias);

/* For python_find.c and numpy.c: reads this process's memory, or returns false. `context`: the thread's struct script_thread, or NULL. And begins. */
struct python_where;
bool python_read_own(void *context, uint64_t from, void *to, size_t bytes);
void python_start(const struct python_where *found);

/* For numpy.c: a str as text, its beginning where it is long; false when it cannot be read as one. */
struct script_thread;
bool python_own_text(struct script_thread *thread, uint64_t string, char *to, size_t room);

/* For numpy.c: sends what an array is (name, NUL, file, NUL), once a thread; its number, or 0. */
struct agent_thread;
uint32_t python_array_id(struct agent_thread *self, struct script_thread *thread, const char *texts, size_t length,
                         bool may_wait);

/* As stack_script_array. */
uint64_t numpy_array(struct agent_thread *self, struct script_thread *thread, uint64_t bytes, uint64_t sp,
                     uint64_t high, bool may_wait);
