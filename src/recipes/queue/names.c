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

/* ---- Items --------------------------------------------------------------------------------- */

#define MARK "-q-"

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
    return begins && memcmp(at, tag, tag_length) == 0 &&
           memcmp(at + tag_length, MARK, strlen(MARK)) == 0;
}

static bool is_plain(char byte)
{
    return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') ||
           (byte >= 'A' && byte <= 'Z') || byte == '_' || byte == '-';
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

size_t zr_item_header(char *buffer, int64_t attempts, int64_t priority, struct zr_bytes id)
{
    char *at = buffer + sprintf(buffer, "zq1 %" PRId64 " %" PRId64 " - ", attempts, priority);
    if (id.at == NULL)
        *at++ = '.';
    else
        at = escape(at, id);
    *at++ = '\n';
    return (size_t)(at - buffer);
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
