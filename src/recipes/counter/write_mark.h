#ifndef ZR_WRITE_MARK_H
#define ZR_WRITE_MARK_H

/*
 * write_mark.h: a counter's mark: an ephemeral child of the counter's znode by which the counter
 * knows its own writes. Only for the files of this folder. Thread: the host's.
 *
 * The name of a mark is never used again, and its create is never repeated. So while the mark
 * exists, no client has deleted the counter's znode since the mark was created.
 */

#include "core/call.h"
#include "core/task.h"

struct zr_mark {
    struct zr_task task;     /* that deletes it */
    struct zr_call *removal; /* the request for this, so that it needs no memory later; or null */
    int generation;          /* of the session: the mark ends with it */
    int32_t version;         /* that the znode has, if all our writes were answered */
    int64_t czxid; /* of the counter's znode; 0: it was not read since the mark was made */
    bool made;     /* the create was answered */
    char path[];   /* with the namespace */
};

/* gives: a mark for the counter at this path (with the namespace), and the request that creates it.
   The session must have an id. Errors: ZR_NO_MEMORY, ZR_TOO_LARGE; ZR_FULL: the session has no room
   for another ephemeral znode. */
enum zr_status zr_mark_new(struct zr_session *session, const char *counter, struct zr_mark **mark,
                           struct zr_call **create);

/* True if a write can be made with this mark (or null). */
bool zr_mark_usable(const struct zr_mark *mark, const struct zr_session *session);

/* takes: mark, or null. Its znode is deleted in the background, unless its session is over. */
void zr_mark_drop(struct zr_mark *mark, struct zr_session *session);

/* takes: mark, or null, which has no znode. */
void zr_mark_free(struct zr_mark *mark);

#endif
