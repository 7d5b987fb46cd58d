// Normal log-densities with rows of observations in the lanes: four vectors of rows at a time, so that each parameter
// is read once for all of them and the sums do not wait for each other.
#include "emission/emission.hpp"

#include "emission/turned_rows.hpp"
#include "runtime/scratch.hpp"
#include "runtime/table.hpp"
#include "simd/simd.hpp"

namespace hidiv::HIDIV_TARGET {
namespace {

constexpr int W = native, M = 4, at_once = W * M;
using Vec = V<W>;

// Sums over the columns for one state: |z|^2, and the polynomial of the log-ratio where wanted.
struct Sums {
    Vec square[M], ratio[M];
};

template <bool RATIO>
HIDIV_INLINE void diagonal(const NormalLaws &p, const NormalRatio *r, int64_t s, const double *x, Sums &out) {
    const int64_t features = p.features;
    const double *mean = p.mean + s * features, *scale = p.whiten + s * features;
    for (int m = 0; m < M; ++m) out.square[m] = out.ratio[m] = Vec{};
    for (int64_t f = 0; f < features; ++f) {
        const Vec middle = all<W>(mean[f]), over = all<W>(scale[f]);
        for (int m = 0; m < M; ++m) {
            const Vec z = (load<W>(x + f * at_once + m * W) - middle) * over;
            out.square[m] += z * z;
            if constexpr (RATIO) out.ratio[m] += z * (z * r->square[s * features + f] + r->linear[s * features + f]);
        }
    }
}

// z (F, at_once) is kept for the products of the log-ratio.
template <bool RATIO>
HIDIV_INLINE void full(const NormalLaws &p, const NormalRatio *r, int64_t s, const double *x, double *u, double *z,
                       Sums &out) {
    const int64_t features = p.features;
    const double *mean = p.mean + s * features;
    for (int m = 0; m < M; ++m) out.square[m] = out.ratio[m] = Vec{};
    for (int64_t f = 0; f < features; ++f)
        for (int m = 0; m < M; ++m) store<W>(u + f * at_once + m * W, load<W>(x + f * at_once + m * W) - mean[f]);
    for (int64_t i = 0; i < features; ++i) {
        const double *row = p.whiten + (s * features + i) * features;
        Vec sum[M];
        for (int m = 0; m < M; ++m) sum[m] = Vec{};
        for (int64_t j = 0; j <= i; ++j)
            for (int m = 0; m < M; ++m) sum[m] += load<W>(u + j * at_once + m * W) * row[j];
        for (int m = 0; m < M; ++m) {
            out.square[m] += sum[m] * sum[m];
            if constexpr (RATIO) store<W>(z + i * at_once + m * W, sum[m]);
        }
        if constexpr (RATIO) {
            const double *square = r->square + (s * features + i) * features;
            Vec part[M];
            for (int m = 0; m < M; ++m) part[m] = all<W>(r->linear[s * features + i]);
            for (int64_t j = 0; j <= i; ++j)
                for (int m = 0; m < M; ++m) part[m] += load<W>(z + j * at_once + m * W) * square[j];
            for (int m = 0; m < M; ++m) out.ratio[m] += part[m] * sum[m];
        }
    }
}

template <bool RATIO>
HIDIV_INLINE void sums(const NormalLaws &p, const NormalRatio *r, int64_t s, const double *x, double *u, double *z,
                       Sums &out) {
    if (p.full)
        full<RATIO>(p, r, s, x, u, z, out);
    else
        diagonal<RATIO>(p, r, s, x, out);
}

}  // namespace

Status normal_steps(const NormalTask &task, int64_t first, int64_t end, bool &odd) {
    const NormalLaws &p = task.p;
    const int64_t states = p.states, features = p.features, block = features * at_once;
    Scratch memory(3 * block + 3 * states * at_once);
    if (!memory.values) return Status::no_memory;
    double *x = memory.values, *u = x + block, *z = u + block;
    double *log_p = z + block, *log_q = log_p + states * at_once, *ratio = log_q + states * at_once;
    I<W> bad{};
    const double limit = task.limit;
    for (int64_t row = first; row < end; row += at_once) {
        const int64_t count = end - row < at_once ? end - row : at_once;
        into_lanes<at_once>(task.x + row * features, features, count, x);
        for (int64_t s = 0; s < states; ++s) {
            Sums own;
            if (task.ratio && task.ratio->near[s])
                sums<true>(p, task.ratio, s, x, u, z, own);
            else
                sums<false>(p, nullptr, s, x, u, z, own);
            for (int m = 0; m < M; ++m) {
                const Vec value = p.constant[s] - 0.5 * own.square[m];
                store<W>(log_p + s * at_once + m * W, value);
                bad |= ~(size<W>(value) <= limit);  // NaN fails every comparison
            }
            if (!task.ratio) continue;
            if (!task.ratio->near[s]) {
                Sums other;
                sums<false>(*task.q, nullptr, s, x, u, z, other);
                for (int m = 0; m < M; ++m) {
                    const Vec there = task.q->constant[s] - 0.5 * other.square[m];
                    own.ratio[m] = there - load<W>(log_p + s * at_once + m * W);
                    store<W>(log_q + s * at_once + m * W, there);
                    bad |= ~(size<W>(there) <= limit);
                }
            } else {
                for (int m = 0; m < M; ++m) {
                    own.ratio[m] += task.ratio->constant[s];
                    const Vec there = load<W>(log_p + s * at_once + m * W) + own.ratio[m];
                    store<W>(log_q + s * at_once + m * W, there);
                    bad |= ~(size<W>(there) <= limit);
                }
            }
            for (int m = 0; m < M; ++m) {
                store<W>(ratio + s * at_once + m * W, own.ratio[m]);
                bad |= ~(size<W>(own.ratio[m]) <= 1e300);
            }
        }
        turn<at_once>(log_p, states, count, task.log_p + row * states);
        if (task.log_ratio) turn<at_once>(ratio, states, count, task.log_ratio + row * states);
        if (task.log_q) turn<at_once>(log_q, states, count, task.log_q + row * states);
    }
    odd = any<W>(bad);
    return Status::done;
}

}  // namespace hidiv::HIDIV_TARGET
