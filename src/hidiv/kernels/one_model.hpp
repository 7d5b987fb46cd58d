// The recursions on one model; each has its twin in recursions/.
#pragma once

#include "inference.hpp"
#include "table.hpp"

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
Status likelihood_chain(const OneModel &, double &value, bool &declined);

}  // namespace hidiv
