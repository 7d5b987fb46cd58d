// Log-densities of real observations in every state, and log-ratios of two models' (recursions/normal_rows.py).
//
// Which route a problem takes, in pieces over threads (rows.cpp):
//   normal laws     normal_steps.cpp   rows of observations in the lanes, four vectors of them at once
//   mixtures        mixture_steps.cpp  log-sum-exp over components, a row and state in every lane
// Rows with a number that is none or infinite are flagged, and answered by the family in numpy. *_steps.cpp are
// compiled for each instruction set.
#pragma once

#include <stdint.h>

namespace hidiv {

enum class Status;

// K normal laws of F columns: log-density constant - |z|^2/2, z = whiten (x - mean).
struct NormalLaws {
    int64_t states, features;
    bool full;
    const double *mean;      // (K, F)
    const double *whiten;    // (K, F): one over the standard deviation; full (K, F, F), lower triangular
    const double *constant;  // (K)
};

// log q(x)/p(x) as a polynomial in p's z: constant + sum_i z_i (linear_i + sum_{j<=i} square_ij z_j).
struct NormalRatio {
    const bool *near;        // (K): states where it is used; elsewhere the log-densities are subtracted
    const double *constant;  // (K)
    const double *linear;    // (K, F)
    const double *square;    // (K, F); full (K, F, F), lower triangular
};

// q and its ratio null: log_p alone. log_p, log_q, ratio (count, K); log_q may be null. odd: whether a number is none,
// infinite or beyond the limit.
struct NormalTask {
    NormalLaws p;
    const NormalLaws *q;
    const NormalRatio *ratio;
    const double *x;  // (n, F)
    double *log_p, *log_q, *log_ratio;
    double limit = 1e300;
};

constexpr int64_t most_features = 512;

// Rows first..end-1.
using normal_steps_kernel = Status(const NormalTask &, int64_t first, int64_t end, bool &odd);

// Mixtures of C components: their tables (n, K), log-weights (K, C) of p and q, and log(q/p) of the weights. Where the
// log-ratios of all components are below 1/2 the log-ratio is log1p of their mean excess, else a difference.
struct MixtureTask {
    int64_t states, components;
    const double *const *log_p, *const *log_q, *const *ratio;  // C tables each; the last two may be null
    const double *weights_p, *weights_q, *weights_ratio;       // (C, K)
    double *out_p, *out_q, *out_ratio;                         // (n, K); the last two null for one model
};

// Rows first..end-1.
using mixture_steps_kernel = Status(const MixtureTask &, int64_t first, int64_t end, bool &odd);

#define HIDIV_EMISSION_KERNELS(X) X(normal_steps) X(mixture_steps)

Status mixture_rows(const MixtureTask &, int64_t rows, int64_t threads, bool &odd);

Status normal_rows(const NormalTask &, int64_t rows, int64_t threads, bool &odd);

}  // namespace hidiv
