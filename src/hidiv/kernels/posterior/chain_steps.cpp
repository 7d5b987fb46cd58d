// The recursion of recursions/posterior_sweep.py on a chain without zeros, in powers-of-two scaled doubles.
//
// Nothing is checked inside a block of steps; extremes are kept and looked at afterwards, and the block is redone by
// the caller (a longer polynomial, or numbers with exponents) when they were passed.
#include "posterior/steps.hpp"

#include "simd/simd.hpp"
#include "runtime/table.hpp"

namespace hidiv::HIDIV_TARGET {
namespace {

constexpr double smallest = 0x1p-300, largest = 0x1p300;
constexpr double bound[5] = {0x1p-6, 0x1p-3, 1.0, 600.0, 600.0};
constexpr double log2_high = 0x1.62e42fee00000p-1, log2_low = 0x1.a39ef35793c76p-33;
constexpr double most_exponent = 600.0, least_exponent = -700.0;  // of a factor e^d
constexpr int64_t most_states = 512;

template <int W, int TIER>
HIDIV_INLINE V<W> phi_sum(V<W> p, V<W> t, V<W> sum) {
    const V<W> t2 = t * t;
    if constexpr (TIER == 0) return sum + (p * t2) * phi_over_square_0<W>(t, t2);
    if constexpr (TIER == 1) return sum + (p * t2) * phi_over_square_1<W>(t, t2);
    return sum + (p * t2) * phi_over_square_2<W>(t, t2);
}

template <int W, int TIER>
HIDIV_INLINE V<W> log1p_by_tier(V<W> x) {
    if constexpr (TIER == 0) return log1p_0<W>(x);
    if constexpr (TIER == 1) return log1p_1<W>(x);
    return log1p_of<W>(x);
}

// log(1 + spread), where that is e^d times a mass: e^d itself may be too large for a double.
template <int W>
HIDIV_INLINE V<W> log_of_scaled(V<W> spread, V<W> mass, V<W> d) {
    return d > most_exponent ? log_of<W>(mass) + d : log1p_of<W>(spread);
}
template <int W>
HIDIV_INLINE V<W> exp_within(V<W> d) {
    return exp_of<W>(smaller<W>(larger<W>(d, all<W>(least_exponent)), all<W>(most_exponent)));
}

// What a block must not pass, gathered lane by lane.
template <int W>
struct Extremes {
    V<W> low = all<W>(1.0), high = all<W>(1.0), ratio = V<W>{};
    HIDIV_INLINE void see(Extremes &e, V<W> b, V<W> g) {
        e.low = smaller<W>(e.low, b);
        e.high = larger<W>(e.high, b);
        e.ratio = larger<W>(e.ratio, size<W>(g));
    }
    HIDIV_INLINE StepOutcome judge(const Extremes &e, V<W> b, V<W> g, double reach, double allowed) {
        // NaN fails every comparison, and the last b and ratio inherit one from any step.
        if (any<W>(~(e.low > smallest)) || any<W>(~(e.high < largest)) || any<W>(~(b > smallest)))
            return steps_out_of_range;
        if (any<W>(~(2.0 * (e.ratio + reach) <= allowed)) || any<W>(~(size<W>(g) <= 1e300))) return steps_too_far;
        return steps_done;
    }
};

// K <= W: everything in registers.
template <int W, int K, int TIER>
StepOutcome narrow(const StepTables &tables, const StepRows &rows, const int32_t *row, const int32_t *which,
                   int64_t count, StepState &state) {
    using Vec = V<W>;
    const int64_t stride = K * W;
    Vec b = load<W>(state.b), lam = load<W>(state.ratio), inward = load<W>(state.inward);
    Extremes<W> seen;
    I<W> exponent{};
    Vec out{};
    for (int64_t i = 0; i < count; ++i) {
        const int64_t at = int64_t(row[i]) * W, g0 = which ? which[i] * stride : 0;
        const double *T = tables.transition + g0, *L = tables.ratio + g0, *TL = tables.weighted + g0;
        const Vec z = load<W>(rows.weight + at) * b;
        const Vec g = load<W>(rows.ratio + at) + lam;
        if (rows.residual) inward += load<W>(rows.residual + at);
        Extremes<W>::see(seen, b, TIER == 4 ? lam : g);
        Vec p[K], n{}, mean{};
        for (int s = 0; s < K; ++s) {
            const Vec zs = lane<W>(z, s);
            p[s] = load<W>(T + s * W) * zs;
            n += p[s];
            mean += load<W>(TL + s * W) * zs;
        }
        const Vec inverse = 1.0 / n;
        mean *= inverse;
        Vec below{};
        for (int s = 0; s < K; ++s) {
            p[s] *= inverse;
            below += p[s] * lane<W>(inward, s);
            mean += p[s] * lane<W>(g, s);
        }
        Vec spread{}, local{};
        if constexpr (TIER < 3) {
            for (int s = 0; s < K; ++s)
                spread = phi_sum<W, TIER>(p[s], (load<W>(L + s * W) + lane<W>(g, s)) - mean, spread);
        } else if constexpr (TIER == 4) {
            const double *Q = tables.transition_q + g0;
            const double k = double(rows.exponent_q[row[i]]);
            const Vec zq = load<W>(rows.weight_q + at) * b * exp_of<W>(lam);
            Vec mass{};
            for (int s = 0; s < K; ++s) mass += load<W>(Q + s * W) * lane<W>(zq, s);
            mass *= inverse;
            const Vec d = (k * log2_high - mean) + k * log2_low, ed = exp_within<W>(d);
            spread = mass * ed - 1.0;
            const Vec enough = 0x1p-4 + size<W>(mean) * 0x1p-8;
            if (any<W>(~(spread > enough))) {
                Vec careful{};
                for (int s = 0; s < K; ++s) {
                    const Vec t = (load<W>(L + s * W) + lane<W>(g, s)) - mean, t2 = t * t;
                    const Vec near = p[s] * (t2 * phi_over_square_2<W>(t, t2));
                    const Vec far = load<W>(Q + s * W) * lane<W>(zq, s) * inverse * ed - p[s] * (1.0 + t);
                    careful += t2 <= 1.0 ? near : far;
                }
                spread = spread > enough ? spread : careful;
            }
            local = log_of_scaled<W>(spread, mass, d);
        } else {
            const Vec eg = exp_of<W>(g), em = exp_of<W>(-mean);
            const double *Q = tables.transition_q + g0, *E = tables.quotient + g0;
            Vec mass{};
            const Vec zg = z * eg;
            for (int s = 0; s < K; ++s) mass += load<W>(Q + s * W) * lane<W>(zg, s);
            spread = mass * inverse * em - 1.0;
            // Where the sum of e^t is well above one, subtracting one costs nothing; else term by term.
            const Vec enough = 0x1p-4 + size<W>(mean) * 0x1p-8;
            if (any<W>(~(spread > enough))) {
                Vec careful{};
                for (int s = 0; s < K; ++s) {
                    const Vec t = (load<W>(L + s * W) + lane<W>(g, s)) - mean, t2 = t * t;
                    const Vec near = t2 * phi_over_square_2<W>(t, t2);
                    const Vec far = load<W>(E + s * W) * lane<W>(eg, s) * em - 1.0 - t;
                    careful += p[s] * (t2 <= 1.0 ? near : far);
                }
                spread = spread > enough ? spread : careful;
            }
        }
        if constexpr (TIER < 4) local = log1p_by_tier<W, TIER>(spread);
        const Vec first = lane<W>(mean, 0);
        out += first;
        lam = (mean - first) + local;
        inward = below + local;
        I<W> e;
        b = n * unscale<W>(n, e);
        exponent += e - 1023;
    }
    const StepOutcome outcome = Extremes<W>::judge(seen, b, lam, tables.reach, bound[TIER]);
    if (outcome != steps_done) return outcome;
    store<W>(state.b, b);
    store<W>(state.ratio, lam);
    store<W>(state.inward, inward);
    state.exponent += exponent[0];
    state.ratio_out += out[0];
    return steps_done;
}

struct Work {
    alignas(64) double z[most_states], g[most_states], zg[most_states], zi[most_states], ze[most_states],
        eg[most_states], b[most_states], lam[most_states], inward[most_states];
};

// M vectors of rows at once.
template <int W, int M, int TIER>
HIDIV_INLINE void block(const StepTables &tables, int64_t g0, int64_t r, double exponent_q, Work &x) {
    using Vec = V<W>;
    const int64_t states = tables.states, padded = tables.padded;
    const double *T = tables.transition + g0 + r, *L = tables.ratio + g0 + r, *TL = tables.weighted + g0 + r;
    const double *Q = tables.transition_q + g0 + r, *E = tables.quotient + g0 + r;
    Vec n[M], mean[M], below[M], mass[M], inverse[M], spread[M];
    for (int k = 0; k < M; ++k) n[k] = mean[k] = below[k] = mass[k] = spread[k] = Vec{};
    for (int64_t s = 0; s < states; ++s) {
        const Vec z = all<W>(x.z[s]), zg = all<W>(x.zg[s]), zi = all<W>(x.zi[s]);
        for (int k = 0; k < M; ++k) {
            const Vec t = load<W>(T + s * padded + k * W);
            n[k] += t * z;
            mean[k] += t * zg + load<W>(TL + s * padded + k * W) * z;
            below[k] += t * zi;
            if constexpr (TIER >= 3) mass[k] += load<W>(Q + s * padded + k * W) * all<W>(x.ze[s]);
        }
    }
    for (int k = 0; k < M; ++k) {
        inverse[k] = 1.0 / n[k];
        mean[k] *= inverse[k];
    }
    if constexpr (TIER < 3) {
        for (int64_t s = 0; s < states; ++s) {
            const Vec z = all<W>(x.z[s]), g = all<W>(x.g[s]);
            for (int k = 0; k < M; ++k)
                spread[k] = phi_sum<W, TIER>(load<W>(T + s * padded + k * W) * z,
                                             (load<W>(L + s * padded + k * W) + g) - mean[k], spread[k]);
        }
        for (int k = 0; k < M; ++k) spread[k] *= inverse[k];
    } else if constexpr (TIER == 4) {
        for (int k = 0; k < M; ++k) {
            mass[k] *= inverse[k];
            const Vec d = (exponent_q * log2_high - mean[k]) + exponent_q * log2_low, ed = exp_within<W>(d);
            spread[k] = mass[k] * ed - 1.0;
            const Vec enough = 0x1p-4 + size<W>(mean[k]) * 0x1p-8;
            if (any<W>(~(spread[k] > enough))) {
                Vec careful{};
                for (int64_t s = 0; s < states; ++s) {
                    const Vec t = (load<W>(L + s * padded + k * W) + x.g[s]) - mean[k], t2 = t * t;
                    const Vec p = load<W>(T + s * padded + k * W) * x.z[s];
                    const Vec near = p * (t2 * phi_over_square_2<W>(t, t2));
                    const Vec far = load<W>(Q + s * padded + k * W) * x.ze[s] * ed - p * (1.0 + t);
                    careful += t2 <= 1.0 ? near : far;
                }
                spread[k] = spread[k] > enough ? spread[k] : careful * inverse[k];
            }
            spread[k] = log_of_scaled<W>(spread[k], mass[k], d);
        }
    } else {
        for (int k = 0; k < M; ++k) {
            const Vec em = exp_of<W>(-mean[k]);
            spread[k] = mass[k] * inverse[k] * em - 1.0;
            const Vec enough = 0x1p-4 + size<W>(mean[k]) * 0x1p-8;
            if (any<W>(~(spread[k] > enough))) {
                Vec careful{};
                for (int64_t s = 0; s < states; ++s) {
                    const Vec t = (load<W>(L + s * padded + k * W) + x.g[s]) - mean[k], t2 = t * t;
                    const Vec near = t2 * phi_over_square_2<W>(t, t2);
                    const Vec far = load<W>(E + s * padded + k * W) * x.eg[s] * em - 1.0 - t;
                    careful += load<W>(T + s * padded + k * W) * x.z[s] * (t2 <= 1.0 ? near : far);
                }
                spread[k] = spread[k] > enough ? spread[k] : careful * inverse[k];
            }
        }
    }
    for (int k = 0; k < M; ++k) {
        Vec local = spread[k];
        if constexpr (TIER < 4) local = log1p_by_tier<W, TIER>(local);
        store<W>(x.b + r + k * W, n[k]);
        store<W>(x.lam + r + k * W, mean[k] + local);
        store<W>(x.inward + r + k * W, below[k] * inverse[k] + local);
    }
}

template <int W, int TIER>
StepOutcome broad(const StepTables &tables, const StepRows &rows, const int32_t *row, const int32_t *which,
                  int64_t count, StepState &state) {
    using Vec = V<W>;
    const int64_t padded = tables.padded, bytes = padded * 8;
    Work x;
    memcpy(x.b, state.b, size_t(bytes));
    memcpy(x.lam, state.ratio, size_t(bytes));
    memcpy(x.inward, state.inward, size_t(bytes));
    Extremes<W> seen;
    int64_t exponent = 0;
    double out = 0.0, shift = 0.0;
    Vec scale = all<W>(1.0);
    for (int64_t i = 0; i < count; ++i) {
        const int64_t at = int64_t(row[i]) * padded, g0 = which ? which[i] * tables.states * padded : 0;
        for (int64_t r = 0; r < padded; r += W) {
            const Vec b = load<W>(x.b + r) * scale;
            const Vec z = load<W>(rows.weight + at + r) * b;
            const Vec lam = load<W>(x.lam + r) - shift, g = load<W>(rows.ratio + at + r) + lam;
            Vec inward = load<W>(x.inward + r);
            if (rows.residual) inward += load<W>(rows.residual + at + r);
            Extremes<W>::see(seen, b, TIER == 4 ? lam : g);
            store<W>(x.z + r, z);
            store<W>(x.g + r, g);
            store<W>(x.zg + r, z * g);
            store<W>(x.zi + r, z * inward);
            if constexpr (TIER == 3) {
                const Vec eg = exp_of<W>(g);
                store<W>(x.eg + r, eg);
                store<W>(x.ze + r, z * eg);
            }
            if constexpr (TIER == 4) store<W>(x.ze + r, load<W>(rows.weight_q + at + r) * b * exp_of<W>(lam));
        }
        const double k = TIER == 4 ? double(rows.exponent_q[row[i]]) : 0.0;
        int64_t r = 0;
        for (; r + 4 * W <= padded; r += 4 * W) block<W, 4, TIER>(tables, g0, r, k, x);
        for (; r + 2 * W <= padded; r += 2 * W) block<W, 2, TIER>(tables, g0, r, k, x);
        for (; r < padded; r += W) block<W, 1, TIER>(tables, g0, r, k, x);
        shift = x.lam[0];
        out += shift;
        I<W> e;
        scale = unscale<W>(load<W>(x.b), e);
        exponent += e[0] - 1023;
    }
    StepOutcome outcome = steps_done;
    for (int64_t r = 0; r < padded && outcome == steps_done; r += W) {
        store<W>(x.b + r, load<W>(x.b + r) * scale);
        store<W>(x.lam + r, load<W>(x.lam + r) - shift);
        outcome = Extremes<W>::judge(seen, load<W>(x.b + r), load<W>(x.lam + r), tables.reach, bound[TIER]);
    }
    if (outcome != steps_done) return outcome;
    memcpy(state.b, x.b, size_t(bytes));
    memcpy(state.ratio, x.lam, size_t(bytes));
    memcpy(state.inward, x.inward, size_t(bytes));
    state.exponent += exponent;
    state.ratio_out += out;
    return steps_done;
}

template <int W, int K>
StepOutcome narrow_tiers(int tier, const StepTables &t, const StepRows &r, const int32_t *row, const int32_t *which,
                         int64_t n, StepState &s) {
    switch (tier) {
        case 0:
            return narrow<W, K, 0>(t, r, row, which, n, s);
        case 1:
            return narrow<W, K, 1>(t, r, row, which, n, s);
        case 2:
            return narrow<W, K, 2>(t, r, row, which, n, s);
        case 3:
            return narrow<W, K, 3>(t, r, row, which, n, s);
        default:
            return narrow<W, K, 4>(t, r, row, which, n, s);
    }
}

template <int W>
StepOutcome broad_tiers(int tier, const StepTables &t, const StepRows &r, const int32_t *row, const int32_t *which,
                        int64_t n, StepState &s) {
    switch (tier) {
        case 0:
            return broad<W, 0>(t, r, row, which, n, s);
        case 1:
            return broad<W, 1>(t, r, row, which, n, s);
        case 2:
            return broad<W, 2>(t, r, row, which, n, s);
        case 3:
            return broad<W, 3>(t, r, row, which, n, s);
        default:
            return broad<W, 4>(t, r, row, which, n, s);
    }
}

constexpr int at_most(int w) { return w < native ? w : native; }

}  // namespace

int64_t posterior_padding(int64_t states) {
    const int64_t w = states <= 2 ? 2 : states <= 4 ? at_most(4) : native;
    return (states + w - 1) / w * w;
}

int posterior_steps(int tier, const StepTables &t, const StepRows &r, const int32_t *row, const int32_t *which,
                    int64_t n, StepState &s) {
    if (t.states > most_states) return steps_out_of_range;
    if (t.states == 2) return narrow_tiers<2, 2>(tier, t, r, row, which, n, s);
    if constexpr (native >= 4) {
        if (t.states == 3) return narrow_tiers<at_most(4), 3>(tier, t, r, row, which, n, s);
        if (t.states == 4) return narrow_tiers<at_most(4), 4>(tier, t, r, row, which, n, s);
    }
    if constexpr (native >= 8) {
        if (t.states == 5) return narrow_tiers<native, 5>(tier, t, r, row, which, n, s);
        if (t.states == 6) return narrow_tiers<native, 6>(tier, t, r, row, which, n, s);
        if (t.states == 7) return narrow_tiers<native, 7>(tier, t, r, row, which, n, s);
        if (t.states == 8) return narrow_tiers<native, 8>(tier, t, r, row, which, n, s);
    }
    if (t.states <= 2) return broad_tiers<2>(tier, t, r, row, which, n, s);
    if (t.states <= 4) return broad_tiers<at_most(4)>(tier, t, r, row, which, n, s);
    return broad_tiers<native>(tier, t, r, row, which, n, s);
}

}  // namespace hidiv::HIDIV_TARGET
