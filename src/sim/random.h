#ifndef ZR_SIM_RANDOM_H
#define ZR_SIM_RANDOM_H

/*
 * random.h: the world's dice (splitmix64). The same seed gives the same world on every machine,
 * which rand() does not.
 */

#include <stdbool.h>
#include <stdint.h>

struct zr_sim_random {
    uint64_t state;
};

static inline uint64_t zr_sim_random_next(struct zr_sim_random *random)
{
    uint64_t mixed = (random->state += 0x9e3779b97f4a7c15u);
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    return mixed ^ (mixed >> 31);
}

/* From 0 to below - 1; 0 when below is 0. */
static inline int64_t zr_sim_random_below(struct zr_sim_random *random, int64_t below)
{
    uint64_t next = zr_sim_random_next(random);
    return below > 0 ? (int64_t)(next % (uint64_t)below) : 0;
}

/* True in this many of a million calls. */
static inline bool zr_sim_random_hit(struct zr_sim_random *random, uint32_t per_million)
{
    return per_million > 0 && (uint64_t)zr_sim_random_below(random, 1000000) < per_million;
}

#endif
