// Weight rows of W nodes, brought into lanes: column s of row at[l] in lane l.
#pragma once

#include "emission/emission.hpp"
#include "posterior/steps.hpp"
#include "simd/simd.hpp"

namespace hidiv::HIDIV_TARGET {
namespace {

// Small integers as doubles, by their place in the mantissa; exponents of doubles, and back.
template <int W>
HIDIV_INLINE V<W> as_double(I<W> e) {
    return (V<W>)((e + 4096) | 0x4330000000000000LL) - (0x1p52 + 4096.0);
}
template <int W>
HIDIV_INLINE I<W> exponents(V<W> n) {
    return (((I<W>)n >> 52) & 0x7ff) - 1023;
}
template <int W>
HIDIV_INLINE V<W> powers(I<W> e) {
    return (V<W>)((U<W>)(e + 1023) << 52);
}

HIDIV_INLINE int64_t row_of(const LaneRows &rows, int64_t u) {
    return rows.row_of_32 ? rows.row_of_32[u] : rows.row_of_64 ? rows.row_of_64[u] : u;
}

#if defined(__AVX512F__)
// Lanes A, B, ... of the sixteen of a and b.
template <int A, int B, int C, int D, int E, int F, int G, int H>
HIDIV_INLINE V<8> two(V<8> a, V<8> b) {
    return (V<8>)_mm512_permutex2var_pd((__m512d)a, _mm512_setr_epi64(A, B, C, D, E, F, G, H), (__m512d)b);
}
#endif

// Vectors 0 to 3 of quarters of rows, or of columns of four rows, turned into the other: each half of eight by itself.
template <int W>
HIDIV_INLINE void turn_four(V<W> *q) {
    static_assert(W >= 4);
#if defined(__AVX512F__)
    if constexpr (W == 8) {
        const V<8> a = two<0, 8, 2, 10, 4, 12, 6, 14>(q[0], q[1]);
        const V<8> b = two<1, 9, 3, 11, 5, 13, 7, 15>(q[0], q[1]);
        const V<8> c = two<0, 8, 2, 10, 4, 12, 6, 14>(q[2], q[3]);
        const V<8> d = two<1, 9, 3, 11, 5, 13, 7, 15>(q[2], q[3]);
        q[0] = two<0, 1, 8, 9, 4, 5, 12, 13>(a, c);
        q[1] = two<0, 1, 8, 9, 4, 5, 12, 13>(b, d);
        q[2] = two<2, 3, 10, 11, 6, 7, 14, 15>(a, c);
        q[3] = two<2, 3, 10, 11, 6, 7, 14, 15>(b, d);
    }
#endif
#if defined(__AVX2__)
    if constexpr (W == 4) {
        const __m256d a = _mm256_unpacklo_pd((__m256d)q[0], (__m256d)q[1]),
                      b = _mm256_unpackhi_pd((__m256d)q[0], (__m256d)q[1]);
        const __m256d c = _mm256_unpacklo_pd((__m256d)q[2], (__m256d)q[3]),
                      d = _mm256_unpackhi_pd((__m256d)q[2], (__m256d)q[3]);
        q[0] = (V<4>)_mm256_permute2f128_pd(a, c, 0x20);
        q[1] = (V<4>)_mm256_permute2f128_pd(b, d, 0x20);
        q[2] = (V<4>)_mm256_permute2f128_pd(a, c, 0x31);
        q[3] = (V<4>)_mm256_permute2f128_pd(b, d, 0x31);
    }
#endif
}

// Four columns.
template <int W>
HIDIV_INLINE void four_columns(const double *from, const int64_t *at, int64_t stride, V<W> *out) {
#if defined(__AVX512F__)
    if constexpr (W == 8) {
        for (int j = 0; j < 4; ++j)
            out[j] = (V<8>)_mm512_insertf64x4(_mm512_castpd256_pd512(_mm256_loadu_pd(from + at[j] * stride)),
                                              _mm256_loadu_pd(from + at[j + 4] * stride), 1);
        return turn_four<8>(out);
    }
#endif
#if defined(__AVX2__)
    if constexpr (W == 4) {
        for (int j = 0; j < 4; ++j) out[j] = load<4>(from + at[j] * stride);
        return turn_four<4>(out);
    }
#endif
    for (int s = 0; s < 4; ++s)
        for (int l = 0; l < W; ++l) out[s][l] = from[at[l] * stride + s];
}

// The inverse: four columns as parts of rows `stride` apart.
template <int W>
HIDIV_INLINE void four_into_rows(V<W> *columns, int64_t stride, double *to) {
#if defined(__AVX512F__)
    if constexpr (W == 8) {
        turn_four<8>(columns);
        for (int j = 0; j < 4; ++j) {
            _mm256_storeu_pd(to + j * stride, _mm512_castpd512_pd256((__m512d)columns[j]));
            _mm256_storeu_pd(to + (j + 4) * stride, _mm512_extractf64x4_pd((__m512d)columns[j], 1));
        }
        return;
    }
#endif
#if defined(__AVX2__)
    if constexpr (W == 4) {
        turn_four<4>(columns);
        for (int j = 0; j < 4; ++j) store<4>(to + j * stride, columns[j]);
        return;
    }
#endif
    for (int s = 0; s < 4; ++s)
        for (int l = 0; l < W; ++l) to[l * stride + s] = columns[s][l];
}

// Two columns of rows of two: a row is read at once.
template <int W>
HIDIV_INLINE void two_columns(const double *from, const int64_t *at, V<W> *out) {
#if defined(__AVX512F__)
    if constexpr (W == 8) {
        const auto four_rows = [&](const int64_t *which) {
            __m512d rows = _mm512_castpd128_pd512(_mm_loadu_pd(from + which[0] * 2));
            rows = _mm512_insertf64x2(rows, _mm_loadu_pd(from + which[1] * 2), 1);
            rows = _mm512_insertf64x2(rows, _mm_loadu_pd(from + which[2] * 2), 2);
            return (V<8>)_mm512_insertf64x2(rows, _mm_loadu_pd(from + which[3] * 2), 3);
        };
        const V<8> a = four_rows(at), b = four_rows(at + 4);
        out[0] = two<0, 2, 4, 6, 8, 10, 12, 14>(a, b);
        out[1] = two<1, 3, 5, 7, 9, 11, 13, 15>(a, b);
        return;
    }
#endif
#if defined(__AVX2__)
    if constexpr (W == 4) {
        const auto two_rows = [&](int64_t first, int64_t second) {
            return _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(from + first * 2)),
                                        _mm_loadu_pd(from + second * 2), 1);
        };
        const __m256d a = two_rows(at[0], at[2]), b = two_rows(at[1], at[3]);
        out[0] = (V<4>)_mm256_unpacklo_pd(a, b);
        out[1] = (V<4>)_mm256_unpackhi_pd(a, b);
        return;
    }
#endif
    for (int s = 0; s < 2; ++s)
        for (int l = 0; l < W; ++l) out[s][l] = from[at[l] * 2 + s];
}

