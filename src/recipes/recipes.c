#include "recipes/recipes.h"

#include <stddef.h>

#include "plain/session_class.h"

/* Every recipe. */
extern const struct zr_recipe zr_lock_recipe, zr_rwlock_recipe, zr_semaphore_recipe,
    zr_election_recipe, zr_barrier_recipe, zr_latch_recipe, zr_counter_recipe, zr_tree_recipe,
    zr_presence_recipe, zr_watch_recipe, zr_watch_znode_recipe, zr_worker_id_recipe,
    zr_value_recipe, zr_queue_recipe, zr_simple_recipe, zr_double_barrier_recipe,
    zr_cyclic_barrier_recipe;
const struct zr_recipe *const zr_recipes[] = {
    &zr_lock_recipe,           &zr_rwlock_recipe,         &zr_semaphore_recipe,
    &zr_election_recipe,       &zr_barrier_recipe,        &zr_latch_recipe,
    &zr_counter_recipe,        &zr_tree_recipe,           &zr_presence_recipe,
    &zr_watch_recipe,          &zr_worker_id_recipe,      &zr_watch_znode_recipe,
    &zr_value_recipe,          &zr_queue_recipe,          &zr_simple_recipe,
    &zr_double_barrier_recipe, &zr_cyclic_barrier_recipe, NULL,
};

/* Every class. */
extern const struct zr_class zr_hold_class, zr_lock_class, zr_rwlock_class, zr_semaphore_class,
    zr_election_class, zr_term_class, zr_barrier_class, zr_latch_class, zr_counter_class,
    zr_tree_class, zr_changes_class, zr_presence_class, zr_watch_class, zr_worker_id_class,
    zr_value_class, zr_queue_class, zr_claim_class, zr_walk_class, zr_simple_class,
    zr_simple_walk_class, zr_double_barrier_class, zr_cyclic_barrier_class;
const struct zr_class *const zr_classes[] = {
    &zr_session_class,     &zr_hold_class,           &zr_lock_class,           &zr_rwlock_class,
    &zr_semaphore_class,   &zr_election_class,       &zr_term_class,           &zr_barrier_class,
    &zr_latch_class,       &zr_counter_class,        &zr_tree_class,           &zr_changes_class,
    &zr_watch_class,       &zr_worker_id_class,      &zr_presence_class,       &zr_value_class,
    &zr_queue_class,       &zr_claim_class,          &zr_walk_class,           &zr_simple_class,
    &zr_simple_walk_class, &zr_double_barrier_class, &zr_cyclic_barrier_class, NULL,
};
