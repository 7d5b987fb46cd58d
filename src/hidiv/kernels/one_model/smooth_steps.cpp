// Up and down a chain without zeros: the message of a node in the lanes. With transitions of at least 2^-60 messages
// differ by no more than that, so that nothing is checked on the way but the weights.
#include "one_model/steps.hpp"

#include "runtime/table.hpp"
#include "simd/simd.hpp"

namespace hidiv::HIDIV_TARGET {
namespace {

constexpr double least_log = -560.0;  // of a weight beside the largest of its row
constexpr int64_t block = 64;         // nodes whose weights are made at once

// S states in P vectors; 0: as many as the chain says.
template <int W, int P, int S>
struct Sweep {
    using Vec = V<W>;
    static constexpr int most = P ? P : 512 / W;
    const SmoothChain &c;
    const int64_t K = S ? S : c.states, parts = P ? P : c.padded / W, padded = parts * W, n = c.places.n;
    const int64_t look = (int64_t(1) << 18) / (K * K + 16) + 1;

    // Transition (by columns) times a vector that is in the lanes of z and in memory.
    HIDIV_INLINE void product(const double *columns, Vec z, const double *own, Vec *mass, int64_t parts, int64_t K) {
        const int64_t padded = parts * W;
        for (int64_t v = 0; v < parts; ++v) {
            Vec even{}, odd{};
            const double *column = columns + v * W;
            for (int64_t s = 0; s + 1 < K; s += 2) {
                even += load<W>(column + s * padded) * (S ? lane<W>(z, int(s)) : all<W>(own[s]));
                odd += load<W>(column + (s + 1) * padded) * (S ? lane<W>(z, int(s + 1)) : all<W>(own[s + 1]));
            }
            if (K % 2) even += load<W>(column + (K - 1) * padded) * (S ? lane<W>(z, int(K - 1)) : all<W>(own[K - 1]));
            mass[v] = even + odd;
        }
    }

    // own (first..end-1) = weights beside the largest of each row, whose logarithm is added to high + low.
    bool weigh(int64_t first, int64_t end, double &high, double &low) const {
        for (int64_t u = end - 1; u >= first; --u) {
            const double *x = c.log_weight + c.places.row(u) * K;
            double *own = c.own + u * padded, top = x[0], bottom = x[0];
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
        }
        double *at = c.own + first * padded, *last = c.own + end * padded;
        for (; at + native <= last; at += native) store<native>(at, exp_of<native>(load<native>(at)));
        for (; at < last; at += W) store<W>(at, exp_of<W>(load<W>(at)));
        return true;
    }

    // own = weight times message, for every node; false: out of range.
    bool up(SmoothOutcome &out) const {
        Vec b[most], mass[most];
        for (int64_t v = 0; v < parts; ++v) b[v] = all<W>(1.0);
        const int64_t size = K * padded;
        for (int64_t end = n; end > 0; end -= block) {
            const int64_t first = end > block ? end - block : 0;
            if (!weigh(first, end, out.high, out.low)) return false;
            for (int64_t u = end - 1; u >= first; --u) {
                double *own = c.own + u * padded;
                Vec z{};
                for (int64_t v = 0; v < parts; ++v) store<W>(own + v * W, z = load<W>(own + v * W) * b[v]);
                if (u == 0) break;
                product(c.columns + c.places.transition(u) * size, z, own, mass, parts, K);
                Vec scale = all<W>(1.0);
                if (u % 2) {  // two steps take no more than 2^-120
                    I<W> e;
                    scale = unscale<W>(mass[0], e);
                    out.exponent += e[0] - 1023;
                }
                for (int64_t v = 0; v < parts; ++v) b[v] = mass[v] * scale;
            }
            out.stopped = first % look < block && interrupted();
            if (out.stopped) return true;
        }
        return true;
    }

