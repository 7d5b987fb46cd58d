// The posterior divergence D(P(S | E) || Q(S | E)) of two models with the same states (recursions/posterior_sweep.py).
//
// Which route a problem takes (dispatch.cpp; thresholds where they are named):
//   by node, or any zero in the tables        wide_sweep.cpp     numbers with an exponent of their own, any states
//   chain, up to 512 states                   chain.cpp          scaled doubles, rows of the transition in the lanes;
//                                             semiring_chain.cpp first, from 256 nodes on, for models far apart
//   listed tree, 2 to 8 states                lane_tree.cpp      a node in every lane; threads where it is listed level
//                                                                by level, from 65,536 nodes on; as in
//                                                                semiring_chain.cpp for models far apart, from 16,384
//   listed tree, 1 or 9 to 512 states         broad_tree.cpp     node by node, rows of the transition in the lanes
//   many chains, 2 to 16 states               batch.cpp          a chain in every lane (lane_sweep.hpp): as in
//                                                                semiring_chain.cpp for models far apart, by products
//                                                                for near ones, else term by term
//   many chains, more states or any zero                         one by one as above
// A route that meets a zero, or numbers out of its range, declines: wide_sweep.cpp does the whole. Where even its
// exponents are too short the outcome is Status::beyond and the numpy twin answers.
//
// Files: steps.hpp and *_steps.cpp, weigh_rows.cpp, lane_rows.hpp are compiled for each instruction set; *_tables and
// prepared_rows lay out what they read; local_divergence.hpp is the one formula of the slow route.
#pragma once

#include "one_model/model_tables.hpp"
#include "runtime/table.hpp"

namespace hidiv {

// One chain or tree; profile (n), the divergence by node, may be null. threads: 0 for all processors.
Status posterior_divergence(const LawPair &, const Places &, int64_t threads, Divergence &, double *profile);

// Sequence i holds the nodes start[i]..start[i+1]-1 of places, which must be a chain. The numbers do not depend on
// threads. With normal laws of independent columns there are no tables of weights: row u is observation u, and
// Status::beyond says that one of them needs tables.
Status posterior_batch(const LawPair &, const Places &, const int64_t *start, int64_t sequences, int64_t threads,
                       Divergence *results, const NormalTask *normal = nullptr);

}  // namespace hidiv
