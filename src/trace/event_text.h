/* trace/event_text.h - an event as a line of text, every field with its name. */
#pragma once

#include "wire/event.h"

#include <stdio.h>

/* "touch time=1200 pid=7 tid=8 addr=0x7f00 ip=0x401000 write=1 cpu=3", without a line end; texts are safe for terminals. A kind without a row is "unknown". */
void event_print(FILE *out, const struct event *event);
