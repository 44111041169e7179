#ifndef ZR_COMPLETION_H
#define ZR_COMPLETION_H

/*
 * completion.h: what the client library calls with the answer to a request; `with` is the request.
 * The I/O thread.
 */

#include "zk/handle.h"

struct Stat;
struct String_vector;
struct ACL_vector;

/* The handle whose call into the library is running; completions and log lines do not say which. */
extern struct zr_handle *zr_completion_handle;

/* The request that is answered now; the library has forgotten it. */
struct zr_request *zr_completion_take(const void *with);

/* The answer is invalid: gives the connection up. Returns ZR_CONNECTION_LOSS. */
enum zr_status zr_completion_nonsense(void);

/* Its answer could not be read: what the request fails with. why: as zr_decode_result has it. */
enum zr_status zr_completion_unread(const struct zr_request *request, enum zr_status why);

/* Passes the request to the host. takes: request. */
void zr_completion_finish(struct zr_request *request, enum zr_status status);

void zr_on_void(int rc, const void *with);
void zr_on_sync(int rc, const char *path, const void *with);
void zr_on_stat(int rc, const struct Stat *stat, const void *with);
void zr_on_created(int rc, const char *path, const struct Stat *stat, const void *with);
void zr_on_data(int rc, const char *at, int length, const struct Stat *stat, const void *with);
void zr_on_names(int rc, const struct String_vector *names, const struct Stat *stat,
                 const void *with);
void zr_on_acl(int rc, struct ACL_vector *acl, struct Stat *stat, const void *with);
void zr_on_auth(int rc, const void *with);

/* The answer to a heartbeat; there is no request. */
void zr_on_deleted_beat(int rc, const void *with);
void zr_on_synced_beat(int rc, const char *path, const void *with);

#endif
