/*
 * 1. zookeeper_process has received a frame and makes an archive to read its header from. Here we
 *    check the header: is it an expected answer, an event, or invalid?
 * 2. It makes another archive when it decodes the answer for a completion. Our readers stop at the
 *    end of the frame. From there on they return zeros, and zr_decode_result tells the completion.
 *
 * The library also makes archives over frames of its own: session events, and the failures of all
 * requests in flight. These are well-formed.
 *
 * Two oddities of the library. The length that it states for a frame just received is four too
 * large. And it reads the results of a transaction until one says that it is the last, and aborts
 * the process if there are more than parts; so we set that flag, not the server.
 */
#include "zk/decode.h"

#include <stdio.h>
#include <string.h>
#include <zookeeper/recordio.h>

#include "core/alloc.h"
#include "zk/client_parts.h"
#include "zk/clock.h"
#include "zk/completion.h"

#define HEADER 16       /* xid, zxid, error */
#define ERROR 12        /* where in it the error is */
#define EVENT_HEADER 12 /* type, state, length of the path */
#define PING_XID (-2)
#define EVENT_XID (-1)
#define AUTH_XID (-4)
#define WATCHES_XID (-8)
#define MANY 1000 /* elements of a vector */

struct iarchive *__real_create_buffer_iarchive(char *buffer, int length);
struct iarchive *__wrap_create_buffer_iarchive(char *buffer, int length);

/* The frame that is being read; there is one at a time. */
static struct {
    struct iarchive decoder; /* the library's own readers */
    const char *at, *end;
    size_t headers; /* how many results of a transaction were read */
    bool failed;
    enum zr_status fate; /* as receive.h has it, or ZR_NO_MEMORY for a part of it */
} frame;

static const char *cut; /* the frame just received, if it has only the header */

static bool fresh; /* the next archive may be over a frame that was just received */

void zr_decode_begin(void)
{
    fresh = zr_completion_handle->client.up;
    zr_completion_handle->client.incoming.whole = false;
    cut = NULL;
}

void zr_decode_end(void)
{
    fresh = false;
}

enum zr_status zr_decode_result(void)
{
    return frame.fate != ZR_OK ? frame.fate : frame.failed ? ZR_CONNECTION_LOSS : ZR_OK;
}

void zr_decode_blame(const char *what)
{
    struct zr_client *client = &zr_completion_handle->client;
    char line[256];
    snprintf(line, sizeof line,
             "%s sent %s; the session closes this connection and makes another one",
             client->peer[0] != '\0' ? client->peer : "the server", what);
    if (!client->unfit)
        zr_report_note(zr_completion_handle, 'W', line);
    client->unfit = true;
}

/* ---- Readers ------------------------------------------------------------------------------- */

static size_t rest(void)
{
    return (size_t)(frame.end - frame.at);
}

static int32_t number_at(const char *at)
{
    const unsigned char *byte = (const unsigned char *)at;
    return (int32_t)((uint32_t)byte[0] << 24 | (uint32_t)byte[1] << 16 | (uint32_t)byte[2] << 8 |
                     (uint32_t)byte[3]);
}

/* Moves on by `size` bytes, if the frame has so many. */
static bool pass(size_t size)
{
    frame.failed = frame.failed || rest() < size;
    if (!frame.failed)
        frame.at += size;
    return !frame.failed;
}

static int read_int(struct iarchive *in, const char *name, int32_t *to)
{
    *to = 0;
    return pass(4) ? frame.decoder.deserialize_Int(in, name, to) : 0;
}

static int read_long(struct iarchive *in, const char *name, int64_t *to)
{
    *to = 0;
    return pass(8) ? frame.decoder.deserialize_Long(in, name, to) : 0;
}

/* The only flag in an answer says whether a result was the last one of a transaction. */
static int read_last(struct iarchive *in, const char *name, int32_t *to)
{
    bool last = frame.headers++ >= zr_client_multi_parts(zr_completion_handle);
    if (pass(1))
        frame.decoder.deserialize_Bool(in, name, to);
    frame.failed = frame.failed || (*to != 0) != last;
    *to = last;
    return 0;
}

static void no_memory(void)
{
    frame.failed = true;
    frame.fate = ZR_NO_MEMORY;
}

/* The library does not check whether it gets the memory for a vector. An element has four bytes or
   more. */
