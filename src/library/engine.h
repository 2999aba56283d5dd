/* library/engine.h - the soft sampler of this process and the thread that empties its rings: one for all sessions, made
 * with the first that needs it, there until the process ends.
 *
 * Sessions are started and stopped by a flag: threads keep their ticks for a moment, and while no session runs the ticks
 * start no bursts. So starting again costs next to nothing, and a thread whose ticks ran in vain for long ends them. */
#ifndef NUMALENS_LIBRARY_ENGINE_H
#define NUMALENS_LIBRARY_ENGINE_H

#include "base/error.h"
#include "capture/probe.h"
#include "library/session.h"

/* What a session gets that does not say. */
enum { ENGINE_TICK_NS = 2000000, ENGINE_BUDGET_PPM = 20000 };

/* Makes the engine if there is none. */
int engine_need(struct error *err);

/* Guards sessions, as session.h says. */
void engine_lock(void);
void engine_unlock(void);

/* Adds a session, or takes it away. */
void engine_add(nlens_session *session);
void engine_remove(nlens_session *session);

/* False in a fork's child: then nothing else here may be called. */
bool engine_is_ours(void);

/* The session begins to run: with the lock held. 0, or -EBUSY when the program took the sampler's signals away. */
int engine_started(nlens_session *session, struct error *err);
void engine_stopped(nlens_session *session);

/* A thread of a running session; 0, or -ESRCH when there is none such. */
int engine_arm(uint32_t tid);

/* Takes what the rings hold and offers it to the sessions. Without locks. */
void engine_drain(void);

/* Calls tell() for the events that are not samples, from number `from` on; returns how many there are. Without locks. */
size_t engine_tell_kept(size_t from, void (*tell)(void *context, const struct event *event), void *context);

/* Counts of all sessions: samples that found a ring full, and bursts left out. */
uint64_t engine_overrun(void);
uint64_t engine_skipped(void);

/* How many of the session's threads there are, and how many have no tick. With the lock held. */
void engine_count_threads(const nlens_session *session, uint32_t *threads, uint32_t *waiting);

/* Whether ticks come from perf, and why not. */
const struct capture_means *engine_means(void);

#endif
