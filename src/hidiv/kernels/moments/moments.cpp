// Weighted moments of many rows: pieces over threads, added up in the same order whichever thread computed them.
#include "moments/moments.hpp"

#include <algorithm>
#include <new>
#include <vector>

#include "runtime/parallel.hpp"
#include "runtime/targets.hpp"

namespace hidiv {

Status weighted_moments(const WeightedRows &task, int64_t rows, int64_t threads, double *out) {
    try {
        // Sums of a few thousand rows lose no digits, and cost little next to them; a few at a time are kept.
        const int64_t size = task.sums(), piece = 4096, at_once = 64, small = int64_t(1) << 17;
        const int64_t count = (rows + piece - 1) / piece;
        const int64_t helpers = rows * size < small ? 1 : usable_threads(threads);
        std::vector<double> parts(size_t(std::min(count, at_once) * size));
        std::fill(out, out + size, 0.0);
        for (int64_t from = 0; from < count; from += at_once) {
            const int64_t here = std::min(at_once, count - from);
            std::fill(parts.begin(), parts.end(), 0.0);
            const Status status = parallel(here, helpers, [&](int64_t i) {
                const int64_t first = (from + i) * piece;
                return table().weighted_piece(task, first, std::min(rows, first + piece), parts.data() + i * size);
            });
            if (status != Status::done) return status;
            for (int64_t i = 0; i < here; ++i)
                for (int64_t j = 0; j < size; ++j) out[j] += parts[size_t(i * size + j)];
        }
        if (task.mean && task.full)
            for (int64_t s = 0; s < task.states; ++s)
                for (int64_t i = 0; i < task.features; ++i)
                    for (int64_t j = 0; j < i; ++j) {
                        double *own = out + s * task.features * task.features;
                        own[j * task.features + i] = own[i * task.features + j];
                    }
        return Status::done;
    } catch (const std::bad_alloc &) {
        return Status::no_memory;
    }
}

}  // namespace hidiv
