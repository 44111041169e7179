#ifndef ZR_RANK_H
#define ZR_RANK_H

/*
 * rank.h: what the files of the election by rank share (rank*.c); rank.c has the story.
 * Thread: the host's.
 */

#include "core/seats.h"
#include "core/timer.h"
#include "core/verbs.h"
#include "recipes/election/election.h"
#include "recipes/election/says.h"
#include "recipes/election/value.h"

/* ---- What is stored (rank_data.c) ---------------------------------------------------------- */

/* What the directory's data say. */
struct zr_named {
    char leader[ZR_RANK_NAME]; /* the seat that leads, or has led; "": none */
    char heir[ZR_RANK_NAME];   /* the seat that leads next; "": none is named */
    int64_t token;             /* zxid of the write that decided ... */
    int64_t since_ms;          /* ... and its time */
};

/* answer: of a get of the directory. */
struct zr_named zr_named_read(const struct zr_request *answer);

#define ZR_NAMED_TEXT (2 * ZR_RANK_NAME + 48)

/* Writes that `leader` leads, and that `heir` shall follow it; heir "": none. Returns `text`. */
struct zr_bytes zr_named_write(const struct zr_named *named, char text[static ZR_NAMED_TEXT]);

/* The rank in a seat's name: the note "<rank>-" (core/stem.h). */
#define ZR_RANK_NOTE sizeof("-9007199254740992-")
void zr_rank_note_write(int64_t rank, char note[static ZR_RANK_NOTE]);

extern const struct zr_stem zr_rank_stem;

/* ---- What the candidates of a handle say --------------------------------------------------- */

/* The data of a seat: rank and value (value.h). Counted by the election and its candidates. */
struct zr_rank_say {
    int refs;
    int64_t rank;
    size_t length;
    char text[];
};

/* gives: with one reference; null: memory is exhausted. borrows: data. */
struct zr_rank_say *zr_rank_say_new(struct zr_bytes data);
void zr_rank_say_unref(struct zr_rank_say *say); /* harmless for null */

/* Puts it (or null) in the place of another one (or of null). shares: say. */
void zr_rank_say_put(struct zr_rank_say **place, struct zr_rank_say *say);

/* ---- A candidate (rank_start.c) ------------------------------------------------------------ */

struct zr_candidate {
    union {
        struct zr_hold hold;
        struct zr_term term;
    };
    struct zr_rank_say *say; /* counted: the data of the seat */
    char note[ZR_RANK_NOTE]; /* of the seat */
    struct zr_follower news; /* of the directory */
    struct zr_timer late;    /* while it waits in line: when it reads the directory again */
    int64_t events;          /* how many events it had had at the last look */
    struct zr_named named;   /* what the directory said at the last look ... */
    int64_t mzxid;           /* ... and the last write to it; of a leader: the one that named it */
    int32_t version;         /* and the version at the last look; of a leader: as it was last seen
                                to name it */
    bool doubts;             /* the last listing may be older than the last event */
    bool waits;              /* it has looked, and waits */
    uint8_t quiet;           /* without a leader: how many looks in a row have had no cause */
    bool parked;             /* it waits for an event now ... */
    bool roused;             /* ... and was roused before it came */
    bool seat_guarded;       /* seat_guard runs ... */
    bool removed;            /* ... and has seen that the seat was deleted from outside */
    char awaited[ZR_RANK_NAME]; /* while it waits in line: whose end it waits for */
    char better[ZR_RANK_NAME];  /* who is to lead before it, at the last look; "": not known */
    char ended[ZR_RANK_NAME];   /* the last leader whose znode was found gone */
    struct zr_seats *known;     /* counted: the last listing, without those that have led since; or
                                   null */
    struct zr_transaction transaction;
    struct zr_task seat_guard; /* while it waits in line */
    struct zr_task attendant;  /* while it leads ... */
    bool attended;             /* ... and is not naming a successor */
};

struct zr_candidate *zr_candidate_of(struct zr_task *task);
struct zr_election *zr_candidate_election(struct zr_task *task);

/* The name of its seat. */
const char *zr_candidate_name(const struct zr_candidate *candidate);

/* The attempt of this link in contest->attempts if it waits and has a seat; or null. */
struct zr_candidate *zr_candidate_standing(struct zr_link *link);

/* True if the handle has got another rank since its seat was taken. */
bool zr_candidate_outdated(struct zr_task *task);

enum zr_status zr_rank_campaign(struct zr_election *election, const struct zr_arg *timeout,
                                struct zr_task **task);

/* No candidate may write over the version -1, because the server does not compare it. */
#define ZR_RANK_WRAPPED                                                                            \
    "the directory is at version -1, which a server does not compare; write its data once more "   \
    "by "                                                                                          \
    "hand"

