// Bounds of entropies on a grid of filters, and by contexts; each has its twin in recursions/.
//
// Compiled once, for every processor. Which of the two is used is decided in Python (divergences/observed/certified);
// here each has one route:
//   belief_grid.cpp   points of the grid, created when first met: one thread, up to `limit` points
//   grid_sweeps.cpp   sweeps over them: blocks of 512 points over threads from 200,000 terms a sweep on
//   contexts.cpp      the tree of contexts: its branches of two symbols over threads, depth first, any states
#pragma once

#include <stdint.h>

#include <vector>

#include "runtime/table.hpp"

namespace hidiv {

// A chain with a finite alphabet: transition (states, states), probabilities (states, symbols).
struct Symbols {
    int64_t states, symbols;
    const double *transition, *probabilities;
};

// Filters of q that stand for all others: every filter after every symbol is a mean of at most `states` of them.
struct BeliefGrid {
    std::vector<double> points;     // (G, K)
    std::vector<int32_t> index;     // (G, M, K) the points around the filter after a symbol
    std::vector<double> weights;    // (G, M, K) and their shares
    std::vector<double> log_scale;  // (G, M) log q(symbol | point)
    std::vector<double> excess;     // (G, M) largest log(mean of the points / filter), from rounding
    std::vector<uint64_t> reached;  // (G,) bit s: p may be in state s there
    std::vector<int32_t> start_index;
    std::vector<double> start_weights, start_excess;
    bool complete = true;  // false: more points than the limit
};

// start (count, K) beliefs, start_states[i] the states p may be in there; ticks ascending from 0 to 1.
Status belief_grid(const Symbols &p, const Symbols &q, int64_t count, const double *start, const uint64_t *start_states,
                   int64_t n_ticks, const double *ticks, int64_t limit, BeliefGrid &out);

// What a sweep reads: G points, their neighbours after each of M symbols (K of them), where p may be.
struct Neighbours {
    int64_t points, symbols, around;
    const int32_t *index;
    const double *weights;
};

// count sweeps of values' = cost + E[mean of the values around the next filter]; logarithmic: -log E-mean of
// exp(-value). least and largest: of the last change, where reached.
Status spread_sweeps(const Symbols &p, const Neighbours &, const double *cost, const bool *reached, double *values,
                     int64_t count, bool logarithmic, double &least, double &largest);

// count sweeps of the functions value - log(b . slope): lower bounds that are closed under a step.
Status tangent_sweeps(const Symbols &p, const Symbols &q, const Neighbours &, const double *points, const bool *reached,
                      double *values, double *slopes, int64_t count, double &least);

// count sweeps of values' = cost + sum over symbols of chance (G, M) times the mean around the next filter.
Status chance_sweeps(const Neighbours &, const double *chance, const double *cost, double *values, int64_t count,
                     double &least, double &largest);

struct Contexts {
    double lower = 0.0, upper = 0.0;
    int64_t leaves = 0, depth = 0;
    bool finished = true;
};

// Bounds of the cross-entropy rate of q under p in its stationary `law`; `middle` (states of q) weighs its states.
// 0 and infinity where q has probabilities too small for doubles.
Status cross_contexts(const Symbols &p, const double *law, const Symbols &q, const double *middle, double threshold,
                      int64_t depth, int64_t limit, Contexts &out);
// Bounds of the entropy rate of p.
Status entropy_contexts(const Symbols &p, const double *law, double threshold, int64_t depth, int64_t limit,
                        Contexts &out);
// The same for a chain that begins, its third and later symbols together; q null: the entropy of p. laws (depth + 1,
// states of p): row k is the sum of the laws of the state before k symbols, over all nodes that have so many behind.
Status chain_contexts(const Symbols &p, const double *initial_p, const double *laws, const Symbols *q,
                      const double *initial_q, const double *middle, double threshold, int64_t depth, int64_t limit,
                      Contexts &out);

}  // namespace hidiv
