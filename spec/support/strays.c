/*
 * Processes that are hard to find, until the file FILE is removed: one that forks and exits all the
 * time, each time in a session of its own, and writes a byte to FILE each time; one that takes the
 * place of the minder for its own descendants; one of these; one that is stopped. All ignore
 * SIGTERM.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

static const char *file;

static void wait_for_the_end(void)
{
    while (access(file, F_OK) == 0)
        usleep(3000);
    _exit(0);
}

static void comet(void)
{
    int pulse;
    while ((pulse = open(file, O_WRONLY | O_APPEND)) >= 0) {
        if (write(pulse, ".", 1) < 0 || fork() > 0)
            _exit(0);
        close(pulse);
        setsid();
    }
    _exit(0);
}

static void adopter(void)
{
    setsid();
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (fork() == 0) {
        setsid();
        if (fork() > 0)
            _exit(0);
        wait_for_the_end();
    }
    wait_for_the_end();
}

static void halted(void)
{
    raise(SIGSTOP);
    wait_for_the_end();
}

int main(int count, char **arguments)
{
    void (*strays[])(void) = {comet, adopter, halted};
    if (count < 2)
        return 2;
    file = arguments[1];
    signal(SIGTERM, SIG_IGN);
    for (int i = 0; i < 3; i++)
        if (fork() == 0)
            strays[i]();
    return 0;
}
