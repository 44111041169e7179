#include "relay.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

static struct sockaddr_in relay_address(const char *hosts)
{
    const char *colon = strrchr(hosts, ':');
    struct sockaddr_in address = {.sin_family = AF_INET};
    address.sin_port = htons((uint16_t)atoi(colon + 1));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

static void relay_close(struct pollfd pair[2])
{
    for (int i = 0; i < 2; i++) {
        if (pair[i].fd >= 0)
            close(pair[i].fd);
        pair[i].fd = -1;
    }
}

/* False: one side has hung up. */
static int relay_pass(int from, int to)
{
    char buffer[65536];
    ssize_t got = read(from, buffer, sizeof(buffer));
    for (ssize_t sent = 0, now; sent < got; sent += now)
        if ((now = send(to, buffer + sent, (size_t)(got - sent), MSG_NOSIGNAL)) <= 0)
            return 0;
    return got > 0;
}

static void relay_accept(int listener, struct pollfd pair[2], const char *server, int down)
{
    struct sockaddr_in address = relay_address(server);
    int client = accept(listener, NULL, NULL);
    if (down || pair[0].fd >= 0) {
        close(client);
        return;
    }
    pair[0].fd = client;
    pair[1].fd = socket(AF_INET, SOCK_STREAM, 0);
    for (int i = 0, on = 1; i < 2; i++)
        setsockopt(pair[i].fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (connect(pair[1].fd, (struct sockaddr *)&address, sizeof(address)) != 0)
        relay_close(pair);
}

/* One connection at a time; ends with its parent. */
static void relay_serve(int listener, int control, const char *server)
{
    struct pollfd fds[4] = {{.fd = control, .events = POLLIN},
                            {.fd = listener, .events = POLLIN},
                            {.fd = -1, .events = POLLIN},
                            {.fd = -1, .events = POLLIN}};
    int down = 0;
    char command;
    while (poll(fds, 4, -1) > 0) {
        if (fds[0].revents != 0) {
            if (read(control, &command, 1) != 1)
                return;
            down = command == 'd';
            if (down)
                relay_close(fds + 2);
            if (write(control, &command, 1) != 1)
                return;
        }
        for (int i = 2; i < 4; i++)
            if (fds[i].fd >= 0 && fds[i].revents != 0 && !relay_pass(fds[i].fd, fds[5 - i].fd))
                relay_close(fds + 2);
        if (fds[1].revents != 0)
            relay_accept(listener, fds + 2, server, down);
    }
}

void relay_start(struct relay *relay, const char *server)
{
    int control[2], listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = relay_address(":0");
    socklen_t length = sizeof(address);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, control) != 0 ||
        bind(listener, (struct sockaddr *)&address, length) != 0 || listen(listener, 8) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &length) != 0)
        abort();
    snprintf(relay->hosts, sizeof(relay->hosts), "127.0.0.1:%d", ntohs(address.sin_port));
    relay->control = control[0];
    relay->pid = fork();
    if (relay->pid == 0) {
        close(control[0]);
        relay_serve(listener, control[1], server);
        _exit(0);
    }
    close(listener);
    close(control[1]);
}

void relay_turn(struct relay *relay, int down)
{
    char command = down ? 'd' : 'u';
    if (write(relay->control, &command, 1) != 1 || read(relay->control, &command, 1) != 1)
        abort();
}

void relay_stop(struct relay *relay)
{
    close(relay->control);
    waitpid(relay->pid, NULL, 0);
}
