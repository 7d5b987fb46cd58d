// Trees without evidence: Theorem 1, laws and visits of the states, levels, what can be reached. All of it is compiled
// for each instruction set and called straight from the bindings; everything but levels and reach is carried in doubled
// precision (simd/doubled.hpp).
//
// Which route a problem takes:
//   inward, parents that never fall (breadth first)   inward_rising.cpp  checks its indices on the way; threads from
//                                                                        32,768 nodes that wait for no other
//   inward, any other listing                         inward.cpp         one thread
//   of 1, 2, 3, 4 or 8 states                         inward_rows.hpp    a node's values stay in registers
//   of any other number                               inward_rows.hpp    the same loops over arrays
//   downward, visits: node by node                    state_laws.cpp     unrolled for 2, 3, 4 and 8 states
//   visits of homogeneous models, level by level      level_visits.cpp
#pragma once

#include <stdint.h>

namespace hidiv {

enum class Status;

// A tree of n nodes, parents before children; every group lies in 0..G-1. inward_rising takes anything, and refuses.
struct Nodes {
    int64_t n;
    const int64_t *parent;
    const int64_t *group;
};

// G transition matrices of K states, row after row.
struct Matrices {
    int64_t groups;
    int64_t states;
    const double *values;
};

using levels_kernel = Status(int64_t n, const int64_t *parent, int64_t *level);
using inward_kernel = Status(Nodes, Matrices, const double *own, const double *root, double *out);
using inward_rising_kernel = inward_kernel;
using downward_kernel = Status(const double *initial, Nodes, Matrices, double *out);
using visits_kernel = Status(const double *initial, Nodes, Matrices, double *edges, double *own);
using level_visits_kernel = Status(const double *initial, Matrices, int64_t levels, const double *count, double *out);
using reach_kernel = Status(const bool *start, Nodes, int64_t states, const bool *allowed, bool *out);

#define HIDIV_JOINT_KERNELS(X) X(levels) X(inward) X(inward_rising) X(downward) X(visits) X(level_visits) X(reach)

}  // namespace hidiv