static int read_count(struct iarchive *in, const char *name, int32_t *to)
{
    read_int(in, name, to);
    frame.failed = frame.failed || *to < -1 || (*to > 0 && (size_t)*to > rest() / 4);
    if (!frame.failed && *to > MANY && !zr_alloc_possible((size_t)*to * sizeof(struct ACL)))
        no_memory();
    if (frame.failed || *to < 0)
        *to = 0;
    return 0;
}

/* Reads a length and moves on by so many bytes; a length of -1 means null. */
static bool pass_bytes(void)
{
    int32_t length = rest() >= 4 ? number_at(frame.at) : 0;
    frame.failed = frame.failed || length < -1;
    return pass(4) && pass(length > 0 ? (size_t)length : 0);
}

static int read_buffer(struct iarchive *in, const char *name, struct buffer *to)
{
    *to = (struct buffer){0, NULL};
    if (pass_bytes() && frame.decoder.deserialize_Buffer(in, name, to) != 0) {
        *to = (struct buffer){0, NULL};
        no_memory();
    }
    return 0;
}

/* Refuses null, and a string with a NUL: the C string would differ from what the server sent. */
static bool pass_string(void)
{
    const char *from = frame.at;
    return pass_bytes() && number_at(from) >= 0 &&
           memchr(from + 4, '\0', (size_t)(frame.at - from - 4)) == NULL;
}

static int read_string(struct iarchive *in, const char *name, char **to)
{
    *to = NULL;
    frame.failed = !pass_string();
    if (!frame.failed && frame.decoder.deserialize_String(in, name, to) != 0)
        no_memory();
    return 0;
}

/* ---- Frames as a whole --------------------------------------------------------------------- */

static const char *event_problem(const char *at, size_t length)
{
    if (length < EVENT_HEADER)
        return "a truncated event";
    int32_t path = number_at(at + 8);
    if (path < 0 || (size_t)path > length - EVENT_HEADER)
        return "an event with a truncated path";
    if (number_at(at) == ZOO_SESSION_EVENT)
        return "an event of an unknown type";
    const char *text = at + EVENT_HEADER;
    if (path == 0 || text[0] != '/' || memchr(text, '\0', (size_t)path) != NULL)
        return "an event with an invalid path";
    return NULL;
}

static const char *problem(const char *at, size_t length)
{
    const struct zr_handle *handle = zr_completion_handle;
    if (length < HEADER)
        return "a truncated answer";
    switch (number_at(at)) {
    case PING_XID:
    case WATCHES_XID:
        return NULL;
    case EVENT_XID:
        return event_problem(at + HEADER, length - HEADER);
    case AUTH_XID:
        return handle->credentials != NULL ? NULL : "an answer without a request";
    default:
        return handle->client.pending > (size_t)handle->client.authenticating
                   ? NULL
                   : "an answer without a request";
    }
}

/* To the credentials and the watches, which the library sends before our first request. */
static bool is_answer(int32_t xid)
{
    return xid == AUTH_XID || xid == WATCHES_XID;
}

static struct iarchive *open_frame(char *at, size_t length)
{
    struct iarchive *archive = __real_create_buffer_iarchive(at, (int)length);
    frame.at = at;
    frame.end = at + length;
    frame.headers = 0;
    frame.failed = false;
    frame.fate = at == cut && number_at(at + ERROR) == 0
                     ? zr_completion_handle->client.incoming.fate
                     : ZR_OK;
    if (archive == NULL)
        return NULL;
    frame.decoder = *archive;
    archive->start_vector = read_count;
    archive->deserialize_Bool = read_last;
    archive->deserialize_Int = read_int;
    archive->deserialize_Long = read_long;
    archive->deserialize_Buffer = read_buffer;
    archive->deserialize_String = read_string;
    return archive;
}

struct iarchive *__wrap_create_buffer_iarchive(char *buffer, int stated)
{
    static char ping[HEADER] = "\xff\xff\xff\xfe";
    size_t length = (size_t)stated;
    bool received = fresh && zr_completion_handle->client.incoming.whole; /* not its own */
    fresh = false;
    if (!received)
        return open_frame(buffer, length);
    length -= 4;
    const char *what = problem(buffer, length);
    if (what == NULL && !zr_completion_handle->client.proved && is_answer(number_at(buffer)))
        zr_handshake_heard(&zr_completion_handle->client.handshake, zr_now_us());
    if (what == NULL) {
        struct iarchive *header = open_frame(buffer, length);
        cut = zr_completion_handle->client.incoming.fate != ZR_OK ? buffer : NULL;
        return header;
    }
    zr_decode_blame(what);
    return open_frame(ping, sizeof ping);
}
