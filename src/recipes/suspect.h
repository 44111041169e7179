#ifndef ZR_SUSPECT_H
#define ZR_SUSPECT_H

/*
 * suspect.h: reads a znode that may be a stranger (core/strangers.h), for attempts that do not wait
 * for it. Thread: the host's.
 */

#include "core/task.h"

/* Reads a znode of `dir` whose name is not usual, with a watch if it can be ignored. `next` calls
   zr_suspect_answered. borrows: dir, name. */
void zr_suspect_ask(struct zr_task *task, const char *dir, const char *name, struct zr_next next);

enum zr_suspect_verdict {
    ZR_SUSPECT_PASSED,   /* it is ignored from now on, or it is gone: list again */
    ZR_SUSPECT_CONTENDS, /* it is ephemeral */
    ZR_SUSPECT_FAILED,   /* the task has failed: it cannot be ignored, or not be read */
};

/* Judges the answer to zr_suspect_ask, which is in task->call. */
enum zr_suspect_verdict zr_suspect_answered(struct zr_task *task);

#endif
