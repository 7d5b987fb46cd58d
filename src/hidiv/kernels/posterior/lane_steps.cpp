// The recursion of recursions/posterior_sweep.py with an independent node or sequence in each lane: no sums across
// lanes.
#include "posterior/steps.hpp"

#include "posterior/lane_nodes.hpp"
#include "posterior/lane_products.hpp"
#include "posterior/lane_rows.hpp"
#include "posterior/lane_states.hpp"
#include "simd/simd.hpp"
#include "runtime/table.hpp"

namespace hidiv::HIDIV_TARGET {
namespace {

constexpr double smallest = 0x1p-300, largest = 0x1p300;
constexpr int W = native;
using Vec = V<W>;
using Int = I<W>;

template <int K>
struct Message {
    Vec n[K], ratio[K], inward[K], over;  // over: 1 / n[0]
};

template <int TIER>
HIDIV_INLINE Vec phi_by_tier(Vec t) {
    const Vec t2 = t * t;
    if constexpr (TIER == 0) return t2 * phi_over_square_0<W>(t, t2);
    if constexpr (TIER == 1) return t2 * phi_over_square_1<W>(t, t2);
    return t2 * phi_over_square_2<W>(t, t2);
}

template <int TIER>
HIDIV_INLINE Vec log1p_by_tier(Vec x) {
    if constexpr (TIER == 0) return log1p_0<W>(x);
    if constexpr (TIER == 1) return log1p_1<W>(x);
    return log1p_of<W>(x);
}

// z = w b, g = log-ratio of z, inward = K + residual, all by own state; the message by parent state. K is room for the
// states; up to eight it is their number.
template <int K, int TIER>
HIDIV_INLINE void rows_of(const StepTables &tables, int64_t g0, const Vec *z, const Vec *g, const Vec *inward,
                          Message<K> &out, int states) {
    const double *T = tables.transition + g0, *L = tables.ratio + g0, *Q = tables.transition_q + g0,
                 *E = tables.quotient + g0;
    Vec eg[K], ze[K];
    if constexpr (TIER == 3)
        for (int s = 0; s < states; ++s) {
            eg[s] = exp_of<W>(g[s]);
            ze[s] = z[s] * eg[s];
        }
    for (int r = 0; r < states; ++r) {
        Vec p[K], n{}, mean{}, below{}, spread{};
        for (int s = 0; s < states; ++s) {
            p[s] = T[r * states + s] * z[s];
            n += p[s];
            mean += p[s] * (L[r * states + s] + g[s]);
            below += p[s] * inward[s];
        }
        const Vec inverse = 1.0 / n;
        mean *= inverse;
        if constexpr (TIER < 3) {
            for (int s = 0; s < states; ++s) spread += p[s] * phi_by_tier<TIER>((L[r * states + s] + g[s]) - mean);
            spread *= inverse;
        } else {
            const Vec em = exp_of<W>(-mean);
            Vec mass{};
            for (int s = 0; s < states; ++s) mass += Q[r * states + s] * ze[s];
            spread = mass * inverse * em - 1.0;
            // Where the sum of e^t is well above one, subtracting one costs nothing; else term by term.
            const Vec enough = 0x1p-4 + size<W>(mean) * 0x1p-8;
            if (any<W>(~(spread > enough))) {
                Vec careful{};
                for (int s = 0; s < states; ++s) {
                    const Vec t = (L[r * states + s] + g[s]) - mean;
                    const Vec far = E[r * states + s] * eg[s] * em - 1.0 - t;
                    careful += p[s] * (t * t <= 1.0 ? phi_by_tier<2>(t) : far);
                }
                spread = spread > enough ? spread : careful * inverse;
            }
        }
        const Vec local = log1p_by_tier<TIER>(spread);
        out.n[r] = n;
        if (r == 0) out.over = inverse;
        out.ratio[r] = mean + local;
        out.inward[r] = below * inverse + local;
    }
}

// The shortest polynomial the log-ratios allow; false when nothing does.
template <int K>
HIDIV_INLINE bool message(const StepTables &tables, int64_t g0, const Vec *z, const Vec *g, const Vec *inward,
                          Message<K> &out, int states) {
    Vec low = g[0], high = g[0];
    for (int s = 1; s < states; ++s) {
        low = smaller<W>(low, g[s]);
        high = larger<W>(high, g[s]);
    }
    // |m - mbar| is at most the spread of m over the states.
    const Vec reach = (high - low) + 2.0 * tables.reach;
    if (!any<W>(~(reach <= 0x1p-6)))
        rows_of<K, 0>(tables, g0, z, g, inward, out, states);
    else if (!any<W>(~(reach <= 0x1p-3)))
        rows_of<K, 1>(tables, g0, z, g, inward, out, states);
    else if (!any<W>(~(reach <= 1.0)))
        rows_of<K, 2>(tables, g0, z, g, inward, out, states);
    else if (!any<W>(~(reach <= 500.0)))
        rows_of<K, 3>(tables, g0, z, g, inward, out, states);
    else
        return false;
    return true;
}

// By products where the models are near enough, else by message.
template <int K>
HIDIV_INLINE bool quick_message(const StepTables &tables, const Vec *z, const Vec *g, const Vec *inward,
                                Message<K> &out, Vec &doubt, int states) {
    Vec low = g[0], high = g[0];
    for (int s = 1; s < states; ++s) {
        low = smaller<W>(low, g[s]);
        high = larger<W>(high, g[s]);
    }
    const Vec reach = (high - low) + tables.reach;
    if (any<W>(~(reach <= widest_product))) return message<K>(tables, 0, z, g, inward, out, states);
    if (!any<W>(~(reach <= 0x1p-6)))
        rows_by_products<W, K, 0>(tables, z, g, inward, out.n, out.ratio, out.inward, doubt, states);
    else if (!any<W>(~(reach <= 0x1p-3)))
        rows_by_products<W, K, 1>(tables, z, g, inward, out.n, out.ratio, out.inward, doubt, states);
    else
        rows_by_products<W, K, 2>(tables, z, g, inward, out.n, out.ratio, out.inward, doubt, states);
    return true;
}

template <int K, bool QUICK>
bool sequences(const StepTables &tables, const LaneRows &rows, const int64_t *node, int64_t count, LaneState &state) {
    const int states = K <= most_tree_states ? K : int(tables.states);
    Vec b[K], ratio[K], inward[K], low = all<W>(1.0), high = all<W>(1.0), out{}, taken{}, doubt{};
    for (int s = 0; s < states; ++s) {
        b[s] = load<W>(state.b[s]);
        ratio[s] = load<W>(state.ratio[s]);
        inward[s] = load<W>(state.inward[s]);
    }
    for (int64_t i = 0; i < count; ++i) {
        int64_t at[W];
        for (int l = 0; l < W; ++l) at[l] = row_of(rows, node[l] - i);
        Vec z[K] = {}, g[K] = {}, residual[K] = {}, power{}, ratio_row{};
        if (!weights<W, K>(rows, at, states, z, g, residual, power, ratio_row)) return false;
        for (int s = 0; s < states; ++s) {
            z[s] *= b[s];
            g[s] += ratio[s];
            if (rows.residual) inward[s] += residual[s];
        }
        Message<K> up;
        if constexpr (QUICK) {
            if (!quick_message<K>(tables, z, g, inward, up, doubt, states)) return false;
        } else {
            if (!message<K>(tables, 0, z, g, inward, up, states)) return false;
        }
        const Int e = exponents<W>(up.n[0]);
        const Vec scale = powers<W>(-e), shift = up.ratio[0];
        taken += power + as_double<W>(e);
        out += ratio_row + shift;
        for (int s = 0; s < states; ++s) {
            b[s] = up.n[s] * scale;
            ratio[s] = up.ratio[s] - shift;
            inward[s] = up.inward[s];
            low = smaller<W>(low, b[s]);
            high = larger<W>(high, b[s]);
        }
    }
    Vec check = low;
    for (int s = 0; s < states; ++s)
        check = check + 0.0 * (b[s] + ratio[s] + inward[s]);  // NaN if anything is not finite
    if (any<W>(~(low > smallest)) || any<W>(~(high < largest)) || any<W>(~(check > smallest))) return false;
    for (int s = 0; s < states; ++s) {
        store<W>(state.b[s], b[s]);
        store<W>(state.ratio[s], ratio[s]);
        store<W>(state.inward[s], inward[s]);
    }
    store<W>(state.power, taken);
    store<W>(state.ratio_out, out);
    store<W>(state.doubt, doubt);
    return true;
}

// A node's message in the recursion.
template <int K>
struct TreeStep {
    const StepTables &tables;
    const LaneRows &rows;
    Vec ratio_out{}, value_out{}, power_out{};
    MassTaken<W> taken{};

