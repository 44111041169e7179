#ifndef ZR_KERBEROS_H
#define ZR_KERBEROS_H

/*
 * kerberos.h: the client's half of the SASL mechanism GSSAPI (RFC 4752), which is Kerberos, without
 * security layers, as one table of functions. kerberos.so offers it and src/zk uses it. The library
 * of Kerberos is in that shared object and not in the module, so that only those need it who ask
 * for it.
 *
 * Each function may be called by any thread, for one exchange by one at a time. `step` waits for
 * the network: it asks the KDC for tickets.
 */

#include <stdbool.h>
#include <stddef.h>

/* The table's layout: the module and kerberos.so must be of the same build. */
#define ZR_KERBEROS_LAYOUT 2
#define ZR_KERBEROS_SYMBOL "zr_kerberos_table"

struct zr_kerberos; /* one exchange */

struct zr_kerberos_answer {
    const void *token; /* to send to the server; belongs to the exchange, until its next call */
    size_t length;
    bool last;         /* if the server accepts it, and says no more, it knows who we are */
    bool refused;      /* the KDC refused our key: to ask again with it may lock the account */
    char problem[480]; /* what has failed and what to do; "": nothing */
};

struct zr_kerberos_table {
    int layout; /* ZR_KERBEROS_LAYOUT */

    /* gives: an exchange with this service, "zookeeper@host"; null: no memory. user: our principal,
       or null: whoever has the ticket, or is first in the keytab. keytab: a file with our key;
       null: the tickets of the system. keeps: none. */
    struct zr_kerberos *(*open)(const char *service, const char *user, const char *keytab);

    /* Takes the server's token (first: null), and gives ours. borrows: token. */
    void (*step)(struct zr_kerberos *exchange, const void *token, size_t length,
                 struct zr_kerberos_answer *answer);

    /* takes: exchange, which may be null. */
    void (*close)(struct zr_kerberos *exchange);
};

#endif
