// What the posterior divergence and the one-model recursions read and write; see recursions/tables.py and layout.py.
#pragma once

#include <stdint.h>

namespace hidiv {

// Chain when parent is null; transition 0 everywhere when transition_of is null; row u for node u when row_of is null.
struct Places {
    int64_t n;
    const int64_t *parent;
    const int64_t *transition_of;
    const int32_t *row_of_32;
    const int64_t *row_of_64;

    int64_t up(int64_t u) const { return parent ? parent[u] : u - 1; }
    int64_t transition(int64_t u) const { return transition_of ? transition_of[u] : 0; }
    int64_t row(int64_t u) const { return row_of_32 ? row_of_32[u] : row_of_64 ? row_of_64[u] : u; }
};

// One model: initial (K), transition (G, K, K), log_weight (R, K).
struct Law {
    const double *initial;
    const double *transition;
    const double *log_weight;
};

// Two models and log(q/p) of each part; residual (R, K) may be null.
struct LawPair {
    int64_t states;
    int64_t transitions;
    int64_t rows;
    Law p, q;
    const double *initial_ratio;
    const double *transition_ratio;
    const double *weight_ratio;
    const double *residual;
};

struct Divergence {
    double value;
    double log_likelihood_p;
    double log_likelihood_q;
    int64_t infinite[3];   // node, parent state, state; node -1 when finite
    int64_t impossible_p;  // first node in upward order where the evidence fails, or -1
    int64_t impossible_q;
    bool beyond = false;  // out of the kernel's range: the numpy twin is to answer
};

}  // namespace hidiv
