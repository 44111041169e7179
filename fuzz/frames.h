#ifndef ZR_FUZZ_FRAMES_H
#define ZR_FUZZ_FRAMES_H

/* frames.h: the input of server.c, and well-formed frames of a ZooKeeper server. */

#include <arpa/inet.h>

#include "fuzz.h"

#define MOST_FRAME 4096

/* ---- The input ------------------------------------------------------------------------------ */

struct input {
    const uint8_t *at, *end;
};

static inline uint8_t next(struct input *input)
{
    return input->at < input->end ? *input->at++ : 0;
}

/* ---- Frames --------------------------------------------------------------------------------- */

struct frame {
    uint8_t bytes[MOST_FRAME];
    size_t length;
};

static inline void put(struct frame *frame, const void *bytes, size_t length)
{
    CLAIM(frame->length + length <= MOST_FRAME);
    memcpy(frame->bytes + frame->length, bytes, length);
    frame->length += length;
}

static inline void put_int(struct frame *frame, uint32_t value)
{
    uint32_t wire = htonl(value);
    put(frame, &wire, 4);
}

static inline void put_text(struct frame *frame, const char *text)
{
    put_int(frame, (uint32_t)strlen(text));
    put(frame, text, strlen(text));
}

static inline void put_zeros(struct frame *frame, size_t count)
{
    for (size_t i = 0; i < count; i++)
        put(frame, "", 1);
}

static inline void put_header(struct frame *frame, uint32_t xid, uint32_t error)
{
    put_int(frame, xid);
    put_int(frame, 0);
    put_int(frame, 1);
    put_int(frame, error);
}

static inline void put_stat(struct frame *frame)
{
    put_zeros(frame, 68);
}

static inline void put_result(struct frame *frame, uint32_t type, bool last)
{
    put_int(frame, type);
    put(frame, last ? "\1" : "", 1);
    put_int(frame, last ? (uint32_t)-1 : 0);
}

static inline void put_names(struct frame *frame)
{
    put_int(frame, 3);
    put_text(frame, "one");
    put_text(frame, "two-lock-0000000001");
    put_text(frame, "3");
}

static inline void put_acl(struct frame *frame)
{
    put_int(frame, 2);
    for (int i = 0; i < 2; i++) {
        put_int(frame, 31);
        put_text(frame, "world");
        put_text(frame, "anyone");
    }
}

static inline void put_multi(struct frame *frame)
{
    put_result(frame, 1, false);
    put_text(frame, "/x");
    put_result(frame, 5, false);
    put_stat(frame);
    put_result(frame, 2, false);
    put_result(frame, 13, false);
    put_result(frame, (uint32_t)-1, true);
}

/* A well-formed answer to the request of this number. */
static inline void put_answer(struct frame *frame, uint32_t xid, uint32_t op, const char *path)
{
    char numbered[80];
    put_header(frame, xid, 0);
    snprintf(numbered, sizeof numbered, "%s%s", path, strcmp(path, "/s-") == 0 ? "0000000007" : "");
    if (op == 15 || op == 9)
        put_text(frame, numbered);
    else if (op == 4)
        put_text(frame, "data");
    else if (op == 12)
        put_names(frame);
    else if (op == 6)
        put_acl(frame);
    else if (op == 14)
        put_multi(frame);
    if (op != 2 && op != 9 && op != 14 && op != 100 && op != 11)
        put_stat(frame);
}

static inline void put_event(struct frame *frame, uint32_t kind, const char *path)
{
    put_header(frame, (uint32_t)-1, 0);
    put_int(frame, kind);
    put_int(frame, 3);
    put_text(frame, path);
}

#endif
