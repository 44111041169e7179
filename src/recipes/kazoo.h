#ifndef ZR_KAZOO_H
#define ZR_KAZOO_H

#include <stdbool.h>

/* True if kazoo's Lock, ReadLock or WriteLock gives a contender this name: "<32 hexadecimal
   digits>__lock__<ten digits>", or __rlock__. A pure function. Any thread. */
bool zr_is_kazoos(const char *name);

#endif
