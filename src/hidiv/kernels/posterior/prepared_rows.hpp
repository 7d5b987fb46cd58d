// Weight rows made ready for the steps: all of them once when they are few, else those of a block when it comes.
#pragma once

#include <vector>

#include "one_model/model_tables.hpp"
#include "posterior/steps.hpp"
#include "posterior/wide_sweep.hpp"

namespace hidiv {

// Which rows have q's weights too.
enum class WithQ { none, out_of_range, every };

class PreparedRows {
public:
    // stride: numbers a row; capacity: nodes a block.
    PreparedRows(const LawPair &, const Places &, int64_t stride, int64_t capacity, WithQ = WithQ::none,
                 Stream *stream = nullptr);
    bool zero() const { return zero_; }  // some row holds a zero or an infinity
    // Nodes first, first-1, ...: where their rows are, and what their scaling took out.
    int block(int64_t first, int64_t count, int32_t *row, Gathered &taken);
    // Of the rows of a block, where they have q's weights: what else was taken out of q's weights, and the
    // largest log-ratios of rows out of range, added up.
    void far(const int32_t *row, int64_t count, int64_t &exponent_q, double &reach) const {
        for (int64_t i = 0; i < count; ++i) {
            exponent_q += exponent_q_[size_t(row[i])];
            reach += reach_[size_t(row[i])];
        }
    }
    StepRows view() const {
        return {weight_.data(), ratio_.data(), residual_.empty() ? nullptr : residual_.data(),
                weight_q_.empty() ? nullptr : weight_q_.data(), exponent_q_.data()};
    }

private:
    int fill(const int64_t *index, int64_t to, int64_t count);

    const LawPair &pair_;
    const Places &places_;
    Stream *stream_;
    int64_t stride_;
    bool whole_, every_q_, zero_ = false, all_done_ = true;
    int64_t count_;
    std::vector<double> weight_, ratio_, residual_, weight_q_;
    std::vector<int64_t> exponent_, index_, exponent_q_;
    std::vector<double> ratio_out_, reach_;
    std::vector<char> outcome_;
};

}  // namespace hidiv
