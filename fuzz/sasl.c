/*
 * A server that a client with SASL has reached. The input says what it sends: correct frames,
 * frames with a challenge of the input's, errors, or bytes of the input.
 *
 * What must hold: the client sends two tokens at most, whole and in their order; it is never
 * authenticated unless the server has sent the proof, which no input knows. And the examples of the
 * RFCs.
 */
#include "zk/login.c"

#include "fuzz.h"
#include "sasl/md5.h"

#define MOST_SENT 8192
#define PASSWORD "the password"

struct zr_tls {
    const uint8_t *at, *end; /* of the input */
    struct zr_login *login;
    uint8_t part[512]; /* what comes next */
    size_t length, given;
    bool proved;
    uint8_t sent[MOST_SENT];
    size_t sent_length;
};

/* ---- The server ---------------------------------------------------------------------------- */

static void add(struct zr_tls *server, const void *bytes, size_t length)
{
    memcpy(server->part + server->length, bytes, length);
    server->length += length;
}

static void add_number(struct zr_tls *server, uint32_t number)
{
    put_number(server->part + server->length, number);
    server->length += 4;
}

static void add_answer(struct zr_tls *server, int32_t error, const void *token, size_t length)
{
    add_number(server, (uint32_t)(20 + length));
    add_number(server, server->login->xid);
    add_number(server, 0);
    add_number(server, 0);
    add_number(server, (uint32_t)error);
    add_number(server, (uint32_t)length);
    add(server, token, length);
}

static void add_greeting(struct zr_tls *server, uint32_t timeout)
{
    uint8_t rest[29] = {0};
    rest[11] = 16;
    add_number(server, 37);
    add_number(server, 0);
    add_number(server, timeout);
    add(server, rest, sizeof rest);
}

static void add_proof(struct zr_tls *server)
{
    char token[64];
    snprintf(token, sizeof token, "rspauth=%s", server->login->digest.proof);
    server->proved |= server->login->state == ZR_LOGIN_PROOF;
    add_answer(server, 0, token, strlen(token));
}

/* A byte says what comes, and for some the next one how many bytes of the input belong to it. */
static void add_part(struct zr_tls *server)
{
    static const char challenge[] = "realm=\"r\",nonce=\"n\",charset=utf-8,algorithm=md5-sess";
    uint8_t kind = *server->at++;
    size_t left = (size_t)(server->end - server->at), length = left > 0 ? *server->at++ : 0;
    const uint8_t *bytes = server->at;
    if (left > 0)
        left--;
    length = length < left ? length : left;
    server->at += length;
    server->length = server->given = 0;
    switch (kind % 8) {
    case 0:
    case 1:
        add_greeting(server, length == 1 ? 0 : 10000);
        break;
    case 2:
        add_answer(server, 0, challenge, sizeof challenge - 1);
        break;
    case 3:
        add_answer(server, 0, bytes, length);
        break;
    case 4:
        add_proof(server);
        break;
    case 5:
        add_answer(server, length % 2 == 0 ? -115 : -124, bytes, length);
        break;
    default:
        add(server, bytes, length);
    }
}

/* ---- What carries the bytes ---------------------------------------------------------------- */

static ssize_t carry_out(struct zr_tls *server, const void *bytes, size_t length)
{
    CLAIM(server->sent_length + length <= MOST_SENT);
    memcpy(server->sent + server->sent_length, bytes, length);
    server->sent_length += length;
    return (ssize_t)length;
}

static ssize_t carry_in(struct zr_tls *server, void *to, size_t length)
{
    while (server->given == server->length && server->at < server->end)
        add_part(server);
    size_t left = server->length - server->given, part = length < left ? length : left;
    memcpy(to, server->part + server->given, part);
    server->given += part;
    if (part > 0)
        return (ssize_t)part;
    errno = EAGAIN;
    return -1;
}

