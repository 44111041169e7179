#include "recipes/semaphore/mark.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"

#define WORD "__FIRST__"
#define HEAD (sizeof(WORD) - 1 + 16)

/* Bytes of all names. To list the directory costs less than more of them do: each mark is a write,
   which goes to all servers. */
#define NAMES 4000

/* With larger data of the user there is no mark: with the names they could be more than a request
   may have, or than this server takes. */
#define DATA 60000

/* ---- Writing ------------------------------------------------------------------------------- */

static void write_head(char *to, int64_t czxid)
{
    snprintf(to, HEAD + 1, WORD "%016" PRIx64, (uint64_t)czxid);
}

void zr_mark_begin(struct zr_mark *mark, int64_t czxid, struct zr_bytes data)
{
    bool small = data.length <= DATA;
    mark->at = small ? zr_alloc(HEAD + NAMES + sizeof("//") + data.length) : NULL;
    mark->length = HEAD;
    if (mark->at != NULL)
        write_head(mark->at, czxid);
}

static void give_up(struct zr_mark *mark)
{
    zr_free(mark->at);
    mark->at = NULL;
}

void zr_mark_add(struct zr_mark *mark, const char *name)
{
    size_t length = strlen(name);
    if (mark->at == NULL)
        return;
    if (length >= ZR_MARK_NAME || mark->length + 1 + length > HEAD + NAMES) {
        give_up(mark);
        return;
    }
    mark->at[mark->length] = '/';
    memcpy(mark->at + mark->length + 1, name, length);
    mark->length += 1 + length;
}

void zr_mark_end(struct zr_mark *mark, struct zr_bytes data)
{
    if (mark->at == NULL || data.at == NULL)
        return;
    memcpy(mark->at + mark->length, "//", 2);
    memcpy(mark->at + mark->length + 2, data.at, data.length);
    mark->length += 2 + data.length;
}

/* ---- Reading ------------------------------------------------------------------------------- */

struct zr_bytes zr_mark_names(struct zr_bytes data, int64_t czxid)
{
    char head[HEAD + 1];
    write_head(head, czxid);
    bool marked = data.at != NULL && data.length >= HEAD && memcmp(data.at, head, HEAD) == 0;
    return marked ? (struct zr_bytes){data.at + HEAD, data.length - HEAD} : ZR_NO_DATA;
}

/* The user's data follow, or nothing does. */
static bool no_more(const struct zr_bytes *names)
{
    return names->length == 0 || (names->length > 1 && memcmp(names->at, "//", 2) == 0);
}

bool zr_mark_next(struct zr_bytes *names, char name[ZR_MARK_NAME])
{
    if (no_more(names))
        return false;
    const char *first = names->at + 1, *end = names->at + names->length;
    const char *slash = memchr(first, '/', (size_t)(end - first));
    size_t length = (size_t)((slash != NULL ? slash : end) - first);
    if (names->at[0] != '/' || length >= ZR_MARK_NAME)
        length = 0;
    memcpy(name, first, length);
    name[length] = '\0';
    *names = (struct zr_bytes){first + length, (size_t)(end - first) - length};
    return true;
}

struct zr_bytes zr_mark_user_data(struct zr_bytes data, int64_t czxid)
{
    struct zr_bytes rest = zr_mark_names(data, czxid);
    char name[ZR_MARK_NAME];
    if (rest.at == NULL)
        return data;
    while (zr_mark_next(&rest, name))
        if (name[0] == '\0')
            return data;
    return rest.length > 0 ? (struct zr_bytes){rest.at + 2, rest.length - 2} : ZR_NO_DATA;
}