    static constexpr int factors = K - 1;

    bool operator()(const int64_t *at, int64_t group, const Vec *below, int64_t used, Vec *sent) {
        Vec z[K] = {}, g[K] = {}, inward[K] = {}, residual[K] = {}, power{}, ratio_row{};
        if (!weights<W, K>(rows, at, K, z, g, residual, power, ratio_row)) return false;
        for (int s = 0; s < K; ++s) inward[s] = rows.residual ? residual[s] : Vec{};
        for (int s = 0; below && s < K; ++s) {
            if (s) z[s] *= below[s - 1];
            if (s) g[s] += below[K - 1 + s - 1];
            inward[s] += below[2 * (K - 1) + s];
        }
        Message<K> up;
        if (!message<K>(tables, group * K * K, z, g, inward, up, K)) return false;
        Vec least = up.inward[0], low = up.n[0], most = up.n[0];
        for (int s = 1; s < K; ++s) {
            least = smaller<W>(least, up.inward[s]);
            low = smaller<W>(low, up.n[s]);
            most = larger<W>(most, up.n[s]);
        }
        const Vec shift = up.ratio[0];
        for (int s = 0; s < K; ++s) {
            if (s) sent[s - 1] = up.n[s] * up.over;
            if (s) sent[K - 1 + s - 1] = up.ratio[s] - shift;
            sent[2 * (K - 1) + s] = up.inward[s] - least;
        }
        Vec mass = up.n[0], ratio_all = ratio_row + shift, value_all = least;
        if (any<W>(~(low > smallest)) || any<W>(~(most < largest)) || any<W>(~(ratio_all - ratio_all == 0.0)) ||
            any<W>(~(least - least == 0.0)))
            return false;
        for (int64_t l = used; l < W; ++l) {
            mass[l] = 1.0;
            power[l] = ratio_all[l] = value_all[l] = 0.0;
        }
        taken.take(mass);
        power_out += power;
        ratio_out += ratio_all;
        value_out += value_all;
        return true;
    }
};

template <int K>
bool tree(const StepTables &tables, const LaneRows &rows, const TreeNodes &nodes, int64_t first, int64_t last,
          TreeSums &sums) {
    TreeStep<K> step{tables, rows};
    if (!nodes_in_lanes<W, K>(rows, nodes, first, last, step)) return false;
    sums.mass = 1.0;
    for (int l = 0; l < W; ++l) {
        sums.mass *= step.taken.mass[l];
        sums.power += step.taken.power[l] + step.power_out[l];
        sums.ratio += step.ratio_out[l];
        sums.value += step.value_out[l];
    }
    return true;
}

}  // namespace

int lane_count() { return W; }

bool posterior_lanes(const StepTables &t, const LaneRows &r, const int64_t *node, int64_t count, LaneState &s) {
    return with_states(t.states, [&](auto states) {
        constexpr int K = decltype(states)::count;
        return t.difference ? sequences<K, true>(t, r, node, count, s) : sequences<K, false>(t, r, node, count, s);
    });
}

bool posterior_nodes(const StepTables &t, const LaneRows &r, const TreeNodes &nodes, int64_t first, int64_t last,
                     TreeSums &sums) {
    return with_few_states(t.states,
                           [&](auto states) { return tree<decltype(states)::count>(t, r, nodes, first, last, sums); });
}

}  // namespace hidiv::HIDIV_TARGET
