/* symbols/symbols_internal.h - what the files of symbols share. */
#pragma once

#include "symbols/symbols.h"

struct strtab;

/* Where every text of `symbols` is interned. */
struct strtab *symbols_names(struct symbols *symbols);
