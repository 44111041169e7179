#include "core/alloc.h"
#include "core/names.h"
#include "core/verb_parts.h"

#include <string.h>

/*
 * Makes a directory and all its parents:
 * 1. Create the directory itself: usually only the last name is missing.
 * 2. If the server says NO_NODE, step up and create the parent.
 * 3. If it was made, or exists, step down again, until the directory is made.
 *
 * Lost answers do no harm: the same create again says NODE_EXISTS. The server may delete an empty
 * container while we step down: NO_NODE, and we step up again.
 */

static void answered(struct zr_task *task);

/* The data for the node that is being made, if it is the directory of a seat with data for it. */
static const struct zr_bytes *own_data(const struct zr_task *task)
{
    const struct zr_seat *seat = task->seat;
    bool own = seat != NULL && task->path == seat->dir && task->path[task->cursor] == '\0';
    return own ? seat->dir_data : NULL;
}

static void create(struct zr_task *task)
{
    const struct zr_bytes empty = {"", 0}, *data = own_data(task);
    struct zr_session *session = task->session;
    char *path = zr_copy(task->path, task->cursor);
    struct zr_call *call = NULL;
    enum zr_status status = path == NULL ? ZR_NO_MEMORY
                                         : zr_call_new_full(session, ZR_OP_CREATE, path,
                                                            data != NULL ? *data : empty, &call);
    zr_free(path);
    if (status != ZR_OK) {
        zr_part_fail(task, status);
        return;
    }
    bool in_namespace = task->cursor <= strlen(session->namespace);
    if (task->containers && data == NULL && !in_namespace && !session->no_containers)
        call->request.mode = ZR_CONTAINER;
    zr_part_send(task, call, answered);
}

static void step_down(struct zr_task *task)
{
    if (task->cursor == task->target) {
        task->after(task);
        return;
    }
    task->cursor += 1 + strcspn(task->path + task->cursor + 1, "/");
    create(task);
}

static void step_up(struct zr_task *task)
{
    char *path = zr_copy(task->path, task->cursor);
    if (path == NULL) {
        zr_part_fail(task, ZR_NO_MEMORY);
        return;
    }
    task->cursor = zr_path_parent_length(path);
    zr_free(path);
    create(task);
}

static void answered(struct zr_task *task)
{
    bool container = task->call->request.mode == ZR_CONTAINER;
    switch ((int)task->outcome) {
    case ZR_OK:
    case ZR_NODE_EXISTS:
        step_down(task);
        break;
    case ZR_NO_NODE:
        step_up(task);
        break;
    case ZR_CONNECTION_LOSS:
        zr_call_again(task->call);
        break;
    case ZR_UNSUPPORTED:
        task->session->no_containers = true;
        if (container)
            create(task);
        else
            zr_task_verb_done(task, task->outcome);
        break;
    default:
        zr_task_verb_done(task, task->outcome);
    }
}

void zr_part_ensure(struct zr_task *task, const char *path, size_t length, bool containers,
                    void (*after)(struct zr_task *task))
{
    task->after = after;
    task->path = path;
    task->containers = containers;
    task->cursor = task->target = length;
    create(task);
}

static void ensured(struct zr_task *task)
{
    zr_task_verb_done(task, ZR_OK);
}

void zr_verb_ensure(struct zr_task *task, const char *dir, bool containers, struct zr_next next)
{
    task->next = next;
    zr_part_ensure(task, dir, strlen(dir), containers, ensured);
}
