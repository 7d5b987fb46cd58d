// Inner products of many pairs of rows, and the rows of which some are small (recursions/products.py).
#pragma once

#include <stdint.h>

namespace hidiv {

struct Products {
    int64_t m, n, width;  // rows of left, rows of right, length of each
    const double *left, *right;
    const double *bound;  // (m)
    bool alike;           // left and right belong to the same models: what lies on the diagonal is not asked for
    double *out;          // (m, n), rows `stride` apart
    int64_t stride;
    bool *small;  // (m), zeroed: whether some product of the row is at most its bound
};

}  // namespace hidiv
