#ifndef ZR_LIST_H
#define ZR_LIST_H

/*
 * list.h: an intrusive doubly linked list. A member is a zeroed or unlinked struct zr_link; it is
 * in at most one list. The list is a ring through its head, so unlinking needs no list.
 */

#include <stdbool.h>
#include <stddef.h>

struct zr_link {
    struct zr_link *next, *prev;
};

struct zr_list {
    struct zr_link head;
};

/* The struct that holds this member. */
#define ZR_HOLDER(link, type, member) ((type *)((char *)(link)-offsetof(type, member)))

static inline void zr_list_init(struct zr_list *list)
{
    list->head.next = list->head.prev = &list->head;
}

static inline bool zr_list_empty(const struct zr_list *list)
{
    return list->head.next == &list->head;
}

static inline bool zr_linked(const struct zr_link *link)
{
    return link->next != NULL;
}

static inline void zr_list_append(struct zr_list *list, struct zr_link *link)
{
    link->prev = list->head.prev;
    link->next = &list->head;
    list->head.prev->next = link;
    list->head.prev = link;
}

/* Harmless when it is in no list. */
static inline void zr_unlink(struct zr_link *link)
{
    if (!zr_linked(link))
        return;
    link->prev->next = link->next;
    link->next->prev = link->prev;
    link->next = link->prev = NULL;
}

/* The first member, or null. */
static inline struct zr_link *zr_list_first(const struct zr_list *list)
{
    return zr_list_empty(list) ? NULL : list->head.next;
}

/* Takes the first member out, or null. */
static inline struct zr_link *zr_list_shift(struct zr_list *list)
{
    struct zr_link *link = zr_list_first(list);
    if (link != NULL)
        zr_unlink(link);
    return link;
}

/* Visits each link of the list (struct zr_list *). The body may unlink or free the present member,
   but not the one behind it. */
#define ZR_LIST_EACH(link, list)                                                                   \
    for (struct zr_link *link = (list)->head.next, *link##_next;                                   \
         link != &(list)->head && (link##_next = link->next, true); link = link##_next)

/* Appends all of `from` to `to`; `from` is empty afterwards. */
static inline void zr_list_move(struct zr_list *to, struct zr_list *from)
{
    if (zr_list_empty(from))
        return;
    from->head.next->prev = to->head.prev;
    to->head.prev->next = from->head.next;
    from->head.prev->next = &to->head;
    to->head.prev = from->head.prev;
    zr_list_init(from);
}

#endif
