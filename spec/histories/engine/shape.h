#ifndef ZR_SPEC_SHAPE_H
#define ZR_SPEC_SHAPE_H

/* shape.h: makes the shape of a history from its seed. */

#include "history.h"

/* The same seed gives the same shape. One shape in twelve has no faults. */
struct shape shape_of(uint64_t seed);

#endif
