// Weight rows made ready: all of them once when they are few, else those of a block when it comes.
#include "posterior/prepared_rows.hpp"

#include <math.h>

#include <algorithm>

#include "runtime/targets.hpp"

namespace hidiv {

PreparedRows::PreparedRows(const LawPair &pair, const Places &places, int64_t stride, int64_t capacity, WithQ with_q,
                           Stream *stream)
    : pair_(pair), places_(places), stream_(stream), stride_(stride),
      whole_(!stream && pair.rows <= 4096 && pair.rows < places.n), every_q_(with_q == WithQ::every || whole_),
      count_(whole_ ? pair.rows : capacity), weight_(size_t(count_ * stride)), ratio_(weight_),
      residual_(pair.residual ? weight_.size() : 0), weight_q_(with_q == WithQ::none ? 0 : weight_.size()),
      exponent_(size_t(count_)), index_(size_t(count_)), exponent_q_(with_q == WithQ::none ? 0 : size_t(count_)),
      ratio_out_(size_t(count_)), reach_(exponent_q_.size()), outcome_(whole_ ? size_t(count_) : 0) {
    for (int64_t i = 0; whole_ && i < count_; ++i) {
        outcome_[size_t(i)] = char(fill(&i, i, 1));
        zero_ = zero_ || outcome_[size_t(i)] == weights_zero;
        all_done_ = all_done_ && outcome_[size_t(i)] == weights_done;
    }
}

int PreparedRows::block(int64_t first, int64_t count, int32_t *row, Gathered &taken) {
    int outcome = weights_done;
    if (stream_ && !stream_->reach(first, count)) return weights_zero;
    if (whole_) {
        for (int64_t i = 0; i < count; ++i) row[i] = int32_t(places_.row(first - i));
        for (int64_t i = 0; !all_done_ && i < count; ++i) outcome = std::max(outcome, int(outcome_[size_t(row[i])]));
    } else {
        for (int64_t i = 0; i < count; ++i) {
            index_[size_t(i)] = places_.row(first - i);
            row[i] = int32_t(i);
        }
        outcome = fill(index_.data(), 0, count);
    }
    for (int64_t i = 0; i < count; ++i) taken.exponent += exponent_[size_t(row[i])];
    double ratio = 0.0;
    for (int64_t i = 0; pair_.weight_ratio && i < count; ++i) ratio += ratio_out_[size_t(row[i])];
    taken.ratio.add(ratio);
    return outcome;
}

int PreparedRows::fill(const int64_t *index, int64_t to, int64_t count) {
    const size_t at = size_t(to * stride_);
    if (pair_.residual)
        for (int64_t i = 0; i < count; ++i)
            for (int64_t s = 0; s < pair_.states; ++s) {
                const double value = pair_.residual[index[i] * pair_.states + s];
                if (value == HUGE_VAL) return weights_zero;
                residual_[at + size_t(i * stride_ + s)] = value;
            }
    const WeightRows out{pair_.states,
                         stride_,
                         weight_.data() + at,
                         ratio_.data() + at,
                         exponent_.data() + to,
                         ratio_out_.data() + to,
                         every_q_,
                         weight_q_.empty() ? nullptr : weight_q_.data() + at,
                         weight_q_.empty() ? nullptr : exponent_q_.data() + to,
                         weight_q_.empty() ? nullptr : reach_.data() + to};
    return table().weigh_rows(pair_.p.log_weight, pair_.weight_ratio, index, count, out);
}

}  // namespace hidiv
