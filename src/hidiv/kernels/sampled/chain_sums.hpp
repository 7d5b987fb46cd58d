// Sums along chains drawn from p: one-step divergences of p and q, and controls (recursions/chain_sums.py).
//
// One route for every size: pieces of 16 sequences over threads (chain_sums.cpp), a sequence in every lane
// (chain_steps.cpp). A probability below 1e-250 makes the block unsound, and the numpy twin's caller works in
// logarithms; products of three filter probabilities are summed for up to 6 free states (bindings/sampled.cpp).
#pragma once

#include <stdint.h>

namespace hidiv {

enum class Status;

// n sequences of `length` nodes. Tables of weights have `rows` rows, one for each symbol or for each node of each
// sequence; the next observation is one of `points` points with probabilities of p, scaled ones of q, and weights.
struct ChainSums {
    int64_t n, length, states_p, states_q, rows, points, last;
    const double *initial_p, *transition_p, *weight_p;  // (K), (K, K), (rows, K)
    const double *initial_q, *transition_q, *weight_q;
    const int64_t *row_of;                     // (n, length)
    const double *at_p, *at_q, *scale, *mass;  // (K, J), (L, J), (J), (J)
    const double *next_p, *next_q;             // (K, J), (L, J): of the step after; null: not looked at
    const double *log_p, *log_q;               // (rows, K), (rows, L): null, or log-ratios are counted
    const double *value;                       // (.., value_size()): functions of both filters; null: none
    const int64_t *value_of;                   // (length): which of them is taken after a node
    bool symbols, products, cubes, counts;     // symbols: rows are counted, by state; counts: anything is counted

    int64_t free_states() const { return states_p + states_q - 2; }
    int64_t value_size() const { return (states_p + states_q) * (states_p + states_q + 3) / 2; }
    int64_t first_linear() const { return 2 + (value ? 1 : 0); }
    int64_t counted() const { return counts ? states_p + states_p * states_p + shown() : 0; }
    int64_t linear() const { return free_states() + (next_p ? 1 : 0); }
    int64_t shown() const { return states_p * (symbols ? rows : log_p ? states_q : 0); }
    int64_t squares() const { return products ? free_states() * (free_states() + 1) / 2 : 0; }
    int64_t thirds() const {
        return products && cubes ? free_states() * (free_states() + 1) * (free_states() + 2) / 6 : 0;
    }
    int64_t columns() const { return first_linear() + 2 * linear() + counted() + 2 * squares() + thirds(); }
};

constexpr int64_t sequences_at_once = 16;  // sequences to a piece of work, a multiple of the lanes of every target

using chain_block_kernel = Status(const ChainSums &, int64_t first, double *out, bool &sound);

#define HIDIV_SAMPLED_KERNELS(X) X(chain_block)

// out (n, columns); sound: no probability was too small for this way of computing.
Status chain_sums(const ChainSums &task, int64_t threads, double *out, bool &sound);

}  // namespace hidiv
