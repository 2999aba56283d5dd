/* capture/process/program.h - whether a program can be recorded, found out before it is started. */
#pragma once

#include "base/error.h"
#include "wire/event.h"

#include <stdbool.h>

/* Exit statuses of a shell for programs that cannot be run. */
enum { PROGRAM_REFUSED = 1, PROGRAM_NOT_EXECUTABLE = 126, PROGRAM_NOT_FOUND = 127 };

/* Where execvp would find it, which the caller frees; `*cause` is the errno when it cannot be run. */
char *program_find(const char *name, int *cause);

/* 0, or a negative code with `err` and the exit status that says so. Programs that the agent cannot enter are refused
 * here: static ones, setuid and setgid ones, those with file capabilities, those for other processors or another C
 * library. A script is judged by its interpreter. */
int program_check(const char *name, int *exit_status, struct error *err);

/* Whether a program that can be run is beyond the agent (static, musl; setuid and the like where we are root), with the reason, but
 * can be sampled from outside. */
bool program_beyond_agent(const char *name, struct error *why);

/* Why the agent must stay out of a program that can be run: LOSS_SANITIZED, LOSS_TRACED (in valgrind, as numalens itself), or
 * LOSS_CAUSES when it may go in. */
enum loss_cause program_apart(const char *name);

/* The agent's library: beside this binary in a build tree, else where it was installed. The caller frees it. */
char *program_agent_path(struct error *err);
