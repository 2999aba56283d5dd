/* agent/sampling/keep_loop.h - for loops that run in bursts: the compiler would make calls to libc's memset or memcpy of some, which
 * use vector registers, and these are the program's then. */
#pragma once

#define KEEP_LOOP() __asm__ volatile("" ::: "memory")
