// Weighted moments of observations, a set of weights for each state (recursions/moments.py).
//
// One route for every size: moments.cpp cuts the rows into pieces over threads, always at the same places, and adds
// their sums in order, so that threads never show in the numbers; moments_steps.cpp, compiled for each instruction set,
// sums a piece with rows in the lanes. An entry of x that is NaN counts as not there.
#pragma once

#include <stdint.h>

namespace hidiv {

enum class Status;

struct WeightedRows {
    int64_t states, features;
    const double *x, *weight;  // (n, F), (n, K)
    const double *mean;        // (K, F) for squares and products, null for sums
    bool full;                 // products: all of them, else squares alone
    int64_t sums() const { return states * (mean ? full ? features * features : features : features + 1); }
};

// Rows first..end-1 added to out: without a mean (K, 1 + F), mass and sums of w x; with it (K, F), sums of w (x - m)^2;
// full (K, F, F), sums of w (x - m)(x - m)', the lower triangle.
using weighted_piece_kernel = Status(const WeightedRows &, int64_t first, int64_t end, double *out);

#define HIDIV_MOMENTS_KERNELS(X) X(weighted_piece)

// All of them; the upper triangle too.
Status weighted_moments(const WeightedRows &, int64_t rows, int64_t threads, double *out);

}  // namespace hidiv
