/* capture/outside/remote_rules.h - which code a process that is sampled from outside has mapped, and the way from a frame of it to the caller
 * (isa/unwind/unwind_rule.h): what its executor asks for. */
#pragma once

#include "isa/unwind/unwind_rule.h"

struct rule_files; /* read once for all processes */
struct remote_rules;

struct rule_files *rule_files_new(uint64_t bytes_most);
void rule_files_free(struct rule_files *files);

/* `files` must outlive it. */
struct remote_rules *remote_rules_new(uint32_t pid, struct rule_files *files);
void remote_rules_free(struct remote_rules *rules);

/* Takes note of what is mapped now, and reads files that are new, which takes long. */
void remote_rules_look(struct remote_rules *rules);

/* A number for what is mapped: 0, it has not been looked at. */
uint32_t remote_rules_number(const struct remote_rules *rules);

/* Takes some microseconds. Its kind is EXECUTOR_NO_CODE (executor/executor.h) where no code is. */
struct unwind_rule remote_rules_of(const struct remote_rules *rules, uint64_t address);
