#include "recipes/queue/names.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Lanes and buckets --------------------------------------------------------------------- */

char *zr_lane_name(int64_t priority, char *buffer)
{
    snprintf(buffer, ZR_LANE_NAME, "%05d", (int)priority);
    return buffer;
}

char *zr_bucket_name(int64_t number, char *buffer)
{
    snprintf(buffer, ZR_BUCKET_NAME, "/b-%010" PRId64, number);
    return buffer;
}

static int64_t digits(const char *at, size_t length, size_t most)
{
    int64_t value = 0;
    if (length == 0 || length > most)
        return -1;
    for (size_t i = 0; i < length; i++) {
        if (at[i] < '0' || at[i] > '9')
            return -1;
        value = value * 10 + (at[i] - '0');
    }
    return value;
}

int64_t zr_lane_priority(const char *name)
{
    int64_t priority = strlen(name) == 5 ? digits(name, 5, 5) : -1;
    return priority <= ZR_PRIORITIES ? priority : -1;
}

int64_t zr_bucket_number(struct zr_bytes data)
{
    return digits(data.at, data.length, 10);
}

int64_t zr_bucket_of_name(const char *name)
{
    bool fits = strncmp(name, "b-", 2) == 0 && strlen(name) == 12;
    return fits ? digits(name + 2, 10, 10) : -1;
}

/* ---- Names of items ------------------------------------------------------------------------ */

#define MARK "-q-"
#define PLAIN_MARK "-p-" /* of an item that was put without a transaction */
#define DUE_DIGITS 13

static bool is_mark(const char *at)
{
    return strncmp(at, MARK, strlen(MARK)) == 0 || strncmp(at, PLAIN_MARK, strlen(MARK)) == 0;
}

int64_t zr_item_number(const char *path)
{
    size_t length = strlen(path);
    return length > 10 ? digits(path + length - 10, 10, 10) : -1;
}

