#ifndef ZR_WATCHPOINT_H
#define ZR_WATCHPOINT_H

/*
 * watchpoint.h: what watchpoint.c and watchpoint_wait.c share of a watch; only for those two.
 * watchpoint.c looks at a path; in watchpoint_wait.c tasks wait for changes there.
 * Thread: the host's.
 */

#include "core/object.h"
#include "core/task.h"
#include "core/zk.h"

enum zr_news { ZR_NEWS_CREATED, ZR_NEWS_CHANGED, ZR_NEWS_DELETED, ZR_NEWS_CHILDREN, ZR_NEWS_COUNT };

struct zr_watchpoint {
    struct zr_object object;
    struct zr_session *session; /* used */
    struct zr_task task;        /* looks again and again */
    struct zr_watch *watch;     /* followed */
    int64_t events; /* how many events there had been when the look was answered, or begun */
    int generation; /* of the session when it was begun */
    bool looking, primed, closed;
    bool unique;          /* the name never comes back */
    bool missed;          /* a look failed */
    enum zr_status ended; /* why it looks no more */
    char *path, *full;
    struct zr_stat seen;               /* czxid 0: no node */
    enum zr_news queue[ZR_NEWS_COUNT]; /* each kind at most once */
    int count;
    struct zr_signal news;
};

/* watch:wait([timeout]) */
enum zr_status zr_watchpoint_wait(struct zr_object *self, struct zr_args *args,
                                  struct zr_task **task);

#endif
