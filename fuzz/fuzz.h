#ifndef ZR_FUZZ_H
#define ZR_FUZZ_H

/* fuzz.h: what the libFuzzer targets share. The input is untrusted. If a claim does not hold for
   it, the run ends, and libFuzzer keeps the input. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CLAIM(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);         \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* gives (free): the bytes and a NUL, in a block of exactly that size. */
static inline char *text_of(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    CLAIM(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

#endif
