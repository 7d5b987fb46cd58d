// Rows of weights of a batch: tables, or normal densities that are made again where a route needs some of them.
#pragma once

#include <vector>

#include "emission/emission.hpp"
#include "one_model/model_tables.hpp"

namespace hidiv {

class SequenceRows {
public:
    // normal null: the tables of the pair.
    SequenceRows(const LawPair &pair, const Places &places, const NormalTask *normal);
    SequenceRows(const SequenceRows &) = delete;
    SequenceRows &operator=(const SequenceRows &) = delete;

    // Makes sure of the nodes first..end-1; false where a number is none or far out.
    bool reach(int64_t first, int64_t end);

    LawPair pair;
    Places places;

private:
    const NormalTask *normal_;
    std::vector<double> log_p_, log_q_, ratio_;
};

}  // namespace hidiv
