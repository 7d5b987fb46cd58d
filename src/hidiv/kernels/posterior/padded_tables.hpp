// Transitions by columns, padded to whole vectors: row r >= K repeats row 0, so that no lane ever divides by zero.
#pragma once

#include <vector>

#include "one_model/model_tables.hpp"
#include "posterior/steps.hpp"

namespace hidiv {

// Rows of so many numbers for a chain's tables; 0 where they would be too large.
int64_t chain_padding(const LawPair &);

struct PaddedTables {
    PaddedTables(const LawPair &, int64_t padded);
    StepTables view() const;
    bool positive;  // no zeros

private:
    int64_t states_, padded_;
    double reach_;
    std::vector<double> transition_, ratio_, weighted_, transition_q_, quotient_;
};

}  // namespace hidiv
