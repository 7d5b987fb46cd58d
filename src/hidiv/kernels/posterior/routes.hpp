// The fast routes of the posterior divergence, for tables without zeros. Each sets `declined` where it meets a zero or
// numbers out of its range, and has set nothing else then; posterior_wide (wide_sweep.hpp) takes everything.
#pragma once

#include "one_model/model_tables.hpp"
#include "posterior/padded_tables.hpp"
#include "runtime/table.hpp"

namespace hidiv {

// Chains of up to 512 states: semiring_chain where that is accurate, else the recursion in scaled doubles. With a
// source the rows of the pair are made `chunk` nodes at a time.
Status posterior_chain(const LawPair &, const Places &, Divergence &, bool &declined, RowSource *source = nullptr,
                       int64_t chunk = 0);

// The second of the two, with tables of its own.
Status scaled_chain(const LawPair &, const Places &, const PaddedTables &, Divergence &, bool &declined,
                    Stream *stream = nullptr);

// Chains of models that are far apart: expected log-ratio plus log-ratio of the likelihoods. Declined as well where the
// value is too small compared with these terms.
Status semiring_chain(const LawPair &, const Places &, const PaddedTables &, Divergence &, bool &declined,
                      Stream *stream = nullptr);

// Listed trees of two to eight states: nodes in the lanes, on several threads where the tree is listed level by level.
Status posterior_lane_tree(const LawPair &, const Places &, int64_t threads, Divergence &, bool &declined);

// Listed trees of up to 512 states: node by node.
Status posterior_broad_tree(const LawPair &, const Places &, Divergence &, bool &declined);

}  // namespace hidiv