// The first columns of rows that may be read up to the next multiple of four when `padded`; K is room for them.
template <int W, int K, bool PADDED>
HIDIV_INLINE void columns(const double *from, const int64_t *at, int64_t stride, int states, V<W> *out) {
#if defined(__AVX512F__)
    if constexpr (W == 8 && K == 2) {
        const __m512i next = _mm512_add_epi64(_mm512_set1_epi64(at[0]), _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7));
        if (_mm512_cmpeq_epi64_mask(_mm512_loadu_si512(at), next) == 0xff) {  // neighbours in the table
            const V<8> a = load<8>(from + at[0] * 2), b = load<8>(from + at[0] * 2 + 8);
            out[0] = two<0, 2, 4, 6, 8, 10, 12, 14>(a, b);
            out[1] = two<1, 3, 5, 7, 9, 11, 13, 15>(a, b);
            return;
        }
    }
#endif
    if constexpr (K == 2) {
        two_columns<W>(from, at, out);
    } else if constexpr (PADDED) {
        V<W> all_columns[(K + 3) / 4 * 4];
        for (int s = 0; s < states; s += 4) four_columns<W>(from + s, at, stride, all_columns + s);
        for (int s = 0; s < states; ++s) out[s] = all_columns[s];
    } else {
        int s = 0;
        for (; s + 4 <= states; s += 4) four_columns<W>(from + s, at, stride, out + s);
        for (; s < states; ++s)
            for (int l = 0; l < W; ++l) out[s][l] = from[at[l] * stride + s];
    }
}

constexpr double lowest_log = -277.0, farthest_ratio = 250.0;  // 2^-400

