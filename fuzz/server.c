/*
 * A server that answers the handshake correctly and then sends untrusted bytes. The client is ours,
 * with the real client library below it and a real socket between the two. It asks for one thing of
 * every kind. The answers are well-formed frames that the input mutates: truncated, overwritten,
 * repeated, after events, pings, or bytes of the input.
 *
 * What must hold: the process lives; every request comes back once, with an answer that is whole or
 * with a status that is not ZR_OK; all memory is given back.
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "frames.h"
#include "fuzz.h"
#include "zk/client.h"
#include "zk/clock.h"
#include "zk/connection.h"
#include "zk/handle.h"

#define REQUESTS 13
#define PARTS 4
#define MOST_TURNS 2000
#define SESSION 77

const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

/* ---- The server ------------------------------------------------------------------------------ */

struct server {
    int listener, sock;
    uint16_t port;
    bool greeted, proved;
    uint8_t received[65536];
    size_t length;
};

static struct server server = {.listener = -1, .sock = -1};

/* Frames after the handshake and the first heartbeat: what the input decides. */
static uint64_t frames;

static void tell_frames(void)
{
    printf("frames: %llu\n", (unsigned long long)frames);
}

static void listen_once(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    if (server.listener >= 0)
        return;
    atexit(tell_frames);
    server.listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    CLAIM(bind(server.listener, (struct sockaddr *)&address, size) == 0);
    CLAIM(listen(server.listener, 16) == 0);
    CLAIM(getsockname(server.listener, (struct sockaddr *)&address, &size) == 0);
    server.port = ntohs(address.sin_port);
}

static void send_raw(const void *bytes, size_t length)
{
    if (send(server.sock, bytes, length, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)length)
        server.greeted = false; /* the client has gone */
}

static void send_frame(const struct frame *frame, uint32_t stated)
{
    uint8_t whole[MOST_FRAME + 4];
    uint32_t wire = htonl(stated);
    memcpy(whole, &wire, 4);
    memcpy(whole + 4, frame->bytes, frame->length);
    send_raw(whole, frame->length + 4);
    frames += server.proved;
}

static void send_well(const struct frame *frame)
{
    send_frame(frame, (uint32_t)frame->length);
}

static void shake_hands(void)
{
    struct frame frame = {.length = 0};
    put_int(&frame, 0);
    put_int(&frame, 10000);
    put_int(&frame, 0);
    put_int(&frame, SESSION);
    put_int(&frame, 16);
    put_zeros(&frame, 17);
    send_well(&frame);
    server.greeted = true;
}

static const uint32_t numbers[] = {0,          1,          5,          255,        0x7fffffff,
                                   0x80000000, 0xffffffff, 0xfffffffe, 0xfffffffc, 0x40000000};

static void overwrite(struct frame *frame, struct input *input)
{
    struct frame number = {.length = 0};
    size_t at = next(input);
    put_int(&number, numbers[next(input) % (sizeof numbers / sizeof numbers[0])]);
    if (frame->length >= 4)
        memcpy(frame->bytes + at % (frame->length - 3), number.bytes, 4);
}

static void append(struct frame *frame, struct input *input)
{
    for (size_t left = next(input); left > 0 && frame->length < MOST_FRAME; left--)
        frame->bytes[frame->length++] = next(input);
}

static void send_other(struct input *input)
{
    static const char *const paths[] = {"/x", "", "x", "/", "//", "/x/../y"};
    struct frame frame = {.length = 0};
    uint8_t kind = next(input);
    if (kind % 4 == 0)
        put_header(&frame, numbers[kind / 4 % 10], next(input));
    else if (kind % 4 == 1)
        put_event(&frame, (uint32_t)(int8_t)next(input), paths[kind / 4 % 6]);
    else
        append(&frame, input);
    send_well(&frame);
}

/* Some are negative, some too large. */
static uint32_t any_length(uint8_t byte)
{
    if (byte < 128)
        return byte;
    return byte % 2 == 0 ? (uint32_t)byte << 18 : (uint32_t)(int8_t)byte;
}

/* Sends one answer, as the input says. */
static void send_mutated(struct frame *frame, struct input *input)
{
    uint32_t stated;
    for (uint8_t how; (how = next(input) % 8) != 0 && input->at < input->end;) {
        if (how == 1)
            frame->length = frame->length * next(input) / 256;
        else if (how == 2 && frame->length > 0)
            frame->bytes[next(input) % frame->length] = next(input);
        else if (how == 3)
            overwrite(frame, input);
        else if (how == 4)
            append(frame, input);
        else if (how == 5)
            send_other(input);
        else if (how == 6)
            send_well(frame);
        else if (how == 7 && (stated = any_length(next(input))) != frame->length) {
            send_frame(frame, stated);
            return;
        }
    }
    send_well(frame);
}

