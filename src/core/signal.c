#include "core/signal.h"

#include "core/task.h"

void zr_signal_fire(struct zr_signal *signal, enum zr_status outcome)
{
    struct zr_link *link;
    while ((link = zr_list_shift(&signal->tasks)) != NULL)
        zr_task_wake(ZR_HOLDER(link, struct zr_task, in_signal), outcome);
}

void zr_signal_tell(struct zr_signal *signal, int64_t word)
{
    struct zr_link *link, *next;
    for (link = signal->tasks.head.next; link != &signal->tasks.head; link = next) {
        struct zr_task *task = ZR_HOLDER(link, struct zr_task, in_signal);
        next = link->next;
        if (task->enough == NULL || !task->enough(task, word))
            continue;
        task->told = true;
        task->word = word;
        zr_task_wake(task, ZR_OK);
    }
}
