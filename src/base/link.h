/* base/link.h - which file a path leads to, without trusting links that somebody else may have laid. */
#pragma once

#include "base/error.h"

/* `path` with its symbolic links resolved, for the caller to free; the last part need not exist. NULL with `err` for a
 * link in a sticky directory that everybody may write to (such as /tmp), unless the link is this user's or the
 * directory's owner's: the rule of the kernel's fs.protected_symlinks, which may be off and does not hold for what is
 * resolved by hand. */
char *link_follow(const char *path, struct error *err);