    bool down(SmoothOutcome &out) const {
        alignas(64) double g[most * W];
        Vec last[most], mass[most];
        double law[most * W], total = 0.0;
        for (int64_t s = 0; s < padded; ++s) total += law[s] = s < K ? c.initial[s] * c.own[s] : 0.0;
        if (!(total > 0x1p-1000 && total < 0x1p1000)) return false;
        out.total = total;
        for (int64_t s = 0; s < padded; ++s) law[s] /= total;
        for (int64_t s = 0; s < K; ++s) c.marginals[s] = law[s];
        for (int64_t v = 0; v < parts; ++v) last[v] = load<W>(law + v * W);
        for (int64_t i = 0; c.pairs && i < K * K; ++i) c.pairs[i] = 0.0;
        const int64_t size = K * padded;
        for (int64_t u = 1; u < n; ++u) {
            const int64_t group = c.places.transition(u) * size;
            const double *rows = c.rows + group, *own = c.own + u * padded;
            product(c.columns + group, load<W>(own), own, mass, parts, K);
            // What node u has of its parent's state r: P(r | E) over the mass below it.
            for (int64_t v = 0; v < parts; ++v) {
                mass[v] = last[v] * (1.0 / mass[v]);
                if (!S) store<W>(g + v * W, mass[v]);
                last[v] = Vec{};
            }
            // Whole vectors are stored, the next row overwrites what is too much; not so at the end of the array.
            double *pair = c.pairs ? c.pairs + u * K * K : nullptr;
            for (int64_t r = 0; r < K; ++r) {
                const Vec of_parent = S ? lane<W>(mass[0], int(r)) : all<W>(g[r]);
                for (int64_t v = 0; v < parts; ++v) {
                    const Vec joint = load<W>(rows + r * padded + v * W) * load<W>(own + v * W) * of_parent;
                    last[v] += joint;
                    if (!pair) continue;
                    if (u + 1 < n)
                        store<W>(pair + r * K + v * W, joint);
                    else
                        for (int64_t s = v * W; s < K && s < (v + 1) * W; ++s) pair[r * K + s] = joint[s - v * W];
                }
            }
            // The rows sum to one but for rounding: over a million nodes that would add up.
            if (u % 8 == 0) {
                Vec sums{};
                for (int64_t v = 0; v < parts; ++v) sums += last[v];
                double all_of_it = 0.0;
                for (int l = 0; l < W; ++l) all_of_it += sums[l];
                for (int64_t v = 0; v < parts; ++v) last[v] *= 1.0 / all_of_it;
            }
            double *law_here = c.marginals + u * K;
            for (int64_t v = 0; v < parts; ++v)
                if (u + 1 < n && padded <= 2 * K)
                    store<W>(law_here + v * W, last[v]);
                else
                    for (int64_t s = v * W; s < K && s < (v + 1) * W; ++s) law_here[s] = last[v][s - v * W];
            if (u % look == 0 && interrupted()) {
                out.stopped = true;
                return true;
            }
        }
        return true;
    }
};

template <int W, int P, int S>
bool sweep(const SmoothChain &c, SmoothOutcome &out) {
    const Sweep<W, P, S> chain{c};
    return chain.up(out) && (out.stopped || chain.down(out));
}

constexpr int at_most(int w) { return w < native ? w : native; }

}  // namespace

bool smooth_steps(const SmoothChain &c, SmoothOutcome &out) {
    out = {0.0, 0.0, 0.0, 0, false};
    if (c.states > 512 || c.padded > 512) return false;
    if (c.states == 2) return sweep<2, 1, 2>(c, out);
    if (c.states < 2) return sweep<2, 1, 0>(c, out);
    if constexpr (native >= 4) {
        if (c.states == 3) return sweep<4, 1, 3>(c, out);
        if (c.states == 4) return sweep<4, 1, 4>(c, out);
    }
    if (c.padded == native) return sweep<native, 1, 0>(c, out);
    if (c.padded == 2 * native) return sweep<native, 2, 0>(c, out);
    if (c.padded == 3 * native) return sweep<native, 3, 0>(c, out);
    if (c.states <= 4) return sweep<at_most(4), 0, 0>(c, out);
    return sweep<native, 0, 0>(c, out);
}

}  // namespace hidiv::HIDIV_TARGET
