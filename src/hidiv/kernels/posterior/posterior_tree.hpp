// The posterior divergence of a listed tree without zeros.
#pragma once

#include "one_model/model_tables.hpp"
#include "runtime/table.hpp"

namespace hidiv {

// declined: something here needs posterior_wide, for the whole of it.
// Two to eight states: nodes in the lanes, on several threads where the tree is listed level by level.
Status posterior_tree(const LawPair &, const Places &, int64_t threads, Divergence &, bool &declined);

// Any number of states: node by node.
Status posterior_broad_tree(const LawPair &, const Places &, Divergence &, bool &declined);

}  // namespace hidiv
