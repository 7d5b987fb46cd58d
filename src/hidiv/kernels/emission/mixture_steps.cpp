// Mixtures: log-sum-exp over components, and the log-ratio of two of them, a row and state in every lane.
#include "emission/emission.hpp"

#include "runtime/scratch.hpp"
#include "runtime/table.hpp"
#include "simd/simd.hpp"

namespace hidiv::HIDIV_TARGET {
namespace {

constexpr int W = native;
using Vec = V<W>;
constexpr double huge = 1e300, lowest = -700.0, near = 0.5;

// The entries `from` on of a table, repeating the last one beyond `end`.
HIDIV_INLINE Vec taken(const double *table, int64_t from, int64_t end) {
    if (from + W <= end) return load<W>(table + from);
    Vec v;
    for (int l = 0; l < W; ++l) v[l] = table[from + l < end ? from + l : end - 1];
    return v;
}
HIDIV_INLINE void put(double *table, int64_t from, int64_t end, Vec v) {
    if (from + W <= end) return store<W>(table + from, v);
    for (int l = 0; l < W && from + l < end; ++l) table[from + l] = v[l];
}

// log of the sum of exp(term + weight).
HIDIV_INLINE Vec log_sum(const double *const *tables, const double *weights, int64_t components, int64_t stride,
                         int64_t at, int64_t end, I<W> &bad) {
    Vec top;
    top = taken(tables[0], at, end) + load<W>(weights);
    for (int64_t c = 1; c < components; ++c)
        top = larger<W>(taken(tables[c], at, end) + load<W>(weights + c * stride), top);
    Vec sum{};
    for (int64_t c = 0; c < components; ++c) {
        const Vec term = taken(tables[c], at, end);
        bad |= term != term;
        sum += exp_of<W>(larger<W>((term + load<W>(weights + c * stride)) - top, all<W>(lowest)));
    }
    const Vec value = top + log_of<W>(sum);
    bad |= ~(size<W>(value) <= huge);
    return value;
}

}  // namespace

Status mixture_steps(const MixtureTask &task, int64_t first, int64_t end, bool &odd) {
    const int64_t K = task.states, C = task.components, stride = K * W;
    // Weights of the states of W rows, one after the other: where a vector begins only its place among them matters.
    Scratch memory(3 * C * stride + W);
    if (!memory.values) return Status::no_memory;
    double *tiles[3] = {memory.values, memory.values + C * stride, memory.values + 2 * C * stride};
    const double *weights[3] = {task.weights_p, task.weights_q, task.weights_ratio};
    for (int t = 0; t < (task.out_ratio ? 3 : 1); ++t)
        for (int64_t c = 0; c < C; ++c)
            for (int64_t i = 0; i < stride; ++i) tiles[t][c * stride + i] = weights[t][c * K + i % K];
    I<W> bad{};
    const int64_t last = end * K;
    for (int64_t at = first * K, place = 0; at < last; at += W, place = place + W == stride ? 0 : place + W) {
        const Vec p = log_sum(task.log_p, tiles[0] + place, C, stride, at, last, bad);
        put(task.out_p, at, last, p);
        if (!task.out_ratio) continue;
        const Vec q = log_sum(task.log_q, tiles[1] + place, C, stride, at, last, bad);
        put(task.out_q, at, last, q);
        Vec value = q - p;
        if (task.ratio) {
            Vec excess{}, most{};
            for (int64_t c = 0; c < C; ++c) {
                const Vec step = taken(task.ratio[c], at, last) + load<W>(tiles[2] + c * stride + place);
                const Vec law = exp_of<W>(larger<W>(
                    (taken(task.log_p[c], at, last) + load<W>(tiles[0] + c * stride + place)) - p, all<W>(lowest)));
                const Vec small = size<W>(step) < near ? step : Vec{};
                most = size<W>(step) < near ? most : all<W>(1.0);
                excess += law * (small + small * small * phi_over_square_2<W>(small, small * small));
            }
            value = most == 0.0 ? log1p_of<W>(excess) : value;
        }
        bad |= ~(size<W>(value) <= huge);
        put(task.out_ratio, at, last, value);
    }
    odd = any<W>(bad);
    return Status::done;
}

}  // namespace hidiv::HIDIV_TARGET
