// The posterior divergence of a listed tree without zeros, 2 to 8 states.
#pragma once

#include "inference.hpp"
#include "table.hpp"

namespace hidiv {

// declined: something here needs posterior_wide, for the whole of it.
Status posterior_tree(const LawPair &, const Places &, int64_t threads, Divergence &, bool &declined);

}  // namespace hidiv
