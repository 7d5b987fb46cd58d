// A step of models that are near each other by products of matrices, without a function of every pair of states.
//
// With m = log-ratio of the transition + u, u = log-ratio of the weights less any number c, and phi(t) = e^t - 1 - t,
//   phi(l + u) = phi(l) + phi(u) + (e^l - 1)(e^u - 1),
// so that the mean of phi(m) in a row is three products with tables, and the mean of e^m - 1, Y, two more. Then
//   log-ratio of the message: c + log(1 + Y),   divergence of the row: E[phi(m)] - (Y - log(1 + Y)).
// The last is a difference: where a row's m is much the same for every state it cancels. `doubt` bounds what cancels,
// and the caller compares it with the outcome.
#pragma once

#include "posterior/lane_rows.hpp"
#include "posterior/steps.hpp"
#include "simd/simd.hpp"

namespace hidiv::HIDIV_TARGET {
namespace {

constexpr double widest_product = 0.34;  // of |m|: 1 + Y is then between sqrt(1/2) and sqrt(2)

// y - log(1 + y) for |y| <= 0.0158 (0), or from -0.29 to 0.41; of y's own size squared, without cancellation.
template <int W, int TIER>
HIDIV_INLINE V<W> excess(V<W> y) {
    if constexpr (TIER == 0) {
        const V<W> y2 = y * y, y4 = y2 * y2;
        const V<W> a = 1.0 / 2 - y * (1.0 / 3), b = 1.0 / 4 - y * (1.0 / 5), c = 1.0 / 6 - y * (1.0 / 7),
                   d = 1.0 / 8 - y * (1.0 / 9);
        return y2 * ((a + y2 * b) + y4 * (c + y2 * d));
    }
    const V<W> s = y / (2.0 + y), z = s * s;
    return s * (y - z * log_tail<W>(z));
}

// The same of two, with one division.
template <int W, int TIER>
HIDIV_INLINE void excesses(V<W> y, V<W> other, V<W> *out) {
    if constexpr (TIER == 0) {
        out[0] = excess<W, TIER>(y);
        out[1] = excess<W, TIER>(other);
    } else {
        const V<W> over = 1.0 / ((2.0 + y) * (2.0 + other));
        const V<W> s = y * ((2.0 + other) * over), t = other * ((2.0 + y) * over), z = s * s, w = t * t;
        out[0] = s * (y - z * log_tail<W>(z));
        out[1] = t * (other - w * log_tail<W>(w));
    }
}

// One over x, or near it: what is subtracted from all log-ratios may be any number near their mean.
template <int W>
HIDIV_INLINE V<W> near_inverse(V<W> x) {
#if defined(__AVX512F__)
    if constexpr (W == 8) return (V<W>)_mm512_rcp14_pd((__m512d)x);
#endif
    return 1.0 / x;
}

template <int W, int TIER>
HIDIV_INLINE V<W> phi_near(V<W> t) {
    const V<W> t2 = t * t;
    if constexpr (TIER == 0) return t2 * phi_over_square_0<W>(t, t2);
    if constexpr (TIER == 1) return t2 * phi_over_square_1<W>(t, t2);
    return t2 * phi_over_square_2<W>(t, t2);
}

// What a vector of messages leaves: by parent state.
template <int W>
struct Products {
    V<W> n, both, first, mixed;
};

// R rows at once: every vector is read once for all of them. What needs the weights alone comes first, for the rest has
// to wait longer.
template <int W, int R>
HIDIV_INLINE void products(const double *T, const double *D, const double *F, int states, const V<W> *z, const V<W> *zu,
                           const V<W> *zi, Products<W> *out) {
    for (int k = 0; k < R; ++k) out[k] = Products<W>{};
    for (int s = 0; s < states; ++s)
        for (int k = 0; k < R; ++k) {
            out[k].n += T[k * states + s] * z[s];
            out[k].both += F[k * states + s] * z[s];
            out[k].first += D[k * states + s] * z[s];
        }
    V<W> both[R] = {}, first[R] = {};
    for (int s = 0; s < states; ++s)
        for (int k = 0; k < R; ++k) {
            both[k] += T[k * states + s] * zi[s];
            first[k] += T[k * states + s] * zu[s];
            out[k].mixed += D[k * states + s] * zu[s];
        }
    for (int k = 0; k < R; ++k) {
        out[k].both += both[k];
        out[k].first += first[k];
    }
}

// As rows_of in lane_steps.cpp.
template <int W, int K, int TIER>
HIDIV_INLINE void rows_by_products(const StepTables &tables, const V<W> *z, const V<W> *g, const V<W> *inward,
                                   V<W> *out_n, V<W> *out_ratio, V<W> *out_inward, V<W> &doubt, int states) {
    using Vec = V<W>;
    Vec total{}, mean{};
    for (int s = 0; s < states; ++s) {
        total += z[s];
        mean += z[s] * g[s];
    }
    const Vec middle = mean * near_inverse<W>(total);
    Vec zu[K], zi[K];
    for (int s = 0; s < states; ++s) {
        const Vec u = g[s] - middle, second = phi_near<W, TIER>(u);
        zu[s] = z[s] * (u + second);
        zi[s] = z[s] * (inward[s] + second);
    }
    const double *T = tables.transition, *D = tables.difference, *F = tables.second;
    Vec most{};
    const auto finish = [&](int r, const Products<W> &row, Vec inverse, Vec mixed, Vec y, Vec own) {
        out_n[r] = row.n;
        out_ratio[r] = middle + (y - own);
        out_inward[r] = (row.both * inverse + mixed) - own;
        most = larger<W>(most, own + 2.0 * size<W>(mixed));
    };
    const auto two = [&](int r, const Products<W> *rows) {  // a division serves both
        const Vec inverse = 1.0 / (rows[0].n * rows[1].n), over[2] = {inverse * rows[1].n, inverse * rows[0].n};
        Vec mixed[2], y[2], own[2];
        for (int k = 0; k < 2; ++k) {
            mixed[k] = rows[k].mixed * over[k];
            y[k] = rows[k].first * over[k] + mixed[k];
        }
        excesses<W, TIER>(y[0], y[1], own);
        for (int k = 0; k < 2; ++k) finish(r + k, rows[k], over[k], mixed[k], y[k], own[k]);
    };
    int r = 0;
    constexpr int R = W == 8 ? 4 : 2;  // as many sums as there are registers for
    Products<W> sums[R];
    for (; r + R <= states; r += R) {
        products<W, R>(T + r * states, D + r * states, F + r * states, states, z, zu, zi, sums);
        for (int k = 0; k < R; k += 2) two(r + k, sums + k);
    }
    if (R > 2 && r + 2 <= states) {
        products<W, 2>(T + r * states, D + r * states, F + r * states, states, z, zu, zi, sums);
        two(r, sums);
        r += 2;
    }
    if (r < states) {
        products<W, 1>(T + r * states, D + r * states, F + r * states, states, z, zu, zi, sums);
        const Vec inverse = 1.0 / sums[0].n, mixed = sums[0].mixed * inverse, y = sums[0].first * inverse + mixed;
        finish(r, sums[0], inverse, mixed, y, excess<W, TIER>(y));
    }
    doubt += most;
}

}  // namespace
}  // namespace hidiv::HIDIV_TARGET
