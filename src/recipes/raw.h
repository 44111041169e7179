#ifndef ZR_RAW_H
#define ZR_RAW_H

/*
 * raw.h: plain ZooKeeper requests as methods: those of the session, and the writes of a hold,
 * which carry a check of the hold's own node. Thread: the host's.
 */

#include "core/object.h"

/* The options of `create`. */
struct zr_create_options {
    bool ephemeral, sequential, container, parents;
    int64_t ttl_us;
    struct zr_acls acl;
};
extern const struct zr_option zr_create_options[];
extern const struct zr_option zr_guarded_create_options[];

/* The options of `reconfig`. */
struct zr_reconfig_options {
    struct zr_bytes joining, leaving, members;
};
extern const struct zr_option zr_reconfig_options[];

typedef enum zr_status zr_start(struct zr_object *self, struct zr_args *args,
                                struct zr_task **task);

zr_start zr_raw_create, zr_raw_get, zr_raw_set, zr_raw_exists, zr_raw_delete, zr_raw_children,
    zr_raw_get_acl, zr_raw_set_acl, zr_raw_sync, zr_raw_add_auth, zr_raw_reconfig, zr_raw_multi,
    zr_await_gone;

#define ZR_RAW_METHODS                                                                             \
    {.name = "create",                                                                             \
     .args = "pd?o?",                                                                              \
     .options = zr_create_options,                                                                 \
     .options_size = sizeof(struct zr_create_options),                                             \
     .start = zr_raw_create},                                                                      \
        {.name = "get", .args = "p", .start = zr_raw_get},                                         \
        {.name = "set", .args = "pd?v?", .start = zr_raw_set},                                     \
        {.name = "exists", .args = "p", .start = zr_raw_exists},                                   \
        {.name = "delete", .args = "pv?", .start = zr_raw_delete},                                 \
        {.name = "children", .args = "p", .start = zr_raw_children},                               \
        {.name = "get_acl", .args = "p", .start = zr_raw_get_acl},                                 \
        {.name = "set_acl", .args = "pav?", .start = zr_raw_set_acl},                              \
        {.name = "sync", .args = "p", .start = zr_raw_sync},                                       \
        {.name = "add_auth", .args = "sd", .start = zr_raw_add_auth},                              \
        {.name = "reconfig",                                                                       \
         .args = "o",                                                                              \
         .options = zr_reconfig_options,                                                           \
         .options_size = sizeof(struct zr_reconfig_options),                                       \
         .start = zr_raw_reconfig},                                                                \
    {                                                                                              \
        .name = "multi", .args = "m", .start = zr_raw_multi                                        \
    }

/* Of a hold: self is a struct zr_hold. */
zr_start zr_guarded_create, zr_guarded_set, zr_guarded_delete, zr_guarded_multi;

#define ZR_GUARDED_METHODS                                                                         \
    {.name = "create",                                                                             \
     .args = "pd?o?",                                                                              \
     .options = zr_guarded_create_options,                                                         \
     .options_size = sizeof(struct zr_create_options),                                             \
     .start = zr_guarded_create},                                                                  \
        {.name = "set", .args = "pd?v?", .start = zr_guarded_set},                                 \
        {.name = "delete", .args = "pv?", .start = zr_guarded_delete},                             \
    {                                                                                              \
        .name = "multi", .args = "m", .start = zr_guarded_multi                                    \
    }

#endif
