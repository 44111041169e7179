/*
 * 1. The challenge is a list of directives, name=value, with or without quotation marks.
 * 2. The response has hashes of all that both sides have chosen, and of the password.
 * 3. The server's proof is the same hash with another prefix.
 *
 * Names of users and passwords are hashed in ISO 8859-1 if that is possible, otherwise in UTF-8.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "sasl/digest_md5.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "sasl/md5.h"

#define LONGEST 255 /* of a value that we use */

/* ---- The challenge ------------------------------------------------------------------------- */

struct reader {
    const char *at, *end;
};

/* One directive, as it was sent, without the quotation marks. */
struct directive {
    char name[32], value[LONGEST + 1];
};

struct challenge {
    char realm[LONGEST + 1], nonce[LONGEST + 1];
    bool has_realm, utf8, md5_sess, without_auth;
};

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static void skip_spaces(struct reader *reader, bool commas)
{
    while (reader->at < reader->end && (is_space(*reader->at) || (commas && *reader->at == ',')))
        reader->at++;
}

static bool is_token(char c)
{
    return c > ' ' && c < 0x7f && strchr("()<>@,;:\\\"/[]?={}", c) == NULL;
}

static bool read_token(struct reader *reader, char *room, size_t size)
{
    size_t length = 0;
    for (; reader->at < reader->end && is_token(*reader->at); reader->at++) {
        if (length + 1 == size)
            return false;
        room[length++] = *reader->at;
    }
    room[length] = '\0';
    return length > 0;
}

/* After the quotation mark. A backslash makes the character behind it an ordinary one. */
static bool read_quoted(struct reader *reader, char *room, size_t size)
{
    size_t length = 0;
    for (; reader->at < reader->end && *reader->at != '"'; reader->at++) {
        if (*reader->at == '\\' && ++reader->at == reader->end)
            return false;
        if (length + 1 == size || *reader->at == '\0')
            return false;
        room[length++] = *reader->at;
    }
    room[length] = '\0';
    return reader->at++ < reader->end;
}

static bool read_directive(struct reader *reader, struct directive *directive)
{
    if (!read_token(reader, directive->name, sizeof directive->name))
        return false;
    skip_spaces(reader, false);
    if (reader->at == reader->end || *reader->at++ != '=')
        return false;
    skip_spaces(reader, false);
    if (reader->at < reader->end && *reader->at == '"') {
        reader->at++;
        return read_quoted(reader, directive->value, sizeof directive->value);
    }
    return read_token(reader, directive->value, sizeof directive->value);
}

/* Is the word in this list, "auth,auth-int"? */
static bool is_listed(const char *list, const char *word)
{
    size_t length = strlen(word);
    while (*list != '\0') {
        size_t part = strcspn(list, ", ");
        if (part == length && strncasecmp(list, word, length) == 0)
            return true;
        list += part;
        list += strspn(list, ", ");
    }
    return false;
}

/* Of several realms the first is ours. */
static const char *note(struct challenge *challenge, const struct directive *directive)
{
    const char *name = directive->name, *value = directive->value;
    if (strcasecmp(name, "realm") == 0 && !challenge->has_realm) {
        memcpy(challenge->realm, value, sizeof challenge->realm);
        challenge->has_realm = true;
    } else if (strcasecmp(name, "nonce") == 0) {
        if (challenge->nonce[0] != '\0')
            return "it has two nonces";
        memcpy(challenge->nonce, value, sizeof challenge->nonce);
    } else if (strcasecmp(name, "qop") == 0) {
        challenge->without_auth = !is_listed(value, "auth");
    } else if (strcasecmp(name, "charset") == 0) {
        challenge->utf8 = strcasecmp(value, "utf-8") == 0;
    } else if (strcasecmp(name, "algorithm") == 0) {
        challenge->md5_sess = strcasecmp(value, "md5-sess") == 0;
    }
    return NULL;
}

static const char *read_challenge(struct challenge *challenge, const char *text, size_t length)
{
    struct reader reader = {text, text + length};
    struct directive directive = {.name = ""};
    skip_spaces(&reader, true);
    while (reader.at < reader.end) {
        const char *problem =
            read_directive(&reader, &directive) ? note(challenge, &directive) : "it is malformed";
        skip_spaces(&reader, false);
        if (problem == NULL && reader.at < reader.end && *reader.at != ',')
            problem = "it is malformed";
        if (problem != NULL)
            return problem;
        skip_spaces(&reader, true);
    }
    if (challenge->nonce[0] == '\0')
        return "it has no nonce";
    if (challenge->without_auth)
        return "it does not offer authentication alone (qop=auth)";
    return challenge->md5_sess ? NULL : "its algorithm is not md5-sess";
}

/* ---- Hashes -------------------------------------------------------------------------------- */

static void add_text(struct zr_md5 *md5, const char *text)
{
    zr_md5_add(md5, text, strlen(text));
}

