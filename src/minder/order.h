#ifndef ZR_MINDER_ORDER_H
#define ZR_MINDER_ORDER_H

/*
 * order.h: what zkr tells the minder, one order per packet, over a pair of sockets
 * (SOCK_SEQPACKET), and what the minder reports, over a pipe. Only zkr holds their other ends.
 * lua/zkrecipes/cli/child.lua packs and unpacks the same structures. Both come from the same build.
 *
 * The minder is started as `minder.so IGNORED COMMAND [ARGUMENT...]`. IGNORED is a mask of signals
 * in hexadecimal, as SigIgn in /proc/PID/status, that the command is started with ignored. The
 * command is started at the first order. Before it, zkr may send variables: it starts the minder
 * while it waits for what it will hold, and so before it knows all that the command is told.
 */

#include <stdint.h>

/* The minder's ends. Lower descriptors may be the user's, and the command gets them. The reports
   have a pipe of their own: a pair whose minder was killed with an unread order is in error. */
#define ZR_MINDER_ORDERS 31
#define ZR_MINDER_REPORTS 32

/* Times: CLOCK_BOOTTIME, in microseconds. */
struct zr_minder_order {
    int64_t ask_us;  /* when the command's processes get SIGTERM, if no other order comes before */
    int64_t kill_us; /* when they get SIGKILL */
    int32_t signal;  /* to pass on to the command's process group now; 0: none */
    int32_t unused;
};

/* One more variable of the command's environment. Not as long as an order. */
struct zr_minder_variable {
    char text[64]; /* "NAME=VALUE", and nulls */
};

enum zr_minder_event {
    ZR_MINDER_STARTED, /* value: the command's process id, which is also that of its group */
    ZR_MINDER_STOPPED, /* the command has stopped, and the terminal waits for zkr to stop too */
    /* The last report is one of these two; value: the wait status. No process of the command is
       left: */
    ZR_MINDER_ENDED, /* the command has ended by itself */
    ZR_MINDER_LOST,  /* the minder has asked it to end or killed it, because its time was over */
};

struct zr_minder_report {
    int32_t event; /* enum zr_minder_event */
    int32_t value;
};

#endif
