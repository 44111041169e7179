#include "core/names.h"
#include "core/verb_parts.h"

#include <string.h>

/*
 * What contend.c and occupy.c share: when a create can be sent, and what its failure means. For a
 * seat without a stem, "the directory" is the parent of its node. And what transact.c shares with
 * them: when a request is too large for a server.
 */

bool zr_part_connected(struct zr_task *task, void (*begin)(struct zr_task *task))
{
    struct zr_session *session = task->session;
    zr_part_begin(task, begin);
    if (session->state == ZR_CONNECTED)
        return true;
    zr_list_append(&session->changed.tasks, &task->in_signal);
    return false;
}

static void ensure(struct zr_task *task, void (*begin)(struct zr_task *task))
{
    const struct zr_seat *seat = task->seat;
    size_t length = seat->stem != NULL ? strlen(seat->dir) : zr_path_parent_length(seat->dir);
    zr_part_ensure(task, seat->dir, length, true, begin);
}

bool zr_part_too_large(struct zr_task *task, size_t bytes)
{
    return zr_lost_too_large(++task->losses, bytes);
}

void zr_part_refused(struct zr_task *task, void (*begin)(struct zr_task *task),
                     void (*exists)(struct zr_task *task))
{
    const struct zr_seat *seat = task->seat;
    switch ((int)seat->refused) {
    case ZR_OK: /* looked for and not found */
        if (zr_part_too_large(task, seat->data.length))
            zr_task_verb_done(task, ZR_TOO_LARGE);
        else
            begin(task);
        break;
    case ZR_CONNECTION_LOSS:
        begin(task);
        break;
    case ZR_NO_NODE:
        ensure(task, begin);
        break;
    case ZR_NODE_EXISTS:
        exists(task);
        break;
    default:
        zr_task_verb_done(task, seat->refused);
    }
}
