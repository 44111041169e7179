#ifndef ZR_SPEC_SHAPE_TEXT_H
#define ZR_SPEC_SHAPE_TEXT_H

/*
 * shape_text.h: writes a shape as a line of text that `histories --shape` reads, or in words. The
 * line is name=value,... without the fields that are 0; a plan is op/nth/fault/us/down_us.
 */

#include "history.h"

/* A field of the shape that the text names. */
struct field {
    const char *name;
    size_t at, size;
};

/* All fields; the entry behind the last one has no name. */
extern const struct field fields[];

int64_t get_field(const struct shape *shape, const struct field *field);
void set_field(struct shape *shape, const struct field *field, int64_t value);

/* The text is valid until the next call. */
const char *shape_text(const struct shape *shape);

/* False if the text is not a shape. */
bool read_shape(const char *text, struct shape *shape);

/* Prints the shape in words. */
void tell_shape(const struct shape *shape, FILE *to);

/* Indexed by enum zr_sim_fault. */
extern const char *const fault_names[];

#endif
