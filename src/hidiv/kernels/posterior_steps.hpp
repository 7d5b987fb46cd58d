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
    const double *weight_q;  // for the semiring: q's weights on their own scale
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

// A vector's worth of rows is the unit of padding.
using posterior_padding_kernel = int64_t(int64_t states);
// Nodes in upward order with weight rows row[i] and transitions which[i] (null: 0); the state is left alone unless done.
// tier 0, 1, 2: log-ratios within 2^-6, 2^-3, 1; 3: any.
using posterior_steps_kernel = int(int tier, const StepTables &, const StepRows &, const int32_t *row, const int32_t *which,
                                   int64_t count, StepState &);

enum WeightOutcome { weights_done, weights_out_of_range, weights_zero };

// Rows of log weights made ready: weight = exp(log_weight) / 2^exponent, the ratio of the heaviest state taken out.
struct WeightRows {
    int64_t states, padded;
    double *weight, *ratio, *weight_q;  // (count, padded); weight_q may be null
    int64_t *exponent, *exponent_q;     // (count)
    double *ratio_out;                  // (count)
};
// Row index[i] of the tables (null: start - i) goes to place i.
using weigh_rows_kernel = int(const double *log_weight, const double *ratio, const double *log_weight_q, const int64_t *index,
                              int64_t start, int64_t count, const WeightRows &);

#define HIDIV_INFERENCE_LIST(X) X(posterior_padding) X(posterior_steps) X(weigh_rows)

}  // namespace hidiv
