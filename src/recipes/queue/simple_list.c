#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/names.h"
#include "recipes/queue/simple.h"

/*
 * Lists the items of a queue of the simple format.
 * 1. Ask how many znodes the directory has; a listing of too many would stall the host.
 * 2. List it, and put the items in the order of their numbers.
 *
 * What can go wrong: there is no directory: then there is no item. A watch on what is missing is
 * left by 1, one on the list by 2.
 */

#define STEM "qn-"

struct zr_simple *zr_simple_of(struct zr_task *task)
{
    return ZR_HOLDER(zr_znode_of(task), struct zr_simple, znode);
}

struct zr_simple_task *zr_simple_task_of(struct zr_task *task)
{
    return ZR_HOLDER(zr_znode_task_of(task), struct zr_simple_task, znode_task);
}

void zr_simple_task_free(struct zr_task *task)
{
    zr_free(zr_simple_task_of(task)->names);
    zr_znode_task_free(task);
}

/* ---- Names --------------------------------------------------------------------------------- */

/* "qn-" and a number, which may have been made by hand. */
static bool is_item(const char *name)
{
    if (strncmp(name, STEM, strlen(STEM)) != 0)
        return false;
    const char *at = name + strlen(STEM);
    at += *at == '-';
    return *at != '\0' && at[strspn(at, "0123456789")] == '\0';
}

/* As a server makes them: their order is that of their bytes. */
static bool is_plain(const char *name)
{
    return strlen(name) == strlen(STEM) + ZR_SEQUENCE_DIGITS && name[strlen(STEM)] != '-';
}

/* The first digit of the number that is not 0. */
static const char *digits_of(const char *name)
{
    const char *at = name + strlen(STEM);
    at += *at == '-';
    return at + strspn(at, "0");
}

static bool is_negative(const char *name)
{
    return name[strlen(STEM)] == '-' && *digits_of(name) != '\0';
}

static int by_size(const char *one, const char *other)
{
    size_t length = strlen(one), other_length = strlen(other);
    if (length != other_length)
        return length < other_length ? -1 : 1;
    return strcmp(one, other);
}

/* A number may have any length. */
static int by_number(const void *one, const void *other)
{
    const char *a = *(char *const *)one, *b = *(char *const *)other;
    if (is_negative(a) != is_negative(b))
        return is_negative(a) ? -1 : 1;
    int order = by_size(digits_of(a), digits_of(b));
    if (order == 0)
        return strcmp(a, b);
    return is_negative(a) ? -order : order;
}

static void keep_items(struct zr_names *names)
{
    size_t count = 0;
    bool plain = true;
    for (size_t i = 0; i < names->count; i++)
        if (is_item(names->at[i])) {
            plain = plain && is_plain(names->at[i]);
            names->at[count++] = names->at[i];
        }
    names->count = count;
    if (plain)
        zr_names_sort(names);
    else
        qsort(names->at, count, sizeof(names->at[0]), by_number);
}

/* ---- The steps ----------------------------------------------------------------------------- */

static void children_listed(struct zr_task *task)
{
    struct zr_simple_task *lists = zr_simple_task_of(task);
    if (task->outcome != ZR_OK && task->outcome != ZR_NO_NODE) {
        zr_verb_fail(task, task->outcome);
        return;
    }
    if (task->outcome == ZR_OK) {
        lists->names = task->call->request.names;
        task->call->request.names = NULL;
    }
    if (lists->names != NULL)
        keep_items(lists->names);
    lists->listed(task);
}

static void counted(struct zr_task *task)
{
    const struct zr_simple_task *lists = zr_simple_task_of(task);
    const struct zr_simple *simple = zr_simple_of(task);
    if (task->outcome == ZR_NO_NODE) {
        lists->listed(task);
        return;
    }
    if (task->outcome != ZR_OK) {
        zr_verb_fail(task, task->outcome);
        return;
    }
    int32_t count = task->call->request.stat.child_count;
    if (count <= simple->most) {
        zr_verb_read(task, ZR_OP_CHILDREN, simple->znode.full, lists->watches,
                     ZR_STEP(children_listed));
        return;
    }
    zr_task_explain(task, "the directory has %d znodes; format 'simple' lists at most %d",
                    (int)count, (int)simple->most);
    zr_verb_fail(task, ZR_FULL);
}

void zr_simple_list(struct zr_task *task, bool watches, void (*listed)(struct zr_task *task))
{
    struct zr_simple_task *lists = zr_simple_task_of(task);
    zr_free(lists->names);
    lists->names = NULL;
    lists->watches = watches;
    lists->listed = listed;
    zr_verb_read(task, ZR_OP_EXISTS, zr_znode_of(task)->full, watches, ZR_STEP(counted));
}
