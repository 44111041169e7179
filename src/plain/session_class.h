#ifndef ZR_SESSION_CLASS_H
#define ZR_SESSION_CLASS_H

/* session_class.h: the session as a class, for zr_session_open and for bindings. Thread: the
   host's. */

#include "core/object.h"

extern const struct zr_class zr_session_class;

#endif
