#ifndef ZR_COUNT_NOTE_H
#define ZR_COUNT_NOTE_H

/*
 * count_note.h: a count in a contender's name: the note "<count>-" in front of the stem
 * (core/stem.h). Pure functions. Any thread.
 */

#include <stddef.h>
#include <stdint.h>

/* The number from 1 to 2147483647 in these characters; 0 if they are no such number. */
int64_t zr_count_in(const char *text, size_t length);

#define ZR_COUNT_NOTE sizeof("2147483647-")

/* count: at least 1. */
void zr_count_note_write(int32_t count, char note[ZR_COUNT_NOTE]);

/* For a stem's read_note: the end of "<anything>-<count>-". */
int zr_count_note_read(const char *name, size_t length, int64_t *count);

#endif
