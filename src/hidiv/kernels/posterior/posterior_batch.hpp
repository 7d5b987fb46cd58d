// The posterior divergence of many chains, on several threads.
#pragma once

#include "one_model/model_tables.hpp"
#include "runtime/table.hpp"

namespace hidiv {

// Sequence i holds the nodes start[i]..start[i+1]-1 of places, which must be a chain; the numbers do not depend on
// threads.
Status posterior_batch(const LawPair &, const Places &, const int64_t *start, int64_t sequences, int64_t threads,
                       Divergence *results);

// One chain or tree by whatever path suits it; profile (n) may be null.
Status any_posterior(const LawPair &, const Places &, int64_t threads, Divergence &, double *profile);

}  // namespace hidiv
