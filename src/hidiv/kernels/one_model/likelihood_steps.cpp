// The upward messages of one model along a chain, rows of the transition in the lanes; checked after each block of
// steps.
#include "posterior/steps.hpp"

#include "simd/simd.hpp"
#include "runtime/table.hpp"

namespace hidiv::HIDIV_TARGET {
namespace {

constexpr double smallest = 0x1p-300, largest = 0x1p300;

template <int W, int K>
bool narrow(const double *T, const double *weight, const int32_t *row, const int32_t *which, int64_t count,
            double *state, int64_t &total) {
    using Vec = V<W>;
    Vec b = load<W>(state), low = all<W>(1.0), high = all<W>(1.0), scale = all<W>(1.0);
    I<W> exponent{}, e{};
    const auto step = [&](int64_t i, Vec w) {
        const double *t = which ? T + which[i] * int64_t(K * W) : T;
        // Few states leave room for weighting the transition, which need not wait for the message.
        constexpr bool few = K <= 4;
        const Vec z = few ? b : w * b;
        Vec even{}, odd{};
        for (int s = 0; s < K; ++s) {
            const Vec column = load<W>(t + s * W);
            (s % 2 ? odd : even) += (few ? column * lane<W>(w, s) : column) * lane<W>(z, s);
        }
        b = even + odd;
        low = smaller<W>(low, b);
        high = larger<W>(high, b);
    };
    const auto weights = [&](int64_t i) { return load<W>(weight + int64_t(row[i]) * W); };
    const auto measure = [&] {
        scale = unscale<W>(b, e);
        exponent += e - 1023;
    };
    int64_t i = 0;
    // Each step waits for the one before it. The scale is that of a message a step older, and goes into the weights, so
    // that it is off the critical path.
    for (; i + 4 <= count; i += 4) {
        step(i, weights(i) * scale);
        step(i + 1, weights(i + 1));
        step(i + 2, weights(i + 2));
        measure();
        step(i + 3, weights(i + 3));
    }
    b *= scale;
    for (; i < count; ++i) step(i, weights(i));
    measure();
    b *= scale;
    if (any<W>(~(low > smallest)) || any<W>(~(high < largest)) || any<W>(~(b > smallest))) return false;
    store<W>(state, b);
    total += exponent[0];
    return true;
}

template <int W, int M>
HIDIV_INLINE void rows(int64_t states, int64_t padded, const double *T, const double *z, double *n) {
    V<W> sum[M], more[M];
    for (int k = 0; k < M; ++k) sum[k] = more[k] = V<W>{};
    int64_t s = 0;
    for (; s + 1 < states; s += 2)
        for (int k = 0; k < M; ++k) {
            sum[k] += load<W>(T + s * padded + k * W) * z[s];
            more[k] += load<W>(T + (s + 1) * padded + k * W) * z[s + 1];
        }
    if (s < states)
        for (int k = 0; k < M; ++k) sum[k] += load<W>(T + s * padded + k * W) * z[s];
    for (int k = 0; k < M; ++k) store<W>(n + k * W, sum[k] + more[k]);
}

template <int W>
bool broad(int64_t states, int64_t padded, const double *T, const double *weight, const int32_t *row,
           const int32_t *which, int64_t count, double *state, int64_t &total) {
    using Vec = V<W>;
    alignas(64) double n[512], z[512];
    memcpy(n, state, size_t(padded) * 8);
    Vec low = all<W>(1.0), high = all<W>(1.0), scale = all<W>(1.0);
    int64_t exponent = 0;
    for (int64_t i = 0; i < count; ++i) {
        const double *t = which ? T + which[i] * states * padded : T, *w = weight + int64_t(row[i]) * padded;
        for (int64_t r = 0; r < padded; r += W) {
            const Vec b = load<W>(n + r) * scale;
            low = smaller<W>(low, b);
            high = larger<W>(high, b);
            store<W>(z + r, load<W>(w + r) * b);
        }
        int64_t r = 0;
        for (; r + 4 * W <= padded; r += 4 * W) rows<W, 4>(states, padded, t + r, z, n + r);
        for (; r + 2 * W <= padded; r += 2 * W) rows<W, 2>(states, padded, t + r, z, n + r);
        for (; r < padded; r += W) rows<W, 1>(states, padded, t + r, z, n + r);
        I<W> e;
        scale = unscale<W>(load<W>(n), e);
        exponent += e[0] - 1023;
    }
    for (int64_t r = 0; r < padded; r += W) {
        const Vec b = load<W>(n + r) * scale;
        low = smaller<W>(low, b);
        high = larger<W>(high, b);
        if (any<W>(~(b > smallest))) return false;
        store<W>(n + r, b);
    }
    if (any<W>(~(low > smallest)) || any<W>(~(high < largest))) return false;
    memcpy(state, n, size_t(padded) * 8);
    total += exponent;
    return true;
}

constexpr int at_most(int w) { return w < native ? w : native; }

}  // namespace

bool likelihood_steps(int64_t states, int64_t padded, const double *T, const double *w, const int32_t *row,
                      const int32_t *which, int64_t count, double *b, int64_t &exponent) {
    if (states == 2) return narrow<2, 2>(T, w, row, which, count, b, exponent);
    if constexpr (native >= 4) {
        if (states == 3) return narrow<at_most(4), 3>(T, w, row, which, count, b, exponent);
        if (states == 4) return narrow<at_most(4), 4>(T, w, row, which, count, b, exponent);
    }
    if constexpr (native >= 8) {
        if (states == 5) return narrow<native, 5>(T, w, row, which, count, b, exponent);
        if (states == 6) return narrow<native, 6>(T, w, row, which, count, b, exponent);
        if (states == 7) return narrow<native, 7>(T, w, row, which, count, b, exponent);
        if (states == 8) return narrow<native, 8>(T, w, row, which, count, b, exponent);
    }
    if (states <= 2) return broad<2>(states, padded, T, w, row, which, count, b, exponent);
    if (states <= 4) return broad<at_most(4)>(states, padded, T, w, row, which, count, b, exponent);
    return broad<native>(states, padded, T, w, row, which, count, b, exponent);
}

}  // namespace hidiv::HIDIV_TARGET
