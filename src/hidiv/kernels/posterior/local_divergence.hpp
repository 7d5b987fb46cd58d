// KL of two laws over the states, given by masses and by the accurate log-ratio of those masses.
#pragma once

#include <math.h>

#include <vector>

#include "simd/wide.hpp"

namespace hidiv {

// e^t - 1 - t, relatively accurate near 0.
inline double phi(double t) {
    if (fabs(t) >= 0.5) return expm1(t) - t;
    double series = 1.0;
    for (int k = 16; k > 2; --k) series = 1.0 + series * t / k;
    return 0.5 * t * t * series;
}

// loc = log1p( sum_s p(s) phi(m(s) - mbar) + out e^-mbar ), p the normalised masses, m = log(q/p) where p has mass and
// out q's mass elsewhere, over the mass of p. q's mass is read too where it is far above p's.
class LocalDivergence {
public:
    explicit LocalDivergence(int64_t states) : mass_(size_t(states)), mass_q_(mass_), m_(size_t(states)), share_(m_) {}
    void put(int64_t s, Wide mass, double ratio, Wide mass_q) {
        mass_[size_t(s)] = mass;
        m_[size_t(s)] = ratio;
        mass_q_[size_t(s)] = mass_q;
    }
    double value() {
        total_ = Wide();
        for (const Wide &each : mass_) total_ = total_ + each;
        mean_ = 0.0;
        for (size_t s = 0; s < mass_.size(); ++s) {
            share_[s] = mass_[s].m == 0.0 ? 0.0 : (mass_[s] / total_).value();
            mean_ += share_[s] * m_[s];
        }
        double spread = 0.0;
        Wide large;
        for (size_t s = 0; s < mass_.size(); ++s) {
            if (mass_[s].m != 0.0) {
                const double t = m_[s] - mean_;
                // p e^t is q's mass: p may underflow where e^t overflows, and the two together would round a small sum
                // of large exponents. For t > 1 it is at least e/2 p (1 + t), which no rounding may deny.
                const double least = t > 1.0 ? share_[s] * (1.0 + t) : 0.0;
                if (t > 1.0) large = large + larger(mass_q_[s] / total_ * wide_exp(-mean_), Wide(1.359 * least));
                spread += t > 1.0 ? -least : share_[s] * phi(t);
            } else if (mass_q_[s].m != 0.0) {
                large = large + mass_q_[s] / total_ * wide_exp(-mean_);
            }
        }
        return large.e > 900 ? large.log() : log1p(spread + large.value());
    }
    Wide total() const { return total_; }
    double mean() const { return mean_; }
    const std::vector<double> &shares() const { return share_; }

private:
    std::vector<Wide> mass_, mass_q_;
    std::vector<double> m_, share_;
    Wide total_;
    double mean_ = 0.0;
};

}  // namespace hidiv
