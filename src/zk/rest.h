#ifndef ZR_REST_H
#define ZR_REST_H

/*
 * rest.h: handles that have nothing to do. They cost a turn of the loop nothing, so a session costs
 * its neighbours in the process nothing. While a handle rests the loop does not call the client
 * library for it. The I/O thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "zk/handle.h"
#include "zk/loop.h"

void zr_rest_init(struct zr_io *io);
void zr_rest_fini(struct zr_io *io);

/* It rests until something comes for it, but not longer than until then; unless the kernel
   watches no more sockets, or it is the only one that is awake. */
void zr_rest_begin(struct zr_io *io, struct zr_handle *handle, int64_t until_us);

/* Something comes for it, so it gets turns again. Call it before that is done. Harmless if it does
   not rest. */
void zr_rest_end(struct zr_io *io, struct zr_handle *handle);

/* While it rests: its socket is watched, or not. False: it is as before. */
bool zr_rest_watch(struct zr_io *io, struct zr_handle *handle, bool on);

/* Wakes those whose time has come. */
void zr_rest_wake_due(struct zr_io *io, int64_t now_us);

/* Wakes those for which bytes have come, and lets them receive. */
void zr_rest_receive(struct zr_io *io);

#endif
