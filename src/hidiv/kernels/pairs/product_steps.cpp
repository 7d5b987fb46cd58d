// A matrix product that looks at its entries while they are in registers and writes them once.
//
// Every entry is summed in the order of the features, in parts of `depth` features: how the matrix is cut into blocks
// and blocks into tiles never shows in a bit.
#include "runtime/table.hpp"

#include <stdlib.h>

#include "simd/simd.hpp"

namespace hidiv::HIDIV_TARGET {
namespace {

constexpr int across = 3 * native;                  // columns of a tile
constexpr int down = native == 8 ? 8 : 4;           // rows of a tile: its sums fit into the registers
constexpr int64_t depth = 256;                      // features of a part
constexpr int64_t line = 64;                        // bytes of a line of the cache
constexpr int64_t high = 4 * down;                  // rows that meet a panel while it is near
constexpr int64_t in_cache = int64_t(1) << 14;      // numbers of the right side kept near: threads may share a cache
constexpr int64_t beyond_cache = int64_t(1) << 16;  // numbers of the result that are not kept near
using Lanes = V<native>;

struct Tile {
    const double *left;
    int64_t stride;       // of left
    const double *panel;  // (count, across)
    int64_t count;        // features
    const double *bound;  // of the rows, or null: more features are to come
    double *out;
    int64_t out_stride;
    int64_t columns;  // that are there: at most `across`
    bool more;        // add to what lies there
    int64_t own;      // column of row 0 that is not asked for, moving on with the rows
    bool *small;
    bool past;  // written past the cache
};

template <int R>
HIDIV_INLINE void fill_tile(const Tile &t) {
    Lanes sum[R][3] = {};
    for (int64_t k = 0; k < t.count; ++k) {
        const double *right = t.panel + k * across;
        const Lanes a = load<native>(right), b = load<native>(right + native), c = load<native>(right + 2 * native);
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r) {
            const Lanes x = all<native>(t.left[r * t.stride + k]);
            sum[r][0] += x * a;
            sum[r][1] += x * b;
            sum[r][2] += x * c;
        }
    }
    const bool whole = t.columns == across;
    const bool plain = whole && (t.own >= across || t.own + R <= 0);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
        double *to = t.out + r * t.out_stride;
        if (plain) {
#pragma GCC unroll 3
            for (int c = 0; c < 3; ++c) {
                if (t.more) sum[r][c] += load<native>(to + c * native);
                if (t.past)
                    store_past<native>(to + c * native, sum[r][c]);
                else
                    store<native>(to + c * native, sum[r][c]);
            }
            if (t.bound) {
                const Lanes limit = all<native>(t.bound[r]);
                const auto below = (sum[r][0] <= limit) | (sum[r][1] <= limit) | (sum[r][2] <= limit);
                if (any<native>((I<native>)below)) t.small[r] = true;
            }
            continue;
        }
        for (int64_t c = 0; c < t.columns; ++c) {
            double value = sum[r][c / native][c % native];
            if (t.more) value += to[c];
            to[c] = value;
            if (!t.bound) continue;
            if (c == t.own + r)
                to[c] = 0.0;
            else if (value <= t.bound[r])
                t.small[r] = true;
        }
    }
}

void fill_rows(const Tile &t, int64_t rows) {
    switch (rows) {
        case 1:
            return fill_tile<1>(t);
        case 2:
            return fill_tile<2>(t);
        case 3:
            return fill_tile<3>(t);
        case 4:
            return fill_tile<4>(t);
    }
    if constexpr (down == 8) {
        switch (rows) {
            case 5:
                return fill_tile<5>(t);
            case 6:
                return fill_tile<6>(t);
            case 7:
                return fill_tile<7>(t);
        }
    }
    fill_tile<down>(t);
}

// Features first..first + count of the models start..end of the right side, `across` models side by side.
void lay_out(const Products &task, int64_t start, int64_t end, int64_t first, int64_t count, double *panels) {
    for (int64_t j = start; j < end; j += across, panels += count * across)
        for (int64_t c = 0; c < across; ++c)
            for (int64_t k = 0; k < count; ++k)
                panels[k * across + c] = j + c < end ? task.right[(j + c) * task.width + first + k] : 0.0;
}

}  // namespace

Status products(const Products &task) {
    const int64_t deepest = task.width < depth ? task.width : depth;
    const int64_t panels = in_cache / (deepest * across) + 1, columns = panels * across;
    void *const memory = unset(panels * across * deepest * int64_t(sizeof(double)) + line);
    if (!memory) return Status::no_memory;
    double *const right = reinterpret_cast<double *>((reinterpret_cast<uintptr_t>(memory) + line - 1) / line * line);
    // What is written first drives the models out of the cache, and fetches the old contents of every line.
    const bool past = task.width <= depth && task.m * task.n >= beyond_cache && task.stride % native == 0 &&
                      reinterpret_cast<uintptr_t>(task.out) % (native * sizeof(double)) == 0;
    Status status = Status::done;
    for (int64_t start = 0; start < task.n && status == Status::done; start += columns) {
        const int64_t end = start + columns < task.n ? start + columns : task.n;
        for (int64_t first = 0; first < task.width && status == Status::done; first += depth) {
            const int64_t count = task.width - first < depth ? task.width - first : depth;
            const bool last = first + count == task.width;
            lay_out(task, start, end, first, count, right);
            for (int64_t top = 0; top < task.m; top += high) {
                const int64_t bottom = task.m - top < high ? task.m : top + high;
                for (int64_t j = start; j < end; j += across)
                    for (int64_t i = top; i < bottom; i += down)
                        fill_rows({task.left + i * task.width + first, task.width, right + (j - start) * count, count,
                                   last ? task.bound + i : nullptr, task.out + i * task.stride + j, task.stride,
                                   end - j < across ? end - j : across, first > 0,
                                   task.alike ? task.first + i - j : across, task.small + i, past},
                                  bottom - i);
                if (interrupted()) {
                    status = Status::interrupted;
                    break;
                }
            }
        }
    }
    if (past) written_past();
    free(memory);
    return status;
}

}  // namespace hidiv::HIDIV_TARGET
