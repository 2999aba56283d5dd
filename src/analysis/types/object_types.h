/* analysis/types/object_types.h - what objects are made of: the struct of their
 * items, and the field at an offset.
 *
 * A static variable's type is declared. Of what is allocated it is, in this
 * order: what the C++ allocator or Rust's vector or box in the chain is of
 * (std::allocator<Particle>, RawVec<Particle>),
 * what the variable or member points to that gets the memory, what the line
 * creates (new Particle[n]), casts to or takes the size of. A type that is
 * larger than the object, or that it holds no whole number of, is not its type.
 */
#pragma once

#include "flow/flow.h"
#include "symbols/types.h"

struct object_types;

struct object_types *object_types_new(const struct flow *flow);
void object_types_free(struct object_types *types);

/* NULL when it is not known. `base`: where its first item begins in the object.
 */
const struct symbol_type *object_type(struct object_types *types, uint32_t object, uint64_t *base);

/* The field without fields of its own that has a byte of the type; FLOW_NONE
 * for padding. */
uint32_t type_field_at(const struct symbol_type *type, uint64_t offset);
