#ifndef ZR_SPEC_SHRINK_H
#define ZR_SPEC_SHRINK_H

/*
 * shrink.h: finds a shorter history that violates the same rule. It reduces one field of the shape
 * after the other while that makes the trace shorter, with the same seed and with others.
 */

#include "run.h"

/* Call it when a history of this shape has just violated a rule. Returns the shortest shape found.
   Takes up to 20 seconds; prints the result. */
struct shape shrink(const struct recipe *recipe, const struct shape *shape);

#endif
