/* capture/faults/rundir.h - small files that outlive a killed run: in /run/numalens for root, else in
 * $XDG_RUNTIME_DIR/numalens or /tmp/numalens-UID; NUMALENS_RUN_DIR names another place. The directory must be ours and
 * closed to others. Files have mode 0600 and are replaced whole. */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

int rundir_write(const char *name, const char *text, size_t length, struct error *err);

/* The file's text with a NUL behind it; its length, or negative when there is none, or none that is ours. */
ssize_t rundir_read(const char *name, char *text, size_t room);
void rundir_remove(const char *name);

/* What distinguishes one boot from another; "" when not known. */
void rundir_boot_id(char *text, size_t room);
