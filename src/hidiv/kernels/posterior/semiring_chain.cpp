// The posterior divergence of a chain as expected log-ratio plus log-ratio of likelihoods, kept only where accurate.
#include "posterior/routes.hpp"

#include <math.h>

#include <algorithm>
#include <vector>

#include "posterior/prepared_rows.hpp"
#include "posterior/semiring_root.hpp"
#include "runtime/targets.hpp"
#include "simd/wide.hpp"

namespace hidiv {
namespace {

constexpr double unit = 0x1p-53;
constexpr int64_t trial = steps_at_once;  // steps before the first look

}  // namespace

bool may_be_far(const LawPair &pair, double reach) {
    if (pair.rows > 4096) return true;
    for (int64_t i = 0; i < pair.rows * pair.states; ++i) reach = std::max(reach, fabs(pair.weight_ratio[i]));
    return reach > 0.05;
}

Status semiring_chain(const LawPair &pair, const Places &places, const PaddedTables &padded_tables, Divergence &result,
                      bool &declined, Stream *stream) {
    declined = true;
    const StepTables tables = padded_tables.view();
    const int64_t states = pair.states;
    if (places.n < 4 * trial || (!stream && !may_be_far(pair, tables.reach))) return Status::done;
    PreparedRows rows(pair, places, tables.padded, steps_at_once, WithQ::every, stream);
    if (rows.zero()) return Status::done;
    std::vector<double> b(static_cast<size_t>(tables.padded), 1.0), b_q(b),
        expected(static_cast<size_t>(tables.padded), 0.0);
    Gathered gathered;  // what the weights' scaling took out
    Sum value;
    SemiringState state{b.data(), b_q.data(), expected.data(), 0, 0, 0.0, 0.0};
    // A bound on all roundings so far: each step adds K + 4 of them to two logarithms and to the expectation.
    double bound = 0.0;
    int32_t row[steps_at_once], which[steps_at_once];
    int64_t done = 0, since = 0, next_trial = trial;
    const int64_t look = std::max<int64_t>(1, (1 << 18) / (states * states));
    const auto ratio_of = [&](double q, double p) {
        return (log(q) - log(p)) + double(state.exponent_q - state.exponent) * (log2_high + log2_low);
    };
    for (int64_t first = places.n - 1; first > 0; first -= steps_at_once) {
        const int64_t count = std::min(first, steps_at_once);
        if (rows.block(first, count, row, gathered) > weights_out_of_range) return Status::done;
        double reach = 0.0;
        rows.far(row, count, state.exponent_q, reach);
        for (int64_t i = 0; places.transition_of && i < count; ++i) which[i] = int32_t(places.transition_of[first - i]);
        state.expected_out = state.largest = 0.0;
        if (!table().semiring_steps(tables, rows.view(), row, places.transition_of ? which : nullptr, count, state))
            return Status::done;
        value.add(state.expected_out);
        bound += (double(count) * double(states + 4) * (2.0 + state.largest) + 4.0 * reach) * unit;
        done += count;
        since += count;
        // Given the parent's state 0 this is the divergence of the nodes done so far: if it is small, so will the whole
        // be. A few looks on the way, so that little is done in vain.
        if (done >= next_trial) {
            if (!(bound <= semiring_allowed * (value.value() + expected[0] + ratio_of(b_q[0], b[0]))))
                return Status::done;
            next_trial = 8 * done;
        }
        if (since >= look) {
            if (interrupted()) return Status::interrupted;
            since = 0;
        }
    }
    if (stream && !stream->reach(0, 1)) return Status::done;
    const SemiringEnd end{b.data(), b_q.data(), expected.data(), state.exponent, state.exponent_q, bound};
    declined = !semiring_root(pair, places, 0, end, value, gathered, result);
    return Status::done;
}

bool semiring_root(const LawPair &pair, const Places &places, int64_t root, const SemiringEnd &end, Sum value,
                   const Gathered &gathered, Divergence &result, double log_out) {
    const int64_t states = pair.states, at = places.row(root) * states;
    Wide p, q;
    double mean = 0.0, reach = 0.0;
    std::vector<Wide> mass(static_cast<size_t>(states));
    for (int64_t s = 0; s < states; ++s) {
        const double log_weight = pair.p.log_weight[at + s], ratio = pair.weight_ratio[at + s];
        if (!isfinite(log_weight) || !isfinite(ratio) || (pair.residual && !isfinite(pair.residual[at + s])))
            return false;
        reach = fmax(reach, fabs(ratio));
        mass[size_t(s)] = wide_exp(log_weight) * end.b[s] * pair.p.initial[s];
        p = p + mass[size_t(s)];
        q = q + wide_exp(log_weight + ratio) * end.b_q[s] * pair.q.initial[s];
    }
    for (int64_t s = 0; s < states; ++s) {
        const double below = end.expected[s] - pair.weight_ratio[at + s] - pair.initial_ratio[s] +
                             (pair.residual ? pair.residual[at + s] : 0.0);
        mean += (mass[size_t(s)] / p).value() * below;
    }
    value.add(mean);
    const double log_p = Wide(p.m, p.e + end.exponent).log(), log_q = Wide(q.m, q.e + end.exponent_q).log(),
                 log_ratio = log_q - log_p;
    // One logarithm of everything is rounded once more, at its own size, and so is the root's own ratio.
    const double bound = end.bound + unit * (fabs(log_q) + fabs(log_p) + 2.0 * reach) * 2.0;
    const double total = value.value() + log_ratio;
    if (!(bound <= semiring_allowed * total)) return false;
    result = {total, Wide(p.m, p.e + end.exponent + gathered.exponent).log() + log_out, 0.0, {-1, -1, -1}, -1, -1};
    result.log_likelihood_q = result.log_likelihood_p + (log_ratio + gathered.ratio.value());
    return true;
}

}  // namespace hidiv
