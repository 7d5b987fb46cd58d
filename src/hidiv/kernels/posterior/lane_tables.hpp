// Transitions and weight rows as the lanes read them (lane_rows.hpp): transitions by rows, not padded.
#pragma once

#include <vector>

#include "one_model/model_tables.hpp"
#include "posterior/steps.hpp"

namespace hidiv {

struct LaneTables {
    explicit LaneTables(const LawPair &pair);
    LaneTables(const LaneTables &) = delete;
    LaneTables &operator=(const LaneTables &) = delete;

    // With what lane_products.hpp reads, of models near enough for it.
    StepTables with_products() const;
    bool near() const { return view.reach <= 0.25; }

    std::vector<double> quotient, weighted, difference, second;
    StepTables view;
    bool positive = true;  // no zeros
};

// Few rows are made ready once; of many the logarithms are read when they come.
class LaneWeights {
public:
    LaneWeights(const LawPair &, const Places &, const NormalTask *normal = nullptr);
    bool zero() const { return zero_; }  // some row holds a zero or an infinity, as far as was seen
    const LaneRows &view() const { return view_; }

private:
    // Whether nothing needs to be taken out of the rows, for all are of one size; and what was, put back.
    bool of_one_size() const;
    void put_back(int64_t states, int64_t stride);

    std::vector<double> weight_, weight_q_, ratio_, taken_, residual_;
    LaneRows view_{};
    bool zero_ = false;
};

}  // namespace hidiv
