#ifndef ZR_REPLY_H
#define ZR_REPLY_H

/*
 * reply.h: between the records of the wire protocol and zk.h. It knows the client library's record
 * types, but none of its functions. The I/O thread.
 */

#include <stdbool.h>
#include <stddef.h>

#include "core/zk.h"

struct Stat;
struct String_vector;
struct ACL;
struct ACL_vector;

/* The meaning of the return code of a completion; ZR_CONNECTION_LOSS: it is unknown what
   happened. */
enum zr_status zr_reply_status(int code);

/* The meaning of the code with which a submission was refused: certainly nothing was sent. */
enum zr_status zr_reply_refusal(int code);

/* True if the code can only come from a leader that has seen the heartbeat. */
bool zr_reply_is_proof(int code);

/* Copy into the request's reply. borrows: the records. Errors: ZR_NO_MEMORY, and
   ZR_CONNECTION_LOSS if it is no answer to this request. */
void zr_reply_stat(struct zr_request *request, const struct Stat *stat);
enum zr_status zr_reply_created(struct zr_request *request, const char *path);
enum zr_status zr_reply_data(struct zr_request *request, const char *at, int length);
enum zr_status zr_reply_names(struct zr_request *request, const struct String_vector *names);
enum zr_status zr_reply_acl(struct zr_request *request, const struct ACL_vector *acl);

/* True if this create could have made the path in request->created. */
bool zr_reply_is_created(const struct zr_request *request);

/* The length as the library wants it: -1 for null data. */
int zr_reply_length(struct zr_bytes bytes);

/* Sets `entries` (room for acls.count) to the strings of acls, which must outlive them. */
struct ACL_vector zr_reply_vector(struct ACL *entries, struct zr_acls acls);

#endif
