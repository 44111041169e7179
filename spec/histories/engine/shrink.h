#ifndef ZR_SPEC_SHRINK_H
#define ZR_SPEC_SHRINK_H

/*
 * shrink.h: finds a shorter history that violates the same rule: with less of everything, one thing
 * at a time, as long as it helps, with the same seed and with others. A history is shorter if its
 * trace has fewer lines.
 */

#include "run.h"

/* Call it when a history of this shape has just violated a rule. Takes up to 20 seconds; prints how
   far it came. */
struct shape shrink(const struct recipe *recipe, const struct shape *shape);

#endif
