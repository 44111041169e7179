/*
 * The names that other clients put into a lock's directory: their numbers, and the order that they
 * are sorted into. The input is a list of names, one a line.
 */
#include "core/seats.c"

#include <inttypes.h>

#include "fuzz.h"
#include "recipes/recipes.h"

#define MOST_NAMES 512
#define STEM "lock-"

/* Computes the number in another way: compares with what printf would have written. */
static int64_t number_of(const char *name)
{
    char written[32];
    size_t length = strlen(name);
    if (length < strlen(STEM) + 10)
        return -1;
    int64_t number = strtoll(name + length - 10, NULL, 10);
    snprintf(written, sizeof written, STEM "%010" PRId64, number);
    return number >= 0 && strcmp(name + length - strlen(written), written) == 0 ? number : -1;
}

/* A name gives a number if and only if it ends like the name of a sequential node. */
static void check_name(const char *name)
{
    char whole[8192];
    CLAIM(zr_sequence(name, STEM) == number_of(name));
    for (int64_t number = 1; number < INT64_C(10000000000); number = number * 7 + 3) {
        snprintf(whole, sizeof whole, "%s" STEM "%010" PRId64, name, number);
        CLAIM(zr_sequence(whole, STEM) == number);
    }
    snprintf(whole, sizeof whole, "%s" STEM "-147483648", name);
    CLAIM(zr_sequence(whole, STEM) == -1);
}

/* ---- Lists
 * --------------------------------------------------------------------------------------------- */

static size_t count_names(const uint8_t *data, size_t size)
{
    size_t count = 1;
    for (size_t i = 0; i < size; i++)
        count += data[i] == '\n';
    return count < MOST_NAMES ? count : MOST_NAMES;
}

/* gives: the lines, in one block, as the client hands them over. */
static struct zr_names *names_of(const uint8_t *data, size_t size)
{
    size_t count = count_names(data, size), head = sizeof(struct zr_names) + count * sizeof(char *);
    struct zr_names *names = zr_alloc(head + size + 1);
    CLAIM(names != NULL);
    char *text = (char *)names + head;
    memcpy(text, data, size);
    text[size] = '\0';
    for (names->count = 0; names->count < count; names->count++) {
        names->at[names->count] = text;
        text += strcspn(text, "\n");
        if (*text == '\n')
            *text++ = '\0';
    }
    return names;
}

static size_t seats_among(const struct zr_names *names)
{
    size_t count = 0;
    struct zr_seat_name read;
    for (size_t i = 0; i < names->count; i++)
        count += zr_stem_read(zr_recipes, names->at[i], &read) && read.sequence < ZR_SEQUENCE_LIMIT;
    return count;
}

static void check_seats(const struct zr_seats *seats)
{
    CLAIM(seats->refs == 1 && seats->count == seats_among(seats->names));
    for (size_t i = 0; i < seats->count; i++) {
        const char *stem = seats->at[i].stem->text;
        CLAIM(seats->at[i].sequence == zr_sequence(seats->at[i].name, stem));
        CLAIM(strcmp(stem, STEM) != 0 || seats->at[i].sequence == number_of(seats->at[i].name));
        CLAIM(i == 0 || seats->at[i - 1].sequence <= seats->at[i].sequence);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 4096)
        return 0;
    struct zr_names *names = names_of(data, size);
    for (size_t i = 0; i < names->count; i++)
        check_name(names->at[i]);
    struct zr_seats *seats = zr_seats_new(zr_recipes, names);
    check_seats(seats);
    zr_seats_unref(seats);
    CLAIM(zr_alloc_blocks() == 0);
    return 0;
}