static uint32_t number_at(const uint8_t *at)
{
    uint32_t wire;
    memcpy(&wire, at, 4);
    return ntohl(wire);
}

static void answer(const uint8_t *request, size_t length, struct input *input)
{
    struct frame frame = {.length = 0};
    char path[64] = "/x";
    uint32_t xid = number_at(request), op = number_at(request + 4);
    uint32_t size = length >= 12 ? number_at(request + 8) : 0;
    if (op != 14 && op != 100 && size < sizeof path && size + 12 <= length) {
        memcpy(path, request + 12, size);
        path[size] = '\0';
    }
    put_answer(&frame, xid, op, path);
    if (server.proved)
        send_mutated(&frame, input);
    else
        send_well(&frame);
    server.proved = server.proved || op == 9;
}

/* A small piece must not wait for the acknowledgement of the one before: the client would spin for
 * 40 ms. */
static bool accept_client(void)
{
    int yes = 1;
    server.sock = accept4(server.listener, NULL, NULL, SOCK_NONBLOCK);
    return server.sock >= 0 &&
           setsockopt(server.sock, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) == 0;
}

static void serve(struct input *input)
{
    if (server.sock < 0 && !accept_client())
        return;
    ssize_t got = recv(server.sock, server.received + server.length,
                       sizeof server.received - server.length, MSG_DONTWAIT);
    server.length += got > 0 ? (size_t)got : 0;
    size_t used = 0, size;
    while (server.length - used >= 4 &&
           server.length - used >= 4 + (size = number_at(server.received + used))) {
        if (!server.greeted)
            shake_hands();
        else
            answer(server.received + used + 4, size, input);
        used += 4 + size;
    }
    memmove(server.received, server.received + used, server.length - used);
    server.length -= used;
}

/* ---- The client ------------------------------------------------------------------------------ */

static const struct zr_acl open_acl[] = {{31, "world", "anyone"}};

struct asked {
    struct zr_request request, parts[PARTS];
    char created[32], parts_created[32];
    int answers;
};

static void fill(struct zr_request *request, enum zr_op op, const char *path, char *created)
{
    *request = (struct zr_request){
        .message.kind = ZR_MSG_REPLY, .op = op, .path = path, .version = -1, .created = created};
    request->acl = (struct zr_acls){open_acl, 1};
    request->watch = op == ZR_OP_GET || op == ZR_OP_CHILDREN || op == ZR_OP_EXISTS;
}

static void ask(struct asked *asked, int number)
{
    static const enum zr_op ops[REQUESTS] = {
        ZR_OP_CREATE,  ZR_OP_CHILDREN, ZR_OP_GET,     ZR_OP_EXISTS, ZR_OP_SET,
        ZR_OP_MULTI,   ZR_OP_GET_ACL,  ZR_OP_CREATE,  ZR_OP_DELETE, ZR_OP_SYNC,
        ZR_OP_SET_ACL, ZR_OP_MULTI,    ZR_OP_ADD_AUTH};
    static const enum zr_op parts[PARTS] = {ZR_OP_CREATE, ZR_OP_SET, ZR_OP_DELETE, ZR_OP_CHECK};
    struct zr_request *request = &asked->request;
    fill(request, ops[number],
         number == 7                     ? "/s-"
         : request->op == ZR_OP_ADD_AUTH ? "digest"
                                         : "/x",
         asked->created);
    request->mode = number == 7 ? ZR_EPHEMERAL_SEQUENTIAL : ZR_PERSISTENT;
    if (request->op == ZR_OP_ADD_AUTH) {
        request->path = "digest";
        request->data = (struct zr_bytes){"a:b", 3};
    }
    if (request->op != ZR_OP_MULTI)
        return;
    for (int i = 0; i < PARTS; i++)
        fill(&asked->parts[i], parts[i], "/x", asked->parts_created);
    request->parts = asked->parts;
    request->part_count = PARTS;
}

