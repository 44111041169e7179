#ifndef ZR_RECIPES_H
#define ZR_RECIPES_H

/*
 * recipes.h: the list of recipes. A new recipe costs one file in this folder and one line in
 * recipes.c; the binding reads the rest from its description.
 */

#include "core/object.h"

/* Ends with a null pointer. Each becomes a method of the session. */
extern const struct zr_recipe *const zr_recipes[];

/* All classes, so that a binding can make them at the start. Ends with null. */
extern const struct zr_class *const zr_classes[];

#endif
