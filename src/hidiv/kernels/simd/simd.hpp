// Vectors of W doubles by the compiler's vector types, and the few functions the recursions need on them.
// W is at most the width of the instruction set being compiled; other compilers get plain arrays.
#pragma once

#include <stdint.h>
#include <string.h>

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#include <immintrin.h>
#endif

#define HIDIV_INLINE static inline __attribute__((always_inline))

namespace hidiv::HIDIV_TARGET {
namespace {

#if defined(__AVX512F__)
constexpr int native = 8;
#elif defined(__AVX2__)
constexpr int native = 4;
#else
constexpr int native = 2;
#endif

template <int W>
struct Of {
    typedef double V __attribute__((vector_size(8 * W)));
    typedef long long I __attribute__((vector_size(8 * W)));
    typedef unsigned long long U __attribute__((vector_size(8 * W)));
};
template <int W>
using V = typename Of<W>::V;
template <int W>
using I = typename Of<W>::I;
template <int W>
using U = typename Of<W>::U;  // for arithmetic on bits, which may wrap around

template <int W>
HIDIV_INLINE V<W> load(const double *from) {
    V<W> v;
    memcpy(&v, from, sizeof v);
    return v;
}
template <int W>
HIDIV_INLINE void store(double *to, V<W> v) {
    memcpy(to, &v, sizeof v);
}
// Past the cache, for what is not read soon, `to` a multiple of the vector's size; written_past() follows the last one.
template <int W>
HIDIV_INLINE void store_past(double *to, V<W> v) {
#if defined(__AVX512F__)
    if constexpr (W == 8) return _mm512_stream_pd(to, (__m512d)v);
#endif
#if defined(__AVX2__)
    if constexpr (W == 4) return _mm256_stream_pd(to, (__m256d)v);
#endif
#if defined(__SSE2__)
    if constexpr (W == 2) return _mm_stream_pd(to, (__m128d)v);
#endif
    memcpy(to, &v, sizeof v);
}
HIDIV_INLINE void written_past() {
#if defined(__SSE2__)
    _mm_sfence();
#endif
}
// x - 0 is x for every x, so that this is a broadcast and nothing else.
template <int W>
HIDIV_INLINE V<W> all(double x) {
    return x - V<W>{};
}
template <int W>
HIDIV_INLINE V<W> larger(V<W> a, V<W> b) {
    return a > b ? a : b;
}
template <int W>
HIDIV_INLINE V<W> smaller(V<W> a, V<W> b) {
    return a < b ? a : b;
}
template <int W>
HIDIV_INLINE V<W> size(V<W> a) {
    return (V<W>)((I<W>)a & 0x7fffffffffffffffLL);
}
template <int W>
HIDIV_INLINE double most(V<W> a) {
    double m = a[0];
    for (int i = 1; i < W; ++i) m = a[i] > m ? a[i] : m;
    return m;
}
template <int W>
HIDIV_INLINE double least(V<W> a) {
    double m = a[0];
    for (int i = 1; i < W; ++i) m = a[i] < m ? a[i] : m;
    return m;
}
// True when some lane of a comparison holds.
template <int W>
HIDIV_INLINE bool any(I<W> mask) {
#if defined(__AVX512F__) && defined(__AVX512DQ__)
    if constexpr (W == 8) return _mm512_movepi64_mask((__m512i)mask) != 0;
#endif
#if defined(__AVX2__)
    if constexpr (W == 4) return _mm256_movemask_pd((__m256d)mask) != 0;
#endif
#if defined(__SSE2__)
    if constexpr (W == 2) return _mm_movemask_pd((__m128d)mask) != 0;
#endif
    long long set = 0;
    for (int i = 0; i < W; ++i) set |= mask[i];
    return set != 0;
}
// Lane s in every lane; s known when compiling where it matters.
template <int W>
HIDIV_INLINE V<W> lane(V<W> v, int s) {
    return all<W>(v[s]);
}

// from[at[i]] in lane i.
template <int W>
HIDIV_INLINE V<W> gather(const double *from, I<W> at) {
#if defined(__AVX512F__)
    if constexpr (W == 8) return (V<W>)_mm512_i64gather_pd((__m512i)at, from, 8);
#endif
#if defined(__AVX2__)
    if constexpr (W == 4) return (V<W>)_mm256_i64gather_pd(from, (__m256i)at, 8);
#endif
    V<W> v;
    for (int i = 0; i < W; ++i) v[i] = from[at[i]];
    return v;
}

// phi(t) = e^t - 1 - t = t^2 P(t). P by near-minimax polynomials: |t| <= 2^-6 (0), 2^-3 (1), 1 (2); below 3 ulp each.
template <int W>
HIDIV_INLINE V<W> phi_over_square_0(V<W> t, V<W> t2) {
    const V<W> a = 0x1.0000000000000p-1 + t * 0x1.5555555555555p-3;
    const V<W> b = 0x1.5555555538138p-5 + t * 0x1.1111111104104p-7;
    const V<W> c = 0x1.6c175d75f692ap-10 + t * 0x1.a01a8c538693fp-13;
    return a + t2 * (b + t2 * c);
}
template <int W>
HIDIV_INLINE V<W> phi_over_square_1(V<W> t, V<W> t2) {
    const V<W> a = 0x1.0000000000000p-1 + t * 0x1.5555555555553p-3;
    const V<W> b = 0x1.5555555555555p-5 + t * 0x1.11111111175f6p-7;
    const V<W> c = 0x1.6c16c16c1af5ap-10 + t * 0x1.a01a0034e2fafp-13;
    const V<W> d = 0x1.a01a00adf7125p-16 + t * 0x1.71fc7e8d7f45ap-19;
    const V<W> t4 = t2 * t2;
    return (a + t2 * b) + t4 * ((c + t2 * d) + t4 * 0x1.27f928d5df576p-22);
}
template <int W>
HIDIV_INLINE V<W> phi_over_square_2(V<W> t, V<W> t2) {
    const V<W> a = 0x1.0000000000000p-1 + t * 0x1.5555555555555p-3;
    const V<W> b = 0x1.5555555555502p-5 + t * 0x1.11111111110fdp-7;
    const V<W> c = 0x1.6c16c16c212c0p-10 + t * 0x1.a01a01a01ee70p-13;
    const V<W> d = 0x1.a01a01907b7eep-16 + t * 0x1.71de3a4e14f40p-19;
    const V<W> e = 0x1.27e5069de9344p-22 + t * 0x1.ae6460fae3728p-26;
    const V<W> f = 0x1.1ee5640e638a2p-29 + t * 0x1.611cb330c1fe8p-33;
    const V<W> g = 0x1.99848a67700e4p-37 + t * 0x1.b41232cf9950fp-41;
    const V<W> t4 = t2 * t2;
    return (a + t2 * b) + t4 * ((c + t2 * d) + t4 * ((e + t2 * f) + t4 * g));
}

// e^x for |x| <= 700, within 2 ulp.
template <int W>
HIDIV_INLINE V<W> exp_of(V<W> x) {
    const double shift = 0x1.8p52;
    const V<W> rounded = x * 0x1.71547652b82fep0 + shift;
    const V<W> k = rounded - shift;
    const V<W> r = (x - k * 0x1.62e42fee00000p-1) - k * 0x1.a39ef35793c76p-33;
    const V<W> r2 = r * r, r4 = r2 * r2;
    const V<W> a = 0x1.0000000000000p-1 + r * 0x1.5555555555557p-3;
    const V<W> b = 0x1.5555555555556p-5 + r * 0x1.111111110ff8bp-7;
    const V<W> c = 0x1.6c16c16c16214p-10 + r * 0x1.a01a01ac9de9ep-13;
    const V<W> d = 0x1.a01a01a74077ap-16 + r * 0x1.71ddfff6573d6p-19;
    const V<W> e = (0x1.27e4da1e12fb1p-22 + r * 0x1.af5282aacdb2ep-26) + r2 * 0x1.1f75a3caadff5p-29;
    const V<W> p = (a + r2 * b) + r4 * ((c + r2 * d) + r4 * e);
    const V<W> value = 1.0 + (r + r2 * p);
    return (V<W>)((U<W>)value + ((U<W>)rounded << 52));
}

// (2 artanh(s) - 2 s) / s^3 as a polynomial in z = s^2, |s| <= 0.1716.
template <int W>
HIDIV_INLINE V<W> log_tail(V<W> z) {
    return 0x1.5555555555555p-1 +
           z * (0x1.9999999999a3ap-2 +
                z * (0x1.249249247670ap-2 +
                     z * (0x1.c71c7201fc0e6p-3 +
                          z * (0x1.745cf8c09a9d4p-3 +
                               z * (0x1.3b1c43c68eb6dp-3 + z * (0x1.0fbd140544b63p-3 + z * 0x1.0c135adcf3011p-3))))));
}
// k log 2 + log(1 + f), f between sqrt(1/2) - 1 and sqrt(2) - 1.
template <int W>
HIDIV_INLINE V<W> log_parts(V<W> k, V<W> f) {
    const V<W> s = f / (2.0 + f), z = s * s;
    return k * 0x1.62e42fee00000p-1 + (f + (k * 0x1.a39ef35793c76p-33 - s * (f - z * log_tail<W>(z))));
}

// log(1 + x) for x >= 0, within 3 ulp.
template <int W>
HIDIV_INLINE V<W> log1p_of(V<W> x) {
    const V<W> u = 1.0 + x;
    const unsigned long long half = 0x3fe6a09e667f3bcdULL;  // sqrt(1/2)
    const U<W> moved = (U<W>)u + (0x3ff0000000000000ULL - half);
    const V<W> k = (V<W>)(((moved >> 52) & 0xfffULL) | 0x4330000000000000ULL) - (0x1p52 + 1023.0);
    const V<W> m = (V<W>)((moved & 0xfffffffffffffULL) + half);
    return log_parts<W>(k, k == 0.0 ? x : m - 1.0);
}
// log(x) for normal x > 0, within 3 ulp; of x itself, whose own rounding shows where x is near one.
template <int W>
HIDIV_INLINE V<W> log_of(V<W> x) {
    const unsigned long long half = 0x3fe6a09e667f3bcdULL;  // sqrt(1/2)
    const U<W> moved = (U<W>)x + (0x3ff0000000000000ULL - half);
    const V<W> k = (V<W>)(((moved >> 52) & 0xfffULL) | 0x4330000000000000ULL) - (0x1p52 + 1023.0);
    return log_parts<W>(k, (V<W>)((moved & 0xfffffffffffffULL) + half) - 1.0);
}
// log(1 + x) for 0 <= x <= 2^-12 and for 0 <= x <= 0.0085, within 2 ulp.
template <int W>
HIDIV_INLINE V<W> log1p_0(V<W> x) {
    const V<W> x2 = x * x;
    return x + x2 * ((-0x1.fffffffffccd2p-2 + x * 0x1.555554556d53ap-2) + x2 * -0x1.ffccd0773c0d5p-3);
}
template <int W>
HIDIV_INLINE V<W> log1p_1(V<W> x) {
    const V<W> x2 = x * x;
    const V<W> a = -0x1.ffffffffffff6p-2 + x * 0x1.5555555550c8ap-2;
    const V<W> b = -0x1.ffffffe6e3f22p-3 + x * 0x1.99997895b4ebdp-3;
    const V<W> c = -0x1.553f064ae3b3bp-3 + x * 0x1.1d137f057e58ep-3;
    return x + x2 * (a + x2 * (b + x2 * c));
}

// 2^-e for the exponent e of lane 0, and that exponent with its bias.
template <int W>
HIDIV_INLINE V<W> unscale(V<W> n, I<W> &biased) {
    const V<W> first = lane<W>(n, 0);
    biased = ((I<W>)first >> 52) & 0x7ff;
    return (V<W>)((U<W>)(2046 - biased) << 52);
}

}  // namespace
}  // namespace hidiv::HIDIV_TARGET
