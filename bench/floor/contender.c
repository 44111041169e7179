/*
 * A contender creates its seat and lists the directory, in one flight. If it is first, it has the
 * lock. If not, it watches the contender just ahead and takes the event for the grant. It leaves by
 * a delete that it does not wait for. All of it happens inside the client's callbacks, unless there
 * is a second thread.
 */
#include "floor.h"

#include <stdio.h>
#include <string.h>

struct contender contenders[MOST];
int parked;
int granted;
double granted_at;
bool keep;

static void join(struct contender *one);

static void on_gone(int rc, const void *with)
{
    (void)with;
    must(rc);
    outstanding--;
}

void leave(struct contender *one)
{
    outstanding++;
    must(zoo_adelete(one->zh, one->seat, -1, on_gone, NULL));
    if (--one->left > 0)
        join(one);
}

void take_turn(struct contender *one)
{
    granted++;
    granted_at = one->heard_at;
    if (!keep)
        leave(one);
}

static void grant(struct contender *one)
{
    if (relay_fd >= 0) {
        relay_tell(one);
        return;
    }
    one->heard_at = now();
    take_turn(one);
}

static void on_event(zhandle_t *zh, int type, int state, const char *path, void *with)
{
    (void)zh, (void)state, (void)path;
    if (type == ZOO_DELETED_EVENT)
        grant(with);
}

static void on_watched(int rc, const struct Stat *stat, const void *with)
{
    (void)stat;
    outstanding--;
    if (rc == ZNONODE)
        grant((struct contender *)with);
    else
        must(rc);
    parked++;
}

static void on_created(int rc, const char *path, const void *with)
{
    struct contender *one = (struct contender *)with;
    must(rc);
    outstanding--;
    snprintf(one->seat, sizeof one->seat, "%s", path);
}

static void on_listed(int rc, const struct String_vector *names, const void *with)
{
    struct contender *one = (struct contender *)with;
    const char *mine = strrchr(one->seat, '/') + 1, *ahead = NULL;
    must(rc);
    outstanding--;
    for (int i = 0; i < names->count; i++) {
        const char *name = names->data[i];
        if (strcmp(name, mine) < 0 && (ahead == NULL || strcmp(name, ahead) > 0))
            ahead = name;
    }
    if (ahead == NULL) {
        grant(one);
        return;
    }
    char path[2 * NAME_SIZE];
    snprintf(path, sizeof path, "%s/%s", one->dir, ahead);
    outstanding++;
    must(zoo_awexists(one->zh, path, on_event, one, on_watched, one));
}

static void join(struct contender *one)
{
    char path[NAME_SIZE + 8];
    snprintf(path, sizeof path, "%s/n-", one->dir);
    outstanding += 2;
    must(zoo_acreate(one->zh, path, NULL, -1, &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL | ZOO_SEQUENCE,
                     on_created, one));
    must(zoo_aget_children(one->zh, one->dir, 0, on_listed, one));
}

void enter(struct contender *one, zhandle_t *zh, const char *dir, int turns)
{
    one->zh = zh;
    one->left = turns;
    snprintf(one->dir, sizeof one->dir, "%s", dir);
    join(one);
}
