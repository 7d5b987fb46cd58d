// Steps on one model, compiled for each instruction set: the likelihood of a chain, and the expected counts of a tree.
#pragma once

#include <stdint.h>

#include "one_model/model_tables.hpp"

namespace hidiv {

// A tree of a forest: its first node is `first`, nodes count from 0 here; parents count in the forest, null for a
// chain.
struct ExpectTree {
    int64_t states, padded, first, n;
    const int64_t *parent, *transition_of;  // from the tree's first node on
    const int32_t *row_of_32;
    const int64_t *row_of_64;
    const double *initial;         // (K)
    const double *columns, *rows;  // (G, K, padded): transitions by columns and by rows
    const double *weight;          // (R, padded): weights, the largest of a row is 1
    double *own, *mass;            // (n, padded) working memory

    int64_t row(int64_t u) const { return row_of_32 ? row_of_32[u] : row_of_64 ? row_of_64[u] : first + u; }
    int64_t group(int64_t u) const { return transition_of ? transition_of[u] : 0; }
};

// Sums that every tree adds to: initial (K), edges (G, K, padded) over the transition, rows (R, K).
struct ExpectSums {
    double *initial, *edges, *rows;
};

// P(E) = total 2^exponent, times the largest weight of every node.
struct ExpectOutcome {
    double total;
    int64_t exponent;
};

using expect_padding_kernel = int64_t(int64_t states);
// false: out of range, nothing was added.
using expect_tree_kernel = bool(const ExpectTree &, const ExpectSums &, ExpectOutcome &);
// weight (count, padded) = exp(log_weight - top), top (count) the largest of a row, -inf for a row that cannot be used.
using expect_weights_kernel = void(const double *log_weight, int64_t states, int64_t padded, int64_t count,
                                   double *weight, double *top);

// Upward messages b of a chain in blocks of steps, padded as posterior_padding says; G transitions (G, K, padded) by
// columns.
using likelihood_steps_kernel = bool(int64_t states, int64_t padded, const double *transition, const double *weight,
                                     const int32_t *row, const int32_t *which, int64_t count, double *b,
                                     int64_t &exponent);

// A chain whose transitions are all at least 2^-60, (G, K, padded) by columns and by rows, lanes beyond K as those of
// state 0 by columns and 0 by rows.
struct SmoothChain {
    int64_t states, padded;
    const double *columns, *rows, *initial, *log_weight;  // log_weight (R, K)
    Places places;
    double *own;                // (n, padded) working memory
    double *marginals, *pairs;  // (n, K), (n, K, K); pairs may be null
};
struct SmoothOutcome {
    double total, high, low;  // P(E) = total 2^exponent e^(high + low)
    int64_t exponent;
    bool stopped;  // by Ctrl-C
};
// false: a zero among the weights, or numbers out of range.
using smooth_steps_kernel = bool(const SmoothChain &, SmoothOutcome &);

// The best state below each state, upwards along a chain; log_columns (G, K, padded), lanes beyond K as -inf.
struct ViterbiChain {
    int64_t states, padded;
    const double *log_columns, *log_weight;
    Places places;
    int32_t *choice;  // (n, padded)
    double *own;      // (padded) of the root: log-weight and what lies below, less the constants high + low
};
// false: stopped by Ctrl-C.
using viterbi_steps_kernel = bool(const ViterbiChain &, double &high, double &low);

#define HIDIV_ONE_MODEL_KERNELS(X) \
    X(likelihood_steps) X(expect_padding) X(expect_tree) X(expect_weights) X(smooth_steps) X(viterbi_steps)

}  // namespace hidiv
