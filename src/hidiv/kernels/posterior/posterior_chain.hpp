// The posterior divergence of one chain without zeros.
#pragma once

#include "one_model/model_tables.hpp"
#include "runtime/table.hpp"

namespace hidiv {

// declined: something here needs posterior_wide, for the whole of it.
Status posterior_chain(const LawPair &, const Places &, Divergence &, bool &declined);

}  // namespace hidiv
