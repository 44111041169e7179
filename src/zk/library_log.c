#include "zk/library_log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/zk.h"

struct socket_line {
    char host[128], error[64];
    int number; /* errno */
    int at;     /* where the text begins; 0: it is no such line */
};

static const char *why(const struct socket_line *read, const char *text, char *words, size_t size)
{
    if (strstr(text, "has expired") != NULL)
        return "the session has expired";
    if (strstr(text, "timed out") != NULL)
        return "it did not answer in time";
    if (read->number == EHOSTDOWN) /* as the library calls the orderly end of a connection */
        return "it closed the connection";
    const char *what = strstr(text, "refused to accept") != NULL ? "cannot connect"
                       : strstr(text, "server response") != NULL ? "the connection broke"
                                                                 : text;
    snprintf(words, size, "%s: %s", what, read->error);
    return words;
}

const char *zr_library_log_plain(const char *text, char *line, size_t size)
{
    struct socket_line read = {.at = 0};
    char words[192];
    if (strncmp(text, "Delaying connection", 19) == 0)
        return ZR_NOTE_RESTING;
    sscanf(text, "Socket %127s zk retcode=%*d, errno=%d(%63[^)]): %n", read.host, &read.number,
           read.error, &read.at);
    if (read.at == 0)
        return text;
    snprintf(line, size, "%s: %s", read.host, why(&read, text + read.at, words, sizeof(words)));
    return line;
}

bool zr_library_log_is_end(const char *line)
{
    return strstr(line, ": Socket ") != NULL && strstr(line, "zk retcode=") != NULL &&
           strstr(line, "has expired") == NULL;
}

bool zr_library_log_is_late(const char *line)
{
    return zr_library_log_is_end(line) && strstr(line, "timed out") != NULL;
}
