// Normal log-densities of many rows: pieces over threads.
#include <algorithm>
#include <atomic>

#include "emission/emission.hpp"
#include "runtime/parallel.hpp"
#include "runtime/targets.hpp"

namespace hidiv {

Status normal_rows(const NormalTask &task, int64_t rows, int64_t threads, bool &odd) {
    const int64_t width = task.p.states * task.p.features * (task.p.full ? task.p.features : 1);
    const int64_t piece = std::max<int64_t>(64, (int64_t(1) << 15) / std::max<int64_t>(1, width) / 64 * 64);
    const int64_t count = (rows + piece - 1) / piece;
    std::atomic<bool> any{false};
    const Status status = parallel(count, count > 2 ? usable_threads(threads) : 1, [&](int64_t i) {
        bool mine = false;
        const Status done = table().normal_steps(task, i * piece, std::min(rows, (i + 1) * piece), mine);
        if (mine) any = true;
        return done;
    });
    odd = any;
    return status;
}

}  // namespace hidiv
