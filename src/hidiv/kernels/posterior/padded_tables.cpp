// Transitions by columns, padded to whole vectors.
#include "posterior/padded_tables.hpp"

#include <math.h>

#include "runtime/targets.hpp"

namespace hidiv {

int64_t chain_padding(const LawPair &pair) {
    const int64_t padded = table().posterior_padding(pair.states);
    return pair.states > 512 || pair.transitions * pair.states * padded > (int64_t(1) << 23) ? 0 : padded;
}

PaddedTables::PaddedTables(const LawPair &pair, int64_t padded)
    : positive(true), states_(pair.states), padded_(padded), reach_(0.0),
      transition_(size_t(pair.transitions * states_ * padded)), ratio_(transition_), weighted_(transition_),
      transition_q_(transition_), quotient_(transition_) {
    for (int64_t s = 0; s < states_; ++s) positive = positive && pair.p.initial[s] > 0 && pair.q.initial[s] > 0;
    for (int64_t g = 0; g < pair.transitions; ++g)
        for (int64_t s = 0; s < states_; ++s)
            for (int64_t i = 0; i < padded; ++i) {
                const int64_t r = i < states_ ? i : 0, from = (g * states_ + r) * states_ + s;
                const size_t to = size_t((g * states_ + s) * padded + i);
                const double p = pair.p.transition[from], q = pair.q.transition[from],
                             ratio = pair.transition_ratio[from];
                positive = positive && p > 0 && q > 0 && isfinite(ratio);
                transition_[to] = p;
                transition_q_[to] = q;
                ratio_[to] = ratio;
                weighted_[to] = p * ratio;
                quotient_[to] = q / p;
                reach_ = fmax(reach_, fabs(ratio));
            }
}

StepTables PaddedTables::view() const {
    return {states_,          padded_, transition_.data(), ratio_.data(), weighted_.data(), transition_q_.data(),
            quotient_.data(), reach_};
}

}  // namespace hidiv
