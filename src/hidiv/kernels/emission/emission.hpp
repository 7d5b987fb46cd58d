// Log-densities of observations in every state, and log-ratios of two models' (recursions/normal_rows.py,
// curve_rows.py, mixture_rows.py and count_rows.py).
//
// Which route a problem takes, in pieces over threads (rows.cpp):
//   normal laws     normal_steps.cpp   rows of observations in the lanes, four vectors of them at once
//   other numbers   curve_steps.cpp    exponential to generalized Gaussian laws, the same with two vectors
//   mixtures        mixture_steps.cpp  log-sum-exp over components, a row and state in every lane
//   counts          count_steps.cpp    columns looked up in a table of the numbers that occur (counts.cpp), and added
// Rows with a number that is none or infinite are flagged, and answered by the family in numpy. *_steps.cpp are
// compiled for each instruction set.
#pragma once

#include <math.h>
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

// Laws that are sums of a curve of each column; recursions/curve_rows.py says what the coefficients of each are.
enum class Curve { falling, rising, unit, turning, pointed, power };

struct CurveLaws {
    int64_t states, features;
    const double *coefficients;  // (K, F, 2)
    const double *constant;      // (K)
};

// between null: log_p alone. Rows with a number out of the range of the laws are NaN, and `odd` is set.
struct CurveTask {
    Curve kind;
    CurveLaws p;
    const CurveLaws *q;
    const double *between, *constant;  // of the log-ratio: (K, F, 2), (K)
    const double *x;                   // (n, F)
    double *log_p, *log_q, *log_ratio;
};

// Rows first..end-1.
using curve_steps_kernel = Status(const CurveTask &, int64_t first, int64_t end, bool &odd);

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

// The numbers low[f]..low[f] + size - 1 of column f, size = start[f+1] - start[f], have the rows place[start[f]..] of a
// table, -1 for a number that is not in it. What is not seen has the last row.
struct CountPlaces {
    int64_t columns, rows;       // of x, of the table
    const int64_t *low, *start;  // (F), (F + 1)
    const int32_t *place;
};

// value (n, K): the sum over columns of rows of the table (R, K); ratio the same of a second table, or both null. odd:
// whether a number is not in the table, or the largest value of a row, or of value + ratio, is beyond the limit.
struct CountTask {
    CountPlaces places;
    int64_t states;
    const double *x;  // (n, F)
    const double *table, *ratio_table;
    double *value, *ratio;
    double limit = HUGE_VAL;
};

// Rows first..end-1.
using count_steps_kernel = Status(const CountTask &, int64_t first, int64_t end, bool &odd);

#define HIDIV_EMISSION_KERNELS(X) X(normal_steps) X(curve_steps) X(mixture_steps) X(count_steps)

Status count_rows(const CountTask &, int64_t rows, int64_t threads, bool &odd);

// The least and largest whole number of every column of x (n, F), 0 and -1 where nothing is seen; false where a number
// is negative, not whole or above 2^53.
bool count_range(const double *x, int64_t rows, int64_t columns, double *low, double *high);
// place as in CountPlaces, all -1 before, for x within low and start; column f's rows begin with first[f], (F + 1).
void number_counts(const double *x, int64_t rows, int64_t columns, const int64_t *low, const int64_t *start,
                   int32_t *place, int64_t *first);

Status mixture_rows(const MixtureTask &, int64_t rows, int64_t threads, bool &odd);

Status curve_rows(const CurveTask &, int64_t rows, int64_t threads, bool &odd);

Status normal_rows(const NormalTask &, int64_t rows, int64_t threads, bool &odd);

}  // namespace hidiv
