/* statics.h - what the files of the example `statics` share. */
#ifndef NUMALENS_EXAMPLE_STATICS_H
#define NUMALENS_EXAMPLE_STATICS_H

#include "../example.h"
#include "walk.h"

enum { ITEMS = 4096, PASSES = 4 };

long other_file(void); /* statics_other.c */
long in_library(void); /* statics_library.c, a shared library */
long in_plugin(void);  /* statics_plugin.c, loaded with dlopen */

#endif
