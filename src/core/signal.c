#include "core/signal.h"

#include "core/task.h"

void zr_signal_fire(struct zr_signal *signal, enum zr_status outcome)
{
    struct zr_link *link;
    while ((link = zr_list_shift(&signal->tasks)) != NULL)
        zr_task_wake(ZR_HOLDER(link, struct zr_task, in_signal), outcome);
}

void zr_signal_let_pass(struct zr_signal *signal)
{
    struct zr_link *link, *next;
    for (link = signal->tasks.head.next; link != &signal->tasks.head; link = next) {
        struct zr_task *task = ZR_HOLDER(link, struct zr_task, in_signal);
        next = link->next;
        if (!task->passes)
            continue;
        task->head_left = true;
        zr_task_wake(task, ZR_OK);
    }
}

void zr_signal_step_aside(struct zr_signal *signal, int64_t place)
{
    struct zr_link *link, *next;
    for (link = signal->tasks.head.next; link != &signal->tasks.head; link = next) {
        struct zr_task *task = ZR_HOLDER(link, struct zr_task, in_signal);
        next = link->next;
        if (task->place < 0 || task->place >= place)
            continue;
        task->aside = true;
        zr_task_wake(task, ZR_OK);
    }
}
