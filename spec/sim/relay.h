#ifndef ZR_SPEC_RELAY_H
#define ZR_SPEC_RELAY_H

/*
 * relay.h: a process between a client and its server that can break the connection and keep it
 * broken: then connections are closed as soon as they are accepted.
 */

#include <unistd.h>

struct relay {
    pid_t pid;
    int control; /* commands of one byte: 'd' down, 'u' up; the process answers when it is done */
    char hosts[32];
};

/* Starts the process; `hosts` is where the client connects. Aborts if it cannot. */
void relay_start(struct relay *relay, const char *server);

/* Breaks the connection, or lets it be made again; done when it returns. */
void relay_turn(struct relay *relay, int down);

/* Ends the process and waits for it. */
void relay_stop(struct relay *relay);

#endif
