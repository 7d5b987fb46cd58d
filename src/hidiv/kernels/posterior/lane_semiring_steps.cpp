// semiring_steps.cpp with an independent sequence or node in each lane: no sums across lanes.
#include "posterior/steps.hpp"

#include "posterior/lane_both_weights.hpp"
#include "posterior/lane_nodes.hpp"
#include "posterior/lane_rows.hpp"
#include "posterior/lane_states.hpp"
#include "runtime/table.hpp"
#include "simd/simd.hpp"

namespace hidiv::HIDIV_TARGET {
namespace {

constexpr double smallest = 0x1p-300, largest = 0x1p300;
constexpr int W = native;
using Vec = V<W>;
using Int = I<W>;

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
    Vec low = all<W>(1.0), high = all<W>(1.0), seen{}, out{}, logs{}, taken{}, taken_q{}, ratio_out{}, reach{};
    for (int s = 0; s < states; ++s) {
        b[s] = load<W>(state.b[s]);
        b_q[s] = load<W>(state.b_q[s]);
        expected[s] = load<W>(state.expected[s]);
    }
    for (int64_t i = 0; i < count; ++i) {
        int64_t at[W];
        for (int l = 0; l < W; ++l) at[l] = row_of(rows, node[l] - i);
        Vec z[K], z_q[K], ze[K], log_row{}, ratio_row{};
        if (!both_weights<W, K>(rows, at, states, z, z_q, ze, log_row, ratio_row, reach)) return false;
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
        logs += log_row;
        ratio_out += ratio_row;
        taken += as_double<W>(e);
        taken_q += as_double<W>(e_q);
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
    store<W>(state.log_out, logs);
    store<W>(state.ratio_out, ratio_out);
    store<W>(state.power_p, taken);
    store<W>(state.power_q, taken_q);
    store<W>(state.expected_out, out);
    store<W>(state.largest, seen);
    store<W>(state.reach, reach);
    return true;
}

// A node's message with both models' masses.
template <int K>
struct SemiringTreeStep {
    const StepTables &tables;
    const LaneRows &rows;
    Vec logs{}, ratio_out{}, value_out{}, seen{}, reach{};
    MassTaken<W> taken{}, taken_q{};

    static constexpr int factors = 2 * (K - 1);

    bool operator()(const int64_t *at, int64_t group, const Vec *below, int64_t used, Vec *sent) {
        Vec z[K], z_q[K], ze[K], log_row{}, ratio_row{};
        if (!both_weights<W, K>(rows, at, K, z, z_q, ze, log_row, ratio_row, reach)) return false;
        Vec residual[K];
        if (rows.residual) {
            columns<W, K, false>(rows.residual, at, rows.weight ? rows.stride : K, K, residual);
            for (int s = 0; s < K; ++s) ze[s] -= residual[s];
        }
        for (int s = 0; s < K; ++s) ze[s] = below ? below[factors + s] - ze[s] : -ze[s];
        for (int s = 1; below && s < K; ++s) {
            z[s] *= below[s - 1];
            z_q[s] *= below[K - 1 + s - 1];
        }
        for (int s = 0; s < K; ++s) ze[s] *= z[s];
        const int64_t from = group * K * K;
        Vec n[K], n_q[K], e[K];
        products<K>(tables.transition + from, tables.transition_q + from, tables.weighted + from, K, z, z_q, ze, n, n_q,
                    e);
        Vec low = smaller<W>(n[0], n_q[0]), most = n[0], most_q = n_q[0], size_of{};
        for (int s = 0; s < K; ++s) {
            e[s] /= n[s];
            size_of = larger<W>(size_of, size<W>(e[s]));
            low = smaller<W>(low, smaller<W>(n[s], n_q[s]));
            most = larger<W>(most, n[s]);
            most_q = larger<W>(most_q, n_q[s]);
        }
        const Vec high = larger<W>(most, most_q);
        if (any<W>(~(low > smallest)) || any<W>(~(high < largest)) || any<W>(~(size_of < largest))) return false;
        const Vec over = 1.0 / n[0], over_q = 1.0 / n_q[0], shift = e[0];
        for (int s = 0; s < K; ++s) {
            if (s) sent[s - 1] = n[s] * over;
            if (s) sent[K - 1 + s - 1] = n_q[s] * over_q;
            sent[factors + s] = e[s] - shift;
        }
        Vec value = shift;
        for (int64_t l = used; l < W; ++l) {
            n[0][l] = n_q[0][l] = 1.0;
            value[l] = log_row[l] = ratio_row[l] = 0.0;
        }
        taken.take(n[0]);
        taken_q.take(n_q[0]);
        value_out += value;
        logs += log_row;
        ratio_out += ratio_row;
        seen = larger<W>(seen, size_of);
        return true;
    }
};

template <int K>
bool tree(const StepTables &tables, const LaneRows &rows, const TreeNodes &nodes, int64_t first, int64_t last,
          TreeSums &sums) {
    SemiringTreeStep<K> step{tables, rows};
    if (!nodes_in_lanes<W, K>(rows, nodes, first, last, step)) return false;
    sums.mass = sums.mass_q = 1.0;
    for (int l = 0; l < W; ++l) {
        sums.mass *= step.taken.mass[l];
        sums.power += step.taken.power[l];
        sums.mass_q *= step.taken_q.mass[l];
        sums.power_q += step.taken_q.power[l];
        sums.ratio += step.ratio_out[l];
        sums.value += step.value_out[l];
        sums.log += step.logs[l];
        sums.reach += step.reach[l];
    }
    const double seen = most<W>(step.seen);
    sums.largest = seen > sums.largest ? seen : sums.largest;
    return true;
}

}  // namespace

bool semiring_nodes(const StepTables &t, const LaneRows &r, const TreeNodes &nodes, int64_t first, int64_t last,
                    TreeSums &sums) {
    return with_few_states(t.states,
                           [&](auto states) { return tree<decltype(states)::count>(t, r, nodes, first, last, sums); });
}

bool semiring_lanes(const StepTables &t, const LaneRows &r, const int64_t *node, int64_t count, SemiringLanes &s) {
    return with_states(t.states, [&](auto states) { return steps<decltype(states)::count>(t, r, node, count, s); });
}

}  // namespace hidiv::HIDIV_TARGET
