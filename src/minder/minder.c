/*
 * A process between zkr and the command that zkr runs while it holds something. It sees to it that
 * the command never outlives the hold, also when zkr itself cannot: when it is killed, stopped, or
 * does not get its turn.
 *
 * 1. It waits for the first order of zkr and then starts the command (family.c). Variables for the
 *    command may come before. Each order says until when the command may run. While zkr holds and
 *    runs, the next order comes long before.
 * 2. It sleeps until an order comes, a process of the command stops or ends, or the time is over.
 *    If the time for SIGTERM passes it asks the command's processes to end, and if the time for
 *    SIGKILL passes it kills them.
 * 3. When the command has ended, what it has left running is asked to end, and is killed after the
 *    time between the two. When no process is left, the minder reports it to zkr and ends.
 *
 * What can go wrong: zkr dies; then its end of the pair is closed, and the minder kills all at
 * once. zkr is stopped, or hangs; then no order comes. The machine sleeps; then the clock runs on,
 * and the timer fires when the machine wakes. The minder is killed; then the kernel kills the
 * command, and zkr, to which the rest falls, kills that.
 *
 * It is in a process group of its own and blocks all signals, so that only SIGKILL and SIGSTOP
 * reach it. Its memory stays in memory, so that it does not wait for a disk when the time is over.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "minder/deadline.h"
#include "minder/family.h"
#include "minder/order.h"
#include "minder/terminal.h"

#define AGAIN_US 10000 /* after SIGKILL: to those that were being born */
#define FAILED 125

struct minder {
    sigset_t mask;   /* with which it was started */
    pid_t home;      /* the process group of zkr */
    int children;    /* readable after SIGCHLD */
    int timer;       /* of CLOCK_BOOTTIME */
    pid_t group;     /* of the command */
    pid_t child;     /* the command; 0: it has ended */
    int status;      /* its wait status then */
    int64_t ask_us;  /* as ordered */
    int64_t kill_us; /* as ordered, or earlier if the command has ended */
    int64_t grace_us;
    bool halted; /* SIGTSTP was passed on, and no SIGCONT since */
    bool asked;  /* SIGTERM was sent, and no order has moved its time since */
    bool lost;   /* the command was asked to end, or killed */
    bool orphan; /* zkr is gone */
};

static int64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void report(enum zr_minder_event event, int value)
{
    struct zr_minder_report report = {.event = (int32_t)event, .value = value};
    while (write(ZR_MINDER_REPORTS, &report, sizeof report) < 0 && errno == EINTR)
        ;
}

/* ---- Orders -------------------------------------------------------------------------------- */

static void pass_on(struct minder *minder, int signal)
{
    if (signal == SIGTSTP || signal == SIGCONT)
        minder->halted = signal == SIGTSTP;
    if (minder->child > 0)
        kill(-minder->group, signal);
}

static void obey(struct minder *minder, const struct zr_minder_order *order)
{
    if (order->signal != 0)
        pass_on(minder, order->signal);
    if (minder->group > 0 && minder->child == 0 && order->ask_us > 0)
        return; /* the end has its own time */
    if (order->ask_us > now_us())
        minder->asked = false;
    minder->ask_us = order->ask_us;
    minder->kill_us = order->kill_us;
    minder->grace_us = order->kill_us - order->ask_us;
    zr_deadline_write(order->kill_us);
}

/* False: zkr is gone. */
static bool hear_one(struct zr_minder_order *order)
{
    ssize_t length;
    do
        length = recv(ZR_MINDER_ORDERS, order, sizeof *order, MSG_DONTWAIT);
    while (length < 0 && errno == EINTR);
    return length == (ssize_t)sizeof *order || (length < 0 && errno == EAGAIN);
}

/* Hears all there is; without zkr the time is over. */
static void hear(struct minder *minder)
{
    struct zr_minder_order order;
    for (;;) {
        errno = 0;
        if (!hear_one(&order)) {
            minder->ask_us = minder->kill_us = 0;
            minder->orphan = true;
            return;
        }
        if (errno == EAGAIN)
            return;
        obey(minder, &order);
    }
}

static void set(struct zr_minder_variable *variable)
{
    variable->text[sizeof variable->text - 1] = '\0';
    char *value = strchr(variable->text, '=');
    if (value == NULL)
        return;
    *value = '\0';
    setenv(variable->text, value + 1, 1);
}

/* Waits for the first order, and sets the variables that come before it. False: zkr is gone. */
static bool hear_first(struct zr_minder_order *first)
{
    union {
        struct zr_minder_order order;
        struct zr_minder_variable variable;
    } packet;
    ssize_t length;
    do {
        length = recv(ZR_MINDER_ORDERS, &packet, sizeof packet, 0);
        if (length == (ssize_t)sizeof packet.variable)
            set(&packet.variable);
    } while (length == (ssize_t)sizeof packet.variable || (length < 0 && errno == EINTR));
    *first = packet.order;
    return length == (ssize_t)sizeof packet.order;
}

