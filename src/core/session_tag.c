#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/session.h"

/* Names that no other contender uses: a ZooKeeper session has one owner, and the owner counts. */

void zr_session_tag(struct zr_session *session, int64_t id, char tag[static ZR_TAG])
{
    snprintf(tag, ZR_TAG, "%016" PRIx64 "-%" PRIu64, (uint64_t)id, ++session->tags);
}

bool zr_session_tagged(const struct zr_session *session, const char *name)
{
    char *end;
    return strtoull(name, &end, 16) == (uint64_t)session->id && end == name + 16 && *end == '-';
}
