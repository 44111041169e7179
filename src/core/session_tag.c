#include <inttypes.h>
#include <stdio.h>

#include "core/session.h"

/* Names that no other contender uses: a ZooKeeper session has one owner, and the owner counts. */

void zr_session_tag(struct zr_session *session, int64_t id, char tag[static ZR_TAG])
{
    snprintf(tag, ZR_TAG, "%016" PRIx64 "-%" PRIu64, (uint64_t)id, ++session->tags);
}