static enum zr_tls_step flush(struct zr_tls *server)
{
    (void)server;
    return ZR_TLS_DONE;
}

static const struct zr_tls_table carrier = {.write = carry_out, .read = carry_in, .flush = flush};

/* ---- What must hold ------------------------------------------------------------------------ */

static void check_sent(const struct zr_tls *server)
{
    uint32_t count = 0;
    for (size_t at = 0; at < server->sent_length; count++) {
        const uint8_t *frame = server->sent + at;
        CLAIM(at + 16 <= server->sent_length);
        uint32_t length = number_at(frame), token = number_at(frame + 12);
        CLAIM(number_at(frame + 4) == count + 1 && number_at(frame + 8) == OP_SASL);
        CLAIM(length == 12 + token && at + 4 + length <= server->sent_length);
        CLAIM(count == 0 ? token == 0 : token > 100 && token < ZR_DIGEST_RESPONSE);
        at += 4 + length;
    }
    CLAIM(count <= 2);
}

static void check_examples(void)
{
    static const char challenge[] = "realm=\"elwood.innosoft.com\",nonce=\"OA6MG9tEQGm2hh\","
                                    "qop=\"auth\",algorithm=md5-sess,charset=utf-8";
    static const struct zr_digest_account account = {"imap/elwood.innosoft.com", "chris", "secret"};
    static const unsigned char alphabet[] = {0xc3, 0xfc, 0xd3, 0xd7, 0x61, 0x92, 0xe4, 0x00,
                                             0x7d, 0xfb, 0x49, 0x6c, 0xca, 0x67, 0xe1, 0x3b};
    static bool checked;
    struct zr_digest digest;
    struct zr_md5 md5;
    unsigned char hash[ZR_MD5_BYTES];
    if (checked)
        return;
    checked = true;
    zr_md5_begin(&md5);
    zr_md5_add(&md5, "abcdefghijklmnopqrstuvwxyz", 26);
    zr_md5_end(&md5, hash);
    CLAIM(memcmp(hash, alphabet, sizeof hash) == 0);
    CLAIM(zr_digest_respond(&digest, &account, "OA6MHXh6VqTrRk", challenge, sizeof challenge - 1) ==
          NULL);
    CLAIM(strstr(digest.response, "response=d388dad90d4bbd760a152321f2143af7") != NULL);
    CLAIM(strcmp(digest.proof, "ea40f60335c427b5527b84dbabcdfffd") == 0);
}

/* A client with this password meets the input. True: it has sent PASSWORD. */
static bool sends_password(const char *password, const uint8_t *data, size_t size)
{
    struct zr_sasl_options options = {.wanted = true,
                                      .mechanism = "DIGEST-MD5",
                                      .user = "a \"quoted\" user",
                                      .password = password};
    struct zr_tls_failure why = {.error = 0};
    struct zr_login *login = zr_login_new(&options, NULL);
    struct zr_tls server = {.at = data, .end = data + size, .login = login};
    CLAIM(login != NULL);
    zr_login_begin(login, &carrier, &server, "host", &why);
    enum zr_login_step step = zr_login_go_on(login);
    check_sent(&server);
    CLAIM(step != ZR_LOGIN_DONE || zr_login_is_over(login) || server.proved);
    CLAIM((step == ZR_LOGIN_FAILED || step == ZR_LOGIN_REFUSED) == (why.error != 0));
    CLAIM((why.error != 0) == (why.text[0] != '\0'));
    CLAIM((zr_login_left(login) > 0) == (step == ZR_LOGIN_DONE));
    zr_login_free(login);
    CLAIM(zr_alloc_blocks() == 0);
    return memmem(server.sent, server.sent_length, PASSWORD, strlen(PASSWORD)) != NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_examples();
    /* The input may have it itself, also in parts or behind a backslash. Then any client sends it.
     */
    if (sends_password(PASSWORD, data, size))
        CLAIM(sends_password("another one", data, size));
    return 0;
}
