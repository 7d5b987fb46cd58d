// Transitions and weight rows as the lanes read them.
#include "posterior/lane_tables.hpp"

#include <math.h>

#include "runtime/targets.hpp"

namespace hidiv {
namespace {

// e^x - 1 - x.
double phi(double x) {
    if (fabs(x) > 0.5) return expm1(x) - x;
    double term = 0.5 * x * x, sum = 0.0;
    for (int i = 3; i < 20; ++i) {
        sum += term;
        term *= x / i;
    }
    return sum;
}

}  // namespace

LaneTables::LaneTables(const LawPair &pair)
    : quotient(size_t(pair.transitions * pair.states * pair.states)), weighted(quotient), difference(quotient),
      second(quotient) {
    for (int64_t s = 0; s < pair.states; ++s) positive = positive && pair.p.initial[s] > 0 && pair.q.initial[s] > 0;
    double reach = 0.0;
    for (size_t i = 0; i < quotient.size(); ++i) {
        const double p = pair.p.transition[i], q = pair.q.transition[i], ratio = pair.transition_ratio[i];
        positive = positive && p > 0 && q > 0 && isfinite(ratio);
        quotient[i] = q / p;
        weighted[i] = p * ratio;
        difference[i] = p * expm1(ratio);
        second[i] = p * phi(ratio);
        reach = fmax(reach, fabs(ratio));
    }
    view = {pair.states,     pair.states,       pair.p.transition, pair.transition_ratio,
            weighted.data(), pair.q.transition, quotient.data(),   reach};
}

StepTables LaneTables::with_products() const {
    StepTables tables = view;
    tables.difference = difference.data();
    tables.second = second.data();
    return tables;
}

LaneWeights::LaneWeights(const LawPair &pair, const Places &places, const NormalTask *normal) {
    const int64_t states = pair.states, stride = states == 2 ? 2 : (states + 3) / 4 * 4;
    view_.row_of_32 = places.row_of_32;
    view_.row_of_64 = places.row_of_64;
    view_.residual = pair.residual;
    view_.normal = normal;
    if (normal) return;
    if (pair.rows > 4096 || pair.rows > places.n) {
        view_.log_weight = pair.p.log_weight;
        view_.log_ratio = pair.weight_ratio;
        view_.stride = states;
        return;
    }
    const size_t size = size_t(pair.rows * stride + 4);
    weight_.resize(size);
    weight_q_.resize(size);
    ratio_.resize(size);
    taken_.resize(size_t(4 * pair.rows));
    residual_.resize(pair.residual ? size : 0);
    for (int64_t i = 0; i < pair.rows; ++i) {
        double *weight = weight_.data() + i * stride;
        double *taken = taken_.data() + 4 * i;
        int64_t exponent = 0, exponent_q = 0;
        double reach = 0.0;
        const WeightRows out{states,      stride,    weight, ratio_.data() + i * stride,
                             &exponent,   taken + 1, true,   weight_q_.data() + i * stride,
                             &exponent_q, &reach};
        const int outcome = table().weigh_rows(pair.p.log_weight, pair.weight_ratio, &i, 1, out);
        zero_ = zero_ || outcome == weights_zero;
        if (outcome != weights_done) weight[0] = NAN;  // fails the checks of every step that uses this row
        taken[0] = double(exponent);
        for (int64_t s = 0; pair.residual && s < states; ++s) {
            residual_[size_t(i * stride + s)] = pair.residual[i * states + s];
            zero_ = zero_ || !isfinite(pair.residual[i * states + s]);
        }
    }
    if (!zero_ && of_one_size()) put_back(states, stride);
    view_.weight = weight_.data();
    view_.ratio = ratio_.data();
    view_.weight_q = weight_q_.data();
    view_.taken = taken_.empty() ? nullptr : taken_.data();
    view_.residual = pair.residual ? residual_.data() : nullptr;
    view_.stride = stride;
}

bool LaneWeights::of_one_size() const {
    double power = 0.0, ratio = 0.0, apart = 0.0;
    for (size_t i = 0; i < taken_.size(); i += 4) {
        power = fmax(power, fabs(taken_[i]));
        ratio = fmax(ratio, fabs(taken_[i + 1]));
    }
    for (double each : ratio_) apart = fmax(apart, fabs(each));
    return power <= 100.0 && ratio <= fmin(16.0 * apart, 200.0);
}

void LaneWeights::put_back(int64_t states, int64_t stride) {
    for (size_t i = 0; 4 * i < taken_.size(); ++i) {
        const double size = ldexp(1.0, int(taken_[4 * i])), ratio = taken_[4 * i + 1], size_q = size * exp(ratio);
        for (size_t s = 0; s < size_t(states); ++s) {
            weight_[i * size_t(stride) + s] *= size;
            weight_q_[i * size_t(stride) + s] *= size_q;
            ratio_[i * size_t(stride) + s] += ratio;
        }
    }
    taken_.clear();
}

}  // namespace hidiv
