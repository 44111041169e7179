#include "recipes/suspect.h"

#include "core/alloc.h"
#include "core/names.h"
#include "core/strangers.h"
#include "core/verbs.h"

void zr_suspect_ask(struct zr_task *task, const char *dir, const char *name, struct zr_next next)
{
    char *path = zr_path_child(dir, name);
    /* With a watch, because it may be ignored only until it changes. */
    bool watch = path != NULL && zr_stranger_suspected(task->session, path);
    if (path == NULL)
        zr_verb_fail(task, ZR_NO_MEMORY);
    else
        zr_verb_read(task, ZR_OP_GET, path, watch, next);
    zr_free(path);
}

enum zr_suspect_verdict zr_suspect_answered(struct zr_task *task)
{
    const struct zr_request *read = &task->call->request;
    bool stays = read->status == ZR_OK && read->stat.ephemeral_owner == 0;
    if (stays && read->watch)
        zr_stranger_ignored(task->session, read->path);
    else if (read->watch)
        zr_strangers_doubt(task->session, read->path);
    if (read->status == ZR_OK && !stays)
        return ZR_SUSPECT_CONTENDS;
    if (read->status == ZR_NO_NODE || (stays && read->watch))
        return ZR_SUSPECT_PASSED;
    if (stays)
        zr_stranger_blamed(task, read->path);
    zr_verb_fail(task, stays ? ZR_CONFLICT : read->status);
    return ZR_SUSPECT_FAILED;
}
