/* symbols/symbols_internal.h - what the files of symbols share. */
#ifndef NUMALENS_SYMBOLS_SYMBOLS_INTERNAL_H
#define NUMALENS_SYMBOLS_SYMBOLS_INTERNAL_H

#include "symbols/symbols.h"

struct strtab;

/* Where every text of `symbols` is interned. */
struct strtab *symbols_names(struct symbols *symbols);

#endif
