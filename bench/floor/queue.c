/*
 * A queue's floor: items are children of one directory, whose names are known before the clock
 * starts. An item is put by a create. It is taken by a get and a delete in one flight. It is
 * claimed by a get and the create of a znode beside it in one flight, and acked by a multi that
 * removes both. A list of items is put by a multi of creates; its operations are items.
 */
#include "floor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DATA 100      /* bytes of an item */
#define IN_FLIGHT 500 /* while it is filled */
#define MOST_CONSUMERS 256
#define LIST 100 /* items of a list */

struct consumer {
    zhandle_t *zh;
    char item[2 * NAME_SIZE], claim[2 * NAME_SIZE];
    int out; /* requests of this step */
    zoo_op_t ops[2];
    zoo_op_result_t results[2];
};

static char dir[NAME_SIZE], claims[NAME_SIZE + 8], data[DATA];
static char **names;
static int name_count, next_name, present, left, done;
static void (*begin)(struct consumer *one);

/* ---- Before the clock ------------------------------------------------------------------------ */

static void on_stat(int rc, const struct Stat *stat, const void *with)
{
    (void)with;
    must(rc);
    present = stat->numChildren;
    outstanding--;
}

static void on_filled(int rc, const char *value, const void *with)
{
    (void)value, (void)with;
    must(rc);
    outstanding--;
}

static void put(zhandle_t *zh, string_completion_t answered, const void *with)
{
    char path[NAME_SIZE + 8];
    snprintf(path, sizeof path, "%s/n-", dir);
    must(zoo_acreate(zh, path, data, DATA, &ZOO_OPEN_ACL_UNSAFE, ZOO_SEQUENCE, answered, with));
}

static void fill(zhandle_t *zh, int items)
{
    outstanding++;
    must(zoo_aexists(zh, dir, 0, on_stat, NULL));
    settle();
    for (; present < items; present++) {
        while (outstanding >= IN_FLIGHT)
            turn();
        outstanding++;
        put(zh, on_filled, NULL);
    }
    settle();
}

static void on_names(int rc, const struct String_vector *found, const void *with)
{
    (void)with;
    must(rc);
    outstanding--;
    name_count = found->count;
    names = calloc((size_t)name_count + 1, sizeof *names);
    for (int i = 0; i < name_count; i++)
        names[i] = strdup(found->data[i]);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void learn_names(zhandle_t *zh)
{
    outstanding++;
    must(zoo_aget_children(zh, dir, 0, on_names, NULL));
    settle();
    qsort(names, (size_t)name_count, sizeof *names, by_name);
}

/* ---- One consumer, or producer --------------------------------------------------------------- */

static void go_on(struct consumer *one)
{
    if (left-- > 0)
        begin(one);
}

static void finish(struct consumer *one)
{
    done++;
    go_on(one);
}

static void choose(struct consumer *one)
{
    const char *name = names[next_name++];
    snprintf(one->item, sizeof one->item, "%s/%s", dir, name);
    snprintf(one->claim, sizeof one->claim, "%s/%s", claims, name);
    one->out = 2;
}

static void on_put(int rc, const char *value, const void *with)
{
    (void)value;
    must(rc);
    finish((struct consumer *)with);
}

static void begin_put(struct consumer *one)
{
    put(one->zh, on_put, one);
}

static zoo_op_t list_ops[LIST];
static zoo_op_result_t list_results[LIST];
static char list_paths[LIST][NAME_SIZE + 16];

static void on_list(int rc, const void *with)
{
    must(rc);
    done += LIST - 1;
    left -= LIST - 1;
    finish((struct consumer *)with);
}

/* One at a time. */
static void begin_list(struct consumer *one)
{
    char path[NAME_SIZE + 8];
    snprintf(path, sizeof path, "%s/n-", dir);
    for (int i = 0; i < LIST; i++)
        zoo_create_op_init(&list_ops[i], path, data, DATA, &ZOO_OPEN_ACL_UNSAFE, ZOO_SEQUENCE,
                           list_paths[i], sizeof list_paths[i]);
    must(zoo_amulti(one->zh, LIST, list_ops, list_results, on_list, one));
}

static void on_taken_data(int rc, const char *value, int length, const struct Stat *stat,
                          const void *with)
{
    struct consumer *one = (struct consumer *)with;
    (void)value, (void)length, (void)stat;
    must(rc);
    if (--one->out == 0)
        finish(one);
}

static void on_taken(int rc, const void *with)
{
    on_taken_data(rc, NULL, 0, NULL, with);
}

static void begin_take(struct consumer *one)
{
    choose(one);
    must(zoo_aget(one->zh, one->item, 0, on_taken_data, one));
    must(zoo_adelete(one->zh, one->item, -1, on_taken, one));
}

static void on_acked(int rc, const void *with)
{
    must(rc);
    finish((struct consumer *)with);
}

static void on_claimed_data(int rc, const char *value, int length, const struct Stat *stat,
                            const void *with)
{
    struct consumer *one = (struct consumer *)with;
    (void)value, (void)length, (void)stat;
    must(rc);
    if (--one->out > 0)
        return;
    zoo_delete_op_init(&one->ops[0], one->item, -1);
    zoo_delete_op_init(&one->ops[1], one->claim, -1);
    must(zoo_amulti(one->zh, 2, one->ops, one->results, on_acked, one));
}

static void on_claimed(int rc, const char *value, const void *with)
{
    (void)value;
    on_claimed_data(rc, NULL, 0, NULL, with);
}

static void begin_claim(struct consumer *one)
{
    choose(one);
    must(zoo_aget(one->zh, one->item, 0, on_claimed_data, one));
    must(zoo_acreate(one->zh, one->claim, NULL, -1, &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL, on_claimed,
                     one));
}

/* ---- The scenarios --------------------------------------------------------------------------- */

static struct consumer consumers[MOST_CONSUMERS];

static void run(zhandle_t *zh, int operations, int count)
{
    done = 0;
    left = operations;
    for (int i = 0; i < count; i++) {
        consumers[i].zh = zh;
        go_on(&consumers[i]);
    }
    until(&done, operations);
}

bool queue_run(zhandle_t *zh, const char *path, const char *scenario, int operations, int items,
               int count)
{
    begin = strcmp(scenario, "put") == 0       ? begin_put
            : strcmp(scenario, "put_all") == 0 ? begin_list
            : strcmp(scenario, "take") == 0    ? begin_take
            : strcmp(scenario, "claim") == 0   ? begin_claim
                                               : NULL;
    if (begin == NULL)
        return false;
    snprintf(dir, sizeof dir, "%s", path);
    snprintf(claims, sizeof claims, "%s-claims", path);
    make_node(zh, claims);
    fill(zh, items);
    learn_names(zh);
    run(zh, count, count); /* for warming up */
    double from = now(), spent = cpu();
    run(zh, operations, count);
    printf("{\"ops\":%d,\"seconds\":%.6f,\"cpu\":%.6f}\n", operations, now() - from, cpu() - spent);
    return true;
}
