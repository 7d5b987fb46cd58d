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

// R rows at once: every vector is read once for all of them.
template <int W, int R>
HIDIV_INLINE void products(const double *T, const double *D, const double *F, int states, const V<W> *z, const V<W> *zu,
                           const V<W> *zi, Products<W> *out) {
    for (int k = 0; k < R; ++k) out[k] = Products<W>{};
    for (int s = 0; s < states; ++s) {
        const V<W> a = z[s], b = zu[s], c = zi[s];
        for (int k = 0; k < R; ++k) {
            const double t = T[k * states + s], d = D[k * states + s], f = F[k * states + s];
            out[k].n += t * a;
            out[k].both += t * c;
            out[k].first += t * b;
            out[k].mixed += d * b;
            out[k].both += f * a;
            out[k].first += d * a;
        }
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
    const Vec middle = mean / total;
    Vec zu[K], zi[K];
    for (int s = 0; s < states; ++s) {
        const Vec u = g[s] - middle, second = phi_near<W, TIER>(u);
        zu[s] = z[s] * (u + second);
        zi[s] = z[s] * (inward[s] + second);
    }
    const double *T = tables.transition, *D = tables.difference, *F = tables.second;
    Vec most{};
    const auto finish = [&](int r, const Products<W> &row, Vec inverse) {
        const Vec mixed = row.mixed * inverse, y = row.first * inverse + mixed;
        const Vec own = excess<W, TIER>(y);
        out_n[r] = row.n;
        out_ratio[r] = middle + (y - own);
        out_inward[r] = (row.both * inverse + mixed) - own;
        most = larger<W>(most, own + 2.0 * size<W>(mixed));
    };
    const auto two = [&](int r, const Products<W> *rows) {  // one division for both
        const Vec inverse = 1.0 / (rows[0].n * rows[1].n);
        finish(r, rows[0], inverse * rows[1].n);
        finish(r + 1, rows[1], inverse * rows[0].n);
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
        finish(r, sums[0], 1.0 / sums[0].n);
    }
    doubt += most;
}

}  // namespace
}  // namespace hidiv::HIDIV_TARGET
