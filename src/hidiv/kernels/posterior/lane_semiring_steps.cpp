// semiring_steps.cpp with an independent sequence in each lane: no sums across lanes, no division but one a step.
#include "posterior/steps.hpp"

#include "posterior/lane_rows.hpp"
#include "runtime/table.hpp"
#include "simd/simd.hpp"

namespace hidiv::HIDIV_TARGET {
namespace {

constexpr double smallest = 0x1p-300, largest = 0x1p300, lowest = -700.0;
constexpr int W = native;
using Vec = V<W>;
using Int = I<W>;

// Weights of both models and log-ratios of the rows. Where they are made here, q's have a power of two of their own;
// weights below e^-700 of the heaviest one stand in as that. power_q is what q's power has beyond p's.
template <int K>
HIDIV_INLINE bool both_weights(const LaneRows &rows, const int64_t *at, int states, Vec *w, Vec *w_q, Vec *g,
                               Vec &power, Vec &power_q, Vec &ratio_out, Vec &reach) {
    if (rows.weight) {
        constexpr bool padded = K != 2;
        columns<W, K, padded>(rows.weight, at, rows.stride, states, w);
        columns<W, K, padded>(rows.weight_q, at, rows.stride, states, w_q);
        columns<W, K, padded>(rows.ratio, at, rows.stride, states, g);
        if (rows.taken) {
            Vec taken[4];
            four_columns<W>(rows.taken, at, 4, taken);
            power = taken[0];
            ratio_out = taken[1];
        }
        return true;
    }
    if (!logarithms<W, K>(rows, at, states, w, g)) return false;
    Vec top = w[0], top_q = w[0] + g[0], heaviest = g[0], sum{};
    for (int s = 1; s < states; ++s) {
        heaviest = w[s] > top ? g[s] : heaviest;
        top = larger<W>(top, w[s]);
        top_q = larger<W>(top_q, w[s] + g[s]);
    }
    power = nearest_power<W>(top);
    ratio_out = heaviest;
    const Vec power_both = nearest_power<W>(top_q - heaviest);
    power_q = power_both - power;
    Vec apart{};
    for (int s = 0; s < states; ++s) {
        sum += size<W>(w[s]) + size<W>(g[s]);
        g[s] -= heaviest;
        w_q[s] = exp_of<W>(larger<W>(reduced<W>(w[s] + g[s], power_both), all<W>(lowest)));
        w[s] = exp_of<W>(larger<W>(reduced<W>(w[s], power), all<W>(lowest)));
        apart = larger<W>(apart, size<W>(g[s]));
    }
    reach += apart > farthest_ratio ? apart : Vec{};
    return !any<W>(~(sum < 1e12)) && !any<W>(~(apart < 0x1p16));
}

// R rows at once: every vector is read once for all of them.
template <int R>
HIDIV_INLINE void products(const double *T, const double *Q, const double *TL, int states, const Vec *z, const Vec *z_q,
                           const Vec *ze, Vec *n, Vec *n_q, Vec *e) {
    Vec cost[R];
    for (int k = 0; k < R; ++k) n[k] = n_q[k] = e[k] = cost[k] = Vec{};
    for (int s = 0; s < states; ++s) {
        const Vec a = z[s], b = z_q[s], c = ze[s];
        for (int k = 0; k < R; ++k) {
            const double t = T[k * states + s];
            n[k] += t * a;
            e[k] += t * c;
            cost[k] += TL[k * states + s] * a;
            n_q[k] += Q[k * states + s] * b;
        }
    }
    for (int k = 0; k < R; ++k) e[k] -= cost[k];
}

template <int K>
bool steps(const StepTables &tables, const LaneRows &rows, const int64_t *node, int64_t count, SemiringLanes &state) {
    const int states = K <= 8 ? K : int(tables.states);
    const double *T = tables.transition, *Q = tables.transition_q, *TL = tables.weighted;
    Vec b[K], b_q[K], expected[K];
    Vec low = all<W>(1.0), high = all<W>(1.0), seen{}, out{}, both{}, taken{}, taken_q{}, ratio_out{}, reach{};
    for (int s = 0; s < states; ++s) {
        b[s] = load<W>(state.b[s]);
        b_q[s] = load<W>(state.b_q[s]);
        expected[s] = load<W>(state.expected[s]);
    }
    for (int64_t i = 0; i < count; ++i) {
        int64_t at[W];
        for (int l = 0; l < W; ++l) at[l] = row_of(rows, node[l] - i);
        Vec z[K], z_q[K], ze[K], power{}, power_q{}, ratio_row{};
        if (!both_weights<K>(rows, at, states, z, z_q, ze, power, power_q, ratio_row, reach)) return false;
        Vec residual[K];
        if (rows.residual) {
            if (rows.weight)
                columns<W, K, K != 2>(rows.residual, at, rows.stride, states, residual);
            else
                columns<W, K, false>(rows.residual, at, states, states, residual);
            for (int s = 0; s < states; ++s) ze[s] -= residual[s];
        }
        for (int s = 0; s < states; ++s) {
            const Vec w = z[s];
            z[s] = w * b[s];
            z_q[s] *= b_q[s];
            ze[s] = w * expected[s] - z[s] * ze[s];
        }
        int r = 0;
        if constexpr (W == 8)
            for (; r + 4 <= states; r += 4)
                products<4>(T + r * states, Q + r * states, TL + r * states, states, z, z_q, ze, b + r, b_q + r,
                            expected + r);
        for (; r + 2 <= states; r += 2)
            products<2>(T + r * states, Q + r * states, TL + r * states, states, z, z_q, ze, b + r, b_q + r,
                        expected + r);
        if (r < states)
            products<1>(T + r * states, Q + r * states, TL + r * states, states, z, z_q, ze, b + r, b_q + r,
                        expected + r);
        const Vec shift = expected[0] / b[0];
        const Int e = exponents<W>(b[0]), e_q = exponents<W>(b_q[0]);
        const Vec scale = powers<W>(-e), scale_q = powers<W>(-e_q);
        out += shift;
        both += power;
        ratio_out += ratio_row;
        taken += as_double<W>(e);
        taken_q += power_q + as_double<W>(e_q);
        Vec most{};
        for (int s = 0; s < states; ++s) {
            b[s] *= scale;
            b_q[s] *= scale_q;
            expected[s] = expected[s] * scale - b[s] * shift;
            low = smaller<W>(low, smaller<W>(b[s], b_q[s]));
            high = larger<W>(high, larger<W>(b[s], b_q[s]));
            // One over the power of two below b is one over b, or up to twice as much.
            const Vec over = (Vec)(0x7fe0000000000000LL - ((Int)b[s] & 0x7ff0000000000000LL));
            most = larger<W>(most, size<W>(expected[s]) * over);
        }
        seen = larger<W>(seen, most + size<W>(shift));
    }
    Vec check = low;
    for (int s = 0; s < states; ++s)
        check = check + 0.0 * (b[s] + b_q[s] + expected[s]);  // NaN if anything is not finite
    if (any<W>(~(low > smallest)) || any<W>(~(high < largest)) || any<W>(~(check > smallest)) ||
        any<W>(~(seen < largest)))
        return false;
    for (int s = 0; s < states; ++s) {
        store<W>(state.b[s], b[s]);
        store<W>(state.b_q[s], b_q[s]);
        store<W>(state.expected[s], expected[s]);
    }
    store<W>(state.power, both);
    store<W>(state.ratio_out, ratio_out);
    store<W>(state.power_p, taken);
    store<W>(state.power_q, taken_q);
    store<W>(state.expected_out, out);
    store<W>(state.largest, seen);
    store<W>(state.reach, reach);
    return true;
}

}  // namespace

bool semiring_lanes(const StepTables &t, const LaneRows &r, const int64_t *node, int64_t count, SemiringLanes &s) {
    switch (t.states) {
        case 2:
            return steps<2>(t, r, node, count, s);
        case 3:
            return steps<3>(t, r, node, count, s);
        case 4:
            return steps<4>(t, r, node, count, s);
        case 5:
            return steps<5>(t, r, node, count, s);
        case 6:
            return steps<6>(t, r, node, count, s);
        case 7:
            return steps<7>(t, r, node, count, s);
        case 8:
            return steps<8>(t, r, node, count, s);
        default:
            return t.states <= most_lane_states && steps<most_lane_states>(t, r, node, count, s);
    }
}

}  // namespace hidiv::HIDIV_TARGET
