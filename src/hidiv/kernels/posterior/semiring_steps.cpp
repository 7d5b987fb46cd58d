// Both models' messages and p's expected log-ratio along a chain. The divergence is that expectation plus the logarithm
// of the ratio of the likelihoods: two numbers that cancel for close models, so that the caller has to check the
// outcome.
#include "posterior/steps.hpp"

#include "simd/simd.hpp"
#include "runtime/table.hpp"

namespace hidiv::HIDIV_TARGET {
namespace {

constexpr double smallest = 0x1p-300, largest = 0x1p300;

template <int W>
HIDIV_INLINE bool within(V<W> low, V<W> high, V<W> last) {
    return !any<W>(~(low > smallest)) && !any<W>(~(high < largest)) && !any<W>(~(last > smallest));
}

template <int W, int K>
bool narrow(const StepTables &tables, const StepRows &rows, const int32_t *row, const int32_t *which, int64_t count,
            SemiringState &state) {
    using Vec = V<W>;
    Vec b = load<W>(state.b), b_q = load<W>(state.b_q), expected = load<W>(state.expected);
    Vec low = all<W>(1.0), high = all<W>(1.0), out{}, most{};
    I<W> exponent{}, exponent_q{};
    for (int64_t i = 0; i < count; ++i) {
        const int64_t at = int64_t(row[i]) * W, g0 = which ? which[i] * int64_t(K * W) : 0;
        const double *T = tables.transition + g0, *TL = tables.weighted + g0, *Q = tables.transition_q + g0;
        const Vec z = load<W>(rows.weight + at) * b, z_q = load<W>(rows.weight_q + at) * b_q;
        Vec below = expected - load<W>(rows.ratio + at);
        if (rows.residual) below += load<W>(rows.residual + at);
        Vec n{}, n_q{}, mean{}, cost{};
        for (int s = 0; s < K; ++s) {
            const Vec zs = lane<W>(z, s), p = load<W>(T + s * W) * zs;
            n += p;
            cost += load<W>(TL + s * W) * zs;
            mean += p * lane<W>(below, s);
            n_q += load<W>(Q + s * W) * lane<W>(z_q, s);
        }
        const Vec value = (mean - cost) / n, first = lane<W>(value, 0);
        out += first;
        expected = value - first;
        most = larger<W>(most, size<W>(value));
        I<W> e, e_q;
        b = n * unscale<W>(n, e);
        b_q = n_q * unscale<W>(n_q, e_q);
        exponent += e - 1023;
        exponent_q += e_q - 1023;
        low = smaller<W>(low, smaller<W>(b, b_q));
        high = larger<W>(high, larger<W>(b, b_q));
    }
    if (!within<W>(low, high, b) || !within<W>(low, high, b_q) || any<W>(~(size<W>(expected) < largest))) return false;
    store<W>(state.b, b);
    store<W>(state.b_q, b_q);
    store<W>(state.expected, expected);
    state.exponent += exponent[0];
    state.exponent_q += exponent_q[0];
    state.expected_out += out[0];
    const double seen = hidiv::HIDIV_TARGET::most<W>(most);
    state.largest = seen > state.largest ? seen : state.largest;
    return true;
}

constexpr int64_t most_states = 512;

struct Work {
    alignas(64) double z[most_states], z_q[most_states], za[most_states], n[most_states], n_q[most_states],
        expected[most_states];
};

template <int W, int M>
HIDIV_INLINE void block(const StepTables &tables, int64_t g0, int64_t r, Work &x) {
    const int64_t padded = tables.padded;
    const double *T = tables.transition + g0 + r, *TL = tables.weighted + g0 + r, *Q = tables.transition_q + g0 + r;
    V<W> n[M], n_q[M], mean[M], cost[M];
    for (int k = 0; k < M; ++k) n[k] = n_q[k] = mean[k] = cost[k] = V<W>{};
    for (int64_t s = 0; s < tables.states; ++s) {
        const V<W> z = all<W>(x.z[s]), z_q = all<W>(x.z_q[s]), za = all<W>(x.za[s]);
        for (int k = 0; k < M; ++k) {
            const V<W> t = load<W>(T + s * padded + k * W);
            n[k] += t * z;
            mean[k] += t * za;
            cost[k] += load<W>(TL + s * padded + k * W) * z;
            n_q[k] += load<W>(Q + s * padded + k * W) * z_q;
        }
    }
    for (int k = 0; k < M; ++k) {
        store<W>(x.n + r + k * W, n[k]);
        store<W>(x.n_q + r + k * W, n_q[k]);
        store<W>(x.expected + r + k * W, (mean[k] - cost[k]) / n[k]);
    }
}

template <int W>
bool broad(const StepTables &tables, const StepRows &rows, const int32_t *row, const int32_t *which, int64_t count,
           SemiringState &state) {
    using Vec = V<W>;
    const int64_t padded = tables.padded;
    const size_t bytes = size_t(padded) * 8;
    Work x;
    memcpy(x.n, state.b, bytes);
    memcpy(x.n_q, state.b_q, bytes);
    memcpy(x.expected, state.expected, bytes);
    Vec low = all<W>(1.0), high = all<W>(1.0), most{}, scale = all<W>(1.0), scale_q = scale;
    int64_t exponent = 0, exponent_q = 0;
    double shift = 0.0, out = 0.0;
    for (int64_t i = 0; i < count; ++i) {
        const int64_t at = int64_t(row[i]) * padded, g0 = which ? which[i] * tables.states * padded : 0;
        for (int64_t r = 0; r < padded; r += W) {
            const Vec b = load<W>(x.n + r) * scale, b_q = load<W>(x.n_q + r) * scale_q, value = load<W>(x.expected + r);
            Vec below = (value - shift) - load<W>(rows.ratio + at + r);
            if (rows.residual) below += load<W>(rows.residual + at + r);
            const Vec z = load<W>(rows.weight + at + r) * b;
            low = smaller<W>(low, smaller<W>(b, b_q));
            high = larger<W>(high, larger<W>(b, b_q));
            most = larger<W>(most, size<W>(value));
            store<W>(x.z + r, z);
            store<W>(x.za + r, z * below);
            store<W>(x.z_q + r, load<W>(rows.weight_q + at + r) * b_q);
        }
        int64_t r = 0;
        for (; r + 4 * W <= padded; r += 4 * W) block<W, 4>(tables, g0, r, x);
        for (; r + 2 * W <= padded; r += 2 * W) block<W, 2>(tables, g0, r, x);
        for (; r < padded; r += W) block<W, 1>(tables, g0, r, x);
        shift = x.expected[0];
        out += shift;
        I<W> e, e_q;
        scale = unscale<W>(load<W>(x.n), e);
        scale_q = unscale<W>(load<W>(x.n_q), e_q);
        exponent += e[0] - 1023;
        exponent_q += e_q[0] - 1023;
    }
    for (int64_t r = 0; r < padded; r += W) {
        const Vec b = load<W>(x.n + r) * scale, b_q = load<W>(x.n_q + r) * scale_q, value = load<W>(x.expected + r);
        if (!within<W>(low, high, b) || !within<W>(low, high, b_q) || any<W>(~(size<W>(value) < largest))) return false;
        most = larger<W>(most, size<W>(value));
        store<W>(x.n + r, b);
        store<W>(x.n_q + r, b_q);
        store<W>(x.expected + r, value - shift);
    }
    memcpy(state.b, x.n, bytes);
    memcpy(state.b_q, x.n_q, bytes);
    memcpy(state.expected, x.expected, bytes);
    state.exponent += exponent;
    state.exponent_q += exponent_q;
    state.expected_out += out;
    const double seen = hidiv::HIDIV_TARGET::most<W>(most);
    state.largest = seen > state.largest ? seen : state.largest;
    return true;
}

constexpr int at_most(int w) { return w < native ? w : native; }

}  // namespace

bool semiring_steps(const StepTables &t, const StepRows &r, const int32_t *row, const int32_t *which, int64_t n,
                    SemiringState &s) {
    if (t.states > most_states) return false;
    if (t.states == 2) return narrow<2, 2>(t, r, row, which, n, s);
    if constexpr (native >= 4) {
        if (t.states == 3) return narrow<at_most(4), 3>(t, r, row, which, n, s);
        if (t.states == 4) return narrow<at_most(4), 4>(t, r, row, which, n, s);
    }
    if constexpr (native >= 8) {
        if (t.states == 5) return narrow<native, 5>(t, r, row, which, n, s);
        if (t.states == 6) return narrow<native, 6>(t, r, row, which, n, s);
        if (t.states == 7) return narrow<native, 7>(t, r, row, which, n, s);
        if (t.states == 8) return narrow<native, 8>(t, r, row, which, n, s);
    }
    if (t.states <= 2) return broad<2>(t, r, row, which, n, s);
    if (t.states <= 4) return broad<at_most(4)>(t, r, row, which, n, s);
    return broad<native>(t, r, row, which, n, s);
}

}  // namespace hidiv::HIDIV_TARGET
