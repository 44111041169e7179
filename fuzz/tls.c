/*
 * TLS with a server that says the wrong things. The server is OpenSSL's, on the other end of a pair
 * of sockets; the input changes the records that it sends: before, within and after the handshake.
 *
 * What must hold: what is read is the beginning of what the server has written, or nothing; a
 * connection that has failed says why, and every later call fails.
 */
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "frames.h"
#include "fuzz.h"
#include "tls/parts.h"

#define TURNS 60
#define MOST 65536

struct peer {
    SSL_CTX *context; /* of all inputs */
    SSL *ssl;
    BIO *from_client, *to_client;
    int sock;
    bool gone;
    char written[MOST];
    size_t length;
};

static struct peer peer;
static uint64_t records;

static void tell_records(void)
{
    printf("frames: %llu\n", (unsigned long long)records);
}

/* ---- The server ----------------------------------------------------------------------------- */

static SSL_CTX *server_context(void)
{
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = X509_new();
    X509_gmtime_adj(X509_getm_notBefore(certificate), 0);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 86400);
    X509_set_pubkey(certificate, key);
    CLAIM(X509_sign(certificate, key, EVP_sha256()) > 0);
    CLAIM(SSL_CTX_use_certificate(context, certificate) == 1);
    CLAIM(SSL_CTX_use_PrivateKey(context, key) == 1);
    X509_free(certificate);
    EVP_PKEY_free(key);
    return context;
}

static void start_peer(int sock, bool old)
{
    if (peer.context == NULL) {
        peer.context = server_context();
        atexit(tell_records);
    }
    peer.ssl = SSL_new(peer.context);
    peer.from_client = BIO_new(BIO_s_mem());
    peer.to_client = BIO_new(BIO_s_mem());
    SSL_set_bio(peer.ssl, peer.from_client, peer.to_client);
    SSL_set_accept_state(peer.ssl);
    SSL_set_max_proto_version(peer.ssl, old ? TLS1_2_VERSION : TLS1_3_VERSION);
    peer.sock = sock;
    peer.gone = false;
    peer.length = 0;
}

static void send_raw(const void *bytes, size_t length)
{
    if (!peer.gone && send(peer.sock, bytes, length, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        peer.gone = errno != EAGAIN;
}

/* A record of any kind, whose length may be wrong. */
static void send_nonsense(struct input *input)
{
    uint8_t bytes[300] = {next(input), 3, next(input) % 5, next(input) % 72, next(input)};
    size_t length = next(input);
    for (size_t i = 0; i < length; i++)
        bytes[5 + i] = next(input);
    send_raw(bytes, 5 + length);
    records++;
}

/* Sends one record of OpenSSL's, as the input says. */
static void send_mutated(uint8_t *record, size_t length, struct input *input)
{
    for (uint8_t how; (how = next(input) % 8) != 0;) {
        if (how == 1)
            record[next(input) % length] ^= (uint8_t)(1 << next(input) % 8);
        else if (how == 2)
            length = 1 + length * next(input) / 256 % length;
        else if (how == 3)
            send_nonsense(input);
        else if (how == 4)
            send_raw(record, length);
        else if (how == 5)
            record[next(input) % (length < 5 ? length : 5)] = next(input);
        else if (how == 6)
            return; /* it is lost */
        else if (next(input) % 4 == 0)
            peer.gone = shutdown(peer.sock, SHUT_WR) == 0;
    }
    send_raw(record, length);
    records++;
}

static void send_pending(struct input *input)
{
    uint8_t bytes[MOST];
    int got = BIO_read(peer.to_client, bytes, sizeof bytes);
    for (int at = 0; at + 5 <= got;) {
        int length = 5 + bytes[at + 3] * 256 + bytes[at + 4];
        if (at + length > got)
            length = got - at;
        send_mutated(bytes + at, (size_t)length, input);
        at += length;
    }
}

static void say(struct input *input)
{
    char text[256];
    size_t length = next(input);
    for (size_t i = 0; i < length; i++)
        text[i] = (char)next(input);
    if (length == 0 || peer.length + length > MOST || SSL_write(peer.ssl, text, (int)length) <= 0)
        return;
    memcpy(peer.written + peer.length, text, length);
    peer.length += length;
}

static void serve(struct input *input)
{
    char bytes[MOST];
    ssize_t got = recv(peer.sock, bytes, sizeof bytes, MSG_DONTWAIT);
    if (got > 0)
        BIO_write(peer.from_client, bytes, (int)got);
    if (SSL_is_init_finished(peer.ssl)) {
        SSL_read(peer.ssl, bytes, sizeof bytes);
        uint8_t what = next(input) % 4;
        if (what == 3)
            SSL_key_update(peer.ssl, SSL_KEY_UPDATE_REQUESTED);
        if (what != 0)
            say(input);
    } else {
        SSL_do_handshake(peer.ssl);
    }
    send_pending(input);
}

/* ---- The client ----------------------------------------------------------------------------- */

/* Every call fails, and the text is there. */
static void check_failed(struct zr_tls *tls, const struct zr_tls_failure *why)
{
    char byte;
    CLAIM(why->error != 0 && memchr(why->text, '\0', sizeof why->text) != NULL);
    CLAIM(zr_tls_shake(tls) == ZR_TLS_FAILED && zr_tls_flush(tls) == ZR_TLS_FAILED);
    CLAIM(zr_tls_write(tls, "x", 1) == -1 && zr_tls_read(tls, &byte, 1) == -1);
    CLAIM(!zr_tls_holds(tls));
}

/* False: the connection is over. */
static bool use(struct zr_tls *tls, size_t *seen)
{
    char bytes[64];
    if (!tls->up)
        return zr_tls_shake(tls) != ZR_TLS_FAILED;
    ssize_t got = zr_tls_read(tls, bytes, sizeof bytes);
    if (got > 0) {
        CLAIM(*seen + (size_t)got <= peer.length);
        CLAIM(memcmp(peer.written + *seen, bytes, (size_t)got) == 0);
        *seen += (size_t)got;
    } else if (got == 0 || errno != EAGAIN) {
        return false;
    }
    return zr_tls_write(tls, "ping", 4) >= 0 && zr_tls_flush(tls) != ZR_TLS_FAILED;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, data + size};
    struct zr_tls_files files = {.any_server = true};
    struct zr_tls_failure why;
    int pair[2];
    size_t seen = 0;
    CLAIM(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == 0);
    start_peer(pair[1], next(&input) % 2 == 1);
    struct zr_tls *tls = zr_tls_open(&files, pair[0], "localhost", &why);
    CLAIM(tls != NULL);
    bool works = true;
    for (int turn = 0; turn < TURNS && works && !(peer.gone && input.at == input.end); turn++) {
        works = use(tls, &seen);
        serve(&input);
    }
    if (why.error != 0)
        check_failed(tls, &why);
    zr_tls_close(tls);
    SSL_free(peer.ssl);
    ERR_clear_error();
    close(pair[0]);
    close(pair[1]);
    return 0;
}
