/* agent/process/userfault.h - passes the recorder a userfaultfd over this process's memory (docs/pages.md): made here, because only a
 * process itself can make it; copied by the recorder; closed here. Nothing is left in the program. */
#pragma once

/* At the start of a program and in a fork's child, on its only thread. Waits for the recorder, but not for long. */
void share_userfault(void);
