// Inner products of all pairs of rows, bands of rows shared out over threads.
#include <algorithm>

#include "runtime/parallel.hpp"
#include "runtime/targets.hpp"

namespace hidiv {
namespace {

constexpr int64_t least = 256;  // rows of a band: laying out the right side is little beside them
constexpr int64_t whole = 32;   // rows that a kernel takes at a time, or a multiple of them

}  // namespace

Status threaded_products(const Products &task, int64_t threads) {
    const int64_t workers = usable_threads(threads), share = (task.m + 4 * workers - 1) / (4 * workers);
    const int64_t height = std::max(least, (share + whole - 1) / whole * whole);
    return parallel((task.m + height - 1) / height, workers, [&](int64_t piece) {
        Products band = task;
        const int64_t top = piece * height;
        band.m = std::min(height, task.m - top);
        band.left += top * task.width;
        band.bound += top;
        band.out += top * task.stride;
        band.small += top;
        band.first = task.first + top;
        return table().products(band);
    });
}

}  // namespace hidiv
