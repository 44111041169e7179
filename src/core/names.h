#ifndef ZR_NAMES_H
#define ZR_NAMES_H

/*
 * names.h: pure functions on paths, host lists and the names of sequential nodes. Any thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sequence numbers from here on count as used up: ZooKeeper's counter stops at 2147483647 and
   then gives the same number to everybody. The gap leaves room for claims that are under way. */
#define ZR_SEQUENCE_LIMIT (INT64_C(2147483647) - (1 << 20))

/* Null when it is a good path, else what is wrong with it ("must start with '/'"); static. */
const char *zr_path_problem(const char *path, size_t length);

/* gives: `prefix` + `path` ("/" adds nothing to a prefix), or null when memory is exhausted. */
char *zr_path_join(const char *prefix, const char *path);

/* The path without the namespace that it was joined with; a part of it, or "/". */
const char *zr_path_inside(const char *namespace, const char *path);

/* gives: "dir/name", or null when memory is exhausted. */
char *zr_path_child(const char *dir, const char *name);

/* The length of the parent's path: 1 for "/a", 0 for "/". */
size_t zr_path_parent_length(const char *path);

/* The number at the end of "<anything><stem><ten digits>"; -1 when the name is not of that form. */
int64_t zr_sequence(const char *name, const char *stem);

/* These characters are what a server puts behind the name of a sequential node: ten digits, or a
   number below zero, from a counter that has wrapped. */
bool zr_is_sequence(const char *text);

/* The number from 1 to 2147483647 that these characters are; 0 when they are none. */
int64_t zr_count(const char *text, size_t length);

/* What stands before the number in the name of a contender, and says what it wants. The words are
   Curator's, so that its contenders and ours understand each other; but `rank`, which it does not
   have. */
struct zr_stem {
    const char *text;
    bool shared; /* it goes together with others that are shared */
};
extern const struct zr_stem zr_stem_lock, zr_stem_write, zr_stem_read, zr_stem_latch, zr_stem_rank,
    zr_stem_lease;

/* How many permits "<anything>-<permits>-lease-<ten digits>" asks for, 1 to 2147483647; 0 when the
   name is not of that form. */
int64_t zr_permits(const char *name);

/* The stem of a contender's name, and its number; null when it is no contender. */
const struct zr_stem *zr_stem_of(const char *name, int64_t *sequence);

/* True when a recipe of ours or Curator's may have given a contender this name: before the stem
   stands nothing, our tag ("<16 hexadecimal digits>-<number>-", of a lease with its permits), or
   Curator's ("_c_<UUID>-"). False for all other names, also those that are no contender's. */
bool zr_is_usual(const char *name);

/* True when kazoo's Lock, ReadLock or WriteLock gives a contender this name:
   "<32 hexadecimal digits>__lock__<ten digits>", or __rlock__. */
bool zr_is_kazoos(const char *name);

/* Null when it is a good list "host:port,host:port/chroot", else what is wrong with it; static. */
const char *zr_hosts_problem(const char *hosts);

/* Where the chroot begins: at the first '/', or at the end. */
size_t zr_hosts_length(const char *hosts);

#endif
