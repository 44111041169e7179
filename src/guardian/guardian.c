/*
 * A process that waits for the end of another one and then ends that process's ZooKeeper session,
 * so that its locks are free at once and not only after the session's timeout.
 *
 * 1. It cuts all ties to its surroundings.
 * 2. It sleeps. Orders from the process tell it which session it guards.
 * 3. If the process says that the session is over, nothing is left to do. If the process is dead,
 *    the guardian closes the session (farewell.c).
 *
 * It must never close the session of a process that lives. The kernel proves the death: the pidfd
 * tells that the last thread of the process has ended, whichever descriptors other processes have
 * inherited. The other way to end is exec, which closes the process's end of the pair. But a host
 * that closes all descriptors and runs on closes that end, too. So the guardian checks the memory,
 * which exec replaces and closing does not. A process that is stopped, swapped out or debugged
 * causes neither.
 *
 * It holds no memory but its order, and no descriptors but the three.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include "guardian/farewell.h"
#include "guardian/order.h"

#define LOOKS 20 /* for the memory to go */
#define LOOK_MS 10

/*
 * Blocks all signals: a service manager signals all processes of a service, and the guardian has
 * its work to do after the others have ended. Other processes of the same user cannot read the
 * password from it.
 */
static bool settle(void)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    prctl(PR_SET_NAME, "zk-guardian");
    close(ZR_GUARDIAN_PROGRAM);
    return prctl(PR_SET_DUMPABLE, 0) == 0 && chdir("/") == 0;
}

static bool dead(int wait_ms)
{
    struct pollfd process = {.fd = ZR_GUARDIAN_PROCESS, .events = POLLIN};
    return poll(&process, 1, wait_ms) == 1 && (process.revents & POLLIN) != 0;
}

/* A `ps` that is just looking at the memory keeps it for a moment. */
static bool replaced(void)
{
    char byte;
    for (int i = 0; i < LOOKS; i++)
        if (pread(ZR_GUARDIAN_MEMORY, &byte, 1, 0) == 0 || dead(LOOK_MS))
            return true;
    return false;
}

/* ---- Orders -------------------------------------------------------------------------------- */

static bool sound(const struct zr_guardian_order *order, ssize_t length)
{
    if (length != (ssize_t)sizeof *order || order->server_count > ZR_GUARDIAN_SERVERS ||
        order->timeout_ms < 0 || memcmp(order->magic, ZR_GUARDIAN_MAGIC, sizeof order->magic) != 0)
        return false;
    for (uint32_t i = 0; i < order->server_count; i++)
        if (order->servers[i].length > sizeof order->servers[i].address)
            return false;
    return true;
}

enum heard { HEARD_ORDER, HEARD_SILENCE, HEARD_END, HEARD_NONSENSE };

static enum heard hear(struct zr_guardian_order *order)
{
    static struct zr_guardian_order next;
    ssize_t length = recv(ZR_GUARDIAN_ORDERS, &next, sizeof next, MSG_DONTWAIT | MSG_TRUNC);
    if (length < 0)
        return errno == EAGAIN || errno == EINTR ? HEARD_SILENCE : HEARD_NONSENSE;
    if (length == 0)
        return HEARD_END;
    if (!sound(&next, length))
        return HEARD_NONSENSE;
    if (next.task == ZR_GUARD)
        *order = next;
    order->task = next.task;
    return HEARD_ORDER;
}

/* Hears all there is: the last word of a process may lie there when it is dead. */
static enum heard hear_all(struct zr_guardian_order *order)
{
    enum heard heard;
    do
        heard = hear(order);
    while (heard == HEARD_ORDER && order->task == ZR_GUARD);
    return heard;
}

/* ---- Waiting ------------------------------------------------------------------------------- */

/* True: the process is dead, and the session of the order is to be ended. */
static bool watch(struct zr_guardian_order *order)
{
    for (;;) {
        struct pollfd both[] = {{.fd = ZR_GUARDIAN_ORDERS, .events = POLLIN},
                                {.fd = ZR_GUARDIAN_PROCESS, .events = POLLIN}};
        if (poll(both, 2, -1) > 0 && (both[1].revents & (POLLERR | POLLNVAL)) != 0)
            return false;
        bool gone = dead(0);
        enum heard heard = hear_all(order);
        if (heard == HEARD_NONSENSE)
            return false;
        if (heard == HEARD_ORDER) /* the last one */
            return order->task == ZR_GUARD_BRIEFLY && dead(order->timeout_ms);
        if (gone)
            return true;
        if (heard == HEARD_END)
            return replaced();
    }
}

int main(void)
{
    static struct zr_guardian_order order;
    if (!settle())
        return 1;
    if (watch(&order))
        zr_farewell(&order);
    return 0;
}
