#pragma once

#include "runtime/table.hpp"

namespace hidiv {

Status variational_pairs(const VariationalPairs &task, int64_t threads, double *out);  // out (m, n)

}  // namespace hidiv
