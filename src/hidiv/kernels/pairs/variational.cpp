// Rows of a block of pairs over a few threads.
#include "pairs/pairs.hpp"

#include "runtime/parallel.hpp"
#include "runtime/targets.hpp"

namespace hidiv {

Status variational_pairs(const VariationalPairs &task, int64_t threads, double *out) {
    const int64_t width = 256, across = (task.n + width - 1) / width;
    return parallel(task.m * across, usable_threads(threads), [&](int64_t piece) {
        const int64_t i = piece / across, first = piece % across * width;
        return table().variational_row(task, i, first, first + width < task.n ? first + width : task.n,
                                       out + i * task.n);
    });
}

}  // namespace hidiv
