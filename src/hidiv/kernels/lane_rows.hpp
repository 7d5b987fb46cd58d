// Weight rows of W nodes, brought into lanes: column s of row at[l] in lane l.
#pragma once

#include "posterior_steps.hpp"
#include "simd.hpp"

namespace hidiv::HIDIV_TARGET {
namespace {

// Four columns.
template <int W>
HIDIV_INLINE void four_columns(const double *from, const int64_t *at, int64_t stride, V<W> *out) {
    if constexpr (W == 8) {
        V<8> q[4];
        for (int j = 0; j < 4; ++j) {
            double both[8] __attribute__((aligned(64)));
            memcpy(both, from + at[j] * stride, 32);
            memcpy(both + 4, from + at[j + 4] * stride, 32);
            q[j] = load<8>(both);
        }
        const V<8> a = __builtin_shuffle(q[0], q[1], (I<8>){0, 8, 2, 10, 4, 12, 6, 14});
        const V<8> b = __builtin_shuffle(q[0], q[1], (I<8>){1, 9, 3, 11, 5, 13, 7, 15});
        const V<8> c = __builtin_shuffle(q[2], q[3], (I<8>){0, 8, 2, 10, 4, 12, 6, 14});
        const V<8> d = __builtin_shuffle(q[2], q[3], (I<8>){1, 9, 3, 11, 5, 13, 7, 15});
        out[0] = __builtin_shuffle(a, c, (I<8>){0, 1, 8, 9, 4, 5, 12, 13});
        out[1] = __builtin_shuffle(b, d, (I<8>){0, 1, 8, 9, 4, 5, 12, 13});
        out[2] = __builtin_shuffle(a, c, (I<8>){2, 3, 10, 11, 6, 7, 14, 15});
        out[3] = __builtin_shuffle(b, d, (I<8>){2, 3, 10, 11, 6, 7, 14, 15});
    } else {
        for (int s = 0; s < 4; ++s)
            for (int l = 0; l < W; ++l) out[s][l] = from[at[l] * stride + s];
    }
}

// K columns of rows that may be read up to the next multiple of four when `padded`.
template <int W, int K, bool PADDED>
HIDIV_INLINE void columns(const double *from, const int64_t *at, int64_t stride, V<W> *out) {
    if constexpr (W == 8 && K == 2) {
        if (at[7] - at[0] == 7) {  // neighbours: lanes are only ever filled in order
            const V<8> a = load<8>(from + at[0] * 2), b = load<8>(from + at[0] * 2 + 8);
            out[0] = __builtin_shuffle(a, b, (I<8>){0, 2, 4, 6, 8, 10, 12, 14});
            out[1] = __builtin_shuffle(a, b, (I<8>){1, 3, 5, 7, 9, 11, 13, 15});
            return;
        }
    }
    if constexpr (K % 4 == 0 || PADDED) {
        V<W> all_columns[(K + 3) / 4 * 4];
        for (int s = 0; s < K; s += 4) four_columns<W>(from + s, at, stride, all_columns + s);
        for (int s = 0; s < K; ++s) out[s] = all_columns[s];
    } else {
        for (int s = 0; s < K; ++s)
            for (int l = 0; l < W; ++l) out[s][l] = from[at[l] * stride + s];
    }
}

constexpr double lowest_log = -277.0, farthest_ratio = 250.0;  // 2^-400

// Weights w, log-ratios g and residuals of the rows; false when plain doubles do not suffice or a zero was met.
template <int W, int K>
HIDIV_INLINE bool weights(const LaneRows &rows, const int64_t *at, V<W> *w, V<W> *g, V<W> *residual, V<W> &power, V<W> &ratio_out) {
    using Vec = V<W>;
    if (rows.weight) {
        constexpr bool padded = K != 2;
        columns<W, K, padded>(rows.weight, at, rows.stride, w);
        columns<W, K, padded>(rows.ratio, at, rows.stride, g);
        for (int l = 0; l < W; ++l) {
            power[l] = rows.power[at[l]];
            ratio_out[l] = rows.ratio_out[at[l]];
        }
        if (rows.residual) columns<W, K, padded>(rows.residual, at, rows.stride, residual);
        return true;
    }
    Vec x[K];
    columns<W, K, false>(rows.log_weight, at, K, x);
    columns<W, K, false>(rows.log_ratio, at, K, g);
    Vec top = x[0], bottom = x[0], heaviest = g[0];
    for (int s = 1; s < K; ++s) {
        heaviest = x[s] > top ? g[s] : heaviest;
        top = larger<W>(top, x[s]);
        bottom = smaller<W>(bottom, x[s]);
    }
    const double shift = 0x1.8p52;
    power = (top * 0x1.71547652b82fep0 + shift) - shift;
    ratio_out = heaviest;
    Vec apart{}, sum{};
    for (int s = 0; s < K; ++s) {
        sum += x[s] - g[s];
        g[s] -= heaviest;
        apart = larger<W>(apart, size<W>(g[s]));
    }
    if (any<W>(~(bottom - top > lowest_log)) || any<W>(~(apart < farthest_ratio)) || any<W>(~(size<W>(sum) < 1e12))) {
        if (any<W>(~(size<W>(sum) < 1e12)) || any<W>(~(bottom > -1e12))) return false;
        Vec top_q = x[0] + g[0];
        for (int s = 1; s < K; ++s) top_q = larger<W>(top_q, x[s] + g[s]);
        for (int s = 0; s < K; ++s) {
            // Negligible for both models whatever the row: stands in as 2^-400.
            const I<W> light = (x[s] - top < lowest_log), nothing = light & (x[s] + g[s] - top_q < lowest_log);
            if (any<W>(light & ~nothing) || any<W>((size<W>(g[s]) > farthest_ratio) & ~nothing)) return false;
            x[s] = nothing ? top + lowest_log : x[s];
            g[s] = nothing ? Vec{} : g[s];
        }
    }
    for (int s = 0; s < K; ++s) w[s] = exp_of<W>((x[s] - power * 0x1.62e42fee00000p-1) - power * 0x1.a39ef35793c76p-33);
    if (rows.residual) columns<W, K, false>(rows.residual, at, K, residual);
    return true;
}

}  // namespace
}  // namespace hidiv::HIDIV_TARGET
