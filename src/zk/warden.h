#ifndef ZR_WARDEN_H
#define ZR_WARDEN_H

/*
 * warden.h: starts, instructs and watches a handle's guardian, the small process that ends the
 * session when this process dies (src/guardian). The I/O thread.
 */

#include <stdbool.h>

struct zr_handle;

struct zr_warden {
    bool wanted;
    bool news; /* the guardian's knowledge is out of date */
    int fd;    /* our end of the pair of sockets, -1: there is no guardian */
};

/*
 * Tells the guardian which session a proved connection has, and which server it leads to. Starts a
 * guardian if there is none. Do not call it from the library's callbacks. Waits for nothing.
 * Failures go to the log, now or when zr_warden_look learns of them.
 */
void zr_warden_tell(struct zr_handle *handle);

/* Checks whether the guardian still runs, and starts another one if it has ended. */
void zr_warden_look(struct zr_handle *handle);

/* The handle ends. `over`: the session has ended too, for certain. The guardian exits. */
void zr_warden_dismiss(struct zr_handle *handle, bool over);

#endif
