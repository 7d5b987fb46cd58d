// The posterior divergence of one chain without zeros.
#pragma once

#include "inference.hpp"
#include "table.hpp"

namespace hidiv {

// declined: something here needs posterior_wide, for the whole of it.
Status posterior_chain(const LawPair &, const Places &, Divergence &, bool &declined);

}  // namespace hidiv
