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

static bool unsure(const struct zr_task *task)
{
    const struct zr_call *call = task->call;
    if (task->doubtful)
        return true;
    if (call != NULL && call->state == ZR_CALL_OUT && call->request.op == ZR_OP_MULTI)
        return true;
    if (!task->kind->writes || call == NULL || call->state == ZR_CALL_BACK)
        return false;
    return call->state == ZR_CALL_OUT || task->repeat;
}

const char *zr_task_silence(const struct zr_task *task)
{
    bool connected = task->session->state == ZR_CONNECTED;
    bool never = task->cut_off && task->connections == task->session->connections;
    if (never && task->tries)
        return "not connected, and a time limit of 0 does not wait for a connection; nothing was "
               "sent";
    if (never)
        return "there was no connection within the time limit; nothing was sent";
    if (unsure(task))
        return "no server answered within the time limit; the change may or may not have been "
               "made: check before you repeat it";
    return connected ? "no server answered within the time limit"
                     : "there was no connection within the time limit";
}

/* ---- The message --------------------------------------------------------------------------- */

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
    bool waits_for_link = task->status == ZR_TIMEOUT || task->status == ZR_CONNECTION_LOSS;
    if (waits_for_link && session->state != ZR_CONNECTED && session->trouble != NULL)
        snprintf(buffer, size, "%s%s%s: %s (not connected: %s)", task->kind->name, gap,
                 task->subject, why, session->trouble);
    else
        snprintf(buffer, size, "%s%s%s: %s", task->kind->name, gap, task->subject, why);
    return buffer;
}
