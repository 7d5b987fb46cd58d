// Steps of the posterior divergence, compiled for each instruction set: along a chain with rows of the transition in
// the lanes of a vector (tables padded to whole vectors: row r >= K repeats row 0, state s >= K has weight 0), and with
// a node or a sequence in every lane.
#pragma once

#include <stdint.h>

namespace hidiv {

struct NormalTask;

constexpr int64_t steps_at_once = 64;

// (G, K, padded), by columns: transition, log-ratio, their product, q's transition, ratio q/p.
struct StepTables {
    int64_t states, padded;
    const double *transition, *ratio, *weighted, *transition_q, *quotient;
    double reach;  // largest |log-ratio| of a transition
    // For lane_products.hpp, else null: q's transition less p's; transition times phi of the log-ratio.
    const double *difference = nullptr, *second = nullptr;
};

// (R, padded): weights scaled by powers of two, log-ratios with that of the heaviest state taken out, residuals or
// null.
struct StepRows {
    const double *weight, *ratio, *residual;
    const double *weight_q;     // for the semiring and tier 4, else null: weight times e^ratio over 2^exponent_q
    const int64_t *exponent_q;  // (R)
};

struct StepState {
    double *b, *ratio, *inward;  // (padded) each
    int64_t exponent;            // powers of two taken out of b
    double ratio_out;            // log-ratios taken out of ratio
};

// Expected complete log-ratio and both messages: three products a step and no logarithm, for models far apart.
struct SemiringState {
    double *b, *b_q, *expected;    // (padded); expected: E_p[log p/q] of what lies below, lane 0 taken out
    int64_t exponent, exponent_q;  // powers of two taken out of b and b_q
    double expected_out, largest;  // what was taken out of expected; the largest |expected| seen
};

enum StepOutcome { steps_done, steps_too_far, steps_out_of_range };

// A vector's worth of rows is the unit of padding.
using posterior_padding_kernel = int64_t(int64_t states);
// Nodes in upward order with weight rows row[i] and transitions which[i] (null: 0); the state is left alone unless
// done. tier 0, 1, 2: log-ratios within 2^-6, 2^-3, 1; 3: any; 4: with q's weights on a scale of their own, for rows
// out of range.
using posterior_steps_kernel = int(int tier, const StepTables &, const StepRows &, const int32_t *row,
                                   const int32_t *which, int64_t count, StepState &);

// weight_q (R, padded): weight times e^ratio. false: out of range, the state is left alone.
using semiring_steps_kernel = bool(const StepTables &, const StepRows &, const int32_t *row, const int32_t *which,
                                   int64_t count, SemiringState &);

// out_of_range: a weight or a log-ratio is too far from the others for a common scale; far_out: by more than 2^16,
// where even a scale for each model does not help.
enum WeightOutcome { weights_done, weights_out_of_range, weights_far_out, weights_zero };

// Rows of log weights made ready: weight = exp(log_weight) / 2^exponent, the ratio of the heaviest state taken out.
struct WeightRows {
    int64_t states, padded;
    double *weight, *ratio;  // (count, padded)
    int64_t *exponent;       // (count)
    double *ratio_out;       // (count)
    // For the semiring and tier 4, else null: (count, padded) weight times e^ratio, over 2^exponent_q. Rows out of
    // range have a scale of their own there; weights below e^-700 of the heaviest one stand in as that. reach (count):
    // their largest |log-ratio|, at least 1; 0 for other rows. Where no row is out of range and not every_q, weight_q
    // is unset.
    bool every_q;
    double *weight_q;
    int64_t *exponent_q;
    double *reach;
};
// Row index[i] of the tables goes to place i; ratio may be null.
using weigh_rows_kernel = int(const double *log_weight, const double *ratio, const int64_t *index, int64_t count,
                              const WeightRows &);

// The same step with one sequence in each lane, 2 to 16 states, or one node, 2 to 8 states. Tables by rows and not
// padded: (G, K, K), (R, K).
constexpr int most_lanes = 8, most_lane_states = 16, most_tree_states = 8;

// Rows by their number in the tables. Few: made ready once, weight null otherwise and the logarithms are read.
struct LaneRows {
    const double *weight, *weight_q, *ratio;  // (R, stride); stride 2 for two states, else a multiple of four
    const double *taken;                      // (R, 4): exponent and log-ratio taken out, and nothing; null: none
    const double *log_weight, *log_ratio;     // (R, K)
    const double *residual;                   // (R, stride) or (R, K), null for none; never infinite where made ready
    int64_t stride;
    const int32_t *row_of_32;  // node -> row; both null: the same
    const int64_t *row_of_64;
    const NormalTask *normal = nullptr;  // densities of independent columns instead of tables: row u is its x
};

struct LaneState {
    double b[most_lane_states][most_lanes], ratio[most_lane_states][most_lanes], inward[most_lane_states][most_lanes];
    double power[most_lanes], ratio_out[most_lanes];  // taken out
    double doubt[most_lanes];                         // sum of what may have cancelled (lane_products.hpp)
};

// SemiringState with a sequence in each lane; expected is b times the expectation.
struct SemiringLanes {
    double b[most_lane_states][most_lanes], b_q[most_lane_states][most_lanes], expected[most_lane_states][most_lanes];
    double log_out[most_lanes], ratio_out[most_lanes];  // taken out of p's log-weights, and the ratio of q's
    double power_p[most_lanes], power_q[most_lanes], expected_out[most_lanes];  // and of each by itself
    double largest[most_lanes];                                                 // |expectation|, or up to twice as much
    double reach[most_lanes];  // sum of the largest |log-ratio| of rows that are out of a common scale's range
};

using lane_count_kernel = int();
// Lane l does the nodes node[l], node[l] - 1, ...; all with transition 0. false: out of range, the state is left alone.
using posterior_lanes_kernel = bool(const StepTables &, const LaneRows &, const int64_t *node, int64_t count,
                                    LaneState &);

// The same for messages of both models and p's expected log-ratio.
using semiring_lanes_kernel = bool(const StepTables &, const LaneRows &, const int64_t *node, int64_t count,
                                   SemiringLanes &);

// What the children's messages met so far make together: b and ratio of states 1, 2, ..., those of state 0 taken out,
// and inward of all states. Two states take half a cache line.
constexpr int64_t lane_record(int64_t states) { return (3 * states + 1) / 4 * 4; }
struct TreeNodes {
    const int64_t *parent, *transition_of;
    double *record;
    bool *heard;      // by node: whether it has a record yet
    int64_t records;  // the place of the record of all nodes that have none: ones and zeros
};
// Taken out of messages and weights; the last five are the semiring's.
struct TreeSums {
    double mass, power, ratio, value, mass_q, power_q, log, largest, reach;
};
// Nodes first, first-1, ..., last of a listed tree.
using posterior_nodes_kernel = bool(const StepTables &, const LaneRows &, const TreeNodes &, int64_t first,
                                    int64_t last, TreeSums &);
// The same with both models' messages and p's expected log-ratio in the record.
using semiring_nodes_kernel = posterior_nodes_kernel;

// clang-format off
#define HIDIV_POSTERIOR_KERNELS(X) \
    X(posterior_padding) X(posterior_steps) X(semiring_steps) X(weigh_rows) X(lane_count) X(posterior_lanes) \
    X(semiring_lanes) X(posterior_nodes) X(semiring_nodes)
// clang-format on

}  // namespace hidiv