// Log-densities x of p and log-ratios g of the observations at[0], ...; false where a number is none or far out.
template <int W, int K>
HIDIV_INLINE bool densities(const NormalTask &task, const int64_t *at, int states, V<W> *x, V<W> *g) {
    using Vec = V<W>;
    const NormalLaws &p = task.p, &q = *task.q;
    const NormalRatio &ratio = *task.ratio;
    const int64_t features = p.features;
    Vec square[K], other[K];
    for (int s = 0; s < states; ++s) square[s] = other[s] = Vec{};
    for (int64_t f = 0; f < features; ++f) {
        Vec value;
        for (int l = 0; l < W; ++l) value[l] = task.x[at[l] * features + f];
        for (int s = 0; s < states; ++s) {
            const int64_t i = s * features + f;
            const Vec z = (value - p.mean[i]) * p.whiten[i];
            square[s] += z * z;
            if (ratio.near[s]) {
                other[s] += z * (z * ratio.square[i] + ratio.linear[i]);
            } else {
                const Vec there = (value - q.mean[i]) * q.whiten[i];
                other[s] += there * there;
            }
        }
    }
    I<W> bad{};
    for (int s = 0; s < states; ++s) {
        x[s] = p.constant[s] - 0.5 * square[s];
        g[s] = ratio.near[s] ? other[s] + ratio.constant[s] : (q.constant[s] - 0.5 * other[s]) - x[s];
        bad |= ~(size<W>(x[s]) <= task.limit) | ~(size<W>(x[s] + g[s]) <= task.limit);
    }
    return !any<W>(bad);
}

// The logarithms of the rows that were not made ready.
template <int W, int K>
HIDIV_INLINE bool logarithms(const LaneRows &rows, const int64_t *at, int states, V<W> *x, V<W> *g) {
    if (rows.normal) return densities<W, K>(*rows.normal, at, states, x, g);
    columns<W, K, false>(rows.log_weight, at, states, states, x);
    columns<W, K, false>(rows.log_ratio, at, states, states, g);
    return true;
}

// x - k ln 2.
template <int W>
HIDIV_INLINE V<W> reduced(V<W> x, V<W> k) {
    return (x - k * 0x1.62e42fee00000p-1) - k * 0x1.a39ef35793c76p-33;
}
// The power of two nearest to e^top.
template <int W>
HIDIV_INLINE V<W> nearest_power(V<W> top) {
    const double shift = 0x1.8p52;
    return (top * 0x1.71547652b82fep0 + shift) - shift;
}

// Weights w, log-ratios g and residuals of the rows; false when plain doubles do not suffice or a zero was met.
template <int W, int K>
HIDIV_INLINE bool weights(const LaneRows &rows, const int64_t *at, int states, V<W> *w, V<W> *g, V<W> *residual,
                          V<W> &power, V<W> &ratio_out) {
    using Vec = V<W>;
    if (rows.weight) {
        constexpr bool padded = K != 2;
        columns<W, K, padded>(rows.weight, at, rows.stride, states, w);
        columns<W, K, padded>(rows.ratio, at, rows.stride, states, g);
        if (rows.taken) {
            Vec taken[4];
            four_columns<W>(rows.taken, at, 4, taken);
            power = taken[0];
            ratio_out = taken[1];
        }
        if (rows.residual) columns<W, K, padded>(rows.residual, at, rows.stride, states, residual);
        return true;
    }
    Vec x[K];
    if (!logarithms<W, K>(rows, at, states, x, g)) return false;
    Vec top = x[0], bottom = x[0], heaviest = g[0];
    for (int s = 1; s < states; ++s) {
        heaviest = x[s] > top ? g[s] : heaviest;
        top = larger<W>(top, x[s]);
        bottom = smaller<W>(bottom, x[s]);
    }
    power = nearest_power<W>(top);
    ratio_out = heaviest;
    Vec apart{}, sum{};
    for (int s = 0; s < states; ++s) {
        sum += x[s] - g[s];
        g[s] -= heaviest;
        apart = larger<W>(apart, size<W>(g[s]));
    }
    if (any<W>(~(bottom - top > lowest_log)) || any<W>(~(apart < farthest_ratio)) || any<W>(~(size<W>(sum) < 1e12))) {
        if (any<W>(~(size<W>(sum) < 1e12)) || any<W>(~(bottom > -1e12))) return false;
        Vec top_q = x[0] + g[0];
        for (int s = 1; s < states; ++s) top_q = larger<W>(top_q, x[s] + g[s]);
        for (int s = 0; s < states; ++s) {
            // Negligible for both models whatever the row: stands in as 2^-400.
            const I<W> light = (x[s] - top < lowest_log), nothing = light & (x[s] + g[s] - top_q < lowest_log);
            if (any<W>(light & ~nothing) || any<W>((size<W>(g[s]) > farthest_ratio) & ~nothing)) return false;
            x[s] = nothing ? top + lowest_log : x[s];
            g[s] = nothing ? Vec{} : g[s];
        }
    }
    for (int s = 0; s < states; ++s) w[s] = exp_of<W>(reduced<W>(x[s], power));
    if (rows.residual) columns<W, K, false>(rows.residual, at, states, states, residual);
    return true;
}

}  // namespace
}  // namespace hidiv::HIDIV_TARGET
