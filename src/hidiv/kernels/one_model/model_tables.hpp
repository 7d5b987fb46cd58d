// What the posterior divergence and the one-model recursions read and write; see recursions/tables.py.
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
    int64_t first_row = 0;  // of the rows at hand, where they are made as a sweep comes to them

    int64_t up(int64_t u) const { return parent ? parent[u] : u - 1; }
    int64_t transition(int64_t u) const { return transition_of ? transition_of[u] : 0; }
    int64_t row(int64_t u) const { return row_of_32 ? row_of_32[u] : row_of_64 ? row_of_64[u] : u - first_row; }
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

// Rows of weights that are made when a sweep comes to them.
class RowSource {
public:
    virtual ~RowSource() = default;
    // Rows first..end-1 as log_weight of p, weight_ratio and residual of the pair; false: they cannot be made.
    virtual bool make(int64_t first, int64_t end, LawPair &pair) = 0;
};

// A chain whose rows come from a source, `chunk` nodes at a time, from the last to the first.
struct Stream {
    LawPair &pair;
    Places &places;
    RowSource *source;
    int64_t chunk;
    int64_t end = -1;  // the nodes places.first_row..end-1 are at hand

    // Makes sure of the nodes from last - count + 1 to last.
    bool reach(int64_t last, int64_t count) {
        if (!source || (last < end && last - count + 1 >= places.first_row)) return true;
        const int64_t first = last + 1 > chunk ? last + 1 - chunk : 0;
        if (!source->make(first, last + 1, pair)) return false;
        places.first_row = first;
        end = last + 1;
        return true;
    }
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
