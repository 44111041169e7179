#include "core/timer.h"

#include <stddef.h>

/*
 * A pairing heap: a tree whose root is the earliest timer. Children of a node hang in a singly
 * linked list; `link` is the pointer that points at the node, so that any node can be cut out.
 */

/* Makes the later root the first child of the earlier one. Either may be null. */
static struct zr_timer *meld(struct zr_timer *a, struct zr_timer *b)
{
    if (a == NULL || b == NULL)
        return a != NULL ? a : b;
    if (b->at_us < a->at_us) {
        struct zr_timer *swap = a;
        a = b;
        b = swap;
    }
    b->next = a->child;
    if (b->next != NULL)
        b->next->link = &b->next;
    b->link = &a->child;
    a->child = b;
    return a;
}

/* Melds a list of siblings in pairs, then the pairs from the last to the first. */
static struct zr_timer *meld_siblings(struct zr_timer *first)
{
    struct zr_timer *pairs = NULL;
    while (first != NULL) {
        struct zr_timer *second = first->next;
        struct zr_timer *rest = second != NULL ? second->next : NULL;
        first->next = NULL;
        if (second != NULL)
            second->next = NULL;
        struct zr_timer *pair = meld(first, second);
        pair->next = pairs;
        pairs = pair;
        first = rest;
    }
    struct zr_timer *root = NULL;
    while (pairs != NULL) {
        struct zr_timer *rest = pairs->next;
        pairs->next = NULL;
        root = meld(root, pairs);
        pairs = rest;
    }
    return root;
}

static void set_root(struct zr_timers *timers, struct zr_timer *root)
{
    timers->first = root;
    if (root != NULL)
        root->link = &timers->first;
}

void zr_timer_start(struct zr_timers *timers, struct zr_timer *timer, int64_t at_us,
                    void (*fire)(struct zr_timer *timer))
{
    zr_timer_stop(timers, timer);
    timer->at_us = at_us;
    timer->fire = fire;
    timer->child = timer->next = NULL;
    set_root(timers, meld(timers->first, timer));
}

void zr_timer_stop(struct zr_timers *timers, struct zr_timer *timer)
{
    if (timer->fire == NULL)
        return;
    timer->fire = NULL;
    *timer->link = timer->next;
    if (timer->next != NULL)
        timer->next->link = timer->link;
    timer->next = NULL;
    struct zr_timer *orphans = meld_siblings(timer->child);
    timer->child = NULL;
    set_root(timers, meld(timers->first, orphans));
}

int64_t zr_timers_next(const struct zr_timers *timers)
{
    return timers->first != NULL ? timers->first->at_us : INT64_MAX;
}

bool zr_timers_fire(struct zr_timers *timers, int64_t now_us)
{
    struct zr_timer *timer = timers->first;
    if (timer == NULL || timer->at_us > now_us)
        return false;
    void (*fire)(struct zr_timer *) = timer->fire;
    zr_timer_stop(timers, timer);
    fire(timer);
    return true;
}
