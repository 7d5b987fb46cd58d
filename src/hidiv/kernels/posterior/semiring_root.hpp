// Where the two forms of the semiring (semiring_chain.cpp, lane_ways.hpp) end, and when it is worth a try.
#pragma once

#include <stdint.h>

#include "one_model/model_tables.hpp"
#include "posterior/wide_sweep.hpp"

namespace hidiv {

constexpr double semiring_allowed = 5e-13;  // of the outcome: what roundings may have changed

// False: every row's divergence is too small for the check to pass. Many rows are not looked through.
bool may_be_far(const LawPair &, double reach);

// The messages of the root's child, (K) each; what was taken out of them; a bound of all roundings so far.
struct SemiringEnd {
    const double *b, *b_q, *expected;
    int64_t exponent, exponent_q;
    double bound;
};

// The root's own part; false where the outcome is too small for the roundings. log_out: what else was taken out of the
// logarithms of p's weights.
bool semiring_root(const LawPair &, const Places &, int64_t root, const SemiringEnd &, Sum value, const Gathered &,
                   Divergence &, double log_out = 0.0);

}  // namespace hidiv
