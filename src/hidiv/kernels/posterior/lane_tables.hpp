// Transitions and weight rows as the lanes read them (lane_rows.hpp): transitions by rows, not padded.
#pragma once

#include <math.h>

#include <vector>

#include "one_model/model_tables.hpp"
#include "posterior/steps.hpp"

namespace hidiv {

struct LaneTables {
    explicit LaneTables(const LawPair &pair) : quotient(size_t(pair.transitions * pair.states * pair.states)) {
        for (int64_t s = 0; s < pair.states; ++s) positive = positive && pair.p.initial[s] > 0 && pair.q.initial[s] > 0;
        double reach = 0.0;
        for (size_t i = 0; i < quotient.size(); ++i) {
            const double p = pair.p.transition[i], q = pair.q.transition[i];
            positive = positive && p > 0 && q > 0 && isfinite(pair.transition_ratio[i]);
            quotient[i] = q / p;
            reach = fmax(reach, fabs(pair.transition_ratio[i]));
        }
        view = {pair.states, pair.states,       pair.p.transition, pair.transition_ratio,
                nullptr,     pair.q.transition, quotient.data(),   reach};
    }
    LaneTables(const LaneTables &) = delete;
    LaneTables &operator=(const LaneTables &) = delete;

    std::vector<double> quotient;
    StepTables view;
    bool positive = true;  // no zeros
};

// Few rows are made ready once; of many the logarithms are read when they come.
class LaneWeights {
public:
    LaneWeights(const LawPair &, const Places &);
    bool zero() const { return zero_; }  // some row holds a zero or an infinity, as far as was seen
    const LaneRows &view() const { return view_; }

private:
    std::vector<double> weight_, ratio_, power_, ratio_out_, residual_;
    LaneRows view_{};
    bool zero_ = false;
};

}  // namespace hidiv
