// Up and down a chain without zeros: the message of a node in the lanes. With transitions of at least 2^-60 messages
// differ by no more than that, so that nothing is checked on the way but the weights.
#include "one_model/steps.hpp"

#include "runtime/table.hpp"
#include "simd/simd.hpp"

namespace hidiv::HIDIV_TARGET {
namespace {

constexpr double least_log = -620.0;  // of a weight beside the largest of its row

// P vectors of states; 0: as many as padded says.
template <int W, int P>
bool sweep(const SmoothChain &c, SmoothOutcome &out) {
    using Vec = V<W>;
    const int64_t K = c.states, padded = P ? P * W : c.padded, n = c.places.n, size = K * padded;
    const int64_t look = (int64_t(1) << 18) / (K * K + 16) + 1;
    alignas(64) double b[512], mass[512], g[512], last[512];
    for (int64_t s = 0; s < padded; ++s) b[s] = 1.0;
    double high = 0.0, low = 0.0;
    int64_t exponent = 0;
    out.stopped = false;
    for (int64_t u = n - 1; u >= 0; --u) {
        const double *x = c.log_weight + c.places.row(u) * K;
        double *own = c.own + u * padded;
        double top = x[0], bottom = x[0];
        for (int64_t s = 1; s < K; ++s) {
            top = x[s] > top ? x[s] : top;
            bottom = x[s] < bottom ? x[s] : bottom;
        }
        if (!(bottom - top > least_log && top < 1e300 && top > -1e300)) return false;
        const double sum = high + top, part = sum - high;
        low += (high - (sum - part)) + (top - part);
        high = sum;
        for (int64_t s = 0; s < K; ++s) own[s] = x[s] - top;
        for (int64_t s = K; s < padded; ++s) own[s] = 0.0;
        for (int64_t v = 0; v < padded; v += W) store<W>(own + v, exp_of<W>(load<W>(own + v)) * load<W>(b + v));
        for (int64_t s = K; s < padded; ++s) own[s] = 0.0;
        if (u == 0) break;
        const double *columns = c.columns + c.places.transition(u) * size;
        for (int64_t v = 0; v < padded; v += W) {
            Vec even{}, odd{};
            int64_t s = 0;
            for (; s + 1 < K; s += 2) {
                even += load<W>(columns + s * padded + v) * own[s];
                odd += load<W>(columns + (s + 1) * padded + v) * own[s + 1];
            }
            if (s < K) even += load<W>(columns + s * padded + v) * own[s];
            store<W>(mass + v, even + odd);
        }
        I<W> e;
        const Vec scale = unscale<W>(load<W>(mass), e);
        exponent += e[0] - 1023;
        for (int64_t v = 0; v < padded; v += W) store<W>(b + v, load<W>(mass + v) * scale);
        if (u % look == 0 && interrupted()) {
            out.stopped = true;
            return true;
        }
    }
    double total = 0.0;
    for (int64_t s = 0; s < padded; ++s) {
        last[s] = s < K ? c.initial[s] * c.own[s] : 0.0;
        total += last[s];
    }
    if (!(total > 0x1p-1000 && total < 0x1p1000)) return false;
    out.total = total;
    out.high = high;
    out.low = low;
    out.exponent = exponent;
    for (int64_t s = 0; s < K; ++s) c.marginals[s] = last[s] /= total;
    if (c.pairs)
        for (int64_t i = 0; i < K * K; ++i) c.pairs[i] = 0.0;
    for (int64_t u = 1; u < n; ++u) {
        const int64_t group = c.places.transition(u) * size;
        const double *columns = c.columns + group, *rows = c.rows + group, *own = c.own + u * padded;
        // What node u has of its parent's state r: P(r | E) over the mass below it.
        for (int64_t v = 0; v < padded; v += W) {
            Vec even{}, odd{};
            int64_t s = 0;
            for (; s + 1 < K; s += 2) {
                even += load<W>(columns + s * padded + v) * own[s];
                odd += load<W>(columns + (s + 1) * padded + v) * own[s + 1];
            }
            if (s < K) even += load<W>(columns + s * padded + v) * own[s];
            store<W>(g + v, load<W>(last + v) / (even + odd));
        }
        double *pair = c.pairs ? c.pairs + u * K * K : nullptr;
        // Whole vectors are stored, the next row overwrites what is too much; not so at the end of the array.
        const bool inside = u + 1 < n && padded <= K * K;
        Vec sums{};
        for (int64_t v = 0; v < padded; v += W) {
            const Vec mine = load<W>(own + v);
            Vec total_here{};
            for (int64_t r = 0; r < K; ++r) {
                const Vec joint = load<W>(rows + r * padded + v) * mine * g[r];
                total_here += joint;
                if (!pair) continue;
                if (P == 1 && inside) {
                    store<W>(pair + r * K, joint);
                } else {
                    const int64_t width = K - v < W ? K - v : W;
                    double lanes[W];
                    store<W>(lanes, joint);
                    for (int64_t s = 0; s < width; ++s) pair[r * K + v + s] = lanes[s];
                }
            }
            store<W>(last + v, total_here);
            sums += total_here;
        }
        double all_of_it = 0.0;
        for (int l = 0; l < W; ++l) all_of_it += sums[l];
        // The rows sum to one but for rounding: over a million nodes that would add up.
        const Vec inverse = all<W>(1.0 / all_of_it);
        for (int64_t v = 0; v < padded; v += W) store<W>(last + v, load<W>(last + v) * inverse);
        for (int64_t s = 0; s < K; ++s) c.marginals[u * K + s] = last[s];
        if (u % look == 0 && interrupted()) {
            out.stopped = true;
            return true;
        }
    }
    return true;
}

constexpr int at_most(int w) { return w < native ? w : native; }

}  // namespace

bool smooth_steps(const SmoothChain &c, SmoothOutcome &out) {
    if (c.states > 512 || c.padded > 512) return false;
    if (c.states <= 2) return sweep<2, 1>(c, out);
    if (c.states <= at_most(4)) return sweep<at_most(4), 1>(c, out);
    if (c.padded == native) return sweep<native, 1>(c, out);
    if (c.padded == 2 * native) return sweep<native, 2>(c, out);
    if (c.states <= 4) return sweep<at_most(4), 0>(c, out);
    return sweep<native, 0>(c, out);
}

}  // namespace hidiv::HIDIV_TARGET