/* ---- The command --------------------------------------------------------------------------- */

/* A process that is stopped cannot end by itself. */
static void ask(struct minder *minder)
{
    zr_family_signal(minder->child, SIGTERM);
    zr_family_signal(minder->child, SIGCONT);
    minder->asked = true;
}

static void keep_time(struct minder *minder)
{
    int64_t now = now_us();
    bool over = now >= minder->kill_us;
    if (!over && (minder->asked || now < minder->ask_us))
        return;
    minder->lost |= minder->child > 0;
    if (over)
        zr_family_signal(minder->child, SIGKILL);
    else
        ask(minder);
}

/* What it has left running gets the time that the command itself would get. */
static void ended(struct minder *minder, int status)
{
    minder->child = 0;
    minder->status = status;
    int64_t kill_us = now_us() + minder->grace_us;
    if (kill_us < minder->kill_us)
        minder->kill_us = kill_us;
    ask(minder);
}

/* SIGCONT would undo the Ctrl-Z of the user that has come meanwhile. */
static void stopped(struct minder *minder, int signal)
{
    if (zr_terminal_stopped(minder->group, minder->home, minder->halted ? SIGTSTP : signal))
        report(ZR_MINDER_STOPPED, signal);
}

/* False: no process is left. */
static bool reap(struct minder *minder)
{
    struct signalfd_siginfo ignored[8];
    int status;
    pid_t pid;
    while (read(minder->children, ignored, sizeof ignored) > 0)
        ;
    while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
        if (pid != minder->child)
            continue;
        if (WIFSTOPPED(status))
            stopped(minder, WSTOPSIG(status));
        else
            ended(minder, status);
    }
    return pid == 0;
}

/* ---- Its life ------------------------------------------------------------------------------ */

/* False: errno says why. */
static bool settle(struct minder *minder)
{
    sigset_t all, child;
    sigfillset(&all);
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_SETMASK, &all, &minder->mask);
    prctl(PR_SET_NAME, "zkr-minder");
    minder->home = getpgrp();
    setpgid(0, 0);
    minder->children = signalfd(-1, &child, SFD_NONBLOCK | SFD_CLOEXEC);
    minder->timer = timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
    return minder->children >= 0 && minder->timer >= 0 && zr_deadline_open() &&
           prctl(PR_SET_CHILD_SUBREAPER, 1) == 0 &&
           fcntl(ZR_MINDER_ORDERS, F_SETFD, FD_CLOEXEC) == 0 &&
           fcntl(ZR_MINDER_REPORTS, F_SETFD, FD_CLOEXEC) == 0;
}

/* A time of zero would disarm the timer. */
static void arm(struct minder *minder)
{
    bool asks = !minder->asked && minder->ask_us < minder->kill_us;
    int64_t at = asks ? minder->ask_us : minder->kill_us;
    if (now_us() >= minder->kill_us)
        at = now_us() + AGAIN_US;
    struct itimerspec when = {
        .it_value = {.tv_sec = at / 1000000, .tv_nsec = at % 1000000 * 1000 + 1}};
    timerfd_settime(minder->timer, TFD_TIMER_ABSTIME, &when, NULL);
}

/* An order that came in time counts, so it is heard before the time is checked. */
static void mind(struct minder *minder)
{
    do {
        arm(minder);
        struct pollfd all[] = {{.fd = minder->orphan ? -1 : ZR_MINDER_ORDERS, .events = POLLIN},
                               {.fd = minder->children, .events = POLLIN},
                               {.fd = minder->timer, .events = POLLIN}};
        poll(all, 3, -1);
        if (all[0].revents != 0)
            hear(minder);
        keep_time(minder);
    } while (reap(minder));
}

/* The last report waits for its place if zkr is stopped and has not read the others. */
static void leave(enum zr_minder_event event, int status)
{
    fcntl(ZR_MINDER_REPORTS, F_SETFL, 0);
    report(event, status);
}

int main(int count, char **arguments)
{
    struct minder minder = {.lost = false};
    struct zr_minder_order first;
    if (count < 3 || !settle(&minder) || !hear_first(&first))
        return FAILED;
    mlockall(MCL_CURRENT); /* may be refused */
    obey(&minder, &first);
    if (now_us() >= first.ask_us) {
        leave(ZR_MINDER_LOST, 0);
        return 0;
    }
    minder.child = zr_family_start(arguments + 2, &minder.mask, strtoul(arguments[1], NULL, 16));
    if (minder.child < 0)
        return FAILED;
    minder.group = minder.child;
    report(ZR_MINDER_STARTED, minder.child);
    mind(&minder);
    zr_terminal_ended(minder.group, minder.home, minder.status);
    leave(minder.lost ? ZR_MINDER_LOST : ZR_MINDER_ENDED, minder.status);
    return 0;
}
