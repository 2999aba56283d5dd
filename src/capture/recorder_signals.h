/* capture/recorder_signals.h - the recorder's manners towards signals: it outlives the target by a moment, whatever comes.
 *
 * Ctrl-C reaches both through the terminal; a signal sent to the recorder alone is passed on. The only global state of
 * this room is here, because handlers have no other way to reach it. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct agent_source;

/* Takes over SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE and SIGXFSZ; each wakes `source`. `*mask` gets the signal mask
 * that was in force, for the target. Signals wait until signals_ready. */
void signals_take(sigset_t *mask);
void signals_ready(struct agent_source *source, const sigset_t *mask);

/* Whether a child of this process ended or stopped since the last call. */
bool signals_child(void);

/* What a program in the same group gets from the terminal by itself has arrived by then. */
enum { SIGNALS_GRACE_NS = 50000000 };

/* Passes on what was sent to the recorder alone, once the target has had a moment to get it by itself. */
void signals_forward(pid_t target, uint64_t now);

/* Nothing is woken any more. */
void signals_release(void);

/* Ends this process by that signal as if it had hit it, without a core file. Returns only when that is impossible. */
void signals_die_of(int number);
