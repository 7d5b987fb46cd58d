// The variational recursion of the observed divergence over blocks of pairs (recursions/variational_sweep.py).
#pragma once

#include <stdint.h>

namespace hidiv {

// m models p with K states against n models q with K' states, on a tree of some kinds of subtrees.
struct VariationalPairs {
    int64_t kinds;
    const int64_t *group, *start, *child;  // (kinds), (kinds + 1), children
    const double *count;
    const int64_t *repeat;
    const int64_t *own_start;  // (kinds)
    int64_t turns;
    const double *own, *own_root;  // (m, turns, K), (m)
    int64_t m, n, states_p, states_q, groups_p, groups_q, groups_e;
    const double *initial_p, *transition_p;  // (m, K), (m, G, K, K)
    const double *initial_q, *transition_q;  // (K', n), (G', K', K', n)
    const double *emission;                  // (G'', m, K, K', n)
};

}  // namespace hidiv
