// Many models at once: blocks of pairs (recursions/products.py, recursions/variational_pairs.py).
//
// Which route a problem takes:
//   inner products of rows        products.cpp           bands of 256 rows or more over threads,
//                                 product_steps.cpp      tiles in registers, the right side in panels of 256 features
//   mean laws of chains           mean_law_steps.cpp     a chain in every lane; the caller sends up to 8 states here
//   variational recursion         variational.cpp        pieces of one p and 256 q over threads,
//                                 variational_steps.cpp  a q in every lane, any states
//   product kernel                variational.cpp, kernel_steps.cpp: the same
#pragma once

#include <stdint.h>

namespace hidiv {

enum class Status;

// Inner products of many pairs of rows, and the rows of which some are small.
struct Products {
    int64_t m, n, width;  // rows of left, rows of right, length of each
    const double *left, *right;
    const double *bound;  // (m)
    bool alike;           // left and right belong to the same models: the diagonal is not looked at
    double *out;          // (m, n), rows `stride` apart
    int64_t stride;
    bool *small;        // (m), zeroed: whether some product of the row is at most its bound
    int64_t first = 0;  // place of row 0 among the models of the right side
};

// Chains of K states on a regular tree, and the weights of every step of doubling (recursions/powers.py).
struct MeanLaws {
    int64_t models, states, steps;
    const double *initial, *transition;  // (models, K), (models, K, K)
    const double *weight;                // (steps, 2)
};

// m models p with K states against n models q with K' states, on a tree of some kinds of subtrees.
struct VariationalPairs {
    int64_t kinds;
    const int64_t *group, *start, *child;  // (kinds), (kinds + 1), children
    const double *count;
    const int64_t *repeat;
    const int64_t *own_start;  // (kinds)
    int64_t turns;
    const double *own, *own_root;  // (m, turns, K), (m)
    int64_t m, n, states_p, states_q, groups_p, groups_q, groups_e;
    const double *initial_p, *transition_p;  // (m, K), (m, G, K, K)
    const double *initial_q, *transition_q;  // (K', n), (G', K', K', n)
    const double *emission;                  // (G'', m, K, K', n)
};

// m models p with K states and n models q with K' states: powers of their laws, and log Phi of their emissions.
struct ProductPairs {
    int64_t kinds;
    const int64_t *group, *start, *child;  // (kinds), (kinds + 1), children
    const double *count;
    const int64_t *repeat;
    int64_t m, n, states_p, states_q, groups_p, groups_q, groups_e;
    const double *initial_p, *transition_p;  // (m, K), (m, G, K, K)
    const double *initial_q, *transition_q;  // (K', n), (G', K', K', n)
    const double *log_phi;                   // (G'', m, K, K', n)
};

using products_kernel = Status(const Products &);
using mean_laws_kernel = Status(const MeanLaws &, double *out);  // out (models, K)
// Model i of p against the models first..end-1 of q; out is row i of the result.
using variational_row_kernel = Status(const VariationalPairs &, int64_t i, int64_t first, int64_t end, double *out);
using product_row_kernel = Status(const ProductPairs &, int64_t i, int64_t first, int64_t end, double *out);

#define HIDIV_PAIRS_KERNELS(X) X(products) X(mean_laws) X(variational_row) X(product_row)

Status threaded_products(const Products &task, int64_t threads);
Status variational_pairs(const VariationalPairs &task, int64_t threads, double *out);  // out (m, n)
Status product_pairs(const ProductPairs &task, int64_t threads, double *out);          // out (m, n)

}  // namespace hidiv