/* Reads all of an answer, so that the sanitizer detects missing memory. */
static void check_answer(const struct zr_request *request)
{
    size_t sum = 0;
    CLAIM(request->status < ZR_STATUS_COUNT);
    if (request->status == ZR_OK && request->op == ZR_OP_CREATE)
        CLAIM(strncmp(request->created, request->path, strlen(request->path)) == 0);
    CLAIM((request->names != NULL) == (request->status == ZR_OK && request->op == ZR_OP_CHILDREN));
    CLAIM((request->acl_reply != NULL) ==
          (request->status == ZR_OK && request->op == ZR_OP_GET_ACL));
    for (size_t i = 0; request->names != NULL && i < request->names->count; i++)
        CLAIM(request->names->at[i][0] != '\0' && strchr(request->names->at[i], '/') == NULL);
    for (size_t i = 0; request->acl_reply != NULL && i < request->acl_reply->count; i++)
        sum += strlen(request->acl_reply->at[i].scheme) + strlen(request->acl_reply->at[i].id);
    for (size_t i = 0; i < request->data_reply.length; i++)
        sum += (unsigned char)request->data_reply.at[i];
    for (size_t i = 0; i < request->part_count; i++)
        check_answer(&request->parts[i]);
    CLAIM(sum != SIZE_MAX);
}

/* Takes what has come back; gives: the number of requests. */
static int take(struct zr_handle *handle)
{
    int count = 0;
    for (struct zr_link *link; (link = zr_list_shift(&handle->out)) != NULL;) {
        struct zr_message *message = ZR_HOLDER(link, struct zr_message, link);
        if (message->kind != ZR_MSG_REPLY) {
            zr_free(message);
            continue;
        }
        struct asked *asked = (struct asked *)message;
        CLAIM(++asked->answers == 1);
        check_answer(&asked->request);
        zr_free((char *)asked->request.data_reply.at);
        zr_free(asked->request.names);
        zr_free(asked->request.acl_reply);
        count++;
    }
    return count;
}

static void turn(struct zr_handle *handle, struct input *input)
{
    int64_t now = zr_now_us();
    zr_client_prepare(handle, now);
    struct pollfd one = {.fd = handle->client.fd, .events = handle->client.events};
    if (one.fd >= 0 && poll(&one, 1, 0) > 0)
        zr_client_process(handle, one.revents);
    if (zr_connection_due_us(handle) <= zr_now_us())
        zr_client_beat(handle, zr_now_us());
    serve(input);
}

static bool at_end(const struct zr_handle *handle)
{
    return handle->client.unfit || handle->client.dead;
}

static bool connect_client(struct zr_handle *handle, struct input *input)
{
    for (int turns = 0; turns < 100 * MOST_TURNS && !handle->report.connected; turns++)
        turn(handle, input);
    return handle->report.connected;
}

static struct zr_handle *open_client(void)
{
    static struct zr_mailbox inbox;
    struct zr_zk_config config = {.hosts = "127.0.0.1:1", .timeout_ms = 10000};
    struct zr_handle *handle = zr_handle_new(&config, NULL, NULL, &inbox);
    char addresses[32];
    snprintf(addresses, sizeof addresses, "127.0.0.1:%u", server.port);
    CLAIM(handle != NULL);
    handle->addresses = zr_copy_string(addresses);
    CLAIM(zr_client_open(handle));
    return handle;
}

/* Runs until everything was answered and nothing has come for a while. The connection may break at
   any time. */
static void talk(struct zr_handle *handle, struct asked *all, struct input *input)
{
    int answers = 0, idle = 0;
    for (int i = 0; i < REQUESTS; i++) {
        ask(&all[i], i);
        zr_client_submit(handle, &all[i].request);
        if (handle->client.authenticating)
            break;
    }
    for (int turns = 0; turns < MOST_TURNS && idle < 20 && !at_end(handle); turns++) {
        turn(handle, input);
        int more = take(handle);
        answers += more;
        idle = more > 0 ? 0 : idle + 1;
        if (!handle->report.connected)
            break;
    }
    CLAIM(answers <= REQUESTS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, data + size};
    struct asked *all = calloc(REQUESTS, sizeof *all);
    listen_once();
    server.greeted = server.proved = false;
    server.length = 0;
    struct zr_handle *handle = open_client();
    CLAIM(connect_client(handle, &input));
    talk(handle, all, &input);
    if (handle->client.unfit)
        zr_connection_lost(handle);
    zr_client_drop(handle);
    take(handle);
    for (int i = 0; i < REQUESTS; i++)
        CLAIM(all[i].answers == (all[i].request.path != NULL ? 1 : 0));
    zr_handle_free(handle);
    free(all);
    close(server.sock);
    server.sock = -1;
    CLAIM(zr_alloc_blocks() == 0);
    return 0;
}
