#include <stdarg.h>
#include <stdio.h>

#include "core/alloc.h"
#include "core/call.h"
#include "core/session.h"
#include "core/task.h"

/* What a failed task says. */

/* ---- Details ------------------------------------------------------------------------------- */

void zr_task_forget_detail(struct zr_task *task)
{
    zr_free(task->own_detail);
    task->detail = task->own_detail = NULL;
}

void zr_task_explain(struct zr_task *task, const char *format, ...)
{
    va_list arguments;
    zr_task_forget_detail(task);
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    task->own_detail = zr_alloc((size_t)length + 1);
    if (task->own_detail == NULL)
        return;
    va_start(arguments, format);
    vsnprintf(task->own_detail, (size_t)length + 1, format, arguments);
    va_end(arguments);
    task->detail = task->own_detail;
}

void zr_task_explain_answer(struct zr_task *task, enum zr_status status)
{
    if (status == ZR_TOO_LARGE)
        zr_task_explain(task, "the answer is larger than the %d bytes that the session accepts",
                        ZR_ANSWER_MAX);
}

/* True if the task has sent nothing, because there was no connection since it began. */
static bool never_connected(const struct zr_task *task)
{
    return task->cut_off && task->connections == task->session->connections;
}

static bool reads(enum zr_op op)
{
    return op == ZR_OP_EXISTS || op == ZR_OP_GET || op == ZR_OP_CHILDREN || op == ZR_OP_SYNC ||
           op == ZR_OP_GET_ACL;
}

/* True if a request without an answer may have changed something on the server. The multi of a
   contender only makes its directory again. */
static bool unsure(const struct zr_task *task)
{
    const struct zr_call *call = task->call;
    if (task->doubtful || never_connected(task) || call == NULL)
        return task->doubtful;
    if (call->state == ZR_CALL_OUT && call->request.op == ZR_OP_MULTI && task->seat == NULL)
        return true;
    if (!task->kind->writes || call->state == ZR_CALL_BACK || reads(call->request.op))
        return false;
    return call->state == ZR_CALL_OUT || (task->repeat && call->tried);
}

void zr_task_note_doubt(struct zr_task *task)
{
    task->doubtful = unsure(task);
}

void zr_task_explain_end(struct zr_task *task, enum zr_status status)
{
    if (task->kind->writes && !unsure(task))
        zr_task_explain(task, "%s; the change was not made", zr_status_text(status));
}

const char *zr_task_silence(const struct zr_task *task)
{
    bool connected = task->session->state == ZR_CONNECTED;
    bool never = never_connected(task);
    if (never && task->tries)
        return "not connected, and a time limit of 0 does not wait for a connection; nothing was "
               "sent";
    if (never)
        return "there was no connection within the time limit; nothing was sent";
    return connected || unsure(task) ? "no server answered within the time limit"
                                     : "there was no connection within the time limit";
}

/* ---- The message --------------------------------------------------------------------------- */

#define DOUBT "; the change may or may not have been made: check before you repeat it"

static const char *why_failed(const struct zr_task *task)
{
    if (task->detail != NULL)
        return task->detail;
    if (task->status == ZR_CONNECTION_LOSS && !task->kind->writes)
        return "the connection was lost before the answer came";
    return zr_status_text(task->status);
}

const char *zr_task_message(const struct zr_task *task, char *buffer, size_t size)
{
    const struct zr_session *session = task->session;
    const char *why = why_failed(task);
    const char *gap = task->subject[0] != '\0' ? " " : "";
    bool says_it = why == zr_status_text(ZR_CONNECTION_LOSS);
    const char *doubt = task->doubtful && !says_it ? DOUBT : "";
    bool for_want_of_link = task->status == ZR_TIMEOUT || task->status == ZR_CONNECTION_LOSS ||
                            task->status == ZR_AUTH_FAILED;
    if (for_want_of_link && session->state != ZR_CONNECTED && session->trouble != NULL)
        snprintf(buffer, size, "%s%s%s: %s%s (not connected: %s)", task->kind->name, gap,
                 task->subject, why, doubt, session->trouble);
    else
        snprintf(buffer, size, "%s%s%s: %s%s", task->kind->name, gap, task->subject, why, doubt);
    return buffer;
}
