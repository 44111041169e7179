#ifndef ZR_WATCH_ABSENT_H
#define ZR_WATCH_ABSENT_H

/* watch_absent.h: looks again where a watch waits for a node to be made. Thread: the host's. */

#include "core/session.h"

struct zr_call;

/* A call with `watch` set was answered. Call it before zr_watch_answered. */
void zr_absent_answered(const struct zr_call *call);

void zr_absent_fini(struct zr_session *session); /* The session is freed. */

#endif
