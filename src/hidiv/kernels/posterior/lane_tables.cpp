// Weight rows as the lanes read them.
#include "posterior/lane_tables.hpp"

#include "runtime/targets.hpp"

namespace hidiv {

LaneWeights::LaneWeights(const LawPair &pair, const Places &places) {
    const int64_t states = pair.states, stride = states == 2 ? 2 : (states + 3) / 4 * 4;
    view_.row_of_32 = places.row_of_32;
    view_.row_of_64 = places.row_of_64;
    view_.residual = pair.residual;
    if (pair.rows > 4096 || pair.rows > places.n) {
        view_.log_weight = pair.p.log_weight;
        view_.log_ratio = pair.weight_ratio;
        view_.stride = states;
        return;
    }
    const size_t size = size_t(pair.rows * stride + 4);
    weight_.resize(size);
    ratio_.resize(size);
    power_.resize(size_t(pair.rows));
    ratio_out_.resize(size_t(pair.rows));
    residual_.resize(pair.residual ? size : 0);
    for (int64_t i = 0; i < pair.rows; ++i) {
        double *weight = weight_.data() + i * stride;
        int64_t exponent = 0;
        const WeightRows out{
            states,  stride,  weight, ratio_.data() + i * stride, &exponent, ratio_out_.data() + i, false,
            nullptr, nullptr, nullptr};
        const int outcome = table().weigh_rows(pair.p.log_weight, pair.weight_ratio, &i, 1, out);
        zero_ = zero_ || outcome == weights_zero;
        if (outcome != weights_done) weight[0] = NAN;  // fails the checks of every step that uses this row
        power_[size_t(i)] = double(exponent);
        for (int64_t s = 0; pair.residual && s < states; ++s) {
            residual_[size_t(i * stride + s)] = pair.residual[i * states + s];
            zero_ = zero_ || !isfinite(pair.residual[i * states + s]);
        }
    }
    view_.weight = weight_.data();
    view_.ratio = ratio_.data();
    view_.power = power_.data();
    view_.ratio_out = ratio_out_.data();
    view_.residual = pair.residual ? residual_.data() : nullptr;
    view_.stride = stride;
}

}  // namespace hidiv
