/* cli/command.h - one command of numalens: a row in COMMAND_LIST, a file commands/cmd_NAME.c, its name in meson.build.
 *
 * argv[0] is "numalens NAME", so that argp's messages read well. A command returns the exit status: 0, 1 for a failure
 * that it has explained in one line on stderr, 2 for wrong usage; `record` returns the program's own. */
#pragma once

#include "base/error.h"

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* Every command and its line in --help, in the order shown there. */
// clang-format off
#define COMMAND_LIST(ROW) \
    ROW(record, "run a program and record which thread accesses which memory") \
    ROW(report, "what is remote, which objects and threads cause it, what to change") \
    ROW(top, "running processes, live: what is remote, by thread, object and node") \
    ROW(compare, "what changed between two recordings; a program under every placement") \
    ROW(check, "whether a recording keeps rules: for CI jobs, with JUnit and SARIF") \
    ROW(view, "show a recording in a browser") \
    ROW(script, "run an analysis of your own, written in C, or a ready one") \
    ROW(import, "turn a recording of perf mem, perf c2c or MOCA into a trace") \
    ROW(export, "one line a sample; flame graphs, pprof, spreadsheets, databases") \
    ROW(merge, "the files of one recording with --rotate as one") \
    ROW(advise, "write a placement plan: what to put on which nodes, and why") \
    ROW(apply, "run a program with a placement plan, without a rebuild") \
    ROW(optimize, "keep the placement plan that runs show to be fastest") \
    ROW(migrate, "run a program and keep its pages near the threads that use them") \
    ROW(stat, "count memory traffic per node while a program runs, or for a time") \
    ROW(machines, "models of machines: latency and bandwidth of nodes; measure this one") \
    ROW(predict, "run time on other machines and under other placements, by a model") \
    ROW(doctor, "what works on this machine, what does not and why, how to enable it")
// clang-format on

#define DECLARE(name, line) int cmd_##name(int argc, char **argv);
COMMAND_LIST(DECLARE)
#undef DECLARE

/* Prints "numalens NAME: text" and returns EXIT_FAILED. */
int command_failed(const char *name, const struct error *err);