bool zr_item_has_tag(const char *name, const char *tag)
{
    size_t length = strlen(name), tag_length = strlen(tag), end = strlen(MARK) + 10;
    if (length < tag_length + end)
        return false;
    const char *at = name + length - end - tag_length;
    bool begins = at == name || at[-1] == '-';
    return begins && memcmp(at, tag, tag_length) == 0 && is_mark(at + tag_length);
}

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static bool is_letter_or_digit(char byte)
{
    return is_digit(byte) || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

/* Returns the end of the digits at `at`; null if there are none. */
static const char *skip_digits(const char *at)
{
    const char *from = at;
    while (is_digit(*at))
        at++;
    return at > from ? at : NULL;
}

/* Letters and digits, "_", a number, "_", a number. Returns its end, or null. */
static const char *skip_tag(const char *at)
{
    const char *from = at;
    while (is_letter_or_digit(*at))
        at++;
    if (at == from || *at != '_' || (at = skip_digits(at + 1)) == NULL || *at != '_')
        return NULL;
    return skip_digits(at + 1);
}

bool zr_is_item(const char *name, bool delayed)
{
    const char *at = name;
    if (delayed) {
        at = skip_digits(name);
        if (at == NULL || at - name != DUE_DIGITS || *at++ != '-')
            return false;
    }
    const char *tag = at;
    at = skip_tag(tag);
    if (at == NULL || at - tag >= ZR_ITEM_TAG || !is_mark(at))
        return false;
    at += strlen(MARK);
    return strlen(at) == 10 && digits(at, 10, 10) >= 0;
}

/* The texts of a tag before and behind the number in the middle are the same in a list. */
bool zr_item_in_list(const char *name, const char *tag)
{
    char own[ZR_ITEM_TAG];
    if (!zr_is_item(name, false) && !zr_is_item(name, true))
        return false;
    zr_item_tag(name, own);
    size_t before = strcspn(own, "_"), length = strlen(tag);
    return before < length && memcmp(own, tag, before + 1) == 0 &&
           strcmp(strrchr(own, '_'), strrchr(tag, '_')) == 0;
}

static bool is_plain_item(const char *name)
{
    const char *mark = name + strlen(name) - 10 - strlen(PLAIN_MARK);
    return zr_is_item(name, false) && strncmp(mark, PLAIN_MARK, strlen(PLAIN_MARK)) == 0;
}

/* The number in the middle of the tag. */
int64_t zr_item_following(const char *name)
{
    return is_plain_item(name) ? strtoll(strchr(name, '_') + 1, NULL, 10) : 0;
}

bool zr_is_void(const char *name, int64_t size)
{
    return is_plain_item(name) && zr_item_following(name) >= size - zr_item_number(name);
}

int64_t zr_item_due(const char *name)
{
    return digits(name, DUE_DIGITS, DUE_DIGITS);
}

void zr_item_tag(const char *name, char *tag)
{
    const char *end = name + strlen(name) - strlen(MARK) - 10, *at = end;
    while (at > name && (is_letter_or_digit(at[-1]) || at[-1] == '_'))
        at--;
    size_t length = end - at < ZR_ITEM_TAG ? (size_t)(end - at) : ZR_ITEM_TAG - 1;
    memcpy(tag, at, length);
    tag[length] = '\0';
}

/* ---- What items hold ----------------------------------------------------------------------- */

static bool is_plain(char byte)
{
    return is_letter_or_digit(byte) || byte == '_' || byte == '-';
}

/* Returns the end of the text. */
static char *escape(char *at, struct zr_bytes id)
{
    for (size_t i = 0; i < id.length; i++) {
        if (is_plain(id.at[i]))
            *at++ = id.at[i];
        else
            at += sprintf(at, "%%%02x", (unsigned char)id.at[i]);
    }
    *at = '\0';
    return at;
}

size_t zr_item_header(char *buffer, int64_t attempts, int64_t priority, struct zr_bytes claimant,
                      struct zr_bytes id)
{
    char *at = buffer + sprintf(buffer, "zq1 %" PRId64 " %" PRId64 " %.*s ", attempts, priority,
                                (int)claimant.length, claimant.at);
    if (id.at == NULL)
        *at++ = '.';
    else
        at = escape(at, id);
    *at++ = '\n';
    return (size_t)(at - buffer);
}

/* Takes the text up to the byte `end` from the front of `rest`. False: there is none, or the text
   is empty. */
static bool word(struct zr_bytes *rest, char end, struct zr_bytes *text)
{
    const char *at = memchr(rest->at, end, rest->length);
    if (at == NULL || at == rest->at)
        return false;
    *text = (struct zr_bytes){rest->at, (size_t)(at - rest->at)};
    rest->length -= text->length + 1;
    rest->at = at + 1;
    return true;
}

static int hexadecimal(char byte)
{
    const char *all = "0123456789abcdef0123456789ABCDEF";
    const char *at = byte != '\0' ? strchr(all, byte) : NULL;
    return at != NULL ? (int)(at - all) % 16 : -1;
}

/* False: it is no id. */
static bool read_id(struct zr_bytes text, struct zr_entry *entry)
{
    entry->has_id = text.length != 1 || text.at[0] != '.';
    for (size_t i = 0; entry->has_id && i < text.length; i++) {
        char byte = text.at[i];
        int high = i + 2 < text.length ? hexadecimal(text.at[i + 1]) : -1;
        int low = high >= 0 ? hexadecimal(text.at[i + 2]) : -1;
        if (byte <= ' ' || entry->id_length == ZR_QUEUE_ID_MAX)
            return false;
        if (byte == '%' && low >= 0) {
            byte = (char)(high * 16 + low);
            i += 2;
        }
        entry->id[entry->id_length++] = byte;
    }
    return true;
}

static bool is_all_plain(struct zr_bytes text)
{
    for (size_t i = 0; i < text.length; i++)
        if (!is_plain(text.at[i]))
            return false;
    return true;
}

bool zr_item_read(struct zr_bytes data, struct zr_entry *entry)
{
    struct zr_bytes rest = data, first, attempts, priority, id;
    memset(entry, 0, sizeof(*entry));
    if (data.at == NULL || !word(&rest, ' ', &first) || first.length != 3 ||
        memcmp(first.at, "zq1", 3) != 0)
        return false;
    if (!word(&rest, ' ', &attempts) || !word(&rest, ' ', &priority) ||
        !word(&rest, ' ', &entry->claimant) || !word(&rest, '\n', &id))
        return false;
    entry->attempts = digits(attempts.at, attempts.length, 9);
    entry->priority = digits(priority.at, priority.length, 5);
    entry->data = rest;
    return entry->attempts >= 0 && entry->priority >= 0 && entry->priority <= ZR_PRIORITIES &&
           is_all_plain(entry->claimant) && read_id(id, entry);
}

struct zr_bytes zr_entry_id(const struct zr_entry *entry)
{
    return entry->has_id ? (struct zr_bytes){entry->id, entry->id_length} : ZR_NO_DATA;
}

/* ---- Ids ----------------------------------------------------------------------------------- */

size_t zr_id_path(char *buffer, struct zr_bytes id)
{
    unsigned sum = 0;
    for (size_t i = 0; i < id.length; i++)
        sum = (sum * 31 + (unsigned char)id.at[i]) % 256;
    size_t folder = (size_t)sprintf(buffer, "/ids/%02x", sum);
    buffer[folder] = '/';
    escape(buffer + folder + 1, id);
    return folder;
}

bool zr_place_read(struct zr_bytes data, char *room, struct zr_place *place)
{
    if (data.length == 0 || data.length >= ZR_PLACE_MAX)
        return false;
    memcpy(room, data.at, data.length);
    room[data.length] = '\0';
    char *bucket = strchr(room, ' '), *tag = bucket != NULL ? strchr(bucket + 1, ' ') : NULL;
    if (tag == NULL || strlen(room) != data.length || strchr(tag + 1, ' ') != NULL)
        return false;
    *bucket++ = *tag++ = '\0';
    place->lane = room;
    place->bucket = digits(bucket, strlen(bucket), 10);
    place->tag = tag;
    return room[0] != '\0' && place->bucket >= 0 && tag[0] != '\0';
}