/* True if all of its characters are in ISO 8859-1. */
static bool is_latin(const char *text)
{
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; at++)
        if (*at >= 0x80 && ((*at != 0xc2 && *at != 0xc3) || (*++at & 0xc0) != 0x80))
            return false;
    return true;
}

static void add_name(struct zr_md5 *md5, const char *text)
{
    if (!is_latin(text)) {
        add_text(md5, text);
        return;
    }
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; at++) {
        unsigned char c = *at;
        if (c >= 0x80)
            c = (unsigned char)((c & 0x03) << 6 | (*++at & 0x3f));
        zr_md5_add(md5, &c, 1);
    }
}

static void end_hex(struct zr_md5 *md5, char hex[33])
{
    unsigned char hash[ZR_MD5_BYTES];
    zr_md5_end(md5, hash);
    for (int i = 0; i < ZR_MD5_BYTES; i++)
        snprintf(hex + i * 2, 3, "%02x", hash[i]);
    explicit_bzero(hash, sizeof hash);
}

/* What only those know who know the password. */
static void hash_secret(const struct zr_digest_account *account, const struct challenge *challenge,
                        const char *ours, char hex[33])
{
    struct zr_md5 md5;
    unsigned char inner[ZR_MD5_BYTES];
    zr_md5_begin(&md5);
    add_name(&md5, account->user);
    add_text(&md5, ":");
    add_name(&md5, challenge->realm);
    add_text(&md5, ":");
    add_name(&md5, account->password);
    zr_md5_end(&md5, inner);
    zr_md5_begin(&md5);
    zr_md5_add(&md5, inner, sizeof inner);
    explicit_bzero(inner, sizeof inner);
    add_text(&md5, ":");
    add_text(&md5, challenge->nonce);
    add_text(&md5, ":");
    add_text(&md5, ours);
    end_hex(&md5, hex);
}

/* prefix: "AUTHENTICATE" for the response, "" for the proof. */
static void hash_all(const char *secret, const struct challenge *challenge, const char *ours,
                     const char *prefix, const char *uri, char hex[33])
{
    struct zr_md5 md5;
    char purpose[33];
    zr_md5_begin(&md5);
    add_text(&md5, prefix);
    add_text(&md5, ":");
    add_text(&md5, uri);
    end_hex(&md5, purpose);
    zr_md5_begin(&md5);
    add_text(&md5, secret);
    add_text(&md5, ":");
    add_text(&md5, challenge->nonce);
    add_text(&md5, ":00000001:");
    add_text(&md5, ours);
    add_text(&md5, ":auth:");
    add_text(&md5, purpose);
    end_hex(&md5, hex);
}

/* ---- The response -------------------------------------------------------------------------- */

/* Appends, and never exceeds the room: each value is short. */
static void put(struct zr_digest *digest, const char *text)
{
    size_t length = strlen(text);
    memcpy(digest->response + digest->length, text, length + 1);
    digest->length += length;
}

static void put_quoted(struct zr_digest *digest, const char *name, const char *value)
{
    char quoted[2 * LONGEST + 1];
    size_t length = 0;
    for (; *value != '\0'; value++) {
        if (*value == '"' || *value == '\\')
            quoted[length++] = '\\';
        quoted[length++] = *value;
    }
    quoted[length] = '\0';
    put(digest, name);
    put(digest, "=\"");
    put(digest, quoted);
    put(digest, "\",");
}

const char *zr_digest_respond(struct zr_digest *digest, const struct zr_digest_account *account,
                              const char *ours, const char *text, size_t length)
{
    struct challenge challenge = {.has_realm = false};
    char secret[33], response[33];
    const char *problem = read_challenge(&challenge, text, length);
    if (problem != NULL)
        return problem;
    hash_secret(account, &challenge, ours, secret);
    hash_all(secret, &challenge, ours, "AUTHENTICATE", account->uri, response);
    hash_all(secret, &challenge, ours, "", account->uri, digest->proof);
    explicit_bzero(secret, sizeof secret);
    digest->length = 0;
    if (challenge.utf8)
        put(digest, "charset=utf-8,");
    put_quoted(digest, "username", account->user);
    if (challenge.has_realm)
        put_quoted(digest, "realm", challenge.realm);
    put_quoted(digest, "nonce", challenge.nonce);
    put_quoted(digest, "cnonce", ours);
    put_quoted(digest, "digest-uri", account->uri);
    put(digest, "nc=00000001,qop=auth,response=");
    put(digest, response);
    explicit_bzero(response, sizeof response);
    return NULL;
}

/* The time does not depend on where the first difference is. */
bool zr_digest_proved(const struct zr_digest *digest, const char *token, size_t length)
{
    static const char name[] = "rspauth=";
    size_t prefix = sizeof name - 1, digits = sizeof digest->proof - 1;
    unsigned char different = 0;
    if (length != prefix + digits || memcmp(token, name, prefix) != 0)
        return false;
    for (size_t i = 0; i < digits; i++)
        different |= (unsigned char)(token[prefix + i] ^ digest->proof[i]);
    return different == 0;
}
