/*
 * The host's signals belong to the host's threads. So all signals are blocked before the thread is
 * started. It inherits the mask, so there is no moment in which it could take a signal.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "zk/thread.h"

#include <pthread.h>
#include <signal.h>

static bool start_detached(void *(*body)(void *), void *with)
{
    pthread_attr_t detached;
    pthread_t thread;
    if (pthread_attr_init(&detached) != 0)
        return false;
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    int error = pthread_create(&thread, &detached, body, with);
    pthread_attr_destroy(&detached);
    return error == 0;
}

bool zr_thread_start(void *(*body)(void *), void *with)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = start_detached(body, with);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}
