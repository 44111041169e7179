#ifndef ZR_MARK_H
#define ZR_MARK_H

/*
 * mark.h: what the first waiter, or a holder, writes into its own node for the waiter behind: the
 * names of the seats ahead of it. So the waiter behind need not list the directory.
 *
 * The data become "__FIRST__<16 hexadecimal digits>", for each seat "/<name>", and, if the user's
 * data are not null, "//<data>". The digits are the creation zxid of the node, which no user can
 * know before the node exists, so a user's data are never taken for a mark. Pure functions. Any
 * thread.
 */

#include "core/zk.h"

/* Room for a name, with its final 0. A mark names no seat whose name is longer. */
#define ZR_MARK_NAME 128

/* Writing. Begin, name each seat, end. `at` is null if there are too many names, if the user's data
   are large, or if memory is exhausted: then there is no mark. gives: at, freed with zr_free.
   borrows: name, data. */
struct zr_mark {
    char *at;
    size_t length;
};
void zr_mark_begin(struct zr_mark *mark, int64_t czxid, struct zr_bytes data);
void zr_mark_add(struct zr_mark *mark, const char *name);
void zr_mark_end(struct zr_mark *mark, struct zr_bytes data);

/* Reading. The names in these data, for zr_mark_next; null: there is no mark of the node with this
   creation zxid. Points into data. */
struct zr_bytes zr_mark_names(struct zr_bytes data, int64_t czxid);

/* Takes the next name from them; "": what follows is no name. False: that was the last one. */
bool zr_mark_next(struct zr_bytes *names, char name[ZR_MARK_NAME]);

/* The user's part of the data. Points into data. */
struct zr_bytes zr_mark_user_data(struct zr_bytes data, int64_t czxid);

#endif
