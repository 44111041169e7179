#include "recipes/election/value.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"

#define READY "\0ready"
#define NEXT "\0next-"
#define VALUE "\0value"
#define LENGTH(mark) (sizeof(mark) - 1)
#define NEXT_LENGTH (LENGTH(NEXT) + ZR_SEQUENCE_DIGITS)

#define RANK_DIGITS 16 /* of 2^53 */

/* ---- Reading ------------------------------------------------------------------------------- */

size_t zr_rank_read(struct zr_bytes data, int64_t *rank)
{
    const char *end = data.at != NULL ? memchr(data.at, '\n', data.length) : NULL;
    if (end == NULL || end == data.at)
        return 0;
    const char *at = data.at;
    bool negative = *at == '-';
    at += negative;
    if (at == end || end - at > RANK_DIGITS)
        return 0;
    int64_t number = 0;
    for (; at < end; at++) {
        if (*at < '0' || *at > '9')
            return 0;
        number = number * 10 + (*at - '0');
    }
    *rank = negative ? -number : number;
    return (size_t)(end - data.at) + 1;
}

int64_t zr_successor_in(struct zr_bytes data)
{
    char number[ZR_SEQUENCE_DIGITS + 1] = "";
    if (data.at == NULL || data.length < NEXT_LENGTH)
        return -1;
    const char *mark = data.at + data.length - NEXT_LENGTH;
    if (memcmp(mark, NEXT, LENGTH(NEXT)) != 0)
        return -1;
    memcpy(number, mark + LENGTH(NEXT), sizeof(number) - 1);
    return zr_sequence(number, "");
}

struct zr_bytes zr_without_successor(struct zr_bytes data)
{
    if (zr_successor_in(data) >= 0)
        data.length -= NEXT_LENGTH;
    return data;
}

static bool ends_with(struct zr_bytes data, const char *mark)
{
    size_t length = LENGTH(READY); /* that of VALUE, too */
    return data.at != NULL && data.length >= length &&
           memcmp(data.at + data.length - length, mark, length) == 0;
}

struct zr_value zr_value_read(struct zr_bytes data, bool by_rank)
{
    struct zr_value value = {.rank = 0};
    size_t head = by_rank ? zr_rank_read(data, &value.rank) : 0;
    value.ranked = head > 0;
    if (value.ranked)
        data = (struct zr_bytes){data.at + head, data.length - head};
    value.successor = zr_successor_in(data);
    data = zr_without_successor(data);
    value.ready = ends_with(data, READY);
    if (value.ready)
        data.length -= LENGTH(READY);
    if (ends_with(data, VALUE))
        data.length -= LENGTH(VALUE);
    value.value = data;
    return value;
}

/* ---- Writing ------------------------------------------------------------------------------- */

static bool ends_like_a_mark(struct zr_bytes value)
{
    return ends_with(value, READY) || ends_with(value, VALUE) || zr_successor_in(value) >= 0;
}

/* What stands before and behind a value. */
struct marks {
    size_t head_length, tail_length;
    char head[sizeof("-9007199254740992\n")];
    char tail[sizeof("\0value\0ready\0next-") + ZR_SEQUENCE_DIGITS];
};

static void append(struct marks *marks, const char *mark, size_t length)
{
    memcpy(marks->tail + marks->tail_length, mark, length);
    marks->tail_length += length;
}

static struct marks marks_of(const struct zr_value *value)
{
    struct marks marks = {.head_length = 0};
    char number[32];
    if (value->ranked)
        marks.head_length =
            (size_t)snprintf(marks.head, sizeof(marks.head), "%" PRId64 "\n", value->rank);
    if (ends_like_a_mark(value->value))
        append(&marks, VALUE, LENGTH(VALUE));
    if (value->ready)
        append(&marks, READY, LENGTH(READY));
    if (value->successor < 0)
        return marks;
    snprintf(number, sizeof(number), "%0*" PRId64, ZR_SEQUENCE_DIGITS, value->successor);
    append(&marks, NEXT, LENGTH(NEXT));
    append(&marks, number, ZR_SEQUENCE_DIGITS);
    return marks;
}

char *zr_value_write(const struct zr_value *value, size_t *length)
{
    const struct marks marks = marks_of(value);
    size_t head = marks.head_length, middle = value->value.length;
    *length = head + middle + marks.tail_length;
    char *data = zr_alloc(*length + 1);
    if (data == NULL)
        return NULL;
    memcpy(data, marks.head, head);
    memcpy(data + head, value->value.at, middle);
    memcpy(data + head + middle, marks.tail, marks.tail_length);
    return data;
}
