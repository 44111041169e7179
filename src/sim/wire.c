/*
 * Only the first packet has an event in the agenda. So no packet can overtake it, however long the
 * wire is held. If it arrives late, so do the packets behind it.
 */
#include "sim/wire.h"

#include "sim/world.h"

static void arrive(struct zr_sim_event *event);

void zr_sim_wire_init(struct zr_sim_wire *wire, struct zr_sim_world *world, void *owner)
{
    wire->world = world;
    wire->owner = owner;
    zr_list_init(&wire->queue);
}

struct zr_sim_packet *zr_sim_wire_first(const struct zr_sim_wire *wire)
{
    return ZR_HOLDER(zr_list_first(&wire->queue), struct zr_sim_packet, link);
}

void zr_sim_wire_resume(struct zr_sim_wire *wire)
{
    if (zr_list_empty(&wire->queue))
        return;
    int64_t at_us = zr_sim_wire_first(wire)->at_us, held_us = wire->held_until(wire);
    if (held_us == INT64_MAX) {
        zr_sim_cancel(&wire->world->agenda, &wire->event);
        return;
    }
    if (at_us < held_us)
        at_us = held_us;
    if (at_us < wire->world->now_us)
        at_us = wire->world->now_us;
    zr_sim_schedule(&wire->world->agenda, &wire->event, at_us, arrive);
}

static void arrive(struct zr_sim_event *event)
{
    struct zr_sim_wire *wire = ZR_HOLDER(event, struct zr_sim_wire, event);
    if (wire->held_until(wire) > wire->world->now_us) {
        zr_sim_wire_resume(wire);
        return;
    }
    struct zr_sim_packet *packet = zr_sim_wire_first(wire);
    struct zr_sim_conn *conn = packet->conn != NULL ? zr_sim_conn_ref(packet->conn) : NULL;
    zr_unlink(&packet->link);
    zr_sim_wire_resume(wire);
    wire->deliver(wire, packet);
    if (conn != NULL)
        zr_sim_conn_unref(conn);
}

void zr_sim_wire_send(struct zr_sim_wire *wire, struct zr_sim_packet *packet, int64_t delay_us)
{
    struct zr_sim_world *world = wire->world;
    bool alone = zr_list_empty(&wire->queue);
    packet->sent_us = world->now_us;
    packet->at_us = world->now_us + delay_us + zr_sim_latency_us(world);
    zr_list_append(&wire->queue, &packet->link);
    if (alone)
        zr_sim_wire_resume(wire);
}

void zr_sim_wire_clear(struct zr_sim_wire *wire)
{
    struct zr_link *link;
    zr_sim_cancel(&wire->world->agenda, &wire->event);
    while ((link = zr_list_shift(&wire->queue)) != NULL)
        zr_sim_packet_unref(ZR_HOLDER(link, struct zr_sim_packet, link));
}
