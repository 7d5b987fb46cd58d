// The kernels of one instruction set, as a table of function pointers.
//
// To add a kernel `foo`:
//   1. here: `using foo_kernel = Status(...)`, and X(foo) in HIDIV_KERNEL_LIST;
//   2. foo.cpp: the definition inside `namespace hidiv::HIDIV_TARGET` (see levels.cpp), listed in CMakeLists.txt;
//   3. bindings.cpp: check the arrays (arrays.hpp), call `run(table().foo(...))`; its line in _kernels.pyi;
//   4. the numpy twin in recursions/, both in recursions/kernels.py, and a test against each other on every target.
// foo.cpp is compiled once per instruction set. It may include only headers of this folder and C headers, and keeps
// what it defines in an anonymous namespace: an inline function of the standard library compiled for AVX-512 could
// otherwise be the copy the linker keeps for everybody. Threads and containers belong into files compiled once
// (bindings.cpp).
#pragma once

#include <stdint.h>

#include "sampled/chain_sums.hpp"
#include "one_model/expectation.hpp"
#include "posterior/posterior_steps.hpp"
#include "pairs/products.hpp"
#include "pairs/variational.hpp"

#ifndef HIDIV_TARGET
#define HIDIV_TARGET baseline
#endif

namespace hidiv {

// refused: the arrays are not what the kernel takes; nothing outside them was read or written. beyond: the numbers are
// out of the kernel's range (wide.hpp), and its numpy twin is to answer.
enum class Status { done, interrupted, no_memory, refused, beyond };

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
using variational_row_kernel = Status(const VariationalPairs &, int64_t i, int64_t first, int64_t end, double *out);
using products_kernel = Status(const Products &);
using reach_kernel = Status(const bool *start, Nodes, int64_t states, const bool *allowed, bool *out);

// clang-format off
#define HIDIV_KERNEL_LIST(X) \
    X(levels) X(inward) X(inward_rising) X(downward) X(visits) X(level_visits) X(reach) X(variational_row) \
    X(chain_block) X(products) \
    HIDIV_INFERENCE_LIST(X) HIDIV_EXPECTATION_LIST(X)
// clang-format on

struct Table {
    const char *name;
#define X(kernel) kernel##_kernel *kernel;
    HIDIV_KERNEL_LIST(X)
#undef X
};

namespace HIDIV_TARGET {
#define X(kernel) kernel##_kernel kernel;
HIDIV_KERNEL_LIST(X)
#undef X
extern const Table table;
}  // namespace HIDIV_TARGET

// Memory, null when there is none; for give_back, which keeps large blocks for the next one, or free (memory.cpp).
void *zeroed(int64_t bytes);
void *unset(int64_t bytes);  // for a kernel that writes every value
void give_back(void *memory);

// True when the user pressed Ctrl-C; cheap enough to ask every few thousand nodes (interrupts.cpp).
bool interrupted();

}  // namespace hidiv
