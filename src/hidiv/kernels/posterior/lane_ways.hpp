// The two ways of doing a batch in lanes (lane_sweep.hpp): the recursion itself, term by term or by products, and the
// expected log-ratio with both messages, for models far apart.
#pragma once

#include <math.h>

#include "posterior/lane_tables.hpp"
#include "posterior/semiring_root.hpp"
#include "posterior/sequence_rows.hpp"
#include "posterior/wide_sweep.hpp"

namespace hidiv {

constexpr double lane_unit = 0x1p-53;

// What the ways share.
struct LaneWork {
    const StepTables &tables;
    const LaneRows &rows;
    SequenceRows &at_hand;
    Divergence *results;
};

// recursions/posterior_sweep.py. With products (lane_products.hpp) a sequence whose outcome is small beside what may
// have cancelled is given up; looked at first after the first steps.
class RecursionWay {
public:
    explicit RecursionWay(const LaneWork &work)
        : work_(work), states_(work.tables.states), step_(work.at_hand.pair, work.at_hand.places, nullptr) {}

    void begin(int64_t l) {
        lane_[l] = Lane();
        for (int64_t s = 0; s < states_; ++s) {
            state_.b[s][l] = 1.0;
            state_.ratio[s][l] = state_.inward[s][l] = 0.0;
        }
    }
    void repeat(int64_t l, int64_t other) {
        for (int64_t s = 0; s < states_; ++s) {
            state_.b[s][l] = state_.b[s][other];
            state_.ratio[s][l] = state_.ratio[s][other];
            state_.inward[s][l] = state_.inward[s][other];
        }
    }
    bool steps(const int64_t *node, int64_t count) {
        return table().posterior_lanes(work_.tables, work_.rows, node, count, state_);
    }
    bool settle(int64_t l, int64_t) {
        Lane &lane = lane_[l];
        if (!(fabs(state_.power[l]) < 0x1p59)) return false;
        lane.gathered.exponent += int64_t(state_.power[l]);
        lane.gathered.ratio.add(state_.ratio_out[l]);
        double least = state_.inward[0][l];
        for (int64_t s = 1; s < states_; ++s) least = fmin(least, state_.inward[s][l]);
        for (int64_t s = 0; s < states_; ++s) state_.inward[s][l] -= least;
        lane.gathered.value.add(least);
        lane.doubt += state_.doubt[l];
        const bool first = !lane.looked;
        lane.looked = true;
        return !first || sound(lane, lane.gathered.value.value());
    }
    bool finish(int64_t l, int64_t sequence, int64_t root) {
        if (!work_.at_hand.reach(root, root + 1)) return false;
        const LawPair &pair = work_.at_hand.pair;
        const int64_t row = work_.at_hand.places.row(root) * states_;
        for (int64_t s = 0; s < states_; ++s)
            if (!(fabs(pair.p.log_weight[row + s]) < 0x1p40) || !(fabs(pair.weight_ratio[row + s]) < 0x1p40) ||
                (pair.residual && !isfinite(pair.residual[row + s])))
                return false;
        Inbox inbox(states_);
        for (int64_t s = 0; s < states_; ++s) {
            inbox.b[size_t(s)] = Wide(state_.b[s][l]);
            inbox.ratio[size_t(s)] = state_.ratio[s][l];
            inbox.inward[size_t(s)] = state_.inward[s][l];
        }
        Divergence &result = work_.results[sequence];
        result = {NAN, NAN, NAN, {-1, -1, -1}, -1, -1};
        step_.root(inbox, lane_[l].gathered, result, nullptr, nullptr, nullptr, root);
        return sound(lane_[l], result.value);
    }

private:
    struct Lane {
        Gathered gathered;
        double doubt = 0.0;
        bool looked = false;
    };

    // Each row's products have 2 K terms, each rounded twice.
    bool sound(const Lane &lane, double value) const {
        return lane.doubt * double(2 * states_ + 16) * lane_unit <= semiring_allowed * value;
    }

    LaneWork work_;
    int64_t states_;
    WideStep step_;
    LaneState state_{};
    Lane lane_[most_lanes];
};

// semiring_chain.cpp.
class SemiringWay {
public:
    explicit SemiringWay(const LaneWork &work) : work_(work), states_(work.tables.states) {}

    void begin(int64_t l) {
        lane_[l] = Lane();
        for (int64_t s = 0; s < states_; ++s) {
            state_.b[s][l] = state_.b_q[s][l] = 1.0;
            state_.expected[s][l] = 0.0;
        }
    }
    void repeat(int64_t l, int64_t other) {
        for (int64_t s = 0; s < states_; ++s) {
            state_.b[s][l] = state_.b[s][other];
            state_.b_q[s][l] = state_.b_q[s][other];
            state_.expected[s][l] = state_.expected[s][other];
        }
    }
    bool steps(const int64_t *node, int64_t count) {
        return table().semiring_lanes(work_.tables, work_.rows, node, count, state_);
    }
    bool settle(int64_t l, int64_t count) {
        Lane &lane = lane_[l];
        lane.log_out.add(state_.log_out[l]);
        lane.gathered.ratio.add(state_.ratio_out[l]);
        lane.exponent += int64_t(state_.power_p[l]);
        lane.exponent_q += int64_t(state_.power_q[l]);
        lane.value.add(state_.expected_out[l]);
        lane.bound +=
            (double(count) * double(states_ + 4) * (2.0 + state_.largest[l]) + 4.0 * state_.reach[l]) * lane_unit;
        const bool first = !lane.looked;
        lane.looked = true;
        if (!first) return true;
        // Given the parent's state 0 this is the divergence of the nodes done so far: if it is small, so will the whole
        // be.
        const double ratio = (log(state_.b_q[0][l]) - log(state_.b[0][l])) +
                             double(lane.exponent_q - lane.exponent) * (log2_high + log2_low);
        return lane.bound <= semiring_allowed * (lane.value.value() + ratio);
    }
    bool finish(int64_t l, int64_t sequence, int64_t root) {
        if (!work_.at_hand.reach(root, root + 1)) return false;
        double b[most_lane_states], b_q[most_lane_states], expected[most_lane_states];
        for (int64_t s = 0; s < states_; ++s) {
            b[s] = state_.b[s][l];
            b_q[s] = state_.b_q[s][l];
            expected[s] = state_.expected[s][l] / b[s];
        }
        const Lane &lane = lane_[l];
        const SemiringEnd end{b, b_q, expected, lane.exponent, lane.exponent_q, lane.bound};
        try {
            return semiring_root(work_.at_hand.pair, work_.at_hand.places, root, end, lane.value, lane.gathered,
                                 work_.results[sequence], lane.log_out.value());
        } catch (const Beyond &) {  // left to the others
            return false;
        }
    }

private:
    struct Lane {
        Gathered gathered;
        Sum value, log_out;
        int64_t exponent = 0, exponent_q = 0;
        double bound = 0.0;
        bool looked = false;
    };

    LaneWork work_;
    int64_t states_;
    SemiringLanes state_{};
    Lane lane_[most_lanes];
};

}  // namespace hidiv