/* ---- Its seat (rank_stand.c) --------------------------------------------------------------- */

/* Steps: contend takes a seat with the newest rank, and then looks; stand_again does so because the
   seat was deleted from outside. */
void zr_rank_contend(struct zr_task *task);
void zr_rank_stand_again(struct zr_task *task);

/* From now on it is roused if its seat is deleted from outside; until unguard. Then stands_anew
   takes another one. */
void zr_rank_guard(struct zr_candidate *candidate);
void zr_rank_unguard(struct zr_candidate *candidate);

/* It waits for an event from now on, until it calls stands_anew. */
void zr_rank_park(struct zr_task *task);

/* True if its rank has changed, or its seat was deleted from outside: then it leaves its seat and
   takes another one, instead of going on. */
bool zr_rank_stands_anew(struct zr_task *task);

/* The handle has got another rank: if the candidate waits for an event, it goes on at once. */
void zr_rank_rouse(struct zr_candidate *candidate);

/* ---- Its steps (rank.c; of tries, and what they share: rank_start.c) ----------------------- */

/* Step: reads the directory, and goes on as rank.c tells. */
void zr_rank_look_again(struct zr_task *task);

/* Step: lists the directory, and goes on as rank.c tells. */
void zr_rank_list(struct zr_task *task);

/* rank_wait.c. Step: it has listed, and another candidate is to lead, or there are too few. */
void zr_rank_wait(struct zr_task *task);

/* rank_wait.c. Step: another candidate leads, or a better one is to lead. */
void zr_rank_wait_in_line(struct zr_task *task);

/* What a candidate's follower of the directory is told. */
void zr_rank_told(struct zr_follower *news, unsigned used_up);

/* Step: the seat that the directory names is gone. */
void zr_rank_leader_gone(struct zr_task *task);

/* Step: a try has failed: the leader's seat was read, and exists. Or a seat that is ahead is not
   ephemeral. */
void zr_rank_leader_stands(struct zr_task *task);

/* Reads the seat with this name. op: get or exists. */
void zr_rank_read_seat(struct zr_task *task, enum zr_op op, const char *name, struct zr_next next);

/* Notes what the directory says. answer: of a get of it. */
void zr_rank_note(struct zr_candidate *candidate, const struct zr_request *answer);

/* It does not wait any more, so nothing rouses it. */
void zr_rank_end_wait(struct zr_candidate *candidate);

/* Gives back what is needed to wait, and to attend. */
void zr_rank_stop_looking(struct zr_candidate *candidate);

/* ---- Its parts ----------------------------------------------------------------------------- */

/* rank_best.c. True if our candidate, which is in this listing, should lead; otherwise notes in
   `better` who should. Notes for all candidates of this handle how many are ahead. */
bool zr_rank_is_best(struct zr_task *task, const struct zr_seats *seats);

/* The seat of a listing that should lead, our own aside; null: there are fewer than the quorum. */
const char *zr_rank_best(const struct zr_candidate *candidate, const struct zr_seats *seats);

/* Of the known candidates that should lead before ours, the nearest one; null: none is known. */
const char *zr_rank_ahead(struct zr_task *task);

/* It is gone, or has led: it is not among the known candidates any more. */
void zr_rank_strike(struct zr_candidate *candidate, const char *name);

/* Methods (rank_change.c, rank_resign.c). */
enum zr_status zr_rank_change(struct zr_object *self, struct zr_args *args, struct zr_task **task);
enum zr_status zr_rank_resign(struct zr_object *self, struct zr_args *args, struct zr_task **task);

/* gives: the seats of this answer to a listing; null: memory is exhausted. */
struct zr_seats *zr_rank_seats(struct zr_task *task);

/* rank_attend.c. The candidate leads, or is about to: from now on `known` is current, or null, and
   the term ends when the directory does not name it any more. */
void zr_rank_attend(struct zr_candidate *candidate);

/* As `version` and `names` of struct zr_hold_more; names notes the version. */
int32_t zr_rank_version(const struct zr_hold *hold);
bool zr_rank_names(struct zr_hold *hold, const struct zr_request *answer);

/* rank_depart.c. Step of the clean-up: the term has ended by resigning. */
void zr_rank_depart(struct zr_task *task);

/* ---- The leader, for any caller (rank_leader.c) -------------------------------------------- */

/* Step: as zr_look. */
void zr_rank_look(struct zr_task *task);

/* answer: of a get of the directory. True if it names a seat that the look has not found gone. */
bool zr_rank_names_other(const struct zr_look *look, const struct zr_request *answer);

#endif
