#ifndef ZR_WARDEN_H
#define ZR_WARDEN_H

/*
 * warden.h: the process's side of a handle's guardian, the small process that ends the session
 * when this one dies (src/guardian). The I/O thread.
 */

#include <stdbool.h>

struct zr_handle;

struct zr_warden {
    bool wanted;
    bool news; /* what the guardian knows is out of date */
    int fd;    /* our end of the pair of sockets, -1: there is no guardian */
};

/*
 * Tells the guardian about the session and the server that a proved connection leads to, and
 * starts one if there is none. Not from inside the library's callbacks. Waits for nothing. What
 * fails is noted for the log, now or when zr_warden_look learns it.
 */
void zr_warden_tell(struct zr_handle *handle);

/* Looks whether the guardian is still there, and starts another one if it has ended. */
void zr_warden_look(struct zr_handle *handle);

/* The handle ends; `over`: the session surely has too. The guardian goes. */
void zr_warden_dismiss(struct zr_handle *handle, bool over);

#endif
