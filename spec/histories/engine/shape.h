#ifndef ZR_SPEC_SHAPE_H
#define ZR_SPEC_SHAPE_H

/* shape.h: which kind of history a seed stands for. */

#include "history.h"

/* The same seed gives the same shape. One in twelve has no faults at all. */
struct shape shape_of(uint64_t seed);

#endif
