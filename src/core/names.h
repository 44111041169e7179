#ifndef ZR_NAMES_H
#define ZR_NAMES_H

/*
 * names.h: pure functions on paths, names, host lists and the names of sequential nodes. Any
 * thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct zr_names; /* zk.h */

/* Puts them in the order of their bytes. */
void zr_names_sort(struct zr_names *names);

/* Sequence numbers from here on count as used up: ZooKeeper's counter stops at 2147483647 and then
   gives every node the same number. The gap leaves room for creates in flight. */
#define ZR_SEQUENCE_LIMIT (INT64_C(2147483647) - (1 << 20))

/* How many digits the number at the end of a sequential node's name has. */
#define ZR_SEQUENCE_DIGITS 10

/* Null if the path is valid; otherwise static text that says why not ("must start with '/'"). */
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

/* The number in these ZR_SEQUENCE_DIGITS characters; -1 if they are not all digits. */
int64_t zr_digits(const char *digits);

/* True if a server may append these characters to the name of a sequential node: ten digits, or a
   number below zero, from a counter that has wrapped. */
bool zr_is_sequence(const char *text);

/* Null if the list is valid ("host:port,host:port/chroot"); otherwise static text that says why
   not. */
const char *zr_hosts_problem(const char *hosts);

/* Where the chroot begins: at the first '/', or at the end. */
size_t zr_hosts_length(const char *hosts);

#endif
