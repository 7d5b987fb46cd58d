// Log-densities of many rows: pieces over threads.
#include <algorithm>
#include <atomic>

#include "emission/emission.hpp"
#include "runtime/parallel.hpp"
#include "runtime/targets.hpp"

namespace hidiv {

namespace {

// work(first, end, odd) on pieces of rows of about 2^15 products each.
template <typename Work>
Status pieces(int64_t rows, int64_t width, int64_t threads, bool &odd, Work work) {
    const int64_t piece = std::max<int64_t>(64, (int64_t(1) << 15) / std::max<int64_t>(1, width) / 64 * 64);
    const int64_t count = (rows + piece - 1) / piece;
    std::atomic<bool> any{false};
    const Status status = parallel(count, count > 2 ? usable_threads(threads) : 1, [&](int64_t i) {
        bool mine = false;
        const Status done = work(i * piece, std::min(rows, (i + 1) * piece), mine);
        if (mine) any = true;
        return done;
    });
    odd = any;
    return status;
}

}  // namespace

Status normal_rows(const NormalTask &task, int64_t rows, int64_t threads, bool &odd) {
    const int64_t width = task.p.states * task.p.features * (task.p.full ? task.p.features : 1);
    return pieces(rows, width, threads, odd,
                  [&](int64_t first, int64_t end, bool &mine) { return table().normal_steps(task, first, end, mine); });
}

Status curve_rows(const CurveTask &task, int64_t rows, int64_t threads, bool &odd) {
    return pieces(rows, 16 * task.p.states * task.p.features, threads, odd,
                  [&](int64_t first, int64_t end, bool &mine) { return table().curve_steps(task, first, end, mine); });
}

Status mixture_rows(const MixtureTask &task, int64_t rows, int64_t threads, bool &odd) {
    return pieces(rows, 4 * task.states * task.components, threads, odd, [&](int64_t first, int64_t end, bool &mine) {
        return table().mixture_steps(task, first, end, mine);
    });
}

Status count_rows(const CountTask &task, int64_t rows, int64_t threads, bool &odd) {
    return pieces(rows, 4 * task.states * task.places.columns, threads, odd,
                  [&](int64_t first, int64_t end, bool &mine) { return table().count_steps(task, first, end, mine); });
}

}  // namespace hidiv
