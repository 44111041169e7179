/*
 * Preloaded into a process, it is an OpenSSL of the host's: its functions come before those of any
 * library. None of them may be called by us.
 */
#include <stdio.h>
#include <stdlib.h>

#define FOREIGN(name)                                                                              \
    void name(void);                                                                               \
    void name(void)                                                                                \
    {                                                                                              \
        fputs("the host's " #name " was called\n", stderr);                                        \
        abort();                                                                                   \
    }

FOREIGN(OPENSSL_init_ssl)
FOREIGN(TLS_client_method)
FOREIGN(SSL_CTX_new)
FOREIGN(SSL_CTX_free)
FOREIGN(SSL_new)
FOREIGN(SSL_free)
FOREIGN(SSL_do_handshake)
FOREIGN(SSL_read_ex)
FOREIGN(SSL_write)
FOREIGN(BIO_new)
FOREIGN(BIO_free)
FOREIGN(ERR_peek_error)
FOREIGN(ERR_clear_error)
FOREIGN(EVP_CIPHER_CTX_new)
FOREIGN(CRYPTO_malloc)
FOREIGN(CRYPTO_free)
