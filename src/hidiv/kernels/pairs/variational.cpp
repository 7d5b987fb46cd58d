// Rows of a block of pairs over a few threads.
#include "pairs/pairs.hpp"

#include "runtime/parallel.hpp"
#include "runtime/targets.hpp"

namespace hidiv {

namespace {

// row(task, i, first, end, out + i n) for every p and every 256 q.
template <typename Task, typename Row>
Status over_rows(const Task &task, int64_t threads, double *out, Row *row) {
    const int64_t width = 256, across = (task.n + width - 1) / width;
    return parallel(task.m * across, usable_threads(threads), [&](int64_t piece) {
        const int64_t i = piece / across, first = piece % across * width;
        return row(task, i, first, first + width < task.n ? first + width : task.n, out + i * task.n);
    });
}

}  // namespace

Status variational_pairs(const VariationalPairs &task, int64_t threads, double *out) {
    return over_rows(task, threads, out, table().variational_row);
}

Status product_pairs(const ProductPairs &task, int64_t threads, double *out) {
    return over_rows(task, threads, out, table().product_row);
}

}  // namespace hidiv
