#ifndef ZR_RANK_H
#define ZR_RANK_H

/*
 * rank.h: what the files of the election by rank share (rank*.c); rank.c has the story.
 * Thread: the host's.
 */

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

/* What is known of a candidate in a listing. */
struct zr_rank_entry {
    struct zr_call *read; /* while it is out; null: this session has the candidate */
    bool stands, ranked;
    int64_t rank; /* if ranked */
};

/* A look at all candidates; see rank_poll.c. */
struct zr_rank_poll {
    struct zr_seats *seats;   /* counted: in the order in which they came */
    struct zr_rank_entry *at; /* of each */
    size_t count, missing;    /* asked for; reads that are still out */
    struct zr_signal done;
    enum zr_status status;
    struct zr_next next;
};

struct zr_candidate {
    union {
        struct zr_hold hold;
        struct zr_term term;
    };
    struct zr_rank_say *say; /* counted: the data of the seat */
    struct zr_rank_say
        *sent;                /* counted: the data of the last write to the seat, while its outcome
                                 is unknown: then only the seat tells its rank. Null: it has `say` */
    struct zr_watch *watch;   /* of the directory; followed */
    int64_t events;           /* how many events it had had at the last look */
    struct zr_named named;    /* what the directory said at the last look ... */
    int64_t mzxid;            /* ... and the last write to it ... */
    int32_t version;          /* ... and its version */
    int64_t due_us;           /* from then on it reads all candidates itself */
    bool doubts;              /* the last listing may be older than the last event */
    bool waits;               /* it has looked, and waits */
    char ended[ZR_RANK_NAME]; /* the last leader whose znode was found gone */
    struct zr_rank_poll poll;
    struct zr_transaction transaction;
};

struct zr_candidate *zr_candidate_of(struct zr_task *task);
struct zr_election *zr_candidate_election(struct zr_task *task);

/* The name of its seat. */
const char *zr_candidate_name(const struct zr_candidate *candidate);

/* The attempt of this link in contest->attempts if it waits and has a seat; or null. */
struct zr_candidate *zr_candidate_standing(struct zr_link *link);

enum zr_status zr_rank_campaign(struct zr_election *election, const struct zr_arg *timeout,
                                struct zr_task **task);

/* No candidate may write over the version -1, because the server does not compare it. */
#define ZR_RANK_WRAPPED                                                                            \
    "the directory is at version -1, which a server does not compare; write its data once more "   \
    "by "                                                                                          \
    "hand"

/* ---- Its steps (rank.c) -------------------------------------------------------------------- */

/* Step: takes a seat, and goes on as rank.c tells. */
void zr_rank_contend(struct zr_task *task);

/* Step: a try has failed: the leader's seat was read, and exists. */
void zr_rank_leader_stands(struct zr_task *task);

/* Reads the seat that the directory names. */
void zr_rank_read_leader(struct zr_task *task, struct zr_next next);

/* Notes what the directory says. answer: of a get of it. */
void zr_rank_note(struct zr_candidate *candidate, const struct zr_request *answer);

/* Gives back what only a candidate needs that waits. */
void zr_rank_stop_looking(struct zr_candidate *candidate);

/* ---- Its parts ----------------------------------------------------------------------------- */

/* Step (rank_poll.c): reads the ranks of these candidates, then goes on with next. takes: seats. */
void zr_rank_poll(struct zr_task *task, struct zr_seats *seats, struct zr_next next);
void zr_rank_poll_fini(struct zr_rank_poll *poll);

/* True if our candidate should lead. Notes for all candidates of this handle how many are ahead. */
bool zr_rank_is_best(struct zr_task *task);

/* True if the named successor, or a candidate that was better than ours at the last look, is in
   this listing. */
bool zr_rank_knows_better(struct zr_task *task, const struct zr_seats *seats);

/* Methods (rank_change.c, rank_resign.c). */
enum zr_status zr_rank_change(struct zr_object *self, struct zr_args *args, struct zr_task **task);
enum zr_status zr_rank_resign(struct zr_object *self, struct zr_args *args, struct zr_task **task);

/* ---- The leader, for any caller (rank_leader.c) -------------------------------------------- */

/* Step: as zr_look. */
void zr_rank_look(struct zr_task *task);

/* answer: of a get of the directory. True if it names a seat that the look has not found gone. */
bool zr_rank_names_other(const struct zr_look *look, const struct zr_request *answer);

#endif
