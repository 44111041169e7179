#include "core/signal.h"

#include "core/task.h"

void zr_signal_fire(struct zr_signal *signal, enum zr_status outcome)
{
    struct zr_link *link;
    while ((link = zr_list_shift(&signal->tasks)) != NULL)
        zr_task_wake(ZR_HOLDER(link, struct zr_task, in_signal), outcome);
}
