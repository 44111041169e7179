#ifndef ZR_QUEUE_NAMES_H
#define ZR_QUEUE_NAMES_H

/*
 * names.h: the names and texts of a queue on the servers: pure functions. Any thread.
 *
 *   /jobs/lanes/<priority>             a lane, one for each priority; its data is the number of the
 *                                      bucket that takes items
 *   /jobs/lanes/<priority>/in          consumers watch it, and the last bucket
 *   /jobs/lanes/<priority>/b-<number>  a bucket of about a thousand items; version 0: it takes
 *                                      items, otherwise it is sealed
 *   .../<tag>-q-<number>               in it, an item: one line of header, then the data
 *   .../<tag>-p-<number>               the same, put by plain creates; void if its number, or that
 *                                      of the last item of its list, is 1000 or more: the number in
 *                                      the middle of a tag says how many follow in the list
 *   /jobs/dead                         also a lane: the dead letters; the versions of `in` and
 *                                      `out` count what was put in and removed
 *   /jobs/later                        delayed items, counted in the same way; its buckets are
 *                                      minutes: b-<minute>/<due>-<tag>-q-<number>
 *   /jobs/claims/<lane>.<bucket>.<item>  ephemeral: the item is claimed
 *   /jobs/consumers/<session>-<n>      ephemeral: a process that claims items; its claims have the
 *                                      same session
 *   /jobs/seat                         a fair lock; its holder watches what comes in
 *   /jobs/ids/<two digits>/<id>        lane, bucket and tag of the item with this id, or of its
 *                                      tombstone
 *   /jobs/done                         also a lane: the tombstones of done or removed items that
 *                                      had an id
 *
 * Each claim changes the version of the item, so a request that claims, acks or moves an item names
 * the version that its sender has read. An item keeps its tag when it is moved, and its tombstone
 * has the same tag. No two items have the same one. The tags of a list differ only in the number in
 * the middle.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/zk.h"

#define ZR_LANE_NAME 8      /* bytes for a lane's name */
#define ZR_PRIORITIES 65535 /* the largest priority */
#define ZR_BUCKET_NAME 24   /* bytes for "/b-" and a number */
#define ZR_ITEM_TAG 48      /* bytes for a tag: 16 digits, "_99_", 20 digits */
#define ZR_QUEUE_ID_MAX 200 /* bytes of an id */
#define ZR_ITEM_MAX 980000  /* bytes of an item's data */
#define ZR_SLOT_MS 60000    /* delayed items that are due in the same minute share a bucket */

/* Write into the buffer and return it. */
char *zr_lane_name(int64_t priority, char *buffer);
char *zr_bucket_name(int64_t number, char *buffer); /* "/b-0000000007" */

/* The priority of the lane with this name, or -1. */
int64_t zr_lane_priority(const char *name);

/* The number of a bucket in the data of a lane, or -1. */
int64_t zr_bucket_number(struct zr_bytes data);

/* The number of the bucket with this name, "b-0000000007", or -1. */
int64_t zr_bucket_of_name(const char *name);

/* The number at the end of an item's path, or -1. */
int64_t zr_item_number(const char *path);

/* True if the name is that of an item, or of a void znode, with this tag; or with this one or that
   of an item of the same list. */
bool zr_item_has_tag(const char *name, const char *tag);
bool zr_item_in_list(const char *name, const char *tag);

/* How many znodes of the same list follow the one with this name in its bucket, if it was put by a
   plain create. */
int64_t zr_item_following(const char *name);

/* True if it is the name of an item, or of a void znode. The check is strict: a znode whose name
   only resembles ours belongs to another program. delayed: of one in /jobs/later. */
bool zr_is_item(const char *name, bool delayed);

/* True if it is the name of a void znode (plain.c): one that was made by a plain create, in a
   bucket that was full; or as one of several that had no room in it together. size: of a bucket. */
bool zr_is_void(const char *name, int64_t size);

/* When the delayed item with this name is due. */
int64_t zr_item_due(const char *name);

/* Copies the tag in the name or path of an item into `tag`, of ZR_ITEM_TAG bytes. */
void zr_item_tag(const char *name, char *tag);

/* An item's header. Writes at most ZR_HEADER_MAX bytes; returns how many. claimant: the tag of its
   last claim, or "-". id: null: none. */
#define ZR_HEADER_MAX (64 + ZR_ITEM_TAG + 3 * ZR_QUEUE_ID_MAX)
size_t zr_item_header(char *buffer, int64_t attempts, int64_t priority, struct zr_bytes claimant,
                      struct zr_bytes id);

/* What an item's znode holds. The claimant and the data point into what was read. */
struct zr_entry {
    int64_t attempts, priority;
    struct zr_bytes claimant, data;
    bool has_id;
    size_t id_length;
    char id[ZR_QUEUE_ID_MAX];
};

/* False if the data are not those of an item. */
bool zr_item_read(struct zr_bytes data, struct zr_entry *entry);
struct zr_bytes zr_entry_id(const struct zr_entry *entry);

/* The path of an id's znode behind the queue's: "/ids/2f/resize-17". Writes at most ZR_ID_PATH_MAX
   bytes; returns the length of its folder. */
#define ZR_ID_PATH_MAX (12 + 3 * ZR_QUEUE_ID_MAX)
size_t zr_id_path(char *buffer, struct zr_bytes id);

/* What an id's znode says: the name of a lane (or "removed"), a bucket, a tag. False if the data
   are no such text. gives: pointers into a copy in `room`, of ZR_PLACE_MAX bytes. */
#define ZR_PLACE_MAX 160
struct zr_place {
    const char *lane, *tag;
    int64_t bucket;
};
bool zr_place_read(struct zr_bytes data, char *room, struct zr_place *place);

#endif
