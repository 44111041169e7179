#include "recipes/semaphore/semaphore.h"

bool zr_sift_next(struct zr_task *task, struct zr_sift *sift, size_t end, const char *dir,
                  struct zr_next next)
{
    const struct zr_recipe *const *recipes = task->session->engine->recipes;
    if (zr_seats_unusual(recipes, task->seats) == 0)
        return false;
    for (; sift->at < end; sift->at++) {
        const struct zr_seat_name *seat = &task->seats->at[sift->at];
        if (zr_permits(seat) == 0 || zr_is_usual(recipes, seat->name))
            continue;
        sift->at++;
        sift->seats = task->seats;
        task->seats = NULL; /* else the verb would drop it */
        zr_suspect_ask(task, dir, seat->name, next);
        return true;
    }
    return false;
}

enum zr_suspect_verdict zr_sift_answered(struct zr_task *task, struct zr_sift *sift)
{
    task->seats = sift->seats;
    sift->seats = NULL;
    return zr_suspect_answered(task);
}

void zr_sift_forget(struct zr_sift *sift)
{
    zr_seats_unref(sift->seats);
    *sift = (struct zr_sift){0, NULL};
}
