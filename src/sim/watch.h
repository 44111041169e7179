#ifndef ZR_SIM_WATCH_H
#define ZR_SIM_WATCH_H

/* watch.h: the watches that one server keeps for its connections. */

#include "core/list.h"
#include "core/zk.h"
#include "sim/acl.h"
#include "sim/index.h"

struct zr_sim_conn;

enum zr_sim_watch_kind { ZR_SIM_DATA_WATCH, ZR_SIM_CHILD_WATCH };

struct zr_sim_watches {
    struct zr_sim_index paths;
    size_t count;
    uint64_t firings;
};

void zr_sim_watches_fini(struct zr_sim_watches *watches);

/* If the connection has a watch of this kind already, nothing changes. borrows: path. */
void zr_sim_watch_add(struct zr_sim_watches *watches, const char *path, enum zr_sim_watch_kind kind,
                      struct zr_sim_conn *conn);

/* Removes the watches of both kinds on a path. False: there was none. */
bool zr_sim_watch_remove(struct zr_sim_watches *watches, const char *path,
                         const struct zr_sim_conn *conn);

/*
 * The znode has changed: the watches that this kind of change concerns send an event and are
 * removed. A connection with both kinds gets one event for a deletion. A connection that may not
 * read the znode gets no event, and its watch is removed too (as of 3.8.4 and 3.9.2;
 * CVE-2024-23944).
 */
void zr_sim_watch_fire(struct zr_sim_watches *watches, const char *path, size_t length,
                       enum zr_event_kind event, const struct zr_sim_acl *acl);

/* Removes the watches of a connection that has ended. */
void zr_sim_watch_drop(struct zr_sim_watches *watches, struct zr_sim_conn *conn);

#endif
