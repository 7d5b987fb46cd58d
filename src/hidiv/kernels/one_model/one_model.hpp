// The recursions on one model; each has its twin in recursions/.
//
// Which route a problem takes:
//   log_likelihood, chain without zeros, up to 512 states   likelihood_chain.cpp  scaled doubles, constant memory
//   expected_counts, trees of up to 512 states              expectation.cpp       scaled doubles, pieces over threads
//   from
//                                                                                 2^20 products on
//   all else                                                one_model.cpp         messages in doubles (messages.hpp),
//   numbers below 2^-300                                    the same              numbers with exponents
//   (simd/wide.hpp)
// Where those exponents are too short the outcome is Status::beyond and the numpy twin answers. *_steps.cpp are
// compiled for each instruction set; support.cpp decides on zeros alone what is possible.
#pragma once

#include "one_model/model_tables.hpp"
#include "runtime/table.hpp"

namespace hidiv {

struct OneModel {
    int64_t states, transitions, rows;
    Law law;
    Places places;
};

// impossible: the first node in upward order where the evidence fails, or -1 (nothing else is set then).
Status smooth(const OneModel &, double &log_likelihood, double *marginals, double *pairs, int64_t &impossible);
Status entropy_profile(const OneModel &, double *profile, int64_t &impossible);
Status viterbi(const OneModel &, int64_t *path, double &log_probability, int64_t &impossible);
Status influence(const OneModel &, const double *unseen, double *values, int64_t &impossible);
Status sample_states(const OneModel &, const double *uniform, int64_t size, int64_t *drawn, int64_t &impossible);
Status log_likelihood(const OneModel &, double &value, int64_t &impossible);
// The fast way for a chain (likelihood_chain.cpp); declined: it does not apply here.
// With a source the rows of weights are made `chunk` nodes at a time.
Status likelihood_chain(const OneModel &, double &value, bool &declined, RowSource *source = nullptr,
                        int64_t chunk = 0);
// The same for the laws of nodes and of pairs (smooth_chain.cpp), and for the most probable states (viterbi_chain.cpp),
// which takes zeros too; pairs may be null.
Status smooth_chain(const OneModel &, double &log_likelihood, double *marginals, double *pairs, bool &declined);
Status viterbi_chain(const OneModel &, int64_t *path, double &log_probability, bool &declined);

// Sums of posterior probabilities over the trees start[i]..start[i+1]-1, whose roots have parent -1 (expectation.cpp):
// values (trees) are log-likelihoods, -inf for an impossible tree; initial (K), transition (G, K, K), rows (R, K).
Status expected_counts(const OneModel &, const int64_t *start, int64_t trees, int64_t threads, double *values,
                       double *initial, double *transition, double *rows);

}  // namespace hidiv
