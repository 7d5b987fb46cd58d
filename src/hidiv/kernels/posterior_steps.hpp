// Steps of the posterior divergence along a chain, rows of the transition in the lanes of a vector.
// All tables are padded to whole vectors: row r >= K repeats row 0, state s >= K has weight 0.
#pragma once

#include <stdint.h>

namespace hidiv {

constexpr int64_t steps_at_once = 64;

// (G, K, padded), by columns: transition, log-ratio, their product, q's transition, ratio q/p.
struct StepTables {
    int64_t states, padded;
    const double *transition, *ratio, *weighted, *transition_q, *quotient;
    double reach;  // largest |log-ratio| of a transition
};

// (R, padded): weights scaled by powers of two, log-ratios with that of the heaviest state taken out, residuals or null.
struct StepRows {
    const double *weight, *ratio, *residual;
    const double *weight_q, *ratio_full;  // the semiring's: q's weights on their own scale, log-ratios as they are
};

struct StepState {
    double *b, *ratio, *inward;  // (padded) each
    int64_t exponent;            // powers of two taken out of b
    double ratio_out;            // log-ratios taken out of ratio
};

struct SemiringState {
    double *b, *b_q, *inward;  // inward: expected log p/q so far
    int64_t exponent, exponent_q;
    double inward_out, largest;
};

enum StepOutcome { steps_done, steps_too_far, steps_out_of_range };

}  // namespace hidiv
