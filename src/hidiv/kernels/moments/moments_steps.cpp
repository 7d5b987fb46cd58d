// Weighted moments of a piece of rows: rows in the lanes, four vectors of them at a time, so that a running sum is read
// and written once for all of them.
#include "moments/moments.hpp"

#include "runtime/scratch.hpp"
#include "runtime/table.hpp"
#include "simd/simd.hpp"

namespace hidiv::HIDIV_TARGET {
namespace {

constexpr int W = native, M = 4, at_once = W * M;
using Vec = V<W>;

HIDIV_INLINE double total(Vec v) {
    double sum = 0.0;
    for (int i = 0; i < W; ++i) sum += v[i];
    return sum;
}
HIDIV_INLINE void add(double *sum, Vec more) { store<W>(sum, load<W>(sum) + more); }

// sum (1 + F, W): of w, and of w x.
void add_sums(int64_t features, const double *x, const double *w, double *sum) {
    Vec weight[M], mass{};
    for (int m = 0; m < M; ++m) mass += weight[m] = load<W>(w + m * W);
    add(sum, mass);
    for (int64_t f = 0; f < features; ++f, x += at_once) {
        Vec part{};
        for (int m = 0; m < M; ++m) {
            const Vec value = load<W>(x + m * W);
            part += value == value ? weight[m] * value : Vec{};
        }
        add(sum + (f + 1) * W, part);
    }
}

// sum (F, W): of w (x - m)^2.
void add_squares(int64_t features, const double *x, const double *w, const double *mean, double *sum) {
    Vec weight[M];
    for (int m = 0; m < M; ++m) weight[m] = load<W>(w + m * W);
    for (int64_t f = 0; f < features; ++f, x += at_once) {
        Vec part{};
        for (int m = 0; m < M; ++m) {
            const Vec apart = load<W>(x + m * W) - mean[f];
            part += apart == apart ? weight[m] * apart * apart : Vec{};
        }
        add(sum + f * W, part);
    }
}

// sum (F, F, W), its lower triangle: of w (x - m)(x - m)'. apart, weighed (F, at_once) are working memory.
void add_products(int64_t features, const double *x, const double *w, const double *mean, double *sum, double *apart,
                  double *weighed) {
    for (int64_t f = 0; f < features; ++f)
        for (int m = 0; m < M; ++m) {
            const int64_t at = f * at_once + m * W;
            const Vec difference = load<W>(x + at) - mean[f];
            const Vec known = difference == difference ? difference : Vec{};
            store<W>(apart + at, known);
            store<W>(weighed + at, known * load<W>(w + m * W));
        }
    for (int64_t i = 0; i < features; ++i, sum += features * W) {
        Vec own[M];
        for (int m = 0; m < M; ++m) own[m] = load<W>(weighed + i * at_once + m * W);
        for (int64_t j = 0; j <= i; ++j) {
            Vec part{};
            for (int m = 0; m < M; ++m) part += own[m] * load<W>(apart + j * at_once + m * W);
            add(sum + j * W, part);
        }
    }
}

// (count, width) to (width, at_once); rows that are not there are 0.
HIDIV_INLINE void turn(const double *from, int64_t count, int64_t width, double *to) {
    for (int64_t f = 0; f < width; ++f, to += at_once)
        for (int64_t i = 0; i < at_once; ++i) to[i] = i < count ? from[i * width + f] : 0.0;
}

}  // namespace

Status weighted_piece(const WeightedRows &task, int64_t first, int64_t end, double *out) {
    const int64_t states = task.states, features = task.features, size = task.sums(), each = size / states;
    Scratch memory(size * W + (3 * features + states) * at_once);
    if (!memory.values) return Status::no_memory;
    double *sum = memory.values, *x = sum + size * W, *weight = x + features * at_once;
    double *apart = weight + states * at_once, *weighed = apart + features * at_once;
    for (int64_t row = first; row < end; row += at_once) {
        const int64_t count = end - row < at_once ? end - row : at_once;
        turn(task.x + row * features, count, features, x);
        turn(task.weight + row * states, count, states, weight);
        for (int64_t s = 0; s < states; ++s) {
            const double *w = weight + s * at_once;
            if (!task.mean)
                add_sums(features, x, w, sum + s * each * W);
            else if (task.full)
                add_products(features, x, w, task.mean + s * features, sum + s * each * W, apart, weighed);
            else
                add_squares(features, x, w, task.mean + s * features, sum + s * each * W);
        }
    }
    for (int64_t i = 0; i < size; ++i) out[i] += total(load<W>(sum + i * W));
    return Status::done;
}

}  // namespace hidiv::HIDIV_TARGET
