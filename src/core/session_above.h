#ifndef ZR_SESSION_ABOVE_H
#define ZR_SESSION_ABOVE_H

/* session_above.h: what stands on a session, for session_open.c. Thread: the host's. */

#include "core/session.h"

extern const struct zr_above zr_session_above;

#endif
