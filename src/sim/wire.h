#ifndef ZR_SIM_WIRE_H
#define ZR_SIM_WIRE_H

/* wire.h: one direction of a connection: packets arrive in the order in which they were sent. */

#include "core/list.h"
#include "sim/agenda.h"
#include "sim/packet.h"

struct zr_sim_world;

struct zr_sim_wire {
    struct zr_sim_world *world;
    void *owner;
    struct zr_list queue;
    struct zr_sim_event event; /* the arrival of the first packet */
    int64_t
        late_us; /* how long after a pause the receiver reads from it; see zr_sim_server_pause */
    /* takes: packet. */
    void (*deliver)(struct zr_sim_wire *wire, struct zr_sim_packet *packet);
    /* Returns until when nothing can arrive; INT64_MAX: until zr_sim_wire_resume is called. */
    int64_t (*held_until)(const struct zr_sim_wire *wire);
};

void zr_sim_wire_init(struct zr_sim_wire *wire, struct zr_sim_world *world, void *owner);

/* Sends a packet; it arrives after the world's latency and this delay. takes: packet. */
void zr_sim_wire_send(struct zr_sim_wire *wire, struct zr_sim_packet *packet, int64_t delay_us);

/* The first packet in flight; there must be one. */
struct zr_sim_packet *zr_sim_wire_first(const struct zr_sim_wire *wire);

/* Call it when a fault that held the wire may be over. */
void zr_sim_wire_resume(struct zr_sim_wire *wire);

/* Loses all packets in flight. */
void zr_sim_wire_clear(struct zr_sim_wire *wire);

#endif
