// The recursion of recursions/posterior.py with an independent node or sequence in each lane: no sums across lanes.
#include "posterior_steps.hpp"

#include "simd.hpp"
#include "table.hpp"

namespace hidiv::HIDIV_TARGET {
namespace {

constexpr double smallest = 0x1p-300, largest = 0x1p300;
constexpr int W = native;
using Vec = V<W>;
using Int = I<W>;

template <int K>
struct Message {
    Vec n[K], ratio[K], inward[K];
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

// z = w b, g = log-ratio of z, inward = K + residual, all by own state; the message by parent state.
template <int K, int TIER>
HIDIV_INLINE void rows_of(const StepTables &tables, int64_t g0, const Vec *z, const Vec *g, const Vec *inward, Message<K> &out) {
    const double *T = tables.transition + g0, *L = tables.ratio + g0, *Q = tables.transition_q + g0, *E = tables.quotient + g0;
    Vec eg[K], ze[K];
    if constexpr (TIER == 3)
        for (int s = 0; s < K; ++s) {
            eg[s] = exp_of<W>(g[s]);
            ze[s] = z[s] * eg[s];
        }
    for (int r = 0; r < K; ++r) {
        Vec p[K], n{}, mean{}, below{}, spread{};
        for (int s = 0; s < K; ++s) {
            p[s] = T[r * K + s] * z[s];
            n += p[s];
            mean += p[s] * (L[r * K + s] + g[s]);
            below += p[s] * inward[s];
        }
        const Vec inverse = 1.0 / n;
        mean *= inverse;
        if constexpr (TIER < 3) {
            for (int s = 0; s < K; ++s) spread += p[s] * phi_by_tier<TIER>((L[r * K + s] + g[s]) - mean);
            spread *= inverse;
        } else {
            const Vec em = exp_of<W>(-mean);
            Vec mass{};
            for (int s = 0; s < K; ++s) mass += Q[r * K + s] * ze[s];
            spread = mass * inverse * em - 1.0;
            // Where the sum of e^t is well above one, subtracting one costs nothing; else term by term.
            if (any<W>(~(spread > 0x1p-4))) {
                Vec careful{};
                for (int s = 0; s < K; ++s) {
                    const Vec t = (L[r * K + s] + g[s]) - mean;
                    const Vec far = E[r * K + s] * eg[s] * em - 1.0 - t;
                    careful += p[s] * (t * t <= 1.0 ? phi_by_tier<2>(t) : far);
                }
                spread = spread > 0x1p-4 ? spread : careful * inverse;
            }
        }
        const Vec local = log1p_by_tier<TIER>(spread);
        out.n[r] = n;
        out.ratio[r] = mean + local;
        out.inward[r] = below * inverse + local;
    }
}

// The shortest polynomial the log-ratios allow; false when nothing does.
template <int K>
HIDIV_INLINE bool message(const StepTables &tables, int64_t g0, const Vec *z, const Vec *g, const Vec *inward, Message<K> &out) {
    Vec low = g[0], high = g[0];
    for (int s = 1; s < K; ++s) {
        low = smaller<W>(low, g[s]);
        high = larger<W>(high, g[s]);
    }
    // |m - mbar| is at most the spread of m over the states.
    const Vec reach = (high - low) + 2.0 * tables.reach;
    if (!any<W>(~(reach <= 0x1p-6))) rows_of<K, 0>(tables, g0, z, g, inward, out);
    else if (!any<W>(~(reach <= 0x1p-3))) rows_of<K, 1>(tables, g0, z, g, inward, out);
    else if (!any<W>(~(reach <= 1.0))) rows_of<K, 2>(tables, g0, z, g, inward, out);
    else if (!any<W>(~(reach <= 500.0))) rows_of<K, 3>(tables, g0, z, g, inward, out);
    else return false;
    return true;
}

HIDIV_INLINE Int exponents(Vec n) { return (((Int)n >> 52) & 0x7ff) - 1023; }
HIDIV_INLINE Vec powers(Int e) { return (Vec)((e + 1023) << 52); }

template <int K>
bool sequences(const StepTables &tables, const StepRows &rows, const int32_t *row, const int32_t *which, int64_t count, LaneState &state) {
    Vec b[K], ratio[K], inward[K], low = all<W>(1.0), high = all<W>(1.0), out{};
    Int exponent{};
    for (int s = 0; s < K; ++s) {
        b[s] = load<W>(state.b[s]);
        ratio[s] = load<W>(state.ratio[s]);
        inward[s] = load<W>(state.inward[s]);
    }
    for (int64_t i = 0; i < count; ++i) {
        Int at;
        for (int l = 0; l < W; ++l) at[l] = int64_t(row[i * W + l]) * K;
        Vec z[K], g[K];
        for (int s = 0; s < K; ++s) {
            z[s] = gather<W>(rows.weight + s, at) * b[s];
            g[s] = gather<W>(rows.ratio + s, at) + ratio[s];
            if (rows.residual) inward[s] += gather<W>(rows.residual + s, at);
        }
        Message<K> up;
        if (!message<K>(tables, which ? which[i * W] * int64_t(K * K) : 0, z, g, inward, up)) return false;
        const Int e = exponents(up.n[0]);
        const Vec scale = powers(-e), shift = up.ratio[0];
        exponent += e;
        out += shift;
        for (int s = 0; s < K; ++s) {
            b[s] = up.n[s] * scale;
            ratio[s] = up.ratio[s] - shift;
            inward[s] = up.inward[s];
            low = smaller<W>(low, b[s]);
            high = larger<W>(high, b[s]);
        }
    }
    Vec check = low;
    for (int s = 0; s < K; ++s) check = check + 0.0 * (b[s] + ratio[s] + inward[s]);  // NaN if anything is not finite
    if (any<W>(~(low > smallest)) || any<W>(~(high < largest)) || any<W>(~(check > smallest))) return false;
    for (int s = 0; s < K; ++s) {
        store<W>(state.b[s], b[s]);
        store<W>(state.ratio[s], ratio[s]);
        store<W>(state.inward[s], inward[s]);
    }
    for (int l = 0; l < W; ++l) {
        state.exponent[l] += exponent[l];
        state.ratio_out[l] += out[l];
    }
    return true;
}

template <int K>
bool tree(const StepTables &tables, const StepRows &rows, const TreeNodes &nodes, int64_t first, int64_t last, TreeSums &sums) {
    constexpr int64_t stride = lane_record(K);
    Int exponent{};
    Vec ratio_out{}, value_out{};
    alignas(64) double spill[3 * K][W];
    for (int64_t u = first; u >= last;) {
        // As many nodes as do not wait for each other, and share a transition; lanes left over repeat the first.
        const int64_t group = nodes.transition_of ? nodes.transition_of[u] : 0;
        int64_t highest = nodes.parent[u], m = 1;
        while (m < W && u - m >= last && highest < u - m && (!nodes.transition_of || nodes.transition_of[u - m] == group)) {
            highest = nodes.parent[u - m] > highest ? nodes.parent[u - m] : highest;
            ++m;
        }
        if (u - 3 * W > last)
            for (int l = 0; l < W; ++l) __builtin_prefetch(nodes.record + nodes.parent[u - 3 * W + l] * stride, 1);
        Int row, at;
        bool inner = false;
        for (int l = 0; l < W; ++l) {
            const int64_t v = l < m ? u - l : u;
            row[l] = int64_t(nodes.row[first - v]) * K;
            at[l] = (v < nodes.records ? v : 0) * stride;
            inner |= v < nodes.records;
        }
        Vec z[K], g[K], inward[K];
        if (inner) {
            Int has{};
            for (int l = 0; l < W; ++l) has[l] = (l < m ? u - l : u) < nodes.records ? -1 : 0;
            for (int s = 0; s < K; ++s) {
                Vec b = gather<W>(nodes.record + s, at);
                has &= (b != 0.0);
                b = has ? b : all<W>(1.0);
                z[s] = gather<W>(rows.weight + s, row) * b;
                const Vec lam = gather<W>(nodes.record + K + s, at), below = gather<W>(nodes.record + 2 * K + s, at);
                g[s] = gather<W>(rows.ratio + s, row) + (has ? lam : Vec{});
                inward[s] = has ? below : Vec{};
                if (any<W>(~(b > smallest)) || any<W>(~(b < largest))) return false;
            }
        } else {
            for (int s = 0; s < K; ++s) {
                z[s] = gather<W>(rows.weight + s, row);
                g[s] = gather<W>(rows.ratio + s, row);
                inward[s] = Vec{};
            }
        }
        if (rows.residual)
            for (int s = 0; s < K; ++s) inward[s] += gather<W>(rows.residual + s, row);
        Message<K> up;
        if (!message<K>(tables, group * K * K, z, g, inward, up)) return false;
        Vec least = up.inward[0], most = up.n[0];
        for (int s = 1; s < K; ++s) {
            least = smaller<W>(least, up.inward[s]);
            most = larger<W>(most, up.n[s]);
        }
        const Int e = exponents(most);
        const Vec scale = powers(-e), shift = up.ratio[0];
        Int used{};
        for (int l = 0; l < W; ++l) used[l] = l < m ? -1 : 0;
        exponent += e & used;
        ratio_out += used ? shift : Vec{};
        value_out += used ? least : Vec{};
        Vec sound = all<W>(1.0);
        for (int s = 0; s < K; ++s) {
            const Vec n = up.n[s] * scale;
            sound = smaller<W>(sound, n);
            store<W>(spill[s], n);
            store<W>(spill[K + s], up.ratio[s] - shift);
            store<W>(spill[2 * K + s], up.inward[s] - least);
        }
        if (any<W>(~(sound > smallest)) || any<W>(~(shift - shift == 0.0)) || any<W>(~(least - least == 0.0))) return false;
        for (int64_t l = 0; l < m; ++l) {
            double *above = nodes.record + nodes.parent[u - l] * stride;
            if (above[0] == 0.0) {
                for (int s = 0; s < 3 * K; ++s) above[s] = spill[s][l];
                continue;
            }
            for (int s = 0; s < K; ++s) above[s] *= spill[s][l];
            for (int s = K; s < 3 * K; ++s) above[s] += spill[s][l];
            // The largest factor is below two: many children need a power of two taken out now and then.
            if (above[0] < 0x1p-100 || above[1] < 0x1p-100 || above[0] > 0x1p100) {
                double top = above[0];
                for (int s = 1; s < K; ++s) top = above[s] > top ? above[s] : top;
                const Int power = exponents(all<W>(top));
                if (!(top > smallest && top < largest)) return false;
                const double factor = powers(-power)[0];
                for (int s = 0; s < K; ++s) above[s] *= factor;
                sums.exponent += power[0];
            }
        }
        u -= m;
    }
    for (int l = 0; l < W; ++l) {
        sums.exponent += exponent[l];
        sums.ratio += ratio_out[l];
        sums.value += value_out[l];
    }
    return true;
}

}  // namespace

int lane_count() { return W; }

bool posterior_lanes(const StepTables &t, const StepRows &r, const int32_t *row, const int32_t *which, int64_t count, LaneState &s) {
    switch (t.states) {
        case 2: return sequences<2>(t, r, row, which, count, s);
        case 3: return sequences<3>(t, r, row, which, count, s);
        case 4: return sequences<4>(t, r, row, which, count, s);
        case 5: return sequences<5>(t, r, row, which, count, s);
        case 6: return sequences<6>(t, r, row, which, count, s);
        case 7: return sequences<7>(t, r, row, which, count, s);
        case 8: return sequences<8>(t, r, row, which, count, s);
        default: return false;
    }
}

bool posterior_nodes(const StepTables &t, const StepRows &r, const TreeNodes &nodes, int64_t first, int64_t last, TreeSums &sums) {
    switch (t.states) {
        case 2: return tree<2>(t, r, nodes, first, last, sums);
        case 3: return tree<3>(t, r, nodes, first, last, sums);
        case 4: return tree<4>(t, r, nodes, first, last, sums);
        case 5: return tree<5>(t, r, nodes, first, last, sums);
        case 6: return tree<6>(t, r, nodes, first, last, sums);
        case 7: return tree<7>(t, r, nodes, first, last, sums);
        case 8: return tree<8>(t, r, nodes, first, last, sums);
        default: return false;
    }
}

}  // namespace hidiv::HIDIV_TARGET
