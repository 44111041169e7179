/*
 * The cost of a second thread. The module has two threads: one talks to the server, so that
 * sessions live while the host computes; the host's thread decides. Here the client's thread tells
 * the second thread of each grant. That thread notes the time and passes the contender back, and
 * only then does the contender leave. Both wait in poll. In each direction there is a list under a
 * mutex and an eventfd, as in the module.
 */
#include "floor.h"

#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct box {
    pthread_mutex_t mutex;
    int fd;
    int count;
    struct contender *items[MOST];
};

static struct box told = {.mutex = PTHREAD_MUTEX_INITIALIZER, .fd = -1};
static struct box decided = {.mutex = PTHREAD_MUTEX_INITIALIZER, .fd = -1};
int relay_fd = -1;

static void put(struct box *box, struct contender *one)
{
    uint64_t ring = 1;
    pthread_mutex_lock(&box->mutex);
    box->items[box->count++] = one;
    if (box->count == 1)
        must(write(box->fd, &ring, sizeof ring) == sizeof ring ? ZOK : ZSYSTEMERROR);
    pthread_mutex_unlock(&box->mutex);
}

/* Calls with(one) for everything in the box. */
static void take(struct box *box, void (*with)(struct contender *one))
{
    struct contender *items[MOST];
    uint64_t rings;
    must(read(box->fd, &rings, sizeof rings) == sizeof rings ? ZOK : ZSYSTEMERROR);
    pthread_mutex_lock(&box->mutex);
    int count = box->count;
    for (int i = 0; i < count; i++)
        items[i] = box->items[i];
    box->count = 0;
    pthread_mutex_unlock(&box->mutex);
    for (int i = 0; i < count; i++)
        with(items[i]);
}

static void decide(struct contender *one)
{
    one->heard_at = now();
    put(&decided, one);
}

static void *second(void *with)
{
    (void)with;
    for (;;) {
        struct pollfd heard = {.fd = told.fd, .events = POLLIN};
        poll(&heard, 1, -1);
        take(&told, decide);
    }
    return NULL;
}

void relay_start(void)
{
    pthread_t thread;
    told.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    decided.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    must(told.fd < 0 || decided.fd < 0 ? ZSYSTEMERROR : ZOK);
    must(pthread_create(&thread, NULL, second, NULL) == 0 ? ZOK : ZSYSTEMERROR);
    relay_fd = decided.fd;
}

void relay_tell(struct contender *one)
{
    outstanding++;
    put(&told, one);
}

static void came_back(struct contender *one)
{
    outstanding--;
    take_turn(one);
}

void relay_take(void)
{
    take(&decided, came_back);
}
