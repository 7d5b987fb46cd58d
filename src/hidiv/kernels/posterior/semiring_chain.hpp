// The posterior divergence of a chain as expected log-ratio plus log-ratio of likelihoods, kept only where that is
// accurate.
#pragma once

#include "one_model/model_tables.hpp"
#include "posterior/padded_tables.hpp"
#include "runtime/table.hpp"

namespace hidiv {

// declined: zeros, numbers out of range, or a value too small beside its terms; nothing is set then.
Status semiring_chain(const LawPair &, const Places &, const PaddedTables &, Divergence &, bool &declined);

}  // namespace hidiv
