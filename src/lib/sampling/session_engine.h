/* lib/sampling/session_engine.h - what all sessions of this process share, made with the first of them and there until the process ends:
 * the thread that collects samples, from the soft sampler's rings and from the events of sessions on hardware.
 *
 * Sessions on the soft sampler are started and stopped by a flag: threads keep their ticks for a moment, and while no
 * session runs the ticks start no bursts. So starting again costs next to nothing, and a thread whose ticks ran in vain for
 * long ends them. Sessions on hardware enable and disable their events. */
#pragma once

#include "base/error.h"
#include "capture/kernel_probe.h"
#include "lib/sampling/sample_session.h"

/* Makes the engine if there is none; `soft`: with the soft sampler, which takes signals of the process. */
int engine_need(bool soft, struct error *err);

/* Guards sessions, as sample_session.h says. */
void engine_lock(void);
void engine_unlock(void);

/* Adds a session, or takes it away. */
void engine_add(nlens_session *session);
void engine_remove(nlens_session *session);

/* False in a fork's child: then nothing else here may be called. */
bool engine_is_ours(void);

/* The session begins to run, or ends: with the lock held. 0; 1: engine_wake must follow; or negative: the program took the
 * sampler's signals away, or the kernel refuses. */
int engine_started(nlens_session *session, struct error *err);
void engine_stopped(nlens_session *session);

/* Calls the library's thread. Without the lock, which is the first thing that it wants. */
void engine_wake(void);

/* A thread of the session, or one no longer. Without locks. 0, or negative: the kernel refuses an event on it. */
int engine_add_thread(nlens_session *session, uint32_t tid, struct error *err);
bool engine_remove_thread(nlens_session *session, uint32_t tid);

/* Takes what there is and offers it to the sessions. Without locks. */
void engine_drain(void);

/* Calls report() for the events that are not samples, from number `from` on; returns how many there are. Without locks. */
size_t engine_report_kept(size_t from, void (*report)(void *context, const struct event *event), void *context);

/* Counts of all sessions: samples that found no room on their way, and bursts skipped. */
uint64_t engine_overrun(void);
uint64_t engine_skipped(void);

/* How many of the session's threads there are, and how many are not sampled. With the lock held. */
void engine_count_threads(const nlens_session *session, uint32_t *threads, uint32_t *waiting);

/* Whether ticks come from perf, and why not. */
const struct capture_means *engine_means(void);
